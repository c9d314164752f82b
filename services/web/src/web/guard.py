"""Who is served: Host and Origin of every request and WebSocket, and the headers that bind the page.

A page on another site may send requests to a loopback port, and a name that an attacker owns may be made to point at
127.0.0.1 (DNS rebinding). So the name in ``Host`` must be one of ours, an ``Origin`` must be the very place that
served the page, and whatever changes something needs either that Origin or a bearer credential. See
``docs/decisions/who-is-served.md``.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.refusals import refuse

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/\\,\s]+)(?::[0-9]{1,5})?")
"""A name or a bracketed IPv6 address, and perhaps a port: no browser sends anything else."""
CALLS = "/v1/realtime/calls"
LIVE = "/v1/graph/live"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

CONTENT_SECURITY_POLICY = (
    "default-src 'self'",
    "base-uri 'none'",
    "object-src 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "microphone=(self), camera=(), geolocation=(), display-capture=()",
}


class Guard:
    """ASGI middleware that refuses what is not ours, and adds the security headers to everything.

    ``names`` are the host names served beside the loopback ones, without a port. ``token`` is the credential of the
    command line; without one, no request without an Origin may change anything. ``calls`` are the origins that the page
    may call beside its own.
    """

    def __init__(
        self, app: ASGIApp, names: Iterable[str] = (), token: str | None = None, calls: Sequence[str] = ()
    ) -> None:
        self.app = app
        self.headers = _security_headers(calls)
        self.names = LOOPBACK_NAMES | {name.lower() for name in names}
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or refuse it in one sentence."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        reason = self.refused(scope)
        if scope["type"] == "http":
            send = self._with_security_headers(send)
        if reason is not None:
            await refuse(scope, receive, send, 403, "not_allowed", reason)
            return
        await self.app(scope, receive, send)

    def refused(self, scope: Scope) -> str | None:
        """Why this request is not served, in one sentence; ``None`` when it is."""
        headers = [(name.lower(), value) for name, value in scope["headers"]]
        hosts = [value.decode("latin-1").strip().lower() for name, value in headers if name == b"host"]
        if len(hosts) != 1 or _name(hosts[0]) not in self.names:
            return (
                "This name is not served here. Open http://localhost with the port of Talkdown,"
                " or add the name to TALKDOWN_ALLOWED_HOSTS."
            )
        origins = [value.decode("latin-1").strip().lower() for name, value in headers if name == b"origin"]
        if origins:
            if len(origins) == 1 and _is_same_place(origins[0], hosts[0]):
                return None
            return "Talkdown answers its own page only, and this request comes from another site."
        first = {name: value.decode("latin-1") for name, value in reversed(headers)}
        return self._refused_without_origin(scope, first)

    def _with_security_headers(self, send: Send) -> Send:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self.headers]
            await send(message)

        return with_headers

    def _refused_without_origin(self, scope: Scope, headers: dict[bytes, str]) -> str | None:
        bearer = _bearer(headers.get(b"authorization", ""))
        if scope["type"] == "websocket":
            # The voice gateway looks the credential up; here it only has to be there.
            offered = headers.get(b"sec-websocket-protocol", "")
            in_address = scope["path"] == LIVE and b"token=" in scope.get("query_string", b"")
            if bearer or in_address or "openai-insecure-api-key." in offered:
                return None
            return "A connection without an Origin needs a bearer credential of the voice gateway."
        if scope["method"] in SAFE_METHODS:
            site = headers.get(b"sec-fetch-site", "none")
            if site in ("same-origin", "none") or headers.get(b"sec-fetch-mode") == "navigate":
                return None
            return "Talkdown answers its own page only, and this request comes from another site."
        if bearer and (scope["path"] == CALLS or scope["path"].startswith(f"{CALLS}/")):
            return None  # as above: the gateway opens calls for its own credentials alone
        if self.token is not None and bearer and hmac.compare_digest(bearer.encode(), self.token.encode()):
            return None
        return (
            "A request that changes something needs the Origin of the page, or the header"
            " `Authorization: Bearer` with the command line's token (`talkdown ask` sends it by itself)."
        )


def _name(host: str) -> str | None:
    """The host without its port, an IPv6 address in its brackets; nothing when it is no host at all."""
    matched = HOST.fullmatch(host)
    return matched[1] if matched else None


def _is_same_place(origin: str, host: str) -> bool:
    return origin in (f"http://{host}", f"https://{host}")


def _bearer(header: str) -> str:
    scheme, _, credential = header.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""


def _security_headers(calls: Sequence[str]) -> tuple[tuple[bytes, bytes], ...]:
    policy = (*CONTENT_SECURITY_POLICY, " ".join(("connect-src 'self'", *calls))) if calls else CONTENT_SECURITY_POLICY
    headers = {"content-security-policy": "; ".join(policy), **SECURITY_HEADERS}
    return tuple((name.encode(), value.encode()) for name, value in headers.items())
