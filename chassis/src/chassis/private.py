"""Services that no browser speaks to: no page on the web may reach them through the person's own browser.

Browsers sign what they send with ``Origin`` and ``Sec-Fetch-...``, but not a plain GET to a site over http. There an
attacker's own name, made to point at this machine (DNS rebinding), shows in ``Host``; between services that is a single
word, an address, or a name below one that nobody can register.
"""

from __future__ import annotations

from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from chassis.refusals import refuse

SENTENCE = "This service is private to Talkdown. Open Talkdown's own page instead."
SIGNS = frozenset({b"origin", b"sec-fetch-site", b"sec-fetch-mode"})
"""Headers that browsers send of themselves and no page can leave out (https://www.w3.org/TR/fetch-metadata/)."""


NOT_PUBLIC = (".localhost", ".internal", ".cluster.local")
"""Endings that no name on the public DNS has (RFC 6761, ICANN's reservation of .internal, Kubernetes' default)."""


def is_private(host: str) -> bool:
    """Say whether a ``Host``, with or without its port, can be nobody's name on the public DNS."""
    name = host.strip().lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    try:
        ip_address(name)
    except ValueError:
        return "." not in name or name.endswith(NOT_PUBLIC)
    return True


class NoBrowsers:
    """ASGI middleware: whatever a browser sent is refused with 403, a forged form and DNS rebinding alike."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and any(
            name in SIGNS or (name == b"host" and not is_private(value.decode("latin-1")))
            for name, value in scope["headers"]
        ):
            await refuse(scope, receive, send, 403, "private", SENTENCE)
            return
        await self._app(scope, receive, send)
