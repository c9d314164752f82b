"""The compose run watched in Jaeger, by its query API: one question is one trace, one save is one trace (E2)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import pytest
from chromium import launched
from docker_stack import SERVICES, Stack
from jaeger import Jaeger, JaegerTrace
from playwright.sync_api import expect
from websockets.sync.client import connect

from embedded.reached import Reached

pytestmark = pytest.mark.behaviour("E2")
AMBER = "What is the amber valve recovery code?"


@pytest.fixture
def jaeger(stack: Stack) -> Jaeger:
    return Jaeger(stack.jaeger_url)


def test_a_question_is_one_trace_over_web_agent_and_retriever(stack: Stack, jaeger: Jaeger) -> None:
    is_one_question(stack, jaeger, stack.ask(AMBER).trace_id)


def test_a_save_is_one_trace_over_ingestor_bus_and_retriever(stack: Stack, jaeger: Jaeger) -> None:
    is_one_save(stack, jaeger)


def test_a_question_that_is_spoken_is_one_trace_over_the_voice_gateway_too(stack: Stack, jaeger: Jaeger) -> None:
    is_one_spoken_question(stack, jaeger)


def test_the_answers_link_in_the_page_opens_its_trace(stack: Stack, jaeger: Jaeger) -> None:
    has_a_link_to_its_trace(stack, jaeger)


def test_with_the_collector_between_traces_still_arrive_and_metrics_can_be_fetched(
    stack: Stack, jaeger: Jaeger
) -> None:
    """What ``compose.observability.yaml`` lays over the stack, but for Prometheus and Grafana, which only look."""
    stack.overlays = ("observability",)
    stack.compose("up", "--detach", "--no-build", "--wait", *SERVICES, "jaeger", "collector", bound_s=300)
    stack.until(stack.is_calm, bound_s=120)
    is_one_question(stack, jaeger, stack.ask(AMBER).trace_id)
    fetch = "import urllib.request as r; print(r.urlopen('http://collector:8889/metrics').read().decode())"

    def telling() -> set[str]:
        fetched = stack.execute("web", "python3", "-c", fetch)
        turns = {"agent"} if "talkdown_turn_time_to_first_delta_seconds_bucket" in fetched else set[str]()
        told = {line.partition('job="talkdown/')[2].partition('"')[0] for line in fetched.splitlines()}
        return (told - {"", "agent"}) | turns

    stack.until(lambda: telling() == set(SERVICES), bound_s=60)


def is_one_question(product: Reached, jaeger: Jaeger, trace_id: str) -> None:
    """The trace of a question is connected, and says what was asked of whom."""
    trace = whole(product, jaeger, trace_id, {"web", "agent", "retriever"}, ["POST /api/turns"])
    operations = {span.attributes["gen_ai.operation.name"] for span in trace.with_attribute("gen_ai.operation.name")}
    assert {"invoke_agent", "retrieval"} <= operations
    (run,) = [span for span in trace.spans if span.name == "invoke_agent talkdown"]
    assert {"passages found", "first delta"} <= set(run.events)
    (asked,) = [span for span in trace.spans if span.name == "POST /api/turns"]
    assert asked.start <= run.start
    assert run.seconds <= asked.seconds
    assert all(span.attributes.get("error") is None for span in trace.spans)


def is_one_save(product: Reached, jaeger: Jaeger) -> None:
    """A save is connected from the file to the index, and an answer that rests on it links to it."""
    word = f"heron{uuid4().hex[:8]}"
    file = product.save(f"{word}.md", f"# Birds\n\nThe {word} nests on the old crane.\n")
    try:
        product.until(lambda: file.name in {one.path for one in product.corpus().files if one.state == "current"})
        tags = json.dumps({"talkdown.document.path": file.name})
        query = urlencode({"service": "retriever", "operation": "index document", "tags": tags, "limit": 5})

        def indexed() -> list[str]:
            return [trace["traceID"] for trace in jaeger.ask(f"/api/traces?{query}")[1]["data"] or ()]

        (saved,) = product.until(indexed)
        trace = whole(product, jaeger, saved, {"ingestor", "retriever"})
        assert {"send documents", "process documents", "index document"} <= {span.name for span in trace.spans}
        assert {span.attributes["messaging.system"] for span in trace.with_attribute("messaging.system")} == {"redis"}
        answer = product.ask(f"Where does the {word} nest?")
        assert word in answer.text

        def links() -> set[str]:
            asked = jaeger.trace(answer.trace_id)
            return {link for span in asked.spans for link in span.links} if asked else set()

        product.until(lambda: saved in links())
    finally:
        file.unlink()
    product.until(lambda: file.name not in {one.path for one in product.corpus().files})


def whole(
    product: Reached, jaeger: Jaeger, trace_id: str, services: set[str], below: Sequence[str] | None = None
) -> JaegerTrace:
    """The trace, once spans of all these services have arrived and hang below one, or below these."""

    def arrived() -> JaegerTrace | None:
        trace = jaeger.trace(trace_id)
        if trace is None or not services <= trace.services:
            return None
        return trace if (len(trace.roots) == 1 if below is None else trace.roots == list(below)) else None

    return product.until(arrived)


def is_one_spoken_question(product: Reached, jaeger: Jaeger) -> None:
    """As the page speaks it: asked of web, and read aloud by the gateway in the trace of its turn."""
    answer = product.ask(AMBER)
    product.until(lambda: product.instance.request("GET", "/health/ready").status == 200, bound_s=120)
    secret = product.instance.ask_json("POST", "/v1/realtime/client_secrets", {})
    metadata = {
        "phrase_id": "1:0",
        "turn_id": answer.turn_id,
        "traceparent": f"00-{answer.trace_id}-{answer.trace_id[16:]}-01",
    }
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "The code is ORCHID-47."}]}
    wanted = {"conversation": "none", "output_modalities": ["audio"], "tools": [], "input": [message]}
    bearer = {"authorization": f"Bearer {secret['value']}"}
    with connect(f"ws://{urlsplit(product.url).netloc}/v1/realtime", additional_headers=bearer) as call:
        call.send(json.dumps({"type": "response.create", "response": {**wanted, "metadata": metadata}}))
        while (heard := json.loads(call.recv(timeout=60)))["type"] != "response.done":
            assert heard["type"] != "error", heard
    # The page began the trace and has no spans of its own: what it asks of web and of the gateway stands side by side.
    below = ["POST /api/turns", "voice response"]
    whole(product, jaeger, answer.trace_id, {"web", "agent", "retriever", "voice-gateway"}, below)


def has_a_link_to_its_trace(product: Reached, jaeger: Jaeger) -> None:
    """The link below an answer in the page opens Jaeger's page of its trace."""
    with launched() as browser:
        page = browser.new_page()
        page.goto(product.url)
        expect(page.locator("#state-words")).to_contain_text("note")
        page.get_by_label("Your question").fill(AMBER)
        page.keyboard.press("Enter")
        turn = page.locator(".turn").first
        expect(turn).to_have_attribute("data-stage", "done", timeout=30_000)
        with page.context.expect_page() as opened:
            turn.get_by_role("link", name="How it was found").click()
        opened.value.wait_for_load_state()
        address = opened.value.url
        shown = opened.value.evaluate("() => performance.getEntriesByType('navigation')[0].responseStatus")
    assert address.startswith(f"{jaeger.url}/trace/")
    assert shown == 200
    is_one_question(product, jaeger, address.rsplit("/", 1)[1])
