"""The machine that a figure was measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TypedDict


class Machine(TypedDict):
    """What a figure's reader needs to know of where it comes from."""

    cpu: str
    cores: int
    python: str
    load: float


def machine() -> Machine:
    """This machine: its processor, the cores that this process may use, the Python, and the load of the last minute."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = next((line for line in lines if line.startswith("model name")), "")
    return named.partition(":")[2].strip() or platform.machine()
