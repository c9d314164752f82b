"""As whom a server runs: PostgreSQL refuses to run as root, so as root it runs as a user without rights.

Nothing is created on the machine: an existing user is borrowed. Where that user could not pass through a folder above
the programs or the data (``/root`` is closed to others on most systems), the process keeps the one capability that
lets it through (``CAP_DAC_OVERRIDE``), and none of root's others.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import stat
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from embedded.errors import ServerUnavailable

BORROWED = ("postgres", "nobody", "daemon")

# From linux/prctl.h and linux/capability.h.
_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION_3 = 0x20080522


@dataclass(frozen=True)
class Identity:
    """A user to run a program as; ``passes`` keeps the right to go through closed folders."""

    name: str
    uid: int
    gid: int
    passes: bool

    def own(self, path: Path) -> None:
        """Give a file or folder, and what is in it, to this user."""
        os.chown(path, self.uid, self.gid)
        if path.is_dir():
            for below in path.iterdir():
                self.own(below)

    def become(self) -> Callable[[], None]:
        """What a child process does between fork and exec to become this user."""
        libc = ctypes.CDLL(None, use_errno=True)  # loaded before the fork: loading takes locks
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        bit = 1 << _CAP_DAC_OVERRIDE
        kept = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)

        def switch() -> None:
            if self.passes:
                libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
            os.setgroups([])
            os.setgid(self.gid)
            os.setuid(self.uid)
            if self.passes and (
                libc.capset(header, kept) or libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0)
            ):
                raise PermissionError("this machine does not let root hand on CAP_DAC_OVERRIDE")

        return switch


def identity_for(programs: Path, data: Path) -> Identity | None:
    """The user that PostgreSQL runs as with its data in ``data``; ``None``: as whoever we are, which is not root."""
    if os.geteuid() != 0:
        return None
    owner = data.stat().st_uid if data.exists() else 0
    user = _user_of(owner) if owner else _borrowed()
    passes = not all(_lets_through(path, user.pw_uid, user.pw_gid) for path in (programs, data))
    if passes and sys.platform != "linux":
        raise ServerUnavailable(
            f"PostgreSQL does not run as root, and the user {user.pw_name} cannot reach {data} or {programs}."
            " Start Talkdown as an ordinary user."
        )
    return Identity(user.pw_name, user.pw_uid, user.pw_gid, passes)


def _user_of(uid: int) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        raise ServerUnavailable(
            f"The database's files belong to the user number {uid}, who does not exist here;"
            " give them to a user of this machine, or choose another data folder with --data."
        ) from None


def _borrowed() -> pwd.struct_passwd:
    for name in BORROWED:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ServerUnavailable(
        f"PostgreSQL does not run as root, and none of the users {', '.join(BORROWED)} exists here."
        " Start Talkdown as an ordinary user."
    )


def _lets_through(path: Path, uid: int, gid: int) -> bool:
    return all(_may_enter(folder.stat(), uid, gid) for folder in _existing(path.resolve().parents))


def _existing(folders: Iterable[Path]) -> Iterable[Path]:
    return (folder for folder in folders if folder.exists())


def _may_enter(folder: os.stat_result, uid: int, gid: int) -> bool:
    if folder.st_uid == uid:
        return bool(folder.st_mode & stat.S_IXUSR)
    if folder.st_gid == gid:
        return bool(folder.st_mode & stat.S_IXGRP)
    return bool(folder.st_mode & stat.S_IXOTH)
