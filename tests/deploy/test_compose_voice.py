"""A question is asked aloud in Chromium and its answer is heard: over WebRTC where UDP gets through, else not."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path

import pytest
from docker_stack import Stack, free_ports
from playwright.sync_api import expect
from recordings import QUESTION, Recordings, Sound, joined, silence, transcribed
from spoken_call import BOUND_MS, SpokenCall, opened
from transcripts import answer_of, assert_heard

ALIKE = 0.8


@pytest.fixture(scope="module")
def recordings(place: Path) -> Recordings:
    """The question, spoken by another voice than the one that answers."""
    recordings = Recordings(place / "recordings")
    recordings.spoken("question")
    return recordings


@pytest.fixture
def sounds(recordings: Recordings) -> dict[str, Sound]:
    """What is said into the call."""
    return {"question": joined(recordings.spoken("question"), silence(1))}


def asked_and_answered(call: SpokenCall, folder: Path) -> None:
    """The question is said, shown as heard, answered from its source, and the answer is heard."""
    call.start()
    call.say("question")
    heard = call.passes("conversation.item.input_audio_transcription.completed").event["transcript"]
    assert SequenceMatcher(None, heard.lower(), QUESTION.lower()).ratio() >= ALIKE, heard
    turn = call.page.locator(".turn")
    expect(turn).to_have_attribute("data-stage", "done", timeout=BOUND_MS)
    assert "ORCHID-47" in turn.locator(".answer").inner_text(), heard
    expect(turn).to_contain_text("safety/valves.md")
    call.hushed()
    assert_heard(answer_of(turn), "ORCHID-47", transcribed(call.tap.loudspeaker(), folder))


@pytest.mark.behaviour("V3", "V9")
def test_a_spoken_question_is_answered_aloud_over_webrtc_through_published_ports(
    stack: Stack, recordings: Recordings, sounds: dict[str, Sound]
) -> None:
    first = free_ports(4)
    stack.up("webrtc", TALKDOWN_ICE_PORTS=f"{first}-{first + 3}")
    with opened(stack, sounds, recordings.folder) as call:
        asked_and_answered(call, recordings.folder)
        assert call.wires() == {"peers": 1, "sockets": 0}


@pytest.mark.behaviour("V7", "V9")
def test_where_udp_does_not_reach_the_gateway_the_call_goes_over_the_websocket_by_itself(
    stack: Stack, recordings: Recordings, sounds: dict[str, Sound]
) -> None:
    stack.up(TALKDOWN_ICE_ADDRESSES="127.0.0.1")  # the container's own loopback
    with opened(stack, sounds, recordings.folder) as call:
        asked_and_answered(call, recordings.folder)
        assert call.wires()["sockets"] == 1
        expect(call.page.locator("#call-note")).to_contain_text("WebSocket")
