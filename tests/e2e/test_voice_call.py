"""A question is asked aloud and its answer is heard: real recordings, real ears, a real mouth, in a real browser."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from bridge_product import served
from chromium import microphone
from page_window import ARTIFACTS
from playwright.sync_api import expect
from recordings import QUESTION, Recordings, joined, silence, transcribed
from spoken_call import BOUND_MS, SpokenCall, opened
from transcripts import answer_of, assert_heard
from udp_relay import relay

from embedded.product import Product, copy_of, environment_in, running

CONNECTS_WITHIN_S = 6.0

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="talkdown-voice-"))
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def recordings(place: Path) -> Recordings:
    """The recordings, spoken before the product takes the processors."""
    recordings = Recordings(place / "recordings")
    recordings.spoken("question")
    recordings.spoken("backchannel")
    return recordings


@pytest.fixture(scope="module")
def voiced(place: Path, recordings: Recordings, handbook: Path) -> Iterator[Product]:
    """The product as ``make up`` starts it, with its own ears and mouth."""
    folder = copy_of(handbook, place / "handbook")
    with running(folder, place / "run", environment_in(place, TALKDOWN_VOICE="local")) as product:
        product.until(lambda: product.manifest().state == "current")
        product.until(lambda: all(service.state == "ready" for service in product.corpus().services), bound_s=120)
        yield product


def asked_and_answered(call: SpokenCall, folder: Path) -> None:
    """What was asked is shown as it was heard, answered from its source, and the answer is heard."""
    page = call.page
    heard = call.passes("conversation.item.input_audio_transcription.completed").event["transcript"]
    # Where a name is written large in the notes it may be written so.
    assert heard.lower() == QUESTION.lower()
    expect(page.locator(".question")).to_have_text(heard)
    turn = page.locator(".turn")
    expect(turn).to_have_attribute("data-stage", "done", timeout=BOUND_MS)
    expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
    expect(turn).to_contain_text("safety/valves.md")
    call.hushed()
    expect(turn).to_have_count(1)
    assert call.tap.events("output_audio_buffer.cleared") == []
    assert_heard(answer_of(turn), "ORCHID-47", transcribed(call.tap.loudspeaker(), folder))


@pytest.mark.behaviour("V3", "V9")
def test_a_question_asked_aloud_is_shown_as_heard_answered_from_its_source_and_spoken(
    voiced: Product, recordings: Recordings
) -> None:
    question = joined(silence(CONNECTS_WITHIN_S), recordings.spoken("question"), silence(1))
    file = question.save(recordings.folder / "microphone.wav")
    with opened(voiced, {}, recordings.folder, microphone(file), cue=False) as call:
        call.start()
        asked_and_answered(call, recordings.folder)
        assert call.wires() == {"peers": 1, "sockets": 0}
        call.page.screenshot(path=ARTIFACTS / "asked-aloud.png")


@pytest.mark.behaviour("V7", "V9")
def test_where_udp_cannot_pass_the_same_conversation_goes_over_the_websocket_and_the_page_says_so(
    voiced: Product, recordings: Recordings
) -> None:
    sounds = {"question": joined(recordings.spoken("question"), silence(1))}
    with relay() as wire:
        wire.cut = True
        with opened(voiced, sounds, recordings.folder, prepare=wire.tie) as call:
            call.start()
            assert [name for name, count in call.wires().items() if count] == ["peers", "sockets"]
            expect(call.page.locator("#call-note")).to_contain_text("WebSocket")
            call.say("question")
            asked_and_answered(call, recordings.folder)
        assert wire.passed == 0


@pytest.mark.behaviour("V7", "V9")
def test_a_recogniser_killed_while_somebody_speaks_is_back_for_what_they_said_or_the_page_asks_for_it_again(
    voiced: Product, recordings: Recordings
) -> None:
    sounds = {"question": joined(recordings.spoken("question"), silence(1))}
    with opened(voiced, sounds, recordings.folder) as call:
        call.start()
        began, _ = call.say("question")
        call.passes("input_audio_buffer.speech_started", since=began - 1)
        killed = recogniser(voiced)
        assert killed is not None
        killed.kill()
        transcription = "conversation.item.input_audio_transcription"
        if call.passes(f"{transcription}.completed", f"{transcription}.failed", since=began).type.endswith("failed"):
            expect(call.page.locator("#call-note")).to_contain_text("not understood")
            voiced.until(lambda: recogniser(voiced) not in (None, killed))
            call.say("question")
        asked_and_answered(call, recordings.folder)
        assert recogniser(voiced) != killed


@pytest.mark.behaviour("L8", "V9", "V10")
def test_a_question_asked_in_a_call_that_the_server_holds_is_answered_aloud_over_a_sign_of_listening(
    voiced: Product, recordings: Recordings
) -> None:
    sounds = {
        "question": joined(recordings.spoken("question"), silence(1)),
        "mhm": joined(recordings.spoken("backchannel"), silence(1)),
    }
    with served(voiced, recordings.folder, sounds=sounds) as it:
        it.start()
        began, _ = it.call.say("question")
        expect(it.page.locator(".question")).to_have_text(
            re.compile(re.escape(QUESTION), re.IGNORECASE), timeout=BOUND_MS
        )
        expect(it.page.locator(".sentence[data-spoken]")).to_be_visible(timeout=BOUND_MS)
        it.call.say("mhm")
        turn = it.answered()
        expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
        it.hushed()
        assert it.call.tap.events("interrupted") == []
        expect(it.turns).to_have_count(1)
        spoken = it.call.tap.loudspeaker(began)
        assert_heard(answer_of(turn), "ORCHID-47", transcribed(spoken, recordings.folder))


def recogniser(product: Product) -> psutil.Process | None:
    """The process of the speech-to-text."""
    gateway = psutil.Process(product.until(lambda: product.pid("voice-gateway")))
    return next((one for one in gateway.children(recursive=True) if "speech to text" in one.cmdline()), None)
