"""Which file system a folder is on, and whether changes made elsewhere are told of there."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["SILENT", "file_system_of", "is_silent"]

MOUNTS: Final = Path("/proc/self/mountinfo")
_TYPES: Final = (
    "9p afs ceph cifs davfs drvfs fakeowner fuse glusterfs lustre nfs nfs4 prl_fs smb3 smbfs vboxsf virtiofs vmhgfs"
)
SILENT: Final = frozenset(_TYPES.split())
"""Networks, shared folders of virtual machines, and Docker Desktop: what another machine writes makes no event here."""


def file_system_of(folder: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the file system that holds a folder, such as ``ext4``; nothing where the system does not tell."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    real = folder.resolve()
    best, kind = -1, None
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, types = before.split(), after.split()
        if len(fields) < 5 or not types:
            continue
        point = Path(fields[4].encode("utf-8", "surrogateescape").decode("unicode_escape", "replace"))
        # Of two mounts on one point, the later hides the earlier.
        if (real == point or point in real.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), types[0]
    return kind


def is_silent(kind: str | None) -> bool:
    """Say whether a type of file system is one that tells of no changes made elsewhere; FUSE's are taken for such."""
    return kind is not None and (kind in SILENT or kind.startswith("fuse."))
