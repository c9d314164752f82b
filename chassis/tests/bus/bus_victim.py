"""A consumer in a process of its own, to be killed: ``python bus_victim.py URL MODE [TURN]``.

``hang`` says that it began and never ends; ``slow`` takes a second for each; ``die`` ends the process on the turn that
is named, and handles others.
"""

from __future__ import annotations

import asyncio
import os
import sys

from bus_carrier import QUICK

from chassis.bus import open_bus
from contracts.events import TurnRequested


async def main(url: str, mode: str, turn: str) -> None:
    async def handle(event: TurnRequested) -> None:
        print(event.turn_id, flush=True)
        if mode == "hang":
            await asyncio.Event().wait()
        if mode == "slow":
            await asyncio.sleep(1.0)
        if str(event.turn_id) == turn:
            os._exit(9)

    async with open_bus(url, service="victim", options=QUICK) as bus:
        await bus.consume("turns", "workers", {TurnRequested: handle})


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""))
