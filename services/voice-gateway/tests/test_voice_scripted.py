"""The ears and the mouth without a model: what they hear is in the sound, what they say is as long as its text."""

from __future__ import annotations

import pytest

from voice_gateway.ears.port import (
    Dismissed,
    Failed,
    Heard,
    PerhapsOver,
    SpeechStarted,
    Tuning,
    Utterance,
    Words,
)
from voice_gateway.errors import EarsBusy
from voice_gateway.mouth.port import Manner
from voice_gateway.scripted import UNINTELLIGIBLE, ScriptedEars, ScriptedListener, ScriptedMouth, pieces, tone

SILENCE = b"\0\0" * 24


async def heard(listener: ScriptedListener) -> list[Heard]:
    """All that was told until now."""
    told: list[Heard] = []
    async for event in listener:
        told.append(event)
        if isinstance(event, (Utterance, Dismissed, Failed)):
            break
    return told


async def test_speech_is_found_by_its_loudness_and_ends_after_the_pause() -> None:
    listener = ScriptedEars(["What is the code?"]).listen(Tuning(silence_duration_ms=400))
    listener.hear(SILENCE * 1000 + tone(600) + SILENCE * 300 + tone(200) + SILENCE * 500)
    assert await heard(listener) == [
        SpeechStarted(700),
        Words("What"),
        Words("What is"),
        Words("What is the"),
        PerhapsOver("What is the code?"),
        Words("What"),
        PerhapsOver("What is the code?"),
        Utterance("What is the code?", 700, 2100),
    ]


async def test_a_line_is_used_once_and_the_last_one_again() -> None:
    listener = ScriptedEars(["", "mhm", UNINTELLIGIBLE, "Yes."]).listen(Tuning())
    ends: list[Heard] = []
    for _ in range(5):
        listener.hear(tone(200) + SILENCE * 600)
        ends.append((await heard(listener))[-1])
    assert [type(end) for end in ends] == [Dismissed, Utterance, Failed, Utterance, Utterance]
    assert [end.backchannel for end in ends if isinstance(end, Utterance)] == [True, False, False]


async def test_by_hand_nothing_is_an_utterance_until_it_is_committed() -> None:
    listener = ScriptedEars(["One.", "Two."]).listen(None)
    listener.hear(tone(200) + SILENCE * 1000)
    listener.commit()
    assert await heard(listener) == [Utterance("One.", 0, 200)]
    listener.hear(SILENCE * 1000)
    listener.commit()
    assert await heard(listener) == [Dismissed(1200, "noise")]


async def test_there_are_so_many_places() -> None:
    ears = ScriptedEars(places=1)
    listener = ears.listen(None)
    with pytest.raises(EarsBusy):
        ears.listen(None)
    await listener.close()
    ears.listen(None)


@pytest.mark.parametrize("text", ["", "One", " One two  three four, five. ", "a\nb\tc d e f "])
def test_the_pieces_of_a_text_are_the_text(text: str) -> None:
    assert "".join(pieces(text)) == text


async def test_the_mouth_speaks_as_long_as_the_text_takes() -> None:
    mouth = ScriptedMouth()
    spoken = [piece async for piece in mouth.speak("The code is ORCHID-47.", Manner("tone", 2.0))]
    assert "".join(piece.text for piece in spoken) == "The code is ORCHID-47."
    assert sum(len(piece.pcm) for piece in spoken) == 22 * 30 * 48
