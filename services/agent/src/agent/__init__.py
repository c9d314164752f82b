"""Owns chats and turns."""
