"""What can go wrong when Talkdown runs on one machine; the message of each is a sentence for a person.

::

    EmbeddedError
    ├── FolderUnusable      the watched folder cannot be read
    ├── DataUnusable        the data folder cannot be written, is in use, or belongs to another version or user
    ├── PortTaken           a port that was asked for is in use
    ├── ServerUnavailable   PostgreSQL or Valkey cannot run on this machine
    ├── ServiceFailed       a service does not come up
    └── NoInstance          no running Talkdown was found, or several were
"""

from __future__ import annotations


class EmbeddedError(Exception):
    """Anything that stops the embedded run; its message says what to do."""


class FolderUnusable(EmbeddedError):
    """The watched folder is missing, is a file, or cannot be read."""


class DataUnusable(EmbeddedError):
    """The data folder cannot be used by this run."""


class PortTaken(EmbeddedError):
    """Another program listens on the port that was asked for."""


class ServerUnavailable(EmbeddedError):
    """PostgreSQL or Valkey does not start here."""


class ServiceFailed(EmbeddedError):
    """A service of Talkdown does not come up."""


class NoInstance(EmbeddedError):
    """No running Talkdown was found, or several and none was chosen."""
