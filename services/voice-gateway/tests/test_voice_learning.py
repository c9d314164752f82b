"""The ears learn the words of the notes, and learn again only when the notes have changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
import pytest
from voice_fakes import until

from contracts.search import Vocabulary
from voice_gateway.learning import keep_learning
from voice_gateway.scripted import ScriptedEars


class Notes:
    """A retriever that answers as it is told to."""

    def __init__(self) -> None:
        self.version, self.words = 1, ("ORCHID-47",)
        self.status: int | None = None
        self.asked: list[str | None] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        tag = request.headers.get("if-none-match")
        self.asked.append(tag)
        if self.status is not None:
            return httpx2.Response(self.status)
        if tag == f'"{self.version}"':
            return httpx2.Response(304)
        return httpx2.Response(200, content=Vocabulary(corpus_version=self.version, words=self.words).model_dump_json())


@asynccontextmanager
async def learning(ears: ScriptedEars, notes: Notes) -> AsyncGenerator[None]:
    transport = httpx2.MockTransport(notes)
    async with httpx2.AsyncClient(base_url="http://retriever", transport=transport) as client:
        task = asyncio.create_task(keep_learning(ears, client, 100))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voice_gateway.learning.LOOK_S", 0.001)
    monkeypatch.setattr("voice_gateway.learning.AGAIN_S", 0.001)


async def test_words_are_learnt_once_for_every_version_of_the_corpus() -> None:
    ears, notes = ScriptedEars(), Notes()
    async with learning(ears, notes):
        await until(lambda: len(notes.asked) > 3)
        assert ears.learnt == ("ORCHID-47",)
        ears.learnt = ()
        await until(lambda: len(notes.asked) > 6)
        assert ears.learnt == ()
        notes.version, notes.words = 2, ("amber valve",)
        await until(lambda: ears.learnt == ("amber valve",))


@pytest.mark.parametrize("status", [503, 404])
async def test_a_retriever_that_is_not_there_yet_is_asked_again(status: int) -> None:
    ears, notes = ScriptedEars(), Notes()
    notes.status = status
    async with learning(ears, notes):
        await until(lambda: len(notes.asked) > 2)
        assert ears.learnt == ()
        notes.status = None
        await until(lambda: ears.learnt)
