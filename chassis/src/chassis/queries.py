"""SQL in files, by name.

A file holds queries like this one; the comment under the name is one sentence that says what it gives::

    -- name: waiting_turns
    -- The turns of a chat that have not begun, oldest first.
    select ... where chat_id = %(chat_id)s order by asked_at;

``SQL = Queries.of("agent")`` at the top of a module, and ``WAITING = SQL["waiting_turns"]`` beside it: a name that is
not there fails when the module is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources

_NAME = re.compile(r"^--\s*name:\s*([a-z][a-z0-9_]*)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"\A\s*--[^\S\n]*(\S[^\n]*)")


class QueryError(Exception):
    """A file of queries is not as it should be, or a query is not there; the message says which."""


class Queries(Mapping[str, bytes]):
    """Named queries: a mapping, also by attribute. A query is ``bytes``, which psycopg takes as it stands."""

    def __init__(self, queries: Mapping[str, bytes], source: str) -> None:
        self._queries = dict(queries)
        self._source = source

    @classmethod
    def of(cls, package: str, folder: str = "sql") -> Queries:
        """All queries of the ``.sql`` files in ``package/folder`` itself (migrations lie in a folder of their own)."""
        found: dict[str, bytes] = {}
        place = resources.files(package) / folder
        if not place.is_dir():
            raise QueryError(f"{package} has no folder {folder}.")
        for file in sorted(place.iterdir(), key=lambda one: one.name):
            if file.name.endswith(".sql"):
                for name, text in parse(file.read_text("utf-8"), file.name).items():
                    if name in found:
                        raise QueryError(f"The query {name} stands twice in {package}/{folder}.")
                    found[name] = text
        return cls(found, f"{package}/{folder}")

    def __getitem__(self, name: str) -> bytes:
        try:
            return self._queries[name]
        except KeyError:
            raise QueryError(f"There is no query {name} in {self._source}.") from None

    def __getattr__(self, name: str) -> bytes:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


def parse(text: str, file: str) -> dict[str, bytes]:
    """The queries of one file by name; each must have its sentence."""
    pieces = _NAME.split(text)
    if len(pieces) < 3:
        raise QueryError(f"{file} holds no query: begin one with '-- name: its_name'.")
    queries: dict[str, bytes] = {}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if name in queries:
            raise QueryError(f"The query {name} stands twice in {file}.")
        if not _COMMENT.match(body):
            raise QueryError(f"The query {name} in {file} needs a comment under its name that says what it gives.")
        queries[name] = body.strip().rstrip(";").encode()
    return queries
