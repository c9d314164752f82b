"""How our own ears find the turns of a live session, from what any session may ask."""

from __future__ import annotations

from voice_gateway.ears.port import Tuning
from voice_gateway.live.config import Vad

THRESHOLDS = {"high": 0.35, "low": 0.65}
PAUSES_MS = {"high": 350, "low": 1000}


def tuned(vad: Vad) -> Tuning | None:
    """What is asked of the ears; None: by hand."""
    if not vad.enabled:
        return None
    usual = Tuning()
    pause_ms = vad.silence_duration_ms
    if pause_ms is None:
        pause_ms = PAUSES_MS.get(vad.end_sensitivity or "", usual.silence_duration_ms)
    return Tuning(
        THRESHOLDS.get(vad.start_sensitivity or "", usual.threshold),
        usual.prefix_padding_ms if vad.prefix_padding_ms is None else vad.prefix_padding_ms,
        pause_ms,
    )
