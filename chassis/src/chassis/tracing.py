"""A server span for every request but those for health, continuing the caller's trace."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis import conventions
from chassis.telemetry import SERVER, fail, span


class TracedRequests:
    """ASGI middleware: the span lasts as long as the answer, so a stream's span is as long as the stream."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] not in ("http", "websocket") or scope["path"].startswith("/health/"):
            await self._app(scope, receive, send)
            return
        method = scope.get("method", "WEBSOCKET")
        given = next((value for name, value in scope["headers"] if name == b"traceparent"), b"")
        attributes = {conventions.HTTP_METHOD: method, conventions.URL_PATH: scope["path"]}
        with span(method, attributes, kind=SERVER, parent=given.decode("latin-1")) as current:

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    current.set_attribute(conventions.HTTP_STATUS, message["status"])
                    if message["status"] >= 500:
                        fail(current, str(message["status"]))
                await send(message)

            try:
                await self._app(scope, receive, sending)
            finally:
                route = getattr(scope.get("route"), "path", None)
                if route:
                    current.update_name(f"{method} {route}")
                    current.set_attribute(conventions.HTTP_ROUTE, route)
