"""The items of one session: what was asked and answered, in order, at most so many.

The agent owns the history that answers are made with; these items are what the protocol lets a client see and change.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from contracts.vocabulary import JsonObject
from voice_gateway.errors import AudioNotHere, EventError
from voice_gateway.heard import Said
from voice_gateway.protocol import Content, NewItem
from voice_gateway.sound import decoded

ROOT = "root"
Role = Literal["user", "assistant", "system"]
ItemStatus = Literal["completed", "incomplete", "in_progress"]


@dataclass(slots=True)
class Part:
    """A part of a message: its text, or the transcript of its sound, None while that is not known."""

    kind: Literal["input_text", "input_audio", "output_text", "output_audio"]
    text: str | None

    def wire(self) -> JsonObject:
        """As a part of ``item.content``."""
        return {"type": self.kind, "transcript" if self.kind.endswith("audio") else "text": self.text}


@dataclass(slots=True)
class Item:
    """A message: its parts, and whether it is finished. An item without a part has none yet."""

    id: str
    role: Role
    parts: list[Part]
    status: ItemStatus = "completed"
    known: asyncio.Event | None = None
    """Set once every transcript is known, or never will be; None where there is nothing to wait for."""
    said: Said | None = None
    """How it was spoken, where it was."""

    @property
    def text(self) -> str:
        """All of its parts, a line each."""
        return "\n".join(part.text for part in self.parts if part.text)

    def truncate(self, played_ms: int) -> JsonObject:
        """Keep of a spoken item what was heard by ``played_ms``; gives the event that tells of it."""
        assert self.said is not None
        heard = self.said.transcript[: self.said.heard(played_ms)]
        self.parts = [Part("output_audio", heard)]
        return {
            "type": "conversation.item.truncated",
            "item_id": self.id,
            "content_index": 0,
            "audio_end_ms": played_ms,
        }

    def wire(self) -> JsonObject:
        """As ``item`` of an event."""
        return {
            "id": self.id,
            "object": "realtime.item",
            "type": "message",
            "status": self.status,
            "role": self.role,
            "content": [part.wire() for part in self.parts],
        }


class Conversation:
    """The items in order; ``limit`` of them at most."""

    def __init__(self, limit: int) -> None:
        self.id = new_id("conv")
        self._limit = limit
        self._items: list[Item] = []

    def __len__(self) -> int:
        """How many items there are."""
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        """Each item, in order."""
        return iter(self._items)

    @property
    def last(self) -> Item | None:
        """The item that a response would answer."""
        return self._items[-1] if self._items else None

    def add(self, item: Item, behind: str | None = None) -> str | None:
        """Put ``item`` behind the one named (None: at the end, ``root``: first); gives the id of the one before it."""
        if any(known.id == item.id for known in self._items):
            raise EventError("item_exists", "There is an item with this id already; choose another.", param="item.id")
        if behind is None:
            place = len(self._items)
        elif behind == ROOT:
            place = 0
        else:
            place = self._place(behind, "previous_item_id") + 1
        self._items.insert(place, item)
        return self._items[place - 1].id if place else None

    def get(self, item_id: str) -> Item:
        """The item of this id; an :class:`EventError` without one."""
        return self._items[self._place(item_id, "item_id")]

    def find(self, item_id: str) -> Item | None:
        """The item of this id, if there is one."""
        return next((item for item in self._items if item.id == item_id), None)

    def remove(self, item_id: str) -> None:
        """Forget the item; an :class:`EventError` without one, or while it is being written."""
        place = self._place(item_id, "item_id")
        if self._items[place].status == "in_progress":
            raise EventError(
                "item_in_progress", "This item is being written; cancel its response first.", param="item_id"
            )
        del self._items[place]

    def drop_oldest(self) -> list[str]:
        """Forget the oldest finished items until the limit is kept; gives their ids."""
        finished = [item for item in self._items if item.status != "in_progress"]
        dropped = finished[: max(0, len(self._items) - self._limit)]
        self._items = [item for item in self._items if item not in dropped]
        return [item.id for item in dropped]

    def _place(self, item_id: str, param: str) -> int:
        for place, item in enumerate(self._items):
            if item.id == item_id:
                return place
        raise EventError("item_not_found", "There is no item with this id in the conversation.", param=param)


def item_of(new: NewItem, *, audible: bool) -> tuple[Item, dict[int, bytes]]:
    """The client's message as an item, and the sound of its parts by their place: PCM that is to be transcribed.

    :class:`EventError` when a part of it is neither text, nor, where the session is ``audible``, sound.
    """
    item = Item(new.id or new_id("item"), new.role, [])
    sounds: dict[int, bytes] = {}
    for index, part in enumerate(new.content):
        where = f"item.content.{index}"
        if part.type == "input_audio" and audible and new.role == "user":
            if part.transcript is None:
                sounds[index] = decoded(part.audio or "", f"{where}.audio")
            item.parts.append(Part("input_audio", part.transcript))
            continue
        item.parts.append(_text_part(part, new.role, where))
    if sounds:
        item.known = asyncio.Event()
    return item, sounds


def _text_part(part: Content, role: Role, where: str) -> Part:
    if part.type.endswith("audio"):
        raise AudioNotHere(where)
    if part.type == "input_image":
        raise EventError("not_supported", "Images are not looked at here; ask in words.", param=where)
    if (part.type == "input_text") == (role == "assistant"):
        wanted = "output_text" if role == "assistant" else "input_text"
        raise EventError("invalid_value", f"The text of this role is `{wanted}`.", param=f"{where}.type")
    if part.text is None:
        raise EventError("invalid_value", "A part of text has its `text`.", param=f"{where}.text")
    return Part("output_text" if role == "assistant" else "input_text", part.text)


def new_id(kind: str, mark: str = "") -> str:
    """A fresh id such as ``item_...``, at most 32 characters with its ``mark``."""
    return f"{kind}_{mark}{secrets.token_hex(10)}"
