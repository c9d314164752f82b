"""onnxruntime, silenced before it wakes: its official builds report to their maker, and keep a device id, by default.

The variable is the one documented way that also stops its first event (`Privacy.md` in the package); it has to be set
before the library is loaded, so every import of it goes through here.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

__all__ = ["onnxruntime"]
