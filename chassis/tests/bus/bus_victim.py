"""A consumer in a process of its own, to be killed: ``python bus_victim.py URL MODE [TURN]``.

It says its process and each turn that it begins. ``handle`` handles them; ``hang`` never ends one; ``hang-on`` never
ends the one that is named; ``slow`` takes a second for each; ``die`` ends the process on the one that is named. A
process that died is followed by another, as under a supervisor.
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
        print(os.getpid(), event.turn_id, flush=True)
        if mode == "hang" or (mode == "hang-on" and str(event.turn_id) == turn):
            await asyncio.Event().wait()
        if mode == "slow":
            await asyncio.sleep(1.0)
        if mode == "die" and str(event.turn_id) == turn:
            os._exit(9)

    async with open_bus(url, service="victim", options=QUICK) as bus:
        await bus.consume("turns", "workers", {TurnRequested: handle})


while os.fork():  # what was imported so far is not imported anew
    os.wait()
asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""))
