"""The real model, loaded once: what comes out of it is speech of the right length, and it can be interrupted."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from voice_gateway.mouth.kokoro import open_kokoro
from voice_gateway.mouth.lexicon import open_lexicon
from voice_gateway.mouth.local import SHIPPED
from voice_gateway.mouth.speaker import Speaker

HEART = str(SHIPPED / "af_heart.bin")
MICHAEL = str(SHIPPED / "am_michael.bin")


@pytest.fixture(scope="module")
def speaker() -> Speaker:
    """On a machine whose clock stands still, which is as fast as can be: stretches do not depend on the load here."""
    return Speaker(open_kokoro((Path(HEART), Path(MICHAEL)), 1), open_lexicon(), clock=lambda: 0.0)


def spoken(speaker: Speaker, text: str, *, voice: str = "af_heart", speed: float = 1.0) -> list[tuple[str, bytes]]:
    return list(speaker.run((text, voice, speed, True)))


def seconds(pieces: list[tuple[str, bytes]]) -> float:
    return sum(len(pcm) for _, pcm in pieces) / 48_000


def envelope(pieces: list[tuple[str, bytes]]) -> NDArray[np.float32]:
    """The level of each 50 ms."""
    sound = np.frombuffer(b"".join(pcm for _, pcm in pieces), "<i2").astype(np.float32)
    return np.sqrt(np.mean(sound[: len(sound) // 1200 * 1200].reshape(-1, 1200) ** 2, axis=1))


def test_a_phrase_is_spoken_in_stretches_whose_texts_join_to_it(speaker: Speaker) -> None:
    pieces = spoken(speaker, "Its recovery code is ORCHID-47.")
    assert "".join(text for text, _ in pieces) == "Its recovery code is ORCHID-47."
    assert len(pieces) > 1
    assert 2.0 < seconds(pieces) < 4.5
    sound = np.frombuffer(b"".join(pcm for _, pcm in pieces), "<i2").astype(np.float32)
    assert 1_000 < float(np.sqrt(np.mean(sound**2))) < 6_000


def test_speed_and_voice_are_heeded(speaker: Speaker) -> None:
    usual, fast = spoken(speaker, "Amber."), spoken(speaker, "Amber.", speed=2.0)
    assert seconds(fast) < 0.8 * seconds(usual)
    assert spoken(speaker, "Amber.", voice="am_michael") != usual


def test_stretches_sound_as_the_whole_does_but_for_their_seams(speaker: Speaker) -> None:
    text = "Vents in the dry house are closed last, because it cools fastest."
    made, whole = spoken(speaker, text), list(speaker.run((text, "af_heart", 1.0, False)))
    assert len(made) > len(whole)
    assert abs(seconds(made) - seconds(whole)) < 0.1
    loud = [envelope(pieces) for pieces in (made, whole)]
    length = min(map(len, loud))
    # The model evens the levels of what it is given, so those of a stretch alone are others.
    assert np.corrcoef(loud[0][:length], loud[1][:length])[0, 1] > 0.7


def test_the_first_stretch_does_not_wait_for_the_whole_phrase(speaker: Speaker) -> None:
    """The sound of a long phrase begins after a few words have been made."""
    text = "Vents in the dry house are closed last, because it cools fastest, and the alarm is set with a key."
    first, *others = spoken(speaker, text)
    assert len(first[0]) < len(text) / 3
    assert others


@pytest.mark.parametrize("text", ["", "…", "😀", "\x00\x07", "—"])
def test_what_has_no_words_has_no_sound(speaker: Speaker, text: str) -> None:
    assert spoken(speaker, text) == []


def test_a_piece_that_was_interrupted_is_made_when_it_is_asked_again(speaker: Speaker) -> None:
    text = "Vents are closed last, because it cools so fast."
    pieces = speaker.run((text, "af_heart", 1.0, False))
    interrupting = threading.Timer(0.1, speaker.interrupt)
    interrupting.start()
    found = list(pieces)
    interrupting.join()
    assert "".join(part for part, _ in found) == text
    assert all(pcm for part, pcm in found if part)
