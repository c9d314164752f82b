"""The folder that is watched: whether it can be, said in one sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from embedded.errors import FolderUnusable

MARKDOWN = (".md", ".markdown")
LOOKED_AT = 50_000
"""How many entries are looked at before the question whether there is Markdown is given up."""


def checked_folder(folder: Path) -> Path:
    """The folder's real path; raises :class:`FolderUnusable` when it is missing, is a file, or is closed to us."""
    try:
        real = folder.expanduser().resolve(strict=True)
    except FileNotFoundError:
        raise FolderUnusable(f"There is no folder {folder}. Make it, or name the folder of your notes.") from None
    except PermissionError:
        raise FolderUnusable(f"The folder {folder} cannot be reached: {_remedy(folder)}") from None
    except (OSError, RuntimeError) as error:
        raise FolderUnusable(f"The folder {folder} cannot be reached: {error}.") from None
    if not real.is_dir():
        raise FolderUnusable(f"{folder} is a file. Name the folder that holds it: talkdown up {folder.parent}")
    if not os.access(real, os.R_OK | os.X_OK):
        raise FolderUnusable(f"The folder {folder} cannot be read: {_remedy(real)}")
    return real


def first_markdown(folder: Path) -> Path | None:
    """The first Markdown file below a folder in the order of names; ``None`` when there is none."""
    return next((path for path in islice(_files(folder), LOOKED_AT) if path.suffix.lower() in MARKDOWN), None)


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(parent) / name for name in sorted(files))


def _remedy(folder: Path) -> str:
    return f"ask its owner for the right to read it (chmod -R a+rX {folder}), or start Talkdown as its owner."
