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


def open_session(content: bytes, threads: int) -> Any:
    """A model on the CPU, held to ``threads`` threads; onnxruntime's own types are unknown to a checker."""
    options = cast("Any", onnxruntime.SessionOptions())
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_cpu_mem_arena = False
    # Threads that spin while they wait take the cores from other models, and from each other.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def open_model(content: bytes, threads: int = 1) -> Run:
    """A model of :func:`open_session` as a function of its inputs."""
    session = open_session(content, threads)

    def run(given: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
        return cast("list[NDArray[np.float32]]", session.run(None, dict(given)))

    return run
