"""Services that no browser speaks to: no page on the web may reach them through the person's own browser."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from chassis.refusals import refuse

SENTENCE = "This service is private to Talkdown. Open Talkdown's own page instead."
SIGNS = frozenset({b"origin", b"sec-fetch-site", b"sec-fetch-mode"})
"""Headers that browsers send of themselves and no page can leave out (https://www.w3.org/TR/fetch-metadata/)."""


class NoBrowsers:
    """ASGI middleware: whatever a browser sent is refused with 403, a forged form and DNS rebinding alike."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and any(name in SIGNS for name, _ in scope["headers"]):
            await refuse(scope, receive, send, 403, "private", SENTENCE)
            return
        await self._app(scope, receive, send)
