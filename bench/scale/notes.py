"""Notes that nobody wrote: Markdown with headings, paragraphs, lists and tables, about as long as notes are.

Words are drawn as language draws them (a few often, most rarely), so that an index of words has the sizes of a real
one. The same number always gives the same note.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from uuid import UUID, uuid4

from contracts.documents import DocumentVersion
from contracts.events import DocumentChanged, RefreshSealed
from ingestor.chunking import chunk_document, fingerprint

SYLLABLES = [first + vowel for first in "bdfgklmnprstvwz" for vowel in "aeio"]
WORDS = 40_000


def word(rank: int) -> str:
    """The word of a rank: short ones are frequent."""
    made = SYLLABLES[rank % len(SYLLABLES)]
    while rank := rank // len(SYLLABLES):
        made += SYLLABLES[rank % len(SYLLABLES)]
    return made


def _sentence(draw: random.Random) -> str:
    # Zipf's law, by the inverse of the logarithm: rank r is drawn about 1/r as often as the first.
    words = [word(int(WORDS ** draw.random())) for _ in range(draw.randint(7, 18))]
    return " ".join(["the", *words]).capitalize() + "."


def note(number: int) -> str:
    """A note of about 3,000 characters."""
    draw = random.Random(number)
    parts = [f"---\ntitle: Note {number} on {word(draw.randrange(WORDS))}\ntags: [{word(number % 50)}]\n---"]
    for section in range(draw.randint(3, 8)):
        parts.append(f"## {word(draw.randrange(WORDS)).capitalize()} {section}")
        parts += [" ".join(_sentence(draw) for _ in range(draw.randint(2, 5))) for _ in range(draw.randint(1, 3))]
        if draw.random() < 0.4:
            parts.append("\n".join(f"- {_sentence(draw)}" for _ in range(draw.randint(2, 6))))
        if draw.random() < 0.2:
            rows = "\n".join(f"| {word(draw.randrange(WORDS))} | {draw.randrange(1000)} |" for _ in range(4))
            parts.append(f"| part | count |\n|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def path_of(number: int) -> str:
    """Where a note lies: a hundred in a folder."""
    return f"folder-{number // 100:03}/note-{number:05}.md"


def refresh(numbers: range) -> tuple[UUID, Iterator[DocumentChanged], RefreshSealed]:
    """The refresh of the tree that these notes are: its id, its documents one by one, and its seal."""
    refresh_id, now = uuid4(), dt.datetime.now(dt.UTC)
    changed = (_changed(refresh_id, number, now) for number in numbers)
    listed = [DocumentVersion(path=path_of(number), revision=1, sha256=_sha(number)) for number in numbers]
    sealed = RefreshSealed.model_validate(
        {"refresh_id": refresh_id, "started_at": now, "scope": "tree", "unchanged": 0, "documents": listed}
    )
    return refresh_id, changed, sealed


def _sha(number: int) -> str:
    return f"{number:064x}"


def _changed(refresh_id: UUID, number: int, saved_at: dt.datetime) -> DocumentChanged:
    text = note(number)
    cut = chunk_document(text.encode(), text)
    return DocumentChanged(
        refresh_id=refresh_id,
        path=path_of(number),
        revision=1,
        sha256=_sha(number),
        saved_at=saved_at,
        properties=cut.properties,
        chunker=fingerprint(),
        text=text,
        chunks=cut.chunks,
    )
