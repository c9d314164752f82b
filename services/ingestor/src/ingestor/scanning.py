"""What stands in the watched folder: its documents by name, and what is refused by its name alone.

A scan never opens a document. It follows no link out of the folder, and takes what a link inside leads to once.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from contracts.vocabulary import MAX_PATH_LENGTH
from ingestor.errors import FolderUnavailable

__all__ = ["Mark", "Place", "Refusal", "Scan", "is_within", "scan", "shown"]

SUFFIXES: Final = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class Mark:
    """What tells a file from the one that stood there before, without reading it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Mark:
        """The mark of a file's status."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class Place:
    """A document that is there: its path as the product knows it, and the file that holds it."""

    path: str
    file: str
    root: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that is not taken, and why, in one sentence.

    A ``passing`` one says nothing of the document that was known under this path: it stays until more is known.
    """

    path: str
    reason: str
    passing: bool = False


@dataclass(slots=True)
class Scan:
    """What was found, sorted by path. ``linked`` when a document is seen through a link, so that no event names it."""

    places: list[Place] = field(default_factory=list["Place"])
    refusals: list[Refusal] = field(default_factory=list["Refusal"])
    linked: bool = False


def scan(folder: Path, below: Iterable[str] = ("",)) -> Scan:
    """Look at the folder, or at what stands at or below some paths of it; a path that is gone is not in the answer."""
    root = _root(folder)
    walk = _Walk(root)
    for path in below:
        walk.look(path)
    walk.follow()
    found = walk.found
    found.places = sorted({place.path: place for place in found.places}.values(), key=lambda place: place.path)
    found.refusals = sorted({refusal.path: refusal for refusal in found.refusals}.values(), key=lambda one: one.path)
    return found


def is_within(file: str, root: str) -> bool:
    """Say whether an absolute path without links is the root, or below it."""
    return file == root or file.startswith(root.rstrip("/") + "/")


def shown(path: str) -> str:
    """A path that can be printed and sent, whatever bytes its name is made of."""
    clean = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in clean)


def _root(folder: Path) -> str:
    root = os.path.realpath(folder)
    try:
        if not stat.S_ISDIR(Path(root).stat().st_mode):
            raise FolderUnavailable(f"{folder} is not a folder: set TALKDOWN_FOLDER to the folder of your notes.")
        with os.scandir(root):
            pass
    except FileNotFoundError as error:
        raise FolderUnavailable(f"The folder {folder} is not there: create it, or mount it again.") from error
    except PermissionError as error:
        raise FolderUnavailable(f"The folder {folder} may not be read: give its user the permission to.") from error
    except OSError as error:
        raise FolderUnavailable(f"The folder {folder} cannot be read ({error.strerror}).") from error
    return root


class _Walk:
    """One look at the tree; links wait until everything else was seen."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._links: list[tuple[str, str]] = []
        self._entered: set[str] = set()
        self.found = Scan()

    def look(self, path: str) -> None:
        """Look at one path of the folder, and at all below it."""
        if any(part.startswith(".") for part in path.split("/")):
            return
        file = f"{self._root.rstrip('/')}/{path}" if path else self._root
        if link := self._link_above(path):
            self._links.append((link, f"{self._root.rstrip('/')}/{link}"))
            return
        try:
            status = os.lstat(file)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._refuse(path, f"It cannot be looked at ({error.strerror}).", passing=True)
            return
        if stat.S_ISDIR(status.st_mode):
            self._descend(path, file)
        else:
            self._take(path, file, status)

    def follow(self) -> None:
        """Look at what the links lead to, in the order of their names; each thing is taken once."""
        taken = {place.file for place in self.found.places}
        while self._links:
            self._links.sort(reverse=True)
            path, file = self._links.pop()
            document = path.lower().endswith(SUFFIXES)
            try:
                target = os.path.realpath(file, strict=True)
                status = Path(target).stat()
            except OSError as error:
                if document:
                    why = "leads round in a circle" if error.errno == errno.ELOOP else "leads to nothing"
                    self._refuse(path, f"It is a link that {why}.")
                continue
            folder = stat.S_ISDIR(status.st_mode)
            if not is_within(target, self._root):
                if document or folder:
                    self._refuse(
                        path, "It is a link that leads out of the folder: copy what it leads to into the folder."
                    )
            elif self._is_seen(target, folder=folder):
                continue
            elif folder:
                self.found.linked = True
                self._descend(path, target)
            elif document and target not in taken:
                self.found.linked = True
                taken.add(target)
                self._take(path, target, status)

    def _link_above(self, path: str) -> str | None:
        """The outermost link that a path leads through, if any."""
        parts = path.split("/")[:-1]
        above = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
        return next((link for link in above if Path(self._root, link).is_symlink()), None)

    def _is_seen(self, target: str, *, folder: bool) -> bool:
        """Say whether what a link inside leads to has a path of its own in the corpus."""
        parts = [part for part in target[len(self._root) :].split("/") if part]
        hidden = any(part.startswith(".") for part in parts)
        return not hidden and (folder or parts[-1].lower().endswith(SUFFIXES))

    def _descend(self, path: str, file: str) -> None:
        todo = [(path, file)]
        while todo:
            path, file = todo.pop()
            if file in self._entered:
                continue
            self._entered.add(file)
            if path and not self._is_named_well(path, "folder"):
                continue
            try:
                entries = list(self._entries(file))
            except PermissionError:
                self._refuse(path, "The folder may not be opened: give its user the permission to.")
                continue
            except FileNotFoundError as error:
                if not path:
                    raise FolderUnavailable(f"The folder {file} is not there any more: create or mount it.") from error
                continue
            except OSError as error:
                self._refuse(path, f"The folder cannot be read ({error.strerror}).", passing=True)
                continue
            for entry in entries:
                name = f"{path}/{entry.name}" if path else entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append((name, entry.path))
                    elif entry.is_symlink() or entry.name.lower().endswith(SUFFIXES):
                        self._take(name, entry.path, entry.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue
                except OSError as error:
                    self._refuse(name, f"It cannot be looked at ({error.strerror}).", passing=True)

    def _entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if not entry.name.startswith("."))

    def _take(self, path: str, file: str, status: os.stat_result) -> None:
        if stat.S_ISLNK(status.st_mode):
            if self._is_named_well(path, "link"):
                self._links.append((path, file))
        elif path.lower().endswith(SUFFIXES):
            if not stat.S_ISREG(status.st_mode):
                self._refuse(path, "It is no regular file.")
            elif self._is_named_well(path, "file"):
                self.found.places.append(Place(path, file, self._root, Mark.of(status)))

    def _is_named_well(self, path: str, what: str) -> bool:
        try:
            path.encode()
        except UnicodeEncodeError:
            self._refuse(path, f"The {what}'s name is not valid UTF-8: rename it.")
            return False
        if "\\" in path or not path.isprintable():
            self._refuse(path, f"The {what}'s name has a backslash or a control character in it: rename it.")
            return False
        if len(path) > MAX_PATH_LENGTH:
            self._refuse(path, f"Its path is longer than {MAX_PATH_LENGTH:,} characters: give it a shorter one.")
            return False
        return True

    def _refuse(self, path: str, reason: str, *, passing: bool = False) -> None:
        self.found.refusals.append(Refusal(shown(path), reason, passing))
