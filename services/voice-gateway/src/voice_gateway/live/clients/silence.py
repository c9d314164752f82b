"""What a person says who wants silence, and no answer."""

from __future__ import annotations

import re
from typing import Final

_PHRASES: Final = """
bye, goodbye, cancel, enough, that is enough, that's enough, that will do, forget it, never mind, pause, silence
hang on, hold on, wait, wait stop, wait a minute, wait a moment, moment, one moment, just a moment
stop, stop it, stop please, please stop, stop that, stop reading, stop speaking, stop talking, ok stop, okay stop
quiet, quiet please, be quiet, shut up, thanks, many thanks, thanks a lot, no thanks, okay thanks, stop thanks
thank you, thank you very much, no thank you, okay thank you, stop thank you
stopp, halt, genug, warte, ruhe, sei still, danke, danke schön, vielen dank
"""
_WANTS_SILENCE: Final = frozenset(phrase for line in _PHRASES.splitlines() for phrase in line.split(", ") if phrase)
_OTHERS: Final = re.compile(r"[^\w']+|[\d_]+")


def asks_for_silence(text: str) -> bool:
    """Whether the whole of an utterance asks for silence and for nothing else."""
    return _OTHERS.sub(" ", text.lower().replace("’", "'")).strip() in _WANTS_SILENCE
