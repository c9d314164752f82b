"""The metrics of spoken turns and of the sessions that they are spoken in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from itertools import pairwise

from chassis import conventions, metrics
from voice_gateway.playout import Speech

ENDED, PLAYED = "speech_ended", "first_sound_played"
"""The moments between which a person waits: of :mod:`voice_gateway.moments`."""

FIRST_SOUND = metrics.histogram(
    "talkdown.voice.time_to_first_sound",
    "s",
    "From the end of a spoken question to the first sound of its answer.",
    metrics.MODEL_S,
)
STAGES = metrics.histogram(
    "talkdown.voice.stage.duration",
    "s",
    "The parts of the wait for the first sound: what it took to reach each moment from the one before.",
    metrics.MODEL_S,
)
BARGE_IN = metrics.histogram(
    "talkdown.voice.barge_in.duration", "s", "From the first sound of a person who speaks over an answer to silence."
)
GAPS = metrics.histogram(
    "talkdown.voice.gap.duration", "s", "Silence inside an answer that is spoken, as more of it was not made in time."
)
SESSIONS = metrics.level("talkdown.voice.sessions", "{session}", "Voice sessions that are open.")


def spoken(speech: Speech) -> None:
    """An answer was spoken to its end."""
    GAPS.record(speech.gap_s)


def answered(at: Mapping[str, dt.datetime]) -> None:
    """A spoken question was answered aloud; ``at`` are its moments. One that was broken off before is not counted."""
    if ENDED not in at or PLAYED not in at:
        return
    FIRST_SOUND.record((at[PLAYED] - at[ENDED]).total_seconds())
    in_order = sorted(at.items(), key=lambda moment: moment[1])
    for (_, before), (name, moment) in pairwise(in_order):
        STAGES.record((moment - before).total_seconds(), {conventions.VOICE_STAGE: name})
