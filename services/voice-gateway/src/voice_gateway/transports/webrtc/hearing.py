"""What the person says: RTP packets put in order, and silence where none came.

aiortc's own buffer holds four packets back before it gives one, and after a loss keeps sixteen: 80 ms, and then 300 ms
for the rest of the call. Here a packet that comes in order goes on at once, and a missing one is waited for until three
later ones are there.
"""

from __future__ import annotations

from typing import Protocol

from voice_gateway.transports.webrtc.opus import CLOCK_RATE, FRAME_TICKS, duration

WAIT_PACKETS = 3
RESTART_PACKETS = 100
"""A packet that far from the expected one begins a new count, as when the sender started over."""
MAX_GAP_TICKS = CLOCK_RATE
QUIET_S = 0.2
"""Without a packet for so long (a muted sender may send none) the ears hear silence, as time goes by."""


class Packet(Protocol):
    """What is read of an RTP packet."""

    sequence_number: int
    timestamp: int
    payload: bytes


class Ear(Protocol):
    """Where sound goes in order."""

    def feed(self, payload: bytes) -> None:
        """The next packet."""
        ...

    def silence(self, samples: int) -> None:
        """Silence of so many samples at 48 kHz."""
        ...


class Arrivals:
    """Puts the packets of one sender in order; stands in for aiortc's jitter buffer, to which it gives nothing."""

    def __init__(self, ear: Ear) -> None:
        self._ear = ear
        self._waiting: dict[int, Packet] = {}
        self._sequence: int | None = None
        self._timestamp = 0
        self._last_at, self._seen = 0.0, 0
        self.count = 0
        """Packets that came, in order or not."""

    def add(self, packet: Packet) -> tuple[bool, None]:
        """A packet came; gives what aiortc's buffer gives when no frame is complete."""
        self.count += 1
        if not packet.payload:
            return False, None
        ahead = 0 if self._sequence is None else (packet.sequence_number - self._sequence) & 0xFFFF
        if self._sequence is None or RESTART_PACKETS < ahead < 0x10000 - RESTART_PACKETS:
            self._waiting.clear()
            self._sequence, self._timestamp = packet.sequence_number, packet.timestamp
        elif ahead > RESTART_PACKETS:
            return False, None  # a late one, whose place is past
        self._waiting[packet.sequence_number] = packet
        self._give()
        while len(self._waiting) >= WAIT_PACKETS:
            self._sequence = min(self._waiting, key=self._distance)
            self._give()
        return False, None

    def passed(self, now: float, ticks: int = FRAME_TICKS) -> None:
        """Time went by: ``ticks`` of it until ``now``, in seconds, were silent when nothing came lately."""
        if self.count != 0 and self.count == self._seen:
            if now - self._last_at >= QUIET_S:
                self._ear.silence(ticks)
                self._timestamp = (self._timestamp + ticks) & 0xFFFFFFFF
        else:
            self._last_at, self._seen = now, self.count

    def _distance(self, sequence: int) -> int:
        assert self._sequence is not None
        return (sequence - self._sequence) & 0xFFFF

    def _give(self) -> None:
        assert self._sequence is not None
        while (packet := self._waiting.pop(self._sequence, None)) is not None:
            gap = (packet.timestamp - self._timestamp) & 0xFFFFFFFF
            if 0 < gap < 0x80000000:
                self._ear.silence(min(gap, MAX_GAP_TICKS))
            self._ear.feed(packet.payload)
            self._timestamp = (packet.timestamp + duration(packet.payload)) & 0xFFFFFFFF
            self._sequence = (self._sequence + 1) & 0xFFFF
