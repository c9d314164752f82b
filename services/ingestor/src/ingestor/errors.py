"""What goes wrong in the ingestor.

::

    IngestorError
    └── FolderUnavailable   the watched folder cannot be seen: nothing is concluded from that
"""

from __future__ import annotations

from chassis.plain import Plain

__all__ = ["FolderUnavailable", "IngestorError"]


class IngestorError(Plain):
    """The ingestor could not do what it was asked."""


class FolderUnavailable(IngestorError):
    """The watched folder cannot be seen; the index stays as it is until it can."""
