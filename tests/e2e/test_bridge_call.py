"""A call that the server holds, in a real browser: asked aloud, answered aloud, its sources lit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_product import CODE, HOURS, Served, scripted, served
from page_window import ARTIFACTS
from playwright.sync_api import expect
from spoken_call import BOUND_MS

from embedded.product import Product

pytestmark = [pytest.mark.timeout(240), pytest.mark.behaviour("L8")]


@pytest.fixture(scope="module")
def product(handbook: Path) -> Iterator[Product]:
    """A session hears two questions; the scenario is the handbook's own."""
    with scripted(handbook, CODE, HOURS) as product:
        yield product


@pytest.mark.behaviour("V7", "V8")
def test_a_question_asked_aloud_is_answered_aloud_with_its_sources_lit(product: Product, tmp_path: Path) -> None:
    with served(product, tmp_path) as it:
        it.start()
        assert it.call.wires() == {"peers": 0, "sockets": 1}
        expect(it.page.locator("#agent")).to_have_text("With concierge")
        began, _ = it.call.say("speech")
        expect(it.page.locator(".question")).to_have_text(CODE, timeout=BOUND_MS)
        expect(it.page.locator(".sentence[data-spoken]")).to_be_visible(timeout=BOUND_MS)
        expect(it.page.locator(".cite[data-spoken]").first).to_be_visible()
        expect(it.page.locator("#spoken-source")).to_contain_text(".md")
        it.page.screenshot(path=ARTIFACTS / "served.png")
        turn = it.answered()
        expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
        it.hushed()
        assert "ORCHID-47" in it.spoken()
        assert it.loud_s(began + 1) > 1.0
        up = [one for one in it.call.tap.events("sound") if one.sender == "page"]
        assert {one.event["bytes"] for one in up} == {1280}, "40 ms at 16 kHz"
        expect(it.turns).to_have_count(1)


@pytest.mark.behaviour("V6", "V11")
def test_who_speaks_over_an_answer_is_heard_at_once_and_nothing_of_the_old_answer_is(
    product: Product, tmp_path: Path
) -> None:
    with served(product, tmp_path) as it:
        it.start()
        it.call.say("speech")
        expect(it.page.locator(".sentence[data-spoken]")).to_be_visible(timeout=BOUND_MS)
        it.page.wait_for_timeout(600)
        spoke, _ = it.call.say("speech")
        held = it.call.passes("speech_started", since=spoke)
        cut = it.call.passes("interrupted", since=held.at)
        second = it.call.passes("response_started", since=cut.at)
        expect(it.turns.first).to_contain_text("interrupted", timeout=BOUND_MS)
        expect(it.page.locator(".question").nth(1)).to_have_text(HOURS)
        it.answered(1)
        it.hushed()
        assert it.loud_s(held.at + 0.15) - it.loud_s(second.at) < 0.1, "it fell silent when the person began to speak"
        assert it.call.tap.events("played", since=held.at - 0.3), "the server was told how far playback came"
        heard = it.page.evaluate("() => CSS.highlights.get('unheard')?.size ?? 0")
        assert heard > 0


@pytest.mark.behaviour("L9")
def test_push_to_talk_asks_when_the_key_is_let_go(product: Product, tmp_path: Path) -> None:
    with served(product, tmp_path, talk="hold") as it:
        it.start()
        expect(it.page.locator("#presence-words")).to_have_text("Hold Space or the button, and talk.")
        it.call.say("speech")
        it.page.wait_for_timeout(2500)
        expect(it.turns).to_have_count(0)
        assert [one for one in it.call.tap.events("sound") if one.sender == "page"] == [], "nobody listens"
        it.page.keyboard.down("Space")
        it.call.say("speech")
        it.page.wait_for_timeout(2500)
        expect(it.turns).to_have_count(0)
        it.page.keyboard.up("Space")
        expect(it.page.locator(".question")).to_have_text(CODE, timeout=BOUND_MS)
        turn = it.answered()
        expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
        names = [one.type for one in it.call.tap.events() if (one.type or "").startswith("activity")]
        assert names == ["activity_start", "activity_end"]
        it.page.keyboard.down("Space")
        it.page.keyboard.press("Escape")
        it.page.keyboard.up("Space")
        it.call.passes("speech_dismissed")
        expect(it.turns).to_have_count(1)


def test_a_question_that_is_typed_in_the_call_is_answered_aloud(product: Product, tmp_path: Path) -> None:
    with served(product, tmp_path) as it:
        it.start()
        it.page.get_by_label("Your question").fill(CODE)
        it.page.keyboard.press("Enter")
        turn = it.answered()
        expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
        expect(it.page.locator(".sentence[data-spoken]")).to_be_visible(timeout=BOUND_MS)
        it.page.keyboard.press("Escape")
        it.call.passes("interrupted")
        expect(it.turns).to_have_count(1)


def _chat(it: Served) -> str:
    return it.page.evaluate("() => sessionStorage.getItem('talkdown.chat')")


@pytest.mark.behaviour("V1", "V7")
def test_a_session_that_is_cut_comes_back_by_itself_in_the_same_chat(product: Product, tmp_path: Path) -> None:
    with served(product, tmp_path) as it:
        it.start()
        it.call.say("speech")
        it.answered()
        chat = _chat(it)
        it.page.evaluate("() => tap.sockets.at(-1).close(4000)")
        it.page.wait_for_function("() => tap.sockets.length === 2 && tap.sockets[1].readyState === 1", timeout=BOUND_MS)
        expect(it.page.locator("#presence-words")).to_have_text("Listening. Just talk.", timeout=BOUND_MS)
        it.call.say("speech")
        it.answered(1)
        assert _chat(it) == chat
        it.call.stop()
        it.page.wait_for_function("() => tap.sockets.every((socket) => socket.readyState === 3)")
        expect(it.turns).to_have_count(0)
