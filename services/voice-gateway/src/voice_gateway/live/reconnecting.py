"""When a lost connection is opened anew, and when one is left before it is lost (L3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from voice_gateway.live.config import Reconnect
from voice_gateway.live.errors import LiveError

MARGIN_S = 60.0
"""How long before its end a connection is left at the next quiet moment, a tenth of its life at most."""
LAST_S = 3.0
"""How long before its end a connection is left whatever is in work, a hundredth of its life at most."""

Ending = Literal["drop", "go_away", "rollover", "handoff", "finished"]
"""Why a connection is left; ``finished`` is the end of the session."""


class ReconnectFailed(LiveError):
    """The connection was lost more often in a row than the settings allow."""

    def __init__(self) -> None:
        super().__init__(
            "reconnect_failed",
            "The connection to the voice provider was lost and could not be restored. Start the conversation again.",
        )


class Backoff:
    """Counts the attempts since something was last received."""

    def __init__(self, policy: Reconnect) -> None:
        self._policy = policy
        self.attempt = 0

    def received(self) -> None:
        """The connection works."""
        self.attempt = 0

    def lasted(self, seconds: float) -> None:
        """A connection was there for so long: one that outlasts the longest pause worked, though nobody said a word."""
        if seconds > self._policy.max_delay_s:
            self.attempt = 0

    def wait_s(self) -> float:
        """The pause before the next attempt, which is hereby counted; :class:`ReconnectFailed` past the last."""
        if self.attempt >= self._policy.max_attempts:
            raise ReconnectFailed
        self.attempt += 1
        return min(self._policy.base_delay_s * 2 ** (self.attempt - 1), self._policy.max_delay_s)


@dataclass(frozen=True, slots=True)
class Rollover:
    """When a connection is left, in seconds from now: when it is quiet after ``soon_s``, at ``last_s`` anyhow."""

    reason: Literal["go_away", "rollover"]
    soon_s: float
    last_s: float

    @classmethod
    def of_life(cls, session_s: float) -> Rollover:
        """Before the longest life of a connection is over."""
        soon = session_s - min(MARGIN_S, session_s / 10)
        return cls("rollover", soon, session_s - min(LAST_S, session_s / 100))

    @classmethod
    def of_notice(cls, left_s: float | None) -> Rollover:
        """The provider closes soon: leave now, or when the answer in work has ended where that can be waited for."""
        return cls("go_away", 0.0, max(0.0, (left_s or 0.0) - 1.0))


class Leaving:
    """Leaves a connection in time: at the first moment when ``quiet`` holds, and at the last one anyhow."""

    def __init__(self, quiet: Callable[[], bool], leave: Callable[[Ending], None]) -> None:
        self._quiet, self._leave = quiet, leave
        self._plan: Rollover | None = None
        self._since = 0.0
        self._changed = asyncio.Event()

    def plan(self, rollover: Rollover | None) -> None:
        """From now on this is when."""
        self._plan, self._since = rollover, asyncio.get_running_loop().time()
        self._changed.set()

    def stirred(self) -> None:
        """Something ended, so it may be quiet now."""
        self._changed.set()

    async def watch(self) -> None:
        """Leave when it is time, for as long as this runs."""
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            plan, wait_s = self._plan, None
            if plan is not None:
                past = loop.time() - self._since
                if past >= plan.last_s or (past >= plan.soon_s and self._quiet()):
                    self._plan = None
                    self._leave(plan.reason)
                    continue
                wait_s = (plan.soon_s if past < plan.soon_s else plan.last_s) - past
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                pass
