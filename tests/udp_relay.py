"""A wire that the sound of a call goes through and that a test can cut: UDP of this machine, both ways.

::

    browser <──UDP──> [near] relay [far] <──UDP──> gateway
       offer: candidates become `far`      answer: candidates become `near`

Only the addresses in the two SDPs are changed, on their way through the browser's own request; what both ends say over
the wire is passed on untouched, or, while the wire is cut, lost.
"""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Thread

from playwright.sync_api import BrowserContext, Route

LOOPBACK = "127.0.0.1"
CANDIDATE = re.compile(r"^a=candidate:.*\r?\n", re.MULTILINE)
LARGEST = 65_535


class UdpRelay:
    """The wire; ``cut`` is whether it is cut now."""

    def __init__(self) -> None:
        self.cut = False
        self.passed = 0
        self._near, self._far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for end in (self._near, self._far):
            end.bind((LOOPBACK, 0))
        self._browser: tuple[str, int] | None = None
        self._gateway: tuple[str, int] | None = None
        self._ended = Event()

    def pass_on(self) -> None:
        """Carry datagrams until :meth:`close`."""
        while not self._ended.is_set():
            for end in select.select([self._near, self._far], [], [], 0.1)[0]:
                self._carry(end)

    def close(self) -> None:
        """End :meth:`pass_on`."""
        self._ended.set()

    def tie(self, context: BrowserContext) -> None:
        """Let the calls of a browser's pages go through the wire."""
        context.route("**/v1/realtime/calls*", self._signal)

    def _signal(self, route: Route) -> None:
        offer = route.request.post_data or ""
        answer = route.fetch(post_data=_through(offer, self._far))
        sdp = answer.text()
        found = re.search(r"^a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+) typ host", sdp, re.MULTILINE | re.IGNORECASE)
        self._gateway = (LOOPBACK, int(found[1])) if found else None
        self._browser = None
        route.fulfill(response=answer, body=_through(sdp, self._near))

    def _carry(self, end: socket.socket) -> None:
        try:
            datagram, sender = end.recvfrom(LARGEST)
        except OSError:
            return  # the other end is not there any more, and the loopback says so
        if end is self._near:
            self._browser = sender
        to, other = (self._gateway, self._far) if end is self._near else (self._browser, self._near)
        if self.cut or to is None:
            return
        other.sendto(datagram, to)
        self.passed += 1

    def shut(self) -> None:
        """Let go of the ports."""
        self._near.close()
        self._far.close()


def _through(sdp: str, end: socket.socket) -> str:
    """The SDP with one candidate, an end of the wire, in the place of all of its own."""
    candidate = f"a=candidate:1 1 udp 2130706431 {LOOPBACK} {end.getsockname()[1]} typ host\r\n"
    once = CANDIDATE.sub("", sdp)
    return re.sub(
        r"(^m=[^\r\n]*\r?\n(?:[ci]=[^\r\n]*\r?\n)*)", lambda media: media[1] + candidate, once, flags=re.MULTILINE
    )


@contextmanager
def relay() -> Generator[UdpRelay]:
    """A wire, for as long as the context lasts."""
    wire = UdpRelay()
    carrying = Thread(target=wire.pass_on, daemon=True)
    carrying.start()
    try:
        yield wire
    finally:
        wire.close()
        carrying.join()
        wire.shut()
