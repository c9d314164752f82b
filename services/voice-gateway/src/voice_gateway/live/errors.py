"""What ends a live session or its connection."""

from __future__ import annotations


class LiveError(Exception):
    """``code`` for programs, ``message`` as a plain sentence for the person."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class ConnectionLost(LiveError):
    """The connection to the provider ended, and a new one may help."""

    def __init__(self, message: str = "The connection to the voice provider was lost.") -> None:
        super().__init__("connection_lost", message)


class SessionRefused(LiveError):
    """The provider refuses the session for good: its key, its model, or its settings."""


class InvalidConfig(LiveError):
    """A setting of the session is wrong; the message says which and what it may be."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_config", message)
