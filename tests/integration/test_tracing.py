"""One question, and one save, is one connected trace through every service that it touches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast
from uuid import uuid4

import pytest
from redis import Redis

from embedded.product import Product


def is_connected(trace: dict[str, Any]) -> bool:
    """Whether every span but one hangs below another span of the trace."""
    spans = trace["spans"]
    ids = {span["span_id"] for span in spans}
    return len([span for span in spans if span["parent_id"] not in ids]) == 1


def whole(product: Product, trace_id: str, services: set[str]) -> dict[str, Any]:
    """The trace, once spans of all these services have arrived and hang together."""

    def arrived() -> dict[str, Any] | None:
        trace = product.trace(trace_id)
        return trace if trace and services <= set(trace["services"]) and is_connected(trace) else None

    return product.until(arrived)


@pytest.mark.behaviour("E2")
def test_a_question_is_one_trace_through_web_agent_and_retriever(product: Product) -> None:
    answer = product.ask("What is the amber valve recovery code?")
    trace = whole(product, answer.trace_id, {"web", "agent", "retriever"})
    operations = {span["attributes"].get("gen_ai.operation.name") for span in trace["spans"]}
    assert {"invoke_agent", "retrieval"} <= operations
    systems = {span["attributes"].get("messaging.system") for span in trace["spans"]}
    assert "redis" in systems


@pytest.mark.behaviour("E2")
def test_a_save_is_one_trace_through_ingestor_and_retriever(product: Product) -> None:
    word = f"heron{uuid4().hex[:8]}"
    file = product.save(f"{word}.md", f"# Birds\n\nA {word} stands in the reeds.\n")
    try:
        product.until(lambda: product.finds(word))
        trace = whole(product, trace_of_save(product, file.name), {"ingestor", "retriever"})
        names = {span["name"].split()[0] for span in trace["spans"]}
        assert {"send", "process"} <= names
    finally:
        file.unlink()
        product.until(lambda: not product.finds(word))


@pytest.mark.behaviour("E2")
def test_a_question_is_linked_to_the_save_that_its_passage_came_from(product: Product) -> None:
    word = f"egret{uuid4().hex[:8]}"
    file = product.save(f"{word}.md", f"# Birds\n\nThe {word} nests on the old crane.\n")
    try:
        product.until(lambda: product.finds(word))
        saved = trace_of_save(product, file.name)
        answer = product.ask(f"Where does the {word} nest?")

        def links() -> set[str]:
            trace = product.trace(answer.trace_id)
            return {link for span in trace["spans"] for link in span["links"]} if trace else set()

        product.until(lambda: saved in links())
    finally:
        file.unlink()
        product.until(lambda: not product.finds(word))


def trace_of_save(product: Product, path: str) -> str:
    """The trace id that travelled with the event of a save."""
    with Redis.from_url(product.redis_url, decode_responses=True) as bus:
        for name in cast("Iterator[str]", bus.scan_iter("talkdown.documents.*", _type="stream")):
            for _, fields in cast("list[tuple[str, dict[str, str]]]", bus.xrange(name)):
                if fields["type"] == "document.changed.v1" and fields["key"] == path:
                    return fields["traceparent"].split("-")[1]
    raise AssertionError(f"no event of {path} is on the bus")
