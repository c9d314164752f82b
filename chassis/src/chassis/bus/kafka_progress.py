"""How far a group is in a partition, and the note that its owner leaves beside the offset it commits.

Events are handled side by side, so they are settled out of order. The offset that is committed is that of the first one
that is not settled; the note says which others are not, so that whoever comes next handles nothing anew that was
settled.

The note also finds out an event that ends its process. It names the owner until that leaves in good order; where an
owner ended without leaving, the next takes up what may have been in its hands one by one, and notes each event before
it is begun. An event with which owner after owner ended is then known, though nobody lived to say so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import orjson

from chassis.bus.wire import Delivery

MOST_OPEN = 400
"""So many unsettled events are noted at most; a note must stay below 4 KB (``offset.metadata.max.bytes``)."""
UNNOTED = 64
"""So many events, about, may have been begun since an owner that ended wrote its last note."""


@dataclass(frozen=True, slots=True)
class Note:
    """What an owner said of a partition.

    ``owner`` has it, or had it when its process ended; nobody once it left in good order. ``ended`` is how many owners
    ended while they had the first unsettled event, and no other, in hand. Events before ``suspect`` are taken up one
    by one. Of those before ``taken`` all are settled but ``open``.
    """

    owner: str = ""
    ended: int = 0
    suspect: int = 0
    taken: int = 0
    open: tuple[int, ...] = ()

    def write(self) -> str:
        """As it stands beside an offset: the open ones as steps from one to the next."""
        steps = [after - before for before, after in pairwise((0, *self.open))]
        return orjson.dumps([self.owner, self.ended, self.suspect, self.taken, steps]).decode()

    @classmethod
    def read(cls, text: str | None) -> Note:
        """The note beside an offset; an empty one where it is no note of ours."""
        try:
            owner, ended, suspect, taken, steps = orjson.loads(text or "")
            at, offsets = 0, list[int]()
            for step in steps:
                at += int(step)
                offsets.append(at)
            return cls(str(owner), int(ended), int(suspect), int(taken), tuple(offsets))
        except (ValueError, TypeError):
            return cls()

    def seen_by(self, member: str, offset: int) -> Note:
        """What a new owner makes of it that begins at an offset: whether to suspect what comes first."""
        if self.owner == member:  # it was ours, and nobody else's since
            return replace(self, owner="", ended=max(0, self.ended - 1))
        if self.owner:
            return replace(self, owner="", suspect=max(self.suspect, self.taken + UNNOTED, offset + UNNOTED))
        return self

    def is_settled(self, offset: int) -> bool:
        """Whether an event was settled before the partition changed hands."""
        return offset < self.taken and offset not in self.open

    def unsettled(self, committed: int, end: int) -> int:
        """How many events are not settled between the offset that was committed and the end of the partition."""
        if self.taken <= committed:
            return max(0, end - committed)
        return max(0, end - self.taken) + len(self.open)


class Progress:
    """What of a partition is in hand here, and up to where all is settled."""

    def __init__(self, start: int, left: Note, member: str) -> None:
        self.next = start
        self.alone: Delivery | None = None
        self.written: tuple[int, str] | None = None
        self._start = start
        self._left = left
        self._member = member
        self._open: set[int] = set()
        self._queue: deque[Delivery] = deque()

    def begin(self, offset: int) -> int:
        """A record is in hand; gives which attempt it is, or 0 where it was settled by an owner before."""
        self.next = offset + 1
        if self._left.is_settled(offset):
            return 0
        self._open.add(offset)
        return self._left.ended + 1 if offset == self._start else 1

    def settle(self, places: Iterable[bytes]) -> None:
        """Records were let go of."""
        for place in places:
            self._open.discard(int(place))

    @property
    def suspects(self) -> bool:
        """Whether anything may have to be taken up alone."""
        return self._left.suspect > 0

    def waits(self, delivery: Delivery) -> bool:
        """Whether an event is to be taken up alone; it is kept here until its turn comes."""
        if not self._queue and self.alone is None and int(delivery.places[0]) >= self._left.suspect:
            return False
        self._queue.append(delivery)
        return True

    def turns(self, *, no_suspect: bool = False) -> list[Delivery]:
        """Those whose turn has come: the next suspect, or all when there are no suspects any more."""
        if not self._queue or self.alone is not None:
            return []
        if int(self._queue[0].places[0]) < self._left.suspect:
            if no_suspect:
                return []
            self.alone = self._queue.popleft()
            return [self.alone]
        rest = list(self._queue)
        self._queue.clear()
        return rest

    def put_back(self, deliveries: list[Delivery]) -> None:
        """Keep those whose turn came, since it could not be noted that they begin."""
        self._queue.extendleft(reversed(deliveries))
        if deliveries:
            self.alone = None

    @property
    def drained(self) -> bool:
        """Whether nothing is in hand."""
        return not self._open

    @property
    def safe(self) -> int:
        """The offset before which all is settled."""
        return min(self._open, default=self.next)

    def mark(self, *, leaving: bool = False) -> tuple[int, str]:
        """The offset and the note to commit."""
        safe = self.safe
        ended = self._left.ended if safe == self._start else 0
        suspect = self._left.suspect if self._left.suspect > safe else 0
        open_ = tuple(sorted(self._open))
        taken = self.next
        if len(open_) > MOST_OPEN:
            taken, open_ = safe, ()
        if leaving:
            return safe, Note("", ended, suspect, taken, open_).write()
        return safe, Note(self._member, ended + (self.alone is not None), suspect, taken, open_).write()
