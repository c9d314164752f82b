"""``/v1/realtime/calls``: calls opened and hung up over HTTP.

What a call stands on (aiortc, PyAV) is imported when the first one comes, or a moment after the start, so that the
gateway is up without waiting for it.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, cast

from fastapi import APIRouter, Request, Response

from contracts.turns import Refusal
from voice_gateway import door
from voice_gateway.credentials import Credentials
from voice_gateway.errors import BadRequest, CallGone, CallsElsewhere, EventError
from voice_gateway.session import Around
from voice_gateway.sessions import Sessions
from voice_gateway.transports.webrtc import MAX_SDP_BYTES

if TYPE_CHECKING:
    from voice_gateway.transports.webrtc.lines import Lines

PATH = "/v1/realtime/calls"
MAX_BODY_BYTES = 2 * MAX_SDP_BYTES
"""An offer, and beside it the session that a form may hold."""
READY_POLL_S = 0.25
REFUSALS: dict[int | str, dict[str, object]] = {
    status: {"model": Refusal} for status in (400, 401, 403, 404, 413, 429, 500, 503)
}
OFFER = {
    "requestBody": {
        "required": True,
        "content": {
            "application/sdp": {"schema": {"type": "string"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["sdp"],
                    "properties": {"sdp": {"type": "string"}, "session": {"type": "object"}},
                }
            },
        },
    }
}

router = APIRouter()


class Exchange:
    """Gives the lines when they are first needed."""

    def __init__(self, around: Around, credentials: Credentials, sessions: Sessions) -> None:
        self._around, self._credentials, self._sessions = around, credentials, sessions
        self._lines: Lines | None = None

    async def lines(self) -> Lines:
        """The lines of the process."""
        if self._lines is None:
            module = await asyncio.to_thread(import_module, "voice_gateway.transports.webrtc.lines")
            if self._lines is None:  # somebody else may have waited for the same
                self._lines = cast("Lines", module.Lines(self._around, self._credentials, self._sessions))
        return self._lines

    async def warm(self) -> None:
        """Import what calls stand on once nobody waits for the models any more, so that the first call need not."""
        senses = self._around.senses
        if senses is None:
            return
        while not (senses.ears.ready and senses.mouth.ready):  # noqa: ASYNC110 - models set no event
            await asyncio.sleep(READY_POLL_S)
        await self.lines()

    @property
    def opened(self) -> Lines | None:
        """The lines, if they were needed."""
        return self._lines

    async def close(self) -> None:
        """End the calls."""
        if self._lines is not None:
            await self._lines.close()


@router.post(PATH, status_code=201, responses=REFUSALS, openapi_extra=OFFER)
async def open_call(request: Request) -> Response:
    """Open a call with an SDP offer: the answer, and the call's address in ``Location``."""
    state, exchange = cast(Around, request.state.around), cast(Exchange, request.state.exchange)
    door.check_origin(request, state.settings.allowed_origins)
    if state.provider is not None:
        raise CallsElsewhere
    credential = door.credential(request)
    body = await request.body()
    lines = await exchange.lines()
    try:
        call_id, sdp = await lines.open(credential, request.headers.get("content-type", ""), body)
    except EventError as error:
        raise BadRequest(error.message) from error
    return Response(sdp, 201, {"location": f"{PATH}/{call_id}", "cache-control": "no-store"}, "application/sdp")


@router.post(PATH + "/{call_id}/hangup", status_code=200, responses=REFUSALS)
async def hang_up(request: Request, call_id: str) -> Response:
    """End a call; whoever knows its id may."""
    state, exchange = cast(Around, request.state.around), cast(Exchange, request.state.exchange)
    door.check_origin(request, state.settings.allowed_origins)
    if exchange.opened is None:
        raise CallGone
    exchange.opened.hang_up(call_id)
    return Response()
