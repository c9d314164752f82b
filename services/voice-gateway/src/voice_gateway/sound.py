"""Sound as the protocol carries it: base64 of PCM, 16 bits little-endian, mono, 24 kHz."""

from __future__ import annotations

import base64
import binascii

from voice_gateway.errors import EventError

BYTES_A_MS = 48


def decoded(audio: str, param: str) -> bytes:
    """The PCM in ``audio``; :class:`EventError` when it is no base64, or ends within a sample."""
    try:
        pcm = binascii.a2b_base64(audio, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise EventError("invalid_value", "The sound is not base64.", param=param) from error
    if len(pcm) % 2:
        raise EventError(
            "invalid_value", "PCM of 16 bits has an even number of bytes, and this has an odd one.", param=param
        )
    return pcm


def encoded(pcm: bytes) -> str:
    """``pcm`` in base64."""
    return base64.b64encode(pcm).decode("ascii")


def duration_ms(pcm: bytes) -> float:
    """How long the sound is."""
    return len(pcm) / BYTES_A_MS
