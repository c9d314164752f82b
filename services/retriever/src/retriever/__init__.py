"""Owns the index: embeds, stores and searches what the folder holds."""
