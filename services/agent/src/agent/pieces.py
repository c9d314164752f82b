"""Cutting a finished text into the pieces in which it is shown, and gathering pieces that come too finely."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from itertools import chain
from typing import Final

from agent.answering import Piece

_WORDS: Final = re.compile(r"\s*\S+")
# Scripts without spaces have "words" of any length; a piece of one is as long as a few words of the others.
_LONGEST: Final = 40


def word_groups(text: str, *, words: int = 3) -> Iterator[str]:
    """Cut a text into groups of whole words, white space kept, so that the joined pieces are the text."""
    group: list[str] = []
    end = 0
    for match in _WORDS.finditer(text):
        end = match.end()
        word = match[0]
        for start in range(0, len(word), _LONGEST):
            group.append(word[start : start + _LONGEST])
            if len(group) >= words or len(group[-1]) >= _LONGEST:
                yield "".join(group)
                group.clear()
    if rest := "".join(group) + text[end:]:
        yield rest


async def gathered(pieces: AsyncGenerator[Piece], interval_s: float) -> AsyncGenerator[Piece]:
    """Pass the first piece on at once, and join those that come within ``interval_s`` of the last one passed.

    What came before an error is passed on before the error is raised.
    """
    waiting: list[Piece] = []
    news = asyncio.Event()

    async def read() -> None:
        async for piece in pieces:
            waiting.append(piece)
            news.set()

    reader = asyncio.create_task(read())
    reader.add_done_callback(lambda _: news.set())
    try:
        while True:
            await news.wait()
            news.clear()
            if waiting:
                batch = tuple(waiting)
                waiting.clear()
                yield _joined(batch)
            if reader.done():
                if not waiting:
                    reader.result()
                    return
                news.set()
            else:
                await asyncio.wait({reader}, timeout=interval_s)
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)


def _joined(pieces: tuple[Piece, ...]) -> Piece:
    usages = [piece.usage for piece in pieces if piece.usage is not None]
    verdicts = [piece.abstained for piece in pieces if piece.abstained is not None]
    quoted = [piece.quoted for piece in pieces if piece.quoted is not None]
    return Piece(
        quoted=tuple(chain.from_iterable(quoted)) if quoted else None,
        text="".join(piece.text for piece in pieces),
        abstained=verdicts[-1] if verdicts else None,
        usage=usages[-1] if usages else None,
    )
