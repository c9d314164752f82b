"""The items of one session: what was asked and answered, in order, at most so many.

The agent owns the history that answers are made with; these items are what the protocol lets a client see and change.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from contracts.vocabulary import JsonObject
from voice_gateway.errors import AudioNotHere, EventError
from voice_gateway.protocol import NewItem

ROOT = "root"
Role = Literal["user", "assistant", "system"]
ItemStatus = Literal["completed", "incomplete", "in_progress"]


@dataclass(slots=True)
class Item:
    """A message: the texts of its parts, and whether it is finished. An item without a part has none yet."""

    id: str
    role: Role
    texts: list[str]
    status: ItemStatus = "completed"

    @property
    def text(self) -> str:
        """All of its parts, a line each."""
        return "\n".join(self.texts)

    def wire(self) -> JsonObject:
        """As ``item`` of an event."""
        kind = "output_text" if self.role == "assistant" else "input_text"
        return {
            "id": self.id,
            "object": "realtime.item",
            "type": "message",
            "status": self.status,
            "role": self.role,
            "content": [{"type": kind, "text": text} for text in self.texts],
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


def item_of(new: NewItem) -> Item:
    """The client's message as an item; :class:`EventError` when a part of it is not text."""
    texts: list[str] = []
    for index, part in enumerate(new.content):
        where = f"item.content.{index}"
        if part.type.endswith("audio"):
            raise AudioNotHere(where)
        if part.type == "input_image":
            raise EventError("not_supported", "Images are not looked at here; ask in words.", param=where)
        if (part.type == "input_text") == (new.role == "assistant"):
            wanted = "output_text" if new.role == "assistant" else "input_text"
            raise EventError("invalid_value", f"The text of this role is `{wanted}`.", param=f"{where}.type")
        if part.text is None:
            raise EventError("invalid_value", "A part of text has its `text`.", param=f"{where}.text")
        texts.append(part.text)
    return Item(new.id or new_id("item"), new.role, texts)


def new_id(kind: str) -> str:
    """A fresh id such as ``item_...``, at most 32 characters."""
    return f"{kind}_{secrets.token_hex(10)}"
