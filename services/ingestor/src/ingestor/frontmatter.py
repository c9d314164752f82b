"""The YAML block at the top of a note: what it says of the document, and where the text after it begins."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, NamedTuple, cast

import yaml

from contracts.documents import Properties

__all__ = ["FrontMatter", "front_matter_of"]

MAX_LENGTH = 64 * 1024
MAX_DEPTH = 50
MAX_VALUES = 100
MAX_VALUE_LENGTH = 500

_BLOCK = re.compile(r"\ufeff?---[ \t]*(?:\r\n?|\n)(.*?)^(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"^[\w][\w .-]*:(?:[ \t]|$)", re.MULTILINE)
_FIRST_LINE = re.compile(r"\s*(?:#[^\r\n]*[\r\n]+\s*)*")
_TITLE = re.compile(r"^title:[ \t]+([^\r\n]+)", re.MULTILINE)
_TAG_BREAKS = re.compile(r"[,\s]+")
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
# Scalars stay text (a title of 2024 is "2024", not a number), and no tag can name a Python object.
_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class FrontMatter(NamedTuple):
    """``length`` in code points, the byte order mark included; ``notice`` in one sentence when it could not be read."""

    length: int
    properties: Properties = Properties()
    notice: str | None = None


def front_matter_of(text: str) -> FrontMatter:
    """Read the front matter of a document; one without any has length 0 (or 1: a byte order mark).

    Malformed YAML is passed over with a notice and never loses the document: its title is kept when a line gives one.
    Two rules (``---``) with prose between them are no front matter, and their text is the document's.
    """
    bare = FrontMatter(1 if text.startswith("\ufeff") else 0)
    block = _BLOCK.match(text, 0, MAX_LENGTH)
    if block is None:
        return bare
    source = block[1]
    if not source.strip():
        return FrontMatter(block.end())
    if not _KEY.match(source, cast("re.Match[str]", _FIRST_LINE.match(source)).end()):
        return bare
    try:
        said = _load(source)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        title = _TITLE.search(source)
        properties = Properties(title=_text(title[1].strip().strip("\"'"))) if title else Properties()
        return FrontMatter(
            block.end(), properties, f"Its front matter is not valid YAML ({_where(error)}) and was passed over."
        )
    if not isinstance(said, dict):
        return bare
    return FrontMatter(
        block.end(), _properties({str(k).lower(): v for k, v in cast("dict[object, object]", said).items()})
    )


def _load(source: str) -> object:
    depth = 0
    for mark in re.finditer(r"[\[{\]}]", source):
        depth += 1 if mark[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(f"more than {MAX_DEPTH} brackets open at once")
    return yaml.load(source.replace("\t", "    "), Loader=_Loader)  # noqa: S506 (a BaseLoader makes texts and lists only)


def _properties(said: dict[str, object]) -> Properties:
    return Properties(
        title=_text(said.get("title")),
        aliases=tuple(_texts(said.get("aliases", said.get("alias")), re.compile(r"\s*,\s*"))),
        tags=tuple(
            dict.fromkeys(
                tag.lstrip("#") for tag in _texts(said.get("tags", said.get("tag")), _TAG_BREAKS) if tag.strip("#")
            )
        ),
        date=_date(said),
    )


def _text(value: object) -> str | None:
    return value.strip()[:MAX_VALUE_LENGTH] if isinstance(value, str) and value.strip() not in _NOTHING else None


def _texts(value: object, breaks: re.Pattern[str]) -> list[str]:
    values = (
        breaks.split(value.strip())
        if isinstance(value, str)
        else cast("list[object]", value)
        if isinstance(value, list)
        else []
    )
    return [text for text in map(_text, values[:MAX_VALUES]) if text]


def _date(said: dict[str, object]) -> dt.date | None:
    for name in ("date", "created", "updated", "modified"):
        value = said.get(name)
        if isinstance(value, str):
            try:
                return dt.date.fromisoformat(value.strip()[:10])
            except ValueError:
                continue
    return None


def _where(error: Exception) -> str:
    mark = cast("yaml.Mark | None", getattr(error, "problem_mark", None))
    if mark is None:
        return str(error) if isinstance(error, ValueError) else "it is nested too deeply"
    return f"line {mark.line + 2}"
