"""How a call finds its way: through the server by hand, or where other ways are blocked; and what that looks like."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_product import CODE, SPEECH, scripted
from page_window import Opens
from playwright.sync_api import BrowserContext, WebSocketRoute, expect
from spoken_call import BOUND_MS, opened
from test_page_access import LOOKS, faults_of
from udp_relay import relay

from embedded.product import Product

BAD = "rgb(163, 36, 36)"
"""The colour of errors where it is light."""
FIRST_WAITS_MS = 250 + 500 + 1000
"""In which a call that comes back by itself tries it three times."""

pytestmark = [pytest.mark.timeout(240), pytest.mark.behaviour("L8", "V7")]


@pytest.fixture(scope="module")
def product(handbook: Path) -> Iterator[Product]:
    """A product whose server holds calls."""
    with scripted(handbook, CODE) as product:
        yield product


def test_where_neither_webrtc_nor_the_realtime_websocket_pass_the_server_holds_the_call_and_the_page_says_so(
    product: Product, tmp_path: Path
) -> None:
    refused: list[str] = []

    def refuse(socket: WebSocketRoute) -> None:
        refused.append(socket.url)
        socket.close(code=1011, reason="This network lets no such connection pass.")

    with relay() as wire:
        wire.cut = True

        def block(context: BrowserContext) -> None:
            wire.tie(context)
            context.route_web_socket(lambda url: url.endswith("/v1/realtime"), refuse)

        with opened(product, {"speech": SPEECH}, tmp_path, prepare=block) as call:
            call.page.get_by_role("button", name="Start").click()
            call.passes("ready")
            expect(call.page.locator("#call-note")).to_contain_text("the call runs through the server")
            call.say("speech")
            expect(call.page.locator(".turn")).to_have_attribute("data-stage", "done", timeout=BOUND_MS)
            expect(call.page.locator(".turn .answer")).to_contain_text("ORCHID-47")
            assert len(refused) == 1
        assert wire.passed == 0


def test_the_choice_is_in_the_settings_of_the_voice_and_is_remembered(opens: Opens, product: Product) -> None:
    window = opens()
    page = window.page
    page.get_by_role("button", name="Microphone").click()
    way = page.get_by_label("How the sound travels")
    expect(way).to_have_value("")
    way.select_option("server")
    expect(page.get_by_label("Who answers")).to_be_hidden()
    page.reload()
    page.get_by_role("button", name="Microphone").click()
    expect(page.get_by_label("How the sound travels")).to_have_value("server")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("body")).to_contain_class("served", timeout=BOUND_MS)
    expect(page.locator("#agent")).to_have_text("With concierge")


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_to_mend_where_the_way_is_chosen_and_in_such_a_call(opens: Opens, look: str) -> None:
    window = opens(
        script="localStorage.setItem('talkdown.through', 'server');",
        bypass_csp=True,
        reduced_motion="reduce",
        **LOOKS[look],
    )
    page = window.page
    page.get_by_role("button", name="Microphone").click()
    expect(page.get_by_text("More below")).to_be_visible()
    window.picture(f"{look}-served-settings-above")
    page.locator("#settings-end").scroll_into_view_if_needed()
    expect(page.get_by_text("More below")).to_be_hidden()
    expect(page.locator("#voice-settings-title")).to_be_in_viewport(ratio=1)
    expect(page.locator("#voice-close")).to_be_in_viewport(ratio=1)
    assert faults_of(window) == []
    window.picture(f"{look}-served-settings")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#agent")).to_have_text("With concierge", timeout=BOUND_MS)
    window.ask(CODE)
    expect(page.locator(".turn")).to_have_attribute("data-stage", "done", timeout=BOUND_MS)
    assert faults_of(window) == []
    window.picture(f"{look}-served")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_session_that_failed_for_good_is_not_opened_again_and_its_sentence_looks_like_an_error(
    opens: Opens, product: Product
) -> None:
    window = opens(script="localStorage.setItem('talkdown.through', 'server');")
    page = window.page
    sessions: list[str] = []
    sentence = "The provider of the voice could not be reached again."

    def fail(socket: WebSocketRoute) -> None:
        sessions.append(socket.url)
        gateway = socket.connect_to_server()

        def passed(message: str | bytes) -> None:
            if isinstance(message, str):
                gateway.send(message)
            else:
                error = {"type": "error", "code": "reconnect_failed", "message": sentence, "fatal": True}
                socket.send(json.dumps(error))
                socket.close(code=1011, reason=sentence)

        socket.on_message(passed)

    page.route_web_socket(lambda url: url.endswith("/v1/graph/live"), fail)
    page.get_by_role("button", name="Start").click()
    words = page.locator("#presence-words")
    expect(words).to_contain_text(sentence, timeout=BOUND_MS)
    expect(words).to_contain_text("Press Start to open a new one.")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    expect(words).to_have_css("color", BAD)
    window.picture("served-failed")
    page.wait_for_timeout(2 * FIRST_WAITS_MS)
    assert len(sessions) == 1


@pytest.mark.behaviour("L7")
def test_what_a_person_said_of_themselves_in_a_call_is_shown_and_erased(opens: Opens, product: Product) -> None:
    window = opens(script="localStorage.setItem('talkdown.through', 'server');")
    page = window.page
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#agent")).to_have_text("With concierge", timeout=BOUND_MS)
    window.answered("My name is Mara. What is the amber valve recovery code?")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("What is remembered of you").click()
    facts = page.locator("#remembered-facts li")
    expect(facts).to_have_text(["My name is Mara."], timeout=BOUND_MS)
    window.picture("remembered")
    page.get_by_role("button", name="Forget everything about me").click()
    expect(facts).to_have_count(0)
    expect(page.locator("#remembered-words")).to_contain_text("It is forgotten")
    page.reload()
    page.get_by_text("What is remembered of you").click()
    expect(page.locator("#remembered-words")).to_contain_text("You said nothing of yourself")
