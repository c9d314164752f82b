"""Sound and JSON on one WebSocket, for clients that leave the session to this side."""
