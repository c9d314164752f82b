"""A provider holds the conversation and the server holds the provider: the page has neither its key nor its address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from bridge_product import scripted, served
from openai_live_server import Provider, Script, openai_live_in_thread
from openai_live_session import Answer, Call, Say, Session
from page_window import ARTIFACTS
from playwright.sync_api import Request, expect
from spoken_call import BOUND_MS

from embedded.product import Product

QUESTION = "How do I open the amber valve?"
ANSWER = "Turn the wheel to the left until the dial is green, slowly, and listen to it."

pytestmark = [pytest.mark.timeout(240), pytest.mark.behaviour("L8", "O2")]


def brain(session: Session) -> Answer:
    """The concierge hands a valve over; the specialist answers."""
    instructions = str(session.settings.get("instructions", ""))
    if "safety specialist of" in instructions:
        return (Say(ANSWER),)
    if "valve" in session.last_text:
        return (Call("hand_over", json.dumps({"agent": "safety", "reason": "It is about a valve."})),)
    return (Say("Good day, what would you like to know?"),)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """OpenAI's Realtime API, as a server on this machine."""
    with openai_live_in_thread(Script(heard=[QUESTION], brain=brain)) as provider:
        yield provider
        assert provider.wrong == []


@pytest.fixture(scope="module")
def product(handbook: Path, provider: Provider) -> Iterator[Product]:
    """A product with ears and a mouth of its own, and a key of that provider."""
    speaks = {"OPENAI_API_KEY": provider.key, "OPENAI_BASE_URL": provider.url, "TALKDOWN_REALTIME": "1"}
    with scripted(handbook, QUESTION, **speaks) as product:
        yield product


@pytest.mark.behaviour("V2", "O4")
def test_a_model_that_hears_and_speaks_hands_over_in_the_call_and_the_page_never_sees_the_key(
    product: Product, provider: Provider, tmp_path: Path
) -> None:
    requests: list[Request] = []
    with served(product, tmp_path, orchestrator="live") as it:
        page = it.page
        page.on("request", lambda request: requests.append(request))
        page.get_by_role("button", name="Microphone").click()
        expect(page.get_by_label("Who answers")).to_have_value("live")
        expect(page.locator("#orchestrator-help")).to_contain_text("not checked against them")
        page.screenshot(path=ARTIFACTS / "served-live-settings.png")
        page.keyboard.press("Escape")
        it.start()
        expect(page.locator("#call-note")).to_contain_text("In this call your voice, questions and passages")
        expect(page.locator("#mode")).to_be_hidden()
        began, _ = it.call.say("speech")
        expect(page.locator(".question")).to_have_text(QUESTION, timeout=BOUND_MS)
        turn = it.answered()
        expect(turn.locator(".answer")).to_have_text(ANSWER)
        expect(page.locator("#agent")).to_have_text("With safety")
        it.hushed()
        page.screenshot(path=ARTIFACTS / "served-live.png")
        assert " ".join(it.spoken(began).split()) == ANSWER
        assert it.loud_s(began + 1.5) > 2.0
        expect(it.turns).to_have_count(1)
        shown = page.content()
        told = [f"{request.url} {request.all_headers()} {request.post_data}" for request in requests]
        passed = json.dumps([one.event for one in it.call.tap.events()])
    assert provider.key not in "".join([shown, passed, *told])
    hosts = {urlsplit(request.url).netloc for request in requests}
    assert hosts == {urlsplit(product.url).netloc}
