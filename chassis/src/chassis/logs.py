"""Structured logs: one JSON object a line on stdout, with the trace that the line belongs to.

``log.info("turn accepted", extra={"turn_id": ...})`` gives ``{"time", "level", "service", "logger", "message",
"trace_id", "span_id", "turn_id"}``. Of an exception stand its type and where it was raised, never its text: that may
hold a document or a key.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import orjson
from opentelemetry.trace import get_current_span

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_QUIET = (
    *("httpx2", "httpcore2", "openai"),
    *("aiokafka", "uvicorn", "uvicorn.access", "websockets", "redis", "psycopg.pool", "asyncio", "watchfiles"),
)
"""Libraries whose lines below a warning say nothing of our own work, or hold addresses with a credential in them."""


def write_logs(service: str, level: str) -> None:
    """Log as ``service`` from ``level`` on; called again it replaces what it set before."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines(service))
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one.formatter, JsonLines)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "service": self._service,
            "logger": record.name,
            "message": record.getMessage(),
        }
        context = get_current_span().get_span_context()
        if context.is_valid:
            line["trace_id"] = f"{context.trace_id:032x}"
            line["span_id"] = f"{context.span_id:016x}"
        line.update((name, value) for name, value in vars(record).items() if name not in _STANDARD)
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__qualname__
            line["at"] = [
                f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(record.exc_info[2])[-8:]
            ]
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
