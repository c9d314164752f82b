"""How far behind a group is, looked at now and then for the metrics; each member looks, and all see the same."""

from __future__ import annotations

import asyncio
import logging
from typing import NoReturn, Protocol

from chassis import conventions, metrics

log = logging.getLogger(__name__)

LAG = metrics.gauge("talkdown.bus.lag", "{event}", "Events of a stream that a group has not handled yet.")
EVERY_S = 5.0


class Lags(Protocol):
    """The part of the bus that is needed here."""

    async def lag(self, stream: str, group: str) -> int:
        """How many of a stream's events a group has not handled yet."""
        ...


async def watch_lag(bus: Lags, stream: str, group: str, every_s: float = EVERY_S) -> NoReturn:
    """Look until cancelled, where anybody wants to know; a bus that is away is looked at again."""
    of_group = {conventions.MESSAGING_DESTINATION: stream, conventions.MESSAGING_GROUP: group}
    while True:
        if metrics.measuring():
            try:
                LAG.set(await bus.lag(stream, group), of_group)
            except Exception as error:
                log.debug("the lag is not known now", extra={"error": type(error).__name__})
        await asyncio.sleep(every_s)
