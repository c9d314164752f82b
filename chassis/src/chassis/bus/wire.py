"""An event as it travels: plain fields, so that ``redis-cli`` or any Kafka tool can read them.

============== =====================================================================
``type``       ``document.changed.v1``
``id``         of the event, the same for every delivery and every part
``key``        events with one key keep their order
``traceparent`` the trace that it belongs to, W3C
``data``       the event as JSON, or a part of it
``part``       ``2/3``, only where an event is larger than ``part_bytes``
``only``       the one group that a replayed event is for
============== =====================================================================
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from chassis.bus.errors import EventTooLarge
from contracts.events import Event, type_of

STREAM_PREFIX = "talkdown"
DEAD = "talkdown.dead"

Fields = dict[bytes, bytes]

_types: dict[type[Event], bytes] = {}


@dataclass(slots=True)
class Delivery:
    """An event that was received whole. ``places`` are where its parts stand in their partition.

    ``verdict`` is the reason of a dead letter that could not be stored yet.
    """

    partition: int
    places: list[bytes]
    type: bytes
    id: bytes
    key: bytes
    data: bytes
    traceparent: bytes
    only: bytes
    attempts: int = 1
    verdict: str = ""


def stream_name(stream: str, partition: int) -> str:
    """A partition of a stream, as it is called on the server."""
    return f"{STREAM_PREFIX}.{stream}.{partition}"


def partition_of(key: bytes, partitions: int) -> int:
    """Where events with a key travel: crc32 of the key, so that every process agrees."""
    return zlib.crc32(key) % partitions


def new_id() -> str:
    """An event's id: 32 hexadecimal digits by chance."""
    return os.urandom(16).hex()


def fields_of(event: Event, traceparent: str | None) -> Fields:
    """The fields of an event, whole."""
    kind = type(event)
    name = _types.get(kind)
    if name is None:
        name = _types[kind] = type_of(kind).encode()
    fields = {
        b"type": name,
        b"id": new_id().encode(),
        b"key": event.key.encode(),
        b"data": kind.__pydantic_serializer__.to_json(event),
    }
    if traceparent:
        fields[b"traceparent"] = traceparent.encode()
    return fields


def split(fields: Fields, part_bytes: int, largest_bytes: int) -> list[Fields]:
    """An event in as many parts as its size asks for; mostly one, which is the event itself."""
    data = fields[b"data"]
    if len(data) <= part_bytes:
        return [fields]
    if len(data) > largest_bytes:
        raise EventTooLarge(
            f"An event of {len(data):,} bytes is larger than the {largest_bytes:,} that the bus carries."
        )
    pieces = [data[begin : begin + part_bytes] for begin in range(0, len(data), part_bytes)]
    return [
        fields | {b"data": piece, b"part": b"%d/%d" % (number, len(pieces))} for number, piece in enumerate(pieces, 1)
    ]


def delivery_of(partition: int, place: bytes, fields: Mapping[bytes, bytes], attempts: int = 1) -> Delivery:
    """What was received at a place; a missing field is empty."""
    get = fields.get
    event_id = get(b"id", b"")
    return Delivery(
        partition,
        [place],
        get(b"type", b""),
        event_id,
        get(b"key") or event_id or place,
        get(b"data", b""),
        get(b"traceparent", b""),
        get(b"only", b""),
        attempts,
    )


@dataclass(slots=True)
class _Parts:
    since: float
    first: Delivery
    pieces: dict[int, tuple[bytes, bytes]] = field(default_factory=dict[int, tuple[bytes, bytes]])


class Assembler:
    """Puts parts together; an event that lacks one after ``within_s`` is given out as lost, never as half an event."""

    def __init__(self, within_s: float) -> None:
        self._within_s = within_s
        self._open: dict[tuple[int, bytes], _Parts] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, part: bytes, piece: Delivery) -> Delivery | None:
        """Take a part; gives the event once it is whole. A part that comes twice counts once."""
        number, _, total = part.partition(b"/")
        if not (number.isdigit() and total.isdigit() and 1 <= int(number) <= int(total)):
            piece.type, piece.data = b"", b""
            return piece
        at = (piece.partition, piece.id)
        parts = self._open.get(at)
        if parts is None:
            parts = self._open[at] = _Parts(time.monotonic(), piece)
        parts.first.attempts = max(parts.first.attempts, piece.attempts)
        if int(number) in parts.pieces and parts.pieces[int(number)][0] != piece.places[0]:
            parts.first.places.append(piece.places[0])
        parts.pieces[int(number)] = (piece.places[0], piece.data)
        if len(parts.pieces) < int(total):
            return None
        return self._give_out(at)

    def lost(self) -> list[Delivery]:
        """The events that waited too long for a part; they are forgotten here."""
        now = time.monotonic()
        late = [at for at, parts in self._open.items() if now - parts.since > self._within_s]
        return [self._give_out(at) for at in late]

    def postpone(self) -> None:
        """Begin to wait anew, because nothing was read meanwhile."""
        now = time.monotonic()
        for parts in self._open.values():
            parts.since = now

    def drop(self, partition: int) -> list[bytes]:
        """Forget what was begun in a partition that is another's now; gives the places of the parts."""
        dropped = [self._open.pop(at) for at in list(self._open) if at[0] == partition]
        return [place for parts in dropped for place, _ in parts.pieces.values()]

    def _give_out(self, at: tuple[int, bytes]) -> Delivery:
        parts = self._open.pop(at)
        whole = parts.first
        ordered = [parts.pieces[place] for place in sorted(parts.pieces)]
        whole.places = list(dict.fromkeys([*(place for place, _ in ordered), *whole.places]))
        whole.data = b"".join(data for _, data in ordered)
        return whole
