"""A call that a provider holds: the page speaks to it directly, at another origin, with a credential of the gateway."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from call_tap import Passed
from page_window import ARTIFACTS
from playwright.sync_api import BrowserContext, Request, expect
from realtime_provider import MINT, Provider, provider
from recordings import QUESTION, RATE, Sound, joined, silence
from spoken_call import BOUND_MS, opened

from embedded.product import Product, copy_of, environment_in, running

pytestmark = pytest.mark.timeout(240)  # it starts a product of its own

MHM = "Mm-hmm."


@pytest.fixture(scope="module")
def far() -> Iterator[Provider]:
    """The provider; whatever a call hears a second time is an "mhm"."""
    with provider((QUESTION, MHM)) as far:
        yield far


@pytest.fixture(scope="module")
def live(far: Provider, handbook: Path) -> Iterator[Product]:
    """The product with the voice of that provider, and answers of its own."""
    place = Path(tempfile.mkdtemp(prefix="talkdown-live-"))
    chosen = {"TALKDOWN_VOICE": "openai", "OPENAI_API_KEY": far.key, "OPENAI_BASE_URL": f"{far.url}/v1"}
    try:
        folder = copy_of(handbook, place / "handbook")
        with running(folder, place / "run", environment_in(place, **chosen)) as product:
            product.until(lambda: product.manifest().state == "current")
            yield product
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.behaviour("V2", "V3", "V5", "V6")
def test_a_call_with_the_provider_is_answered_from_the_notes_and_a_phrase_that_was_held_is_spoken_again(
    live: Product, far: Provider, tmp_path: Path
) -> None:
    voice = Sound((0.5 * np.sin(np.arange(RATE) * 0.1)).astype(np.float32))
    sounds = {"question": joined(voice, silence(1)), "mhm": joined(Sound(voice.samples[: RATE // 2]), silence(1))}
    requests: list[Request] = []

    def listen(context: BrowserContext) -> None:
        context.on("request", lambda request: requests.append(request))

    with opened(live, sounds, tmp_path, prepare=listen) as call:
        page = call.page
        expect(page.locator("#mode")).to_contain_text(f"notes, questions and voice go to {urlsplit(far.url).netloc}")
        call.start()
        call.say("question")
        expect(page.locator(".question")).to_have_text(QUESTION, timeout=BOUND_MS)
        turn = page.locator(".turn")
        expect(turn).to_have_attribute("data-stage", "done", timeout=BOUND_MS)
        expect(turn.locator(".answer")).to_contain_text("ORCHID-47")

        # The provider plays on while the person speaks, and the page is silent meanwhile.
        call.passes("output_audio_buffer.started")
        spoke, _ = call.say("mhm")
        held = call.passes("input_audio_buffer.speech_started", since=spoke)
        understood = call.passes("conversation.item.input_audio_transcription.completed", since=held.at)
        again = call.passes("response.create", since=understood.at)
        begun = call.passes("output_audio_buffer.started", since=again.at)
        page.screenshot(path=ARTIFACTS / "live.png")
        call.passes("output_audio_buffer.stopped", since=begun.at)

        phrases = [_phrase(passed) for passed in call.tap.events("response.create")]
        assert phrases.count(_phrase(again)) == 2, phrases
        notes = [what for what, at in call.tap.notes() if at >= held.at]
        assert notes == ["muted", "audible"]
        expect(turn).to_have_count(1)
        # What is made is cancelled as well as cleared, whether or not it is still being made.
        assert {wrong.event["error"]["code"] for wrong in call.tap.events("error")} <= {"response_cancel_not_active"}
        assert call.wires() == {"peers": 1, "sockets": 0}

        shown = page.content()
        told = [f"{request.url} {request.all_headers()} {request.post_data}" for request in requests]
        [minted] = [request.response() for request in requests if urlsplit(request.url).path == MINT]
        assert minted is not None
        answered = minted.text()

    assert far.key not in "".join([shown, answered, *told])
    [mint] = far.to(MINT)
    assert (mint.credential, mint.origin) == (far.key, None)
    assert mint.body["session"]["audio"]["input"]["turn_detection"]["create_response"] is False
    [opened_call] = far.to("/v1/realtime/calls")
    assert opened_call.credential.startswith("ek_")
    assert opened_call.origin == live.url


@pytest.mark.behaviour("V2", "T11")
def test_a_key_that_the_provider_refuses_is_said_on_the_page_and_shown_to_nobody(
    live: Product, far: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = far.key
    monkeypatch.setattr(far, "key", "sk-another")
    with opened(live, {}, tmp_path, tolerated=("502",)) as call:
        call.page.get_by_role("button", name="Start").click()
        expect(call.page.locator("#presence-words")).to_contain_text("refused the key: set OPENAI_API_KEY")
        assert given not in call.page.content()
    assert far.asked[-1].credential == given
    logs = "".join(log.read_text(errors="replace") for log in live.data.rglob("*.log"))
    assert "voice-gateway" in logs
    assert given not in logs


def _phrase(asked: Passed) -> str:
    """Which phrase a ``response.create`` asks for."""
    return asked.event["response"]["metadata"]["phrase_id"]
