"""onnxruntime, silenced before it wakes: its official builds report to their maker, and keep a device id, by default.

The variable is the one documented way that also stops its first event (`Privacy.md` in the package); it has to be set
before the library is loaded. Only the models' own processes import this.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

Run = Callable[[Mapping[str, NDArray[Any]]], list[NDArray[np.float32]]]
"""A model's outputs, of its inputs by name."""


def open_model(content: bytes, threads: int = 1) -> Run:
    """A model on the CPU, held to ``threads`` threads that do not spin while they wait."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(given: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
        return cast("list[NDArray[np.float32]]", session.run(None, dict(given)))

    return run
