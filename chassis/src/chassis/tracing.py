"""A server span and a duration for every request but those for health, continuing the caller's trace."""

from __future__ import annotations

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis import conventions, metrics
from chassis.telemetry import SERVER, fail, span

REQUESTS = metrics.histogram(
    conventions.HTTP_SERVER_DURATION, "s", "From a request's arrival to the end of its answer, streams included."
)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class TracedRequests:
    """ASGI middleware: the span lasts as long as the answer, so a stream's span is as long as the stream."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] not in ("http", "websocket") or scope["path"].startswith("/health/"):
            await self._app(scope, receive, send)
            return
        method, status, began = scope.get("method", "WEBSOCKET"), 0, time.perf_counter()
        given = next((value for name, value in scope["headers"] if name == b"traceparent"), b"")
        attributes = {conventions.HTTP_METHOD: method, conventions.URL_PATH: scope["path"]}
        with span(method, attributes, kind=SERVER, parent=given.decode("latin-1")) as current:

            async def sending(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    current.set_attribute(conventions.HTTP_STATUS, status)
                    if status >= 500:
                        fail(current, str(status))
                await send(message)

            try:
                await self._app(scope, receive, sending)
            finally:
                route = getattr(scope.get("route"), "path", None)
                if route:
                    current.update_name(f"{method} {route}")
                    current.set_attribute(conventions.HTTP_ROUTE, route)
                if scope["type"] == "http" and metrics.measuring():
                    REQUESTS.record(time.perf_counter() - began, _of_request(method, status, route))


def _of_request(method: str, status: int, route: str | None) -> dict[str, str | int]:
    """What a request is counted under: no more than a service has routes, whatever is asked for."""
    return {
        conventions.HTTP_METHOD: method if method in METHODS else "_OTHER",
        **({conventions.HTTP_ROUTE: route} if route else {}),
        **({conventions.HTTP_STATUS: status} if status else {}),
    }
