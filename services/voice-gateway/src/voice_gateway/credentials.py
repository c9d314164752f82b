"""Credentials (``ek_...``): minted once, kept as a hash, good for one connection within their time.

Only the sha256 of a credential is held, so that neither a log nor a memory dump opens a session. A credential is found
by its hash, which an attacker cannot steer towards a stored one byte by byte, and the hash that was found is compared
in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from voice_gateway.errors import CredentialRefused, TooManyCredentials
from voice_gateway.session_config import SessionConfig

PREFIX = "ek_"
RANDOM_BYTES = 32


@dataclass(frozen=True, slots=True)
class Grant:
    """What a credential opens: one call of a chat, with its settings, in the trace that asked for it."""

    call_id: str
    chat_id: UUID
    config: SessionConfig
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Minted:
    """A credential as its owner gets it, once; ``expires_at`` is in Unix seconds."""

    value: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class _Held:
    digest: bytes
    grant: Grant
    expires: float


class Credentials:
    """The credentials that wait to be used: at most ``limit``, each for at most ``lifetime_s`` seconds."""

    def __init__(
        self,
        *,
        lifetime_s: int,
        limit: int,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._lifetime_s, self._limit = lifetime_s, limit
        self._clock, self._wall = clock, wall
        self._held: dict[bytes, _Held] = {}

    def __len__(self) -> int:
        """How many wait to be used."""
        self._sweep()
        return len(self._held)

    def mint(self, grant: Grant, *, seconds: int | None = None, mark: str = "") -> Minted:
        """Make a credential for ``grant``, its ``mark`` in front; :class:`TooManyCredentials` when too many wait."""
        self._sweep()
        if len(self._held) >= self._limit:
            raise TooManyCredentials
        lifetime = min(seconds, self._lifetime_s) if seconds is not None else self._lifetime_s
        value = PREFIX + mark + secrets.token_urlsafe(RANDOM_BYTES)
        digest = _digest(value)
        self._held[digest] = _Held(digest, grant, self._clock() + lifetime)
        return Minted(value, int(self._wall()) + lifetime)

    def redeem(self, value: str) -> Grant:
        """What the credential opens; it opens nothing from then on. :class:`CredentialRefused` for any other."""
        digest = _digest(value)
        held = self._held.pop(digest, None)
        if held is None or not hmac.compare_digest(held.digest, digest) or held.expires <= self._clock():
            raise CredentialRefused
        return held.grant

    def _sweep(self) -> None:
        now = self._clock()
        for digest in [held.digest for held in self._held.values() if held.expires <= now]:
            del self._held[digest]


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
