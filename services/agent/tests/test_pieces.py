"""Pieces that come too finely are joined; none is lost, and the first is never held back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from agent.answering import Piece, Usage
from agent.errors import ModelFailed
from agent.pieces import gathered

pytestmark = pytest.mark.behaviour("T7")


async def given(*texts: str, fails: bool = False) -> AsyncGenerator[Piece]:
    for text in texts:
        yield Piece(text)
    if fails:
        raise ModelFailed
    yield Piece(usage=Usage(3, 4))


async def test_what_comes_at_once_goes_as_one_piece_with_the_usage() -> None:
    pieces = [piece async for piece in gathered(given("a", "b", "c"), interval_s=0.01)]
    assert "".join(piece.text for piece in pieces) == "abc"
    assert pieces[-1].usage == Usage(3, 4)
    assert len(pieces) < 4


async def test_a_first_piece_is_passed_on_while_the_next_is_still_to_come() -> None:
    more = asyncio.Event()

    async def slow() -> AsyncGenerator[Piece]:
        yield Piece("first")
        await more.wait()
        yield Piece("second")

    pieces = gathered(slow(), interval_s=60)
    assert (await anext(pieces)).text == "first"
    more.set()
    assert (await anext(pieces)).text == "second"
    assert await anext(pieces, None) is None


async def test_what_came_before_an_error_is_passed_on_before_it() -> None:
    seen: list[str] = []

    async def read() -> None:
        async for piece in gathered(given("a", "b", fails=True), interval_s=0):
            seen.append(piece.text)

    with pytest.raises(ModelFailed):
        await read()
    assert "".join(seen) == "ab"


async def test_leaving_early_ends_the_source() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[Piece]:
        try:
            while True:
                yield Piece("x")
                await asyncio.sleep(0)
        finally:
            closed.set()

    pieces = gathered(endless(), interval_s=0)
    await anext(pieces)
    await pieces.aclose()
    assert closed.is_set()


async def test_a_source_without_pieces_ends() -> None:
    async def nothing() -> AsyncGenerator[Piece]:
        return
        yield Piece()

    assert [piece async for piece in gathered(nothing(), interval_s=60)] == []
