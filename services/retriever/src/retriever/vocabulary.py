"""What only these notes say: the words that ears must hear right, the most telling first.

::

    documents ─> titles, aliases, tags, file names ──┐
    chunks ───┬> headings                            ├─> each once ─> the first so many
              └> identifiers, names, rare words ─────┘

It is read off PostgreSQL when it is asked for, once a version of the corpus at most.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from chassis.language import stop_words
from chassis.postgres import Pool
from contracts.search import Vocabulary
from retriever.tables import SQL

MOST_CHUNKS: Final = 5000
"""So many chunks, the newest first, are read for their words; names and headings beyond them still count."""
MOST_WORDS: Final = 5000
AGAIN_AFTER_S: Final = 5.0
"""While the corpus changes from moment to moment, what was read last serves for so long."""
LONGEST_PHRASE: Final = 4
RARE_IN: Final = 3
"""A word is rare that stands in no more chunks than these."""

_IDENTIFIER: Final = re.compile(r"(?<![\w-])[^\W_](?:[\w-]*[^\W_])?(?![\w-])")
_NAME: Final = re.compile(r"(?<=[^\W_,;] )[^\W\d_a-z][^\W\d_]+(?: [^\W\d_a-z][^\W\d_]+){0,2}(?![\w-])")
_WORD: Final = re.compile(r"[^\W\d_]{4,}(?:-[^\W\d_]{2,})*")
_CAMEL: Final = re.compile(r"[a-z][A-Z]")


@dataclass(frozen=True)
class Named:
    """How a document is called: its path, title, aliases and tags."""

    path: str
    language: str
    title: str | None = None
    aliases: Sequence[str] = ()
    tags: Sequence[str] = ()


@dataclass(frozen=True)
class Said:
    """What a chunk says, and under which headings."""

    language: str
    heading: Sequence[str]
    plain: str


@dataclass
class _Words:
    """Words by what they are; what comes first in a kind was met most often there, and then earliest."""

    titles: Counter[str] = field(default_factory=Counter[str])
    identifiers: Counter[str] = field(default_factory=Counter[str])
    names: Counter[str] = field(default_factory=Counter[str])
    headings: Counter[str] = field(default_factory=Counter[str])
    tags: Counter[str] = field(default_factory=Counter[str])
    stems: Counter[str] = field(default_factory=Counter[str])
    others: Counter[str] = field(default_factory=Counter[str])

    def ordered(self) -> Iterator[str]:
        """The most telling first; of other words only the rare ones, the rarest first."""
        for kind in (self.titles, self.identifiers, self.names, self.tags, self.headings, self.stems):
            yield from (word for word, _ in kind.most_common())
        rare = [(times, word) for word, times in self.others.items() if times <= RARE_IN]
        yield from (word for _, word in sorted(rare, key=lambda one: one[0]))


def words_of(documents: Iterable[Named], chunks: Iterable[Said], most: int) -> tuple[str, ...]:
    """The words of a corpus, at most so many, each once whatever its case."""
    words = _Words()
    for document in documents:
        for called in (document.title or "", *document.aliases):
            _count_phrase(words.titles, called, document.language)
        words.tags.update(tag for tag in document.tags if not tag.isdigit())
        stem = document.path.rpartition("/")[2].rpartition(".")[0]
        _count_phrase(words.stems, re.sub(r"[_-]+", " ", stem), document.language)
    for chunk in chunks:
        for heading in chunk.heading:
            _count_phrase(words.headings, heading, chunk.language)
        words.identifiers.update({word for word in _IDENTIFIER.findall(chunk.plain) if _is_identifier(word)})
        if chunk.language != "de":  # where every noun has a capital it tells nothing
            words.names.update({name for name in _NAME.findall(chunk.plain) if not _is_identifier(name)})
        common = stop_words(chunk.language)
        words.others.update({word.lower() for word in _WORD.findall(chunk.plain) if word.lower() not in common})
    kept: dict[str, str] = {}
    for word in words.ordered():
        kept.setdefault(word.casefold(), word)
        if len(kept) >= most:
            break
    return tuple(kept.values())


def _count_phrase(into: Counter[str], text: str, language: str) -> None:
    """Count a short name as it stands, and of a long one its words that are not common."""
    text = " ".join(text.split())
    words = text.split(" ")
    if text and len(words) <= LONGEST_PHRASE:
        into[text] += 1
        return
    common = stop_words(language)
    into.update(word for word in _WORD.findall(text) if word.lower() not in common)


def _is_identifier(word: str) -> bool:
    letters = any(character.isalpha() for character in word)
    digits = any(character.isdigit() for character in word)
    capitals = len(word) > 1 and word.isupper()
    return 2 <= len(word) <= 40 and letters and (digits or capitals or "_" in word or bool(_CAMEL.search(word)))


class Vocabularies:
    """The vocabulary of the corpus that is visible."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._turn = asyncio.Lock()
        self._known = Vocabulary(corpus_version=0, words=())
        self._read_at = -AGAIN_AFTER_S

    async def version(self) -> int:
        """The version of the corpus now."""
        async with self._pool.connection() as connection:
            row = await (await connection.execute(SQL["snapshot"])).fetchone()
        return row["version"] if row else 0

    async def __call__(self, most: int) -> Vocabulary:
        """The first so many words."""
        async with self._turn:
            if time.monotonic() - self._read_at >= AGAIN_AFTER_S and await self.version() != self._known.corpus_version:
                self._known = await self._read()
                self._read_at = time.monotonic()
        return self._known.model_copy(update={"words": self._known.words[:most]})

    async def _read(self) -> Vocabulary:
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(SQL["one_snapshot"])
            row = await (await connection.execute(SQL["snapshot"])).fetchone()
            assert row is not None
            named = await (await connection.execute(SQL["named_documents"], {"limit": MOST_WORDS})).fetchall()
            said = await (await connection.execute(SQL["newest_chunks"], {"limit": MOST_CHUNKS})).fetchall()
        documents = [
            Named(one["path"], one["language"], one["title"], one["aliases"] or (), one["tags"] or ()) for one in named
        ]
        chunks = [Said(one["language"], one["heading"], one["plain"]) for one in said]
        words = await asyncio.to_thread(words_of, documents, chunks, MOST_WORDS)
        return Vocabulary(corpus_version=row["version"], words=words)
