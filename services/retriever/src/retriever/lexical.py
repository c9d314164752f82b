"""The lexical leg: BM25 over the stems of words, in an index that each replica derives from the store.

::

    body           the words of the chunk                                            x 1
    surroundings   the words of the chunk and of those beside it in its document     x 0.5
    heading        the words of its title, aliases and headings                      x 0.5

The surroundings let a chunk be found whose subject is named just before it. Weights were measured on 1,190 questions in
each of three languages; BM25's own constants are tantivy's, 1.2 and 0.75.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import tantivy

from chassis.language import all_terms, words

WEIGHTS: Final = {"body": 1.0, "surroundings": 0.5, "heading": 0.5}
_OWN: Final = ("body", "heading")
MOST_WORDS: Final = 128
"""A question of 2,000 characters may have more words than are worth looking up."""
_WRITER_BYTES: Final = 20_000_000
LINES_KEPT: Final = 4096
"""Lines whose words are remembered while chunks are added: those of the chunks next to each other, and headings."""


@dataclass(frozen=True)
class LexicalChunk:
    """A chunk as it is found by its words; `key` is its own for ever.

    `heading` holds its title, aliases and headings; `beside` is the text of its neighbours in the document.
    """

    key: int
    document: int
    language: str
    plain: str
    heading: Sequence[str] = ()
    context: str = ""
    beside: str = ""


class LexicalIndex:
    """A BM25 index in memory, or in a folder. Its methods block, for milliseconds a thousand chunks: call in threads.

    What is added and removed is found after the next `commit`. Searches may run while another thread writes.
    """

    def __init__(self, folder: Path | None = None) -> None:
        schema = tantivy.SchemaBuilder()
        for field in ("key", "document"):
            schema.add_unsigned_field(field, indexed=True, fast=True)
        for field in WEIGHTS:
            schema.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
        self._schema = schema.build()
        self._index = tantivy.Index(self._schema, path=str(folder) if folder else None)
        self._writer = self._index.writer(_WRITER_BYTES, 1)
        self.version = 0

    def __len__(self) -> int:
        """Count the chunks of the last commit."""
        return self._index.searcher().num_docs

    def clear(self) -> None:
        """Hold nothing, from the next commit on."""
        self._writer.delete_all_documents()

    def remove(self, keys: Iterable[int]) -> None:
        """Hold these no more, from the next commit on; keys that are not there are no error."""
        listed = list(keys)
        if listed:
            # By query: tantivy 0.27's deletion by a term takes an int for a signed one, and finds nothing.
            self._writer.delete_documents_by_query(tantivy.Query.term_set_query(self._schema, "key", listed))

    def add(self, chunks: Iterable[LexicalChunk]) -> None:
        """Hold these, from the next commit on; one whose key is there already replaces it."""
        listed = list(chunks)
        self.remove(chunk.key for chunk in listed)
        for chunk in listed:
            body = _indexed(f"{chunk.context}\n{chunk.plain}", chunk.language)
            document = tantivy.Document()
            document.add_unsigned("key", chunk.key)
            document.add_unsigned("document", chunk.document)
            document.add_text("body", body)
            document.add_text("surroundings", f"{body} {_indexed(chunk.beside, chunk.language)}")
            document.add_text("heading", _indexed("\n".join(chunk.heading), chunk.language))
            self._writer.add_document(document)

    def commit(self, version: int) -> None:
        """Let searches see what was added and removed, as the corpus of this version."""
        self._writer.commit()
        self._index.reload()
        self.version = version

    def search(
        self,
        query: str,
        language: str,
        k: int,
        *,
        others: Collection[str] = (),
        documents: Collection[int] | None = None,
    ) -> list[tuple[int, float]]:
        """Give the best `k` keys and their scores for any text, best first, ties in order of key.

        The query's words are looked up by their stems in its own `language`, and in `others` (those of the corpus).
        `documents` are those that may answer; null means all. A query without words finds nothing.
        """
        asked = list(dict.fromkeys(_stems(query, language, [other for other in others if other != language])))
        if not asked or k < 1 or (documents is not None and not documents):
            return []
        found = tantivy.Query.boolean_query([(tantivy.Occur.Should, self._clause(stems)) for stems in asked])
        if documents is not None:
            allowed = tantivy.Query.term_set_query(self._schema, "document", sorted(documents))
            unscored = tantivy.Query.const_score_query(allowed, 0.0)
            found = tantivy.Query.boolean_query([(tantivy.Occur.Must, found), (tantivy.Occur.Must, unscored)])
        searcher = self._index.searcher()
        hits = searcher.search(found, k, count=False).hits
        keys = searcher.fast_field_values("key", [address for _, address in hits]) if hits else []
        scored = [(int(key or 0), float(score)) for key, (score, _) in zip(keys, hits, strict=True)]
        return sorted(scored, key=lambda hit: (-hit[1], hit[0]))

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Give for each term in how many chunks it stands, in their text or their headings (as of the last commit)."""
        searcher = self._index.searcher()
        # Counted by searching: the index's own figure keeps what was removed until segments merge, and a word that
        # left the corpus must be unknown to it.
        found: dict[str, Any] = {term: searcher.search(self._holding(term), 1, count=True) for term in terms}
        return {term: int(result.count or 0) for term, result in found.items()}

    def _holding(self, term: str) -> tantivy.Query:
        fields = [tantivy.Query.term_query(self._schema, field, term, index_option="freq") for field in _OWN]
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, field) for field in fields])

    def _clause(self, stems: Sequence[str]) -> tantivy.Query:
        """One word of the query in every field; when it has several stems, the best of them counts."""
        fields: list[tuple[tantivy.Occur, tantivy.Query]] = []
        for field, weight in WEIGHTS.items():
            each = [tantivy.Query.term_query(self._schema, field, stem, index_option="freq") for stem in stems]
            best = each[0] if len(each) == 1 else tantivy.Query.disjunction_max_query(each)
            fields.append((tantivy.Occur.Should, tantivy.Query.boost_query(best, weight)))
        return tantivy.Query.boolean_query(fields)


def _indexed(text: str, language: str) -> str:
    # No word goes on past the end of a line, so a line that stands in a chunk and beside two others is cut up once.
    return " ".join(found for line in text.split("\n") if (found := _line(line, language)))


@lru_cache(maxsize=LINES_KEPT)
def _line(line: str, language: str) -> str:
    # Common words are indexed too, or "The Who" could not be found; a query leaves them out where it has others.
    return " ".join(all_terms(line, language))


def _stems(query: str, language: str, others: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """The words of a query that are worth looking up, each with its stems, its own language's first."""
    found = words(query, language)
    for word in ([word for word in found if not word.common] or found)[:MOST_WORDS]:
        raw = query[word.start : word.end]
        further = [same.term for other in others for same in words(raw, other)[:1]]
        yield tuple(dict.fromkeys((word.term, *further)))
