"""Calls a gateway process: how many one holds without a gap, on one core, its ears and its mouth scripted.

The clients are those of ``bench/calls``, on the other core. What the models of ears and mouth take beside it is
measured there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from house import House, Running, watching

CLIENTS = Path(__file__).parents[1] / "calls" / "clients.py"
VOICE: dict[str, object] = {
    "voice": "local",
    "ears": "scripted",
    "mouth": "scripted",
    "max_voices": 200,
    "max_sessions": 200,
}


def _called(gateway: Running, calls: int, seconds: float, core: int) -> dict[str, Any]:
    command = [sys.executable, str(CLIENTS), gateway.url, str(calls), str(seconds)]
    used: dict[str, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as clients:
        os.sched_setaffinity(clients.pid, {core})
        assert clients.stdout is not None
        if clients.stdout.readline() != "measuring\n":
            return {"calls": calls, "over": -1}
        with watching(used, gateway=[gateway]):
            told = json.loads(clients.stdout.readline())
    cores = used["gateway"] / used["seconds"]
    return {"calls": calls, "gateway_cores": cores, "cores_per_call": cores / calls, **told}


def units(house: House, counts: Sequence[int], seconds: float) -> dict[str, Any]:
    """The largest of these numbers of calls whose packets never came 60 ms after the one before, and every round."""
    cores = sorted(os.sched_getaffinity(0))
    most, rounds = 0, list[dict[str, Any]]()
    with house.start("voice_gateway", 1, **VOICE) as [gateway]:
        silent_mb = gateway.memory_mb
        os.sched_setaffinity(gateway.process.pid, {cores[0]})
        for calls in counts:
            rounds.append(_called(gateway, calls, seconds, cores[-1]))
            if rounds[-1]["over"] != 0:
                break
            most = calls
        return {"held": most, "rounds": rounds, "memory_mb": silent_mb, "memory_at_most_mb": gateway.memory_mb}
