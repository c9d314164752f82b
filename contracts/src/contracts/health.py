"""``GET /health/live`` and ``GET /health/ready`` of every service."""

from __future__ import annotations

from typing import Literal

from contracts.corpus import Mode
from contracts.refreshes import CorpusState
from contracts.vocabulary import Message


class Live(Message):
    """The process runs its loop."""

    service: str
    status: Literal["live"] = "live"


class Waiting(Message):
    """Something that a service needs and does not have yet."""

    on: str
    why: str


class Ready(Message):
    """200 with ``ready``, or 503 with what it waits for."""

    service: str
    status: Literal["ready", "waiting", "stopping"]
    waits_for: tuple[Waiting, ...] = ()
    mode: Mode | None = None
    corpus: CorpusState | None = None
