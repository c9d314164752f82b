"""The service as it runs: a process on a real PostgreSQL and a real Valkey, asked over HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import httpx2
import pytest
from retriever_house import Refresh, sha

from chassis.bus import Bus, open_bus
from contracts.events import RefreshFinished
from contracts.health import Ready
from contracts.refreshes import Manifest
from contracts.search import RefreshState, SearchResult, SourceText, Vocabulary
from contracts.turns import Refusal

WITHIN_S = 60.0
T = TypeVar("T")


async def until(found: Callable[[], Awaitable[T | None]]) -> T:
    """Wait for something, with a bound."""
    async with asyncio.timeout(WITHIN_S):
        while (value := await found()) is None:  # noqa: ASYNC110 - it is in another process
            await asyncio.sleep(0.02)
    return value


@dataclass
class Service:
    """A running retriever, and the bus that it listens to."""

    http: httpx2.AsyncClient
    bus: Bus
    process: asyncio.subprocess.Process

    async def finished(self, refresh: Refresh) -> RefreshState:
        """Publish a refresh and wait for its end."""
        await self.bus.publish(*refresh.events)

        async def ended() -> RefreshState | None:
            response = await self.http.get(f"/refreshes/{refresh.id}")
            if response.status_code == 404:
                return None
            state = RefreshState.model_validate_json(response.content)
            return state if state.status in ("finished", "failed") else None

        return await until(ended)

    async def ready(self) -> tuple[int, Ready]:
        """Its health."""
        response = await self.http.get("/health/ready")
        return response.status_code, Ready.model_validate_json(response.content)

    async def search(self, **body: object) -> SearchResult:
        """Ask."""
        response = await self.http.post("/search", json=body)
        assert response.status_code == 200, response.text
        return SearchResult.model_validate_json(response.content)


@pytest.fixture
async def service(postgres_url: str, valkey_url: str) -> AsyncIterator[Service]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.set_inheritable(True)
        port = listener.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "retriever",
            env={
                **os.environ,
                "TALKDOWN_MODE": "simulated",
                "TALKDOWN_POSTGRES_URL": postgres_url,
                "TALKDOWN_REDIS_URL": valkey_url,
                "TALKDOWN_LISTEN_FD": str(listener.fileno()),
            },
            pass_fds=[listener.fileno()],
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            async with (
                httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=WITHIN_S, trust_env=False) as http,
                open_bus(valkey_url, service="test") as bus,
            ):
                yield Service(http, bus, process)
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await asyncio.wait_for(process.wait(), WITHIN_S)


@pytest.mark.behaviour("C5", "C7", "E3")
async def test_it_is_ready_once_questions_can_be_answered(service: Service) -> None:
    status, ready = await service.ready()
    assert (status, ready.status) == (503, "waiting")
    refresh = Refresh("tree")
    refresh.save("wifi.md", "The guest wifi password is plum-29.")
    assert (await service.finished(refresh)).status == "finished"
    status, ready = await service.ready()
    assert (status, ready.corpus, ready.waits_for) == (200, "current", ())
    found = await service.search(query="guest wifi password")
    assert found.passages[0].text == "The guest wifi password is plum-29."
    manifest = Manifest.model_validate_json((await service.http.get("/manifest")).content)
    assert [(entry.path, entry.chunks) for entry in manifest.documents] == [("wifi.md", 1)]
    assert manifest.last_refresh is not None
    assert manifest.last_refresh.added == 1


async def test_what_has_not_changed_is_not_said_again(service: Service) -> None:
    refresh = Refresh("tree")
    refresh.save("wifi.md", "The guest wifi password is plum-29.")
    await service.finished(refresh)
    known = await service.http.get("/vocabulary", params={"most": 5})
    words = Vocabulary.model_validate_json(known.content)
    assert (words.corpus_version, words.words[0]) == (1, "plum-29")
    for path in ("/vocabulary", "/manifest"):
        for version, status in (("1", 304), ("2", 200)):
            again = await service.http.get(path, headers={"if-none-match": f'"{version}"'})
            assert again.status_code == status
    assert (await service.http.get("/vocabulary", params={"most": 0})).status_code == 400


@pytest.mark.behaviour("R4", "C7")
async def test_an_empty_folder_is_ready_and_answers_with_nothing(service: Service) -> None:
    assert (await service.finished(Refresh("tree"))).status == "finished"
    assert (await service.ready())[0] == 200
    found = await service.search(query="anything at all")
    assert (found.passages, found.context) == ((), "")


@pytest.mark.behaviour("R7")
async def test_a_document_is_read_in_its_visible_version(service: Service) -> None:
    refresh = Refresh("tree")
    event = refresh.save("notes/häuser & co.md", "Houses.")
    await service.finished(refresh)
    at = "/documents/notes/h%C3%A4user%20%26%20co.md"
    text = SourceText.model_validate_json((await service.http.get(at, params={"version": event.sha256})).content)
    assert (text.text, text.version, text.changed) == ("Houses.", event.sha256, False)
    other = SourceText.model_validate_json((await service.http.get(at, params={"version": sha("another")})).content)
    assert (other.text, other.changed) == ("Houses.", True)
    missing = await service.http.get("/documents/nowhere.md")
    assert missing.status_code == 404
    assert "nowhere.md" in Refusal.model_validate_json(missing.content).message


BODIES = {
    b'{"query": "half a pair \\ud800, and a \\u0000"}': 200,
    b'{"query": "' + b"?!(*" * 500 + b'"}': 200,
    b'{"query": "' + b"\\ud83d\\ude00" * 2000 + b'"}': 200,
    b'{"query": "x", "filter": {"folder": "\\ud800", "tags": ["\\u0000"]}}': 200,
    b'{"query": "   "}': 400,
    b'{"query": "' + b"x" * 2001 + b'"}': 400,
    b'{"query": 7}': 400,
    b"[" * 30_000: 400,
    b"not json": 400,
    b"": 400,
    b'{"query": "' + b"x" * 70_000 + b'"}': 413,
}


@pytest.mark.behaviour("R4")
async def test_any_text_is_searched_or_refused_in_a_sentence(service: Service) -> None:
    refresh = Refresh("tree")
    refresh.save("a.md", "Half a pair of shoes.")
    await service.finished(refresh)
    for body, status in BODIES.items():
        response = await service.http.post("/search", content=body, headers={"content-type": "application/json"})
        assert response.status_code == status, (body[:40], response.text)
        if status >= 400:
            assert Refusal.model_validate_json(response.content).message


@pytest.mark.behaviour("C5", "E1")
async def test_its_events_tell_the_others_of_every_end(service: Service) -> None:
    reports: list[RefreshFinished] = []

    async def note(event: RefreshFinished) -> None:
        reports.append(event)

    listening = asyncio.create_task(service.bus.consume("documents", "ears", {RefreshFinished: note}))
    refresh = Refresh("tree")
    refresh.save("a.md", "A.")
    await service.finished(refresh)

    async def told() -> bool | None:
        return bool(reports) or None

    await until(told)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    assert reports[0].report.refresh_id == refresh.id
    assert reports[0].report.added == 1
