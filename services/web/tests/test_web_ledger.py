"""The ledger: what the ingestor saw, joined with what the retriever serves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from web_fakes import TOKEN, Behind, Running, closed_port, example, serving

from chassis.http import open_client
from chassis.settings import ServiceSettings
from contracts.corpus import Corpus
from contracts.refreshes import Files, Manifest
from web.behind import Retriever
from web.ledger import file_rows
from web.parts import parts_of


async def corpus_of(web: Running) -> Corpus:
    return Corpus.model_validate_json((await web.page.get("/api/corpus")).content)


@pytest.mark.behaviour("C13", "C2")
async def test_the_ledger_names_every_file_and_why_one_was_refused(web: Running) -> None:
    corpus = await corpus_of(web)
    assert [(file.path, file.state) for file in corpus.files] == [("big.md", "rejected"), ("valves.md", "current")]
    assert corpus.files[0].reason == "The file has 300,000 bytes; at most 262,144 are read."
    assert (corpus.documents, corpus.chunks, corpus.rejected, corpus.state) == (1, 2, 1, "current")
    assert {service.name: service.state for service in corpus.services} == dict.fromkeys(
        ("ingestor", "retriever", "agent", "voice gateway", "web"), "ready"
    )


def rows(changes: dict[str, Any], *, files: bool = True, manifest: bool = True) -> dict[str, tuple[str, str | None]]:
    seen, held = example("ingestor.files"), example("retriever.manifest")
    seen["files"][0].update(changes)
    found = file_rows(
        Files.model_validate(seen) if files else None, Manifest.model_validate(held) if manifest else None
    )
    return {row.path: (row.state, row.reason) for row in found}


def test_a_file_that_was_saved_and_is_not_indexed_yet_waits() -> None:
    assert rows({"sha256": "0" * 64})["valves.md"] == ("waiting", None)
    assert rows({}, manifest=False)["valves.md"] == ("waiting", None)


def test_a_file_that_left_the_folder_is_said_to_leave_the_index() -> None:
    state, reason = rows({"path": "other.md"})["valves.md"]
    assert state == "waiting"
    assert "left the folder" in (reason or "")


def test_without_the_ingestor_what_is_indexed_counts_as_current() -> None:
    assert rows({}, files=False) == {"valves.md": ("current", None)}


def test_a_file_that_the_index_refused_is_rejected_with_its_reason() -> None:
    seen, held = example("ingestor.files"), example("retriever.manifest")
    seen["files"][0]["sha256"] = "0" * 64
    held["last_refresh"]["rejected"] = [{"path": "valves.md", "reason": "The embedding was not finite."}]
    row = file_rows(Files.model_validate(seen), Manifest.model_validate(held))[-1]
    assert (row.state, row.reason) == ("rejected", "The embedding was not finite.")


@pytest.mark.parametrize("changed", [{"ingestor_url": closed_port}, {"retriever_url": closed_port}])
async def test_a_service_that_is_down_is_said_and_the_rest_is_shown(web: Running, changed: dict[str, Any]) -> None:
    corpus = await corpus_of(web)
    name = next(iter(changed)).removesuffix("_url")
    assert any(f"The {name} does not answer" in notice for notice in corpus.notices)
    assert {service.state for service in corpus.services if service.name == name} == {"starting"}
    assert any(file.path == "valves.md" for file in corpus.files)


async def test_what_was_seen_stays_when_a_service_restarts(web: Running) -> None:
    before = await corpus_of(web)
    web.behind.manifest = {"not": "a manifest"}
    async with asyncio.timeout(60):
        # Pages share an answer for half a second.
        while not any("retriever" in notice for notice in (await corpus_of(web)).notices):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert (await corpus_of(web)).files == before.files


@pytest.mark.behaviour("C12", "C15")
async def test_polling_and_a_missing_leg_are_notices(web: Running) -> None:
    web.behind.files |= {"watching": "polling", "notice": "No file events come from this drive, so it is polled."}
    web.behind.manifest |= {"notice": "Search by words alone: the vectors are being built."}
    corpus = await corpus_of(web)
    assert corpus.watching == "polling"
    assert corpus.notices == (
        "Search by words alone: the vectors are being built.",
        "No file events come from this drive, so it is polled.",
    )


@pytest.mark.behaviour("C7", "C16")
async def test_a_refresh_is_asked_for_and_reported(web: Running) -> None:
    response = await web.page.post("/api/corpus/refresh", headers={"authorization": f"Bearer {TOKEN}"})
    assert response.json() == example("ingestor.refresh.response")
    assert web.behind.told == [("refresh", {"rebuild": False})]
    assert (await web.page.post("/api/corpus/refresh", content="{")).status_code == 400


async def test_a_document_is_shown_as_it_is_and_says_when_it_changed(web: Running) -> None:
    version = example("retriever.document")["version"]
    same = (await web.page.get("/api/documents/deep/a b ü.md", params={"version": version})).json()
    assert (same["path"], same["changed"]) == ("deep/a b ü.md", False)
    other = (await web.page.get("/api/documents/valves.md", params={"version": "0" * 64})).json()
    assert other["changed"] is True
    assert (await web.page.get("/api/documents/gone.md")).status_code == 404


@pytest.mark.parametrize("path", ["..%2Fsecret.md", "a%2F..%2F..%2Fb.md", "%2Fetc%2Fpasswd", "a%5Cb.md"])
async def test_a_path_out_of_the_folder_is_refused(web: Running, path: str) -> None:
    assert (await web.page.get(f"/api/documents/{path}")).status_code in (400, 404)


@pytest.mark.parametrize(
    ("fields", "documents", "questions", "voice"),
    [
        ({"mode": "local", "voice": "local"}, None, None, None),
        ({"mode": "simulated"}, None, None, None),
        ({"mode": "live", "voice": "openai"}, *["api.openai.com"] * 3),
        ({"mode": "live", "voice": "local"}, "api.openai.com", "api.openai.com", None),
        ({"mode": "local", "voice": "openai", "openai_base_url": "https://me:pw@voice.lan/v1"}, *["voice.lan"] * 3),
        (
            {"mode": "local", "answers": "chat", "openai_base_url": "http://127.0.0.1:11434/v1"},
            *["127.0.0.1:11434"] * 2,
            None,
        ),
    ],
)
def test_what_leaves_the_machine_is_said(
    fields: dict[str, Any], documents: str | None, questions: str | None, voice: str | None
) -> None:
    parts = parts_of(ServiceSettings(openai_api_key=SecretStr("any"), **fields))
    assert [leaf.to for leaf in parts.leaves] == [documents, questions, voice]


async def test_what_leaves_in_calls_is_as_the_gateway_offers_it(web: Running) -> None:
    web.behind.offer = None
    assert (await corpus_of(web)).calls == ()
    model = {"orchestrator": "cascade", "what": "questions", "to": "models.example"}
    web.behind.offer = {**example("voice.live.offer"), "leaves": [model]}
    async with asyncio.timeout(30):
        while not (corpus := await corpus_of(web)).calls:  # noqa: ASYNC110 - the gateway tells nobody
            await asyncio.sleep(0.05)
    assert [one.model_dump() for one in corpus.calls] == [model]


async def test_the_page_and_its_modules_are_served(web: Running) -> None:
    page = await web.page.get("/")
    assert page.headers["content-type"].startswith("text/html")
    folder = Path(__file__).parents[1] / "src" / "web" / "page"
    for file in folder.glob("*.js"):
        module = await web.page.get(f"/page/{file.name}")
        assert module.headers["content-type"].startswith("text/javascript")
        assert module.headers["cache-control"] == "no-cache"
    assert (await web.page.get("/page/../app.py")).status_code == 404


async def test_what_has_not_changed_is_read_once_and_a_change_is_seen(behind: Behind) -> None:
    async with serving(behind.app) as url, open_client(f"{url}/retriever", "retriever") as client:
        retriever = Retriever("retriever", client)
        first = await retriever.manifest()
        assert await retriever.manifest() is first
        behind.manifest["version"] += 1
        assert (await retriever.manifest()).version == first.version + 1
