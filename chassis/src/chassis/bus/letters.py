"""Dead letters as the contract shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

import orjson

from chassis.bus.wire import Fields
from contracts.corpus import DeadLetter


def letter_of(letter: str, fields: Fields) -> DeadLetter:
    """A dead letter from its fields; data that is no JSON object stands under ``raw``."""
    raw = fields.get(b"data", b"")
    try:
        data: Any = orjson.loads(raw)
    except orjson.JSONDecodeError:
        data = None
    text = {name.decode(): value.decode("utf-8", "replace") for name, value in fields.items() if name != b"data"}
    return DeadLetter(
        id=letter,
        stream=text["stream"],
        group=text["group"],
        type=text["type"],
        event_id=text["id"],
        attempts=int(text["attempts"]),
        reason=text["reason"],
        died_at=datetime.fromisoformat(text["died_at"]),
        data=cast(dict[str, Any], data) if isinstance(data, dict) else {"raw": raw.decode("utf-8", "replace")},
    )
