"""The floor changes hands in the middle of a call: one voice after the other, nothing twice, nothing lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_product import scripted, served
from page_window import ARTIFACTS
from playwright.sync_api import expect
from two_agents_provider import ANSWER, CONCIERGE, HELLO, MODEL, SPECIALIST, TwoAgents, two_agents

from embedded.product import Product

GREETING = "This is the safety specialist."

pytestmark = [pytest.mark.timeout(240), pytest.mark.behaviour("L8", "O4", "O6")]


@pytest.fixture(scope="module")
def model() -> Iterator[TwoAgents]:
    """Who writes what the agents say."""
    with two_agents() as model:
        yield model


@pytest.fixture(scope="module")
def product(handbook: Path, model: TwoAgents) -> Iterator[Product]:
    """The handbook's two agents, written by that model."""
    chosen = {
        "TALKDOWN_CASCADE_ANSWERS": "chat",
        "TALKDOWN_CASCADE_MODEL": MODEL,
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "none",
    }
    with scripted(handbook, "Good day to you.", "How do I open the amber valve?", **chosen) as product:
        yield product


def test_the_voice_changes_hands_in_one_sentence_and_the_trace_shows_both_agents_with_their_tokens(
    product: Product, tmp_path: Path
) -> None:
    with served(product, tmp_path, orchestrator="cascade") as it:
        expect(it.page.locator("#mode")).to_contain_text("in calls through the server, questions and passages go to")
        it.page.get_by_role("button", name="Microphone").click()
        expect(it.page.locator("#orchestrator-help")).to_contain_text(
            "Its sentences are not checked against your notes."
        )
        it.page.keyboard.press("Escape")
        it.start()
        expect(it.page.locator("#agent")).to_have_text("With concierge")
        expect(it.page.locator("#call-note")).to_contain_text("In this call questions and passages of your notes go to")
        it.call.say("speech")
        expect(it.answered().locator(".answer")).to_contain_text(HELLO)
        it.hushed()
        began, _ = it.call.say("speech")
        turn = it.answered(1)
        it.hushed()
        it.page.screenshot(path=ARTIFACTS / "served-handoff.png")
        said = " ".join([GREETING, *ANSWER])
        assert " ".join(it.spoken(began).split()) == said, "nothing of the concierge, nothing twice, nothing lost"
        expect(turn.locator(".answer")).to_have_text(said)
        expect(turn.locator(".meta")).to_contain_text("Written by a model; no sources were checked.")
        expect(it.page.locator("#agent")).to_have_text("With safety")
        expect(turn.locator(".hands")).to_have_text("concierge gives the floor to safety.")
        [change] = it.call.tap.events("agent_changed", since=began)
        first = it.call.tap.events("output_transcript", since=began)[0]
        assert change.at <= first.at
        sound = sum(
            one.event["bytes"] for one in it.call.tap.events("sound", since=change.at) if one.sender == "gateway"
        )
        assert sound / 48 == pytest.approx(len(said) * 60, rel=0.05), "all of it was spoken once"
        assert it.call.tap.events("error") == []
        link = turn.get_by_role("link", name="How it was found")
        expect(link).to_have_attribute("href", re.compile("/trace/[0-9a-f]{32}$"))
        trace_id = (link.get_attribute("href") or "")[-32:]
    agents = product.until(lambda: len(found := agents_of(product, trace_id)) == 2 and found)
    assert agents == {"concierge": CONCIERGE, "safety": SPECIALIST}


def agents_of(product: Product, trace_id: str) -> dict[str, tuple[int, int]]:
    """The agents of a trace, each with the tokens that it read and wrote."""
    found: dict[str, tuple[int, int]] = {}
    for span in (product.trace(trace_id) or {}).get("spans", ()):
        attributes: dict[str, Any] = span["attributes"]
        if str(span["name"]).startswith("invoke_agent ") and "gen_ai.usage.input_tokens" in attributes:
            tokens = attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"]
            found[attributes["gen_ai.agent.name"]] = tokens
    return found
