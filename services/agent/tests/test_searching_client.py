"""Asking the retriever over a real socket, and what its refusals and silences mean for the person who asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from agent_fakes import AMBER, found

from agent.errors import SearchFailed
from agent.searching import RetrieverSearch
from chassis.http import open_client
from contracts.refreshes import Manifest
from contracts.search import Filter, SearchRequest
from contracts.turns import Refusal

pytestmark = pytest.mark.behaviour("T11")


BUILDING = Refusal(code="unavailable", message="The index is being built.").model_dump_json().encode()


def manifest(version: int) -> bytes:
    state = Manifest(state="current", version=version, chunks=0, embedding="e", served_embedding=None, documents=())
    return state.model_dump_json().encode()


class Retriever:
    """Answers each request with the same bytes, and keeps what was asked."""

    def __init__(self, status: int, body: bytes, silent: bool = False) -> None:
        self.status, self.body, self.silent = status, body, silent
        self.requests: list[bytes] = []
        self.ended = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
        self.requests.append(head + await reader.readexactly(length))
        if self.silent:
            await reader.read()  # until the other side has had enough
        else:
            writer.write(f"HTTP/1.1 {self.status} X\r\ncontent-length: {len(self.body)}\r\n\r\n".encode() + self.body)
            await writer.drain()
        writer.close()
        self.ended.set()


@asynccontextmanager
async def asking(retriever: Retriever) -> AsyncGenerator[RetrieverSearch]:
    server = await asyncio.start_server(retriever.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        async with open_client(url, "retriever") as client:
            yield RetrieverSearch(client, hits=3, budget=900, timeout_s=0.5)
        await retriever.ended.wait()


async def test_a_search_asks_for_as_much_as_the_settings_say() -> None:
    retriever = Retriever(200, found(AMBER, version=7).model_dump_json().encode())
    async with asking(retriever) as search:
        result = await search.find("the code", Filter(folder="north"))
    assert result == found(AMBER, version=7)
    (request,) = retriever.requests
    head, body = request.split(b"\r\n\r\n")
    assert head.startswith(b"POST /search ")
    assert b"traceparent: 00-" in head
    asked = SearchRequest.model_validate_json(body)
    assert (asked.query, asked.hits, asked.budget, asked.filter.folder) == ("the code", 3, 900, "north")


@pytest.mark.parametrize(
    ("retriever", "says"),
    [
        (Retriever(503, BUILDING), "built"),
        (Retriever(500, b"Traceback: secret"), "could not be searched right now"),
        (Retriever(200, b"{}"), "does not fit its contract"),
        (Retriever(200, b"", silent=True), "could not be searched right now"),
    ],
)
async def test_what_goes_wrong_is_one_plain_sentence(retriever: Retriever, says: str) -> None:
    async with asking(retriever) as search:
        with pytest.raises(SearchFailed, match=says) as failed:
            await search.find("the code", Filter())
    assert "secret" not in failed.value.message
    assert len(retriever.requests) == 1


async def test_a_retriever_that_is_not_there_is_one_plain_sentence() -> None:
    async with open_client("http://127.0.0.1:9", "retriever") as client:
        search = RetrieverSearch(client, hits=3, budget=900, timeout_s=0.5)
        with pytest.raises(SearchFailed):
            await search.find("the code", Filter())
        assert not await search.is_current(1)


@pytest.mark.parametrize(
    ("retriever", "current"),
    [
        (Retriever(304, b""), True),
        (Retriever(200, manifest(4)), True),
        (Retriever(200, manifest(5)), False),
        (Retriever(500, b""), False),
        (Retriever(200, b"{}"), False),
    ],
)
async def test_the_version_of_the_corpus_is_asked_for_on_condition_and_doubt_means_changed(
    retriever: Retriever, current: bool
) -> None:
    async with asking(retriever) as search:
        assert await search.is_current(4) is current
    assert b'if-none-match: "4"' in retriever.requests[0]
