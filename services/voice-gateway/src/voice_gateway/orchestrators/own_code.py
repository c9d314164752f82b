"""What went wrong in somebody's own file of tools, in a sentence that leads to the line."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Final

_NOT_THEIRS: Final = (
    *(f"{folder}/" for name in ("stdlib", "purelib", "platlib") if (folder := sysconfig.get_path(name))),
    f"{Path(__file__).parents[1]}/",
    "<",
)


def told(error: BaseException) -> str:
    """What an error says; of one that their code raised, its kind and the last line of theirs before it, too."""
    said = " ".join(str(error).split())[:500]
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__} in {_place(error.filename, error.lineno)}: {error.msg}"
    passed = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in passed if not frame.filename.startswith(_NOT_THEIRS)]
    if theirs:
        return f"{type(error).__name__} in {_place(theirs[-1].filename, theirs[-1].lineno)}: {said}"
    ours = bool(passed) and passed[-1].filename.startswith(_NOT_THEIRS[-2])
    return said if ours and said else f"{type(error).__name__}: {said}"


def _place(file: str | None, line: int | None) -> str:
    return f"{Path(file).name if file else 'it'}, line {line}"
