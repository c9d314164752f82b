"""Every error body is a :class:`contracts.turns.Refusal`: one plain sentence that says what to do.

A handler refuses with ``raise Refuse(429, "too_many_turns", "...", retry_after=2)``. Anything else that goes wrong
becomes one sentence that tells nothing of the error's own text.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from opentelemetry.trace import get_current_span
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.http import Refused, Unreachable
from chassis.telemetry import fail
from contracts.turns import Refusal

log = logging.getLogger(__name__)

CODES = {400: "invalid_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 503: "unavailable"}
SENTENCES = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
}
UNKNOWN = "Something went wrong here; it was noted. Please try again."


class Refuse(Exception):
    """Answer a request with a status and one plain sentence; ``retry_after`` in seconds."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after


def answer_in_sentences(app: FastAPI) -> None:
    """Give an app the error bodies of the contract."""
    app.add_exception_handler(Refuse, _refuse)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Refused, _passed_on)
    app.add_exception_handler(Unreachable, _unreachable)
    app.add_middleware(UnknownFailures)
    described = app.openapi

    def openapi() -> dict[str, Any]:
        return _with_refusals(described())

    app.openapi = openapi


def _with_refusals(schema: dict[str, Any]) -> dict[str, Any]:
    """A description that says how errors are answered here: wrong bodies with 400, and everything as a refusal."""
    schemas: dict[str, Any] = schema.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Refusal"] = Refusal.model_json_schema()
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    operations: list[dict[str, Any]] = [one for path in schema["paths"].values() for one in path.values()]
    for operation in operations:
        operation["responses"].pop("422", None)
        operation["responses"]["default"] = {
            "description": "One plain sentence that says what to do",
            "content": content,
        }
    return schema


async def refuse(
    scope: Scope,
    receive: Receive,
    send: Send,
    status: int,
    code: str,
    message: str,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Refuse from below FastAPI: an HTTP request with a body, a WebSocket by closing it (1013 try again, else 1008)."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1013 if status >= 500 else 1008, "reason": message[:120]})
        return
    await refusal(status, code, message, headers)(scope, receive, send)


def refusal(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """A response whose body is a :class:`Refusal`."""
    body = Refusal(code=code, message=message).model_dump_json()
    return Response(
        body, status, media_type="application/json", headers={"cache-control": "no-store", **(headers or {})}
    )


def sentence_of(faults: Sequence[Mapping[str, Any]]) -> str:
    """The first fault of a body as one sentence, which never repeats what was sent."""
    fault = faults[0]
    kind, place = str(fault["type"]), [str(part) for part in fault["loc"] if part not in ("body", "query", "path")]
    if kind == "json_invalid":
        return "The body is not valid JSON."
    where = ".".join(place)
    if kind == "missing":
        return f"The field '{where}' is missing." if where else "The body is missing."
    said = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    said = said[:1].lower() + said[1:]
    return f"The field '{where}' is wrong: {said}." if where else f"The body is wrong: {said}."


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refuse)
    headers = {"retry-after": str(error.retry_after)} if error.retry_after is not None else None
    return refusal(error.status, error.code, error.message, headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return refusal(400, "invalid_request", sentence_of(error.errors()))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    sentence = SENTENCES.get(status, str(error.detail))
    return refusal(status, CODES.get(status, "refused"), sentence, error.headers)


async def _passed_on(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    headers = {"retry-after": f"{error.retry_after:.0f}"} if error.retry_after is not None else None
    return refusal(error.status, error.code, error.message, headers)


async def _unreachable(request: Request, error: Exception) -> Response:
    assert isinstance(error, Unreachable)
    return refusal(503, "unavailable", f"{error} Try again in a moment.", {"retry-after": "1"})


class UnknownFailures:
    """ASGI middleware: a failure that nobody expected is noted with its trace, and answered with one sentence."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            # Whoever asked is gone, so there is nobody to answer, and nothing failed here.
            return
        except Exception as error:
            log.error("a request failed", exc_info=error, extra={"path": scope.get("path")})
            fail(get_current_span(), type(error))
            if begun:
                raise
            await refuse(scope, receive, send, 500, "internal", UNKNOWN)
