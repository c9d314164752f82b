"""Talkdown on one machine without Docker: the servers, the supervisor, the trace page, and the command."""
