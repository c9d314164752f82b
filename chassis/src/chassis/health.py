"""Whether a service is ready, and if not, what it waits for.

A check is a name and a probe; the probe answers nothing when all is well, or one sentence that says why not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from contracts.corpus import Mode
from contracts.health import Live, Ready, Waiting
from contracts.refreshes import CorpusState

Probe = Callable[[], Awaitable[str | None]]
"""Answers nothing, or the sentence that says what is missing."""

PROBE_TIMEOUT_S = 1.0


class Health:
    """What one service knows of its own state; ``stopping`` is set when it begins to end."""

    def __init__(self, service: str, mode: Mode | None = None) -> None:
        self.service = service
        self.mode: Mode | None = mode
        self.stopping = asyncio.Event()
        self.corpus: Callable[[], CorpusState | None] = lambda: None
        self._probes: dict[str, Probe] = {}
        self._waits: dict[str, str] = {}

    def check(self, on: str, probe: Probe) -> None:
        """From now on ask ``probe`` (within a second) each time the service is asked whether it is ready."""
        self._probes[on] = probe

    def forget(self, on: str) -> None:
        """Ask no more for what is no longer needed."""
        self._probes.pop(on, None)

    def waits(self, on: str, why: str) -> None:
        """Say that the service cannot work before ``on`` is there."""
        self._waits[on] = why

    def arrived(self, on: str) -> None:
        """Say that ``on`` is there."""
        self._waits.pop(on, None)

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """What was said to be missing, without asking the probes."""
        return tuple(Waiting(on=on, why=why) for on, why in self._waits.items())

    def live(self) -> Live:
        """The answer of ``GET /health/live``."""
        return Live(service=self.service)

    async def ready(self) -> Ready:
        """The answer of ``GET /health/ready``: every probe is asked at once."""
        names = list(self._probes)
        whys = await asyncio.gather(*(_ask(self._probes[name]) for name in names))
        waits = self.waiting + tuple(Waiting(on=on, why=why) for on, why in zip(names, whys, strict=True) if why)
        status = "stopping" if self.stopping.is_set() else "waiting" if waits else "ready"
        return Ready(service=self.service, status=status, waits_for=waits, mode=self.mode, corpus=self.corpus())


async def _ask(probe: Probe) -> str | None:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            return await probe()
    except TimeoutError:
        return f"no answer within {PROBE_TIMEOUT_S:g} s"
    except Exception as error:  # a probe that breaks says that its thing is not there; its words may hold secrets
        return f"the check failed ({type(error).__name__})"
