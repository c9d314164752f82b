"""The service itself, over a real Valkey and real HTTP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from ingestor_house import FakeRetriever, eventually, retriever_of, serving, until
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from chassis import telemetry
from chassis.bus import open_bus
from chassis.http import ServiceClient, open_client
from chassis.settings import ServiceSettings
from contracts.health import Ready
from contracts.refreshes import Files, RefreshReport, RefreshRequested
from ingestor.app import create_app
from ingestor.settings import Settings


@asynccontextmanager
async def ingestor(
    folder: Path, valkey_url: str, **settings: object
) -> AsyncGenerator[tuple[ServiceClient, FakeRetriever]]:
    async with open_bus(valkey_url, service="test") as bus, retriever_of(bus) as (retriever, address):
        said = {"folder": folder, "retriever_url": address, "redis_url": valkey_url, "stalled_after_s": 1.0, **settings}
        async with (
            serving(create_app(Settings.model_validate(said))) as here,
            open_client(here, "ingestor") as client,
        ):
            yield client, retriever


async def ready(client: ServiceClient) -> Ready:
    answer = await client.raw.get("/health/ready")
    return Ready.model_validate_json(answer.content)


async def is_ready(client: ServiceClient) -> bool:
    return (await ready(client)).status == "ready"


async def waits(client: ServiceClient, why: str) -> bool:
    return any(why in waiting.why for waiting in (await ready(client)).waits_for)


async def has_sent(client: ServiceClient) -> bool:
    files = (await client.get("/files", Files)).files
    return bool(files and files[0].revision)


@pytest.mark.behaviour("C16", "C7")
async def test_a_refresh_can_be_asked_for_and_reports(tmp_path: Path, valkey_url: str) -> None:
    (tmp_path / "a.md").write_text("Ay.\n")
    (tmp_path / "bad.md").write_bytes(b"\xff")
    async with ingestor(tmp_path, valkey_url) as (client, retriever):
        await until(lambda: retriever.filled)
        report = await client.post("/refresh", RefreshReport)
        assert (report.status, report.unchanged, len(report.rejected)) == ("finished", 1, 1)
        report = await client.post("/refresh", RefreshReport, RefreshRequested(rebuild=True))
        assert (report.status, report.changed) == ("finished", 1)
        files = await client.get("/files", Files)
        assert [(file.path, file.state) for file in files.files] == [("a.md", "accepted"), ("bad.md", "rejected")]
        assert (files.folder, files.watching, files.notice) == (str(tmp_path), "events", None)
        assert files.files[0].revision == retriever.documents["a.md"].revision


@pytest.mark.behaviour("C12", "E2")
async def test_a_save_reaches_the_retriever_in_one_trace(tmp_path: Path, valkey_url: str) -> None:
    exporter = InMemorySpanExporter()
    provider = telemetry.setup("ingestor", ServiceSettings(), SimpleSpanProcessor(exporter))
    async with ingestor(tmp_path, valkey_url) as (_, retriever):
        await until(lambda: retriever.filled)
        retriever.traces.clear()
        (tmp_path / "new.md").write_text("New.\n")
        await until(lambda: retriever.texts == {"new.md": "New.\n"})
    provider.shutdown()
    telemetry.setup("ingestor", ServiceSettings())
    spans = exporter.get_finished_spans()
    (saved,) = [span for span in spans if span.name == "ingest new.md"]
    assert saved.parent is None, "the trace of a save begins here"
    assert saved.attributes
    assert saved.attributes["talkdown.document.path"] == "new.md"
    assert saved.context
    (sent,) = [span for span in spans if span.parent and span.parent.span_id == saved.context.span_id]
    assert sent.name == "send documents"
    assert f"{saved.context.trace_id:032x}" in (retriever.traces[0] or "")


@pytest.mark.behaviour("E1")
async def test_a_bus_that_forgot_everything_heals(tmp_path: Path, valkey_url: str) -> None:
    async with ingestor(tmp_path, valkey_url, reconcile_every_s=0.2) as (client, retriever):
        await until(lambda: retriever.filled)
        retriever.deaf = True
        (tmp_path / "new.md").write_text("New.\n")
        await eventually(lambda: has_sent(client))
        async with open_bus(valkey_url, service="flush") as bus:
            await bus._redis.flushall()  # type: ignore
        retriever.deaf = False
        await until(lambda: retriever.texts == {"new.md": "New.\n"}, within_s=20)


@pytest.mark.behaviour("C7", "E3")
async def test_a_missing_folder_is_not_ready_and_says_what_to_do(tmp_path: Path, valkey_url: str) -> None:
    folder = tmp_path / "later"
    async with ingestor(folder, valkey_url, reconcile_every_s=0.1) as (client, _):
        await eventually(lambda: waits(client, "is not there: create it"))
        answer = await client.raw.post("/refresh")
        assert (answer.status_code, answer.json()["code"]) == (503, "folder_unavailable")
        assert "create it" in ((await client.get("/files", Files)).notice or "")
        folder.mkdir()
        await eventually(lambda: is_ready(client))


def environment(**settings: str) -> dict[str, str]:
    mine = {name: value for name, value in os.environ.items() if not name.startswith("TALKDOWN_")}
    return mine | settings


@pytest.mark.behaviour("E3")
def test_a_process_without_a_folder_says_what_to_set() -> None:
    wrong = subprocess.run([sys.executable, "-m", "ingestor"], env=environment(), capture_output=True, timeout=60)
    assert (wrong.returncode, wrong.stderr.decode()) == (
        2,
        "talkdown: TALKDOWN_FOLDER is not set: set it to the folder of your Markdown files.\n",
    )


@pytest.mark.behaviour("E3")
def test_the_process_stops_when_it_is_told_to(tmp_path: Path, valkey_url: str) -> None:
    said = environment(TALKDOWN_FOLDER=str(tmp_path), TALKDOWN_REDIS_URL=valkey_url)
    with subprocess.Popen(
        [sys.executable, "-m", "ingestor"], env=said, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert any("listening" in line for line in process.stdout)
            process.send_signal(signal.SIGTERM)
            rest = process.stdout.read()
            assert process.wait(20) == 0, rest
        finally:
            process.kill()
    assert "Traceback" not in rest
