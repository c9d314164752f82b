"""One question, and one save, is one trace; the retrieval links to the saves that its passages came from (E2, T15)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from retriever_house import Refresh, Retriever

from chassis import telemetry
from retriever.settings import Settings

SAVE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
QUESTION = "00-" + "c" * 32 + "-" + "d" * 16 + "-01"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """What was traced."""
    exporter = InMemorySpanExporter()
    telemetry.setup("retriever", Settings(), SimpleSpanProcessor(exporter))
    yield exporter
    telemetry.setup("retriever", Settings())


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name.split()[0] == name]


@pytest.mark.behaviour("E2")
async def test_a_retrieval_links_to_the_trace_that_ingested_its_passages(
    retriever: Retriever, spans: InMemorySpanExporter
) -> None:
    with telemetry.attached(SAVE):
        await retriever.fill({"wifi.md": "The guest wifi password is plum-29."})
    with telemetry.attached(QUESTION):
        await retriever.search("guest wifi password")
    (retrieval,) = named(spans, "retrieval")
    assert retrieval.context is not None
    assert f"{retrieval.context.trace_id:032x}" == "c" * 32
    assert [f"{link.context.trace_id:032x}" for link in retrieval.links] == ["a" * 32]
    attributes = dict(retrieval.attributes or {})
    assert attributes["gen_ai.operation.name"] == "retrieval"
    assert {f"talkdown.search.{part}_ms" for part in ("embed", "lexical", "vector", "total")} <= set(attributes)
    assert "plum" not in json.dumps(attributes)
    assert "password" not in json.dumps(attributes), "content stays out of spans unless it is asked for"
    traces = [f"{span.context.trace_id:032x}" for span in named(spans, "embeddings") if span.context]
    assert traces == ["a" * 32, "c" * 32]
    for span in named(spans, "embeddings"):
        assert dict(span.attributes or {})["gen_ai.operation.name"] == "embeddings"


@pytest.mark.behaviour("T15")
async def test_a_search_is_logged_with_its_question_files_and_timings_and_no_text(
    retriever: Retriever, caplog: pytest.LogCaptureFixture
) -> None:
    await retriever.fill({"wifi.md": "The guest wifi password is plum-29."})
    with caplog.at_level(logging.INFO, "retriever"):
        await retriever.search("guest wifi password")
    (record,) = [record for record in caplog.records if record.getMessage() == "search"]
    logged = vars(record)
    assert (logged["question"], logged["files"], logged["passages"]) == ("guest wifi password", ["wifi.md"], 1)
    assert {"embed", "lexical", "vector", "total"} <= set(logged["ms"])
    assert "plum" not in str(logged["ms"]) + str(logged["files"])


@pytest.mark.behaviour("C7", "T15")
async def test_an_ended_refresh_is_logged_with_its_counts(
    retriever: Retriever, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "retriever"):
        refresh = Refresh()
        refresh.save("a.md", "Apples.")
        await retriever.show(refresh)
    (record,) = [record for record in caplog.records if record.getMessage() == "refresh finished"]
    assert (vars(record)["added"], vars(record)["embedded"]) == (1, 1)
