"""``POST /v1/realtime/client_secrets``: a credential for one call, here or with the provider of the voice."""

from __future__ import annotations

from uuid import uuid4

from fastapi import APIRouter, Request, Response

from chassis import telemetry
from chassis.replicas import HEADER, mark
from contracts.turns import Refusal
from contracts.vocabulary import JsonObject
from contracts.voice import ClientSecret, ClientSecretRequested
from voice_gateway import door
from voice_gateway.around import Around
from voice_gateway.conversation import new_id
from voice_gateway.credentials import Credentials, Grant, Minted
from voice_gateway.errors import BadRequest, EventError
from voice_gateway.sessions import Sessions

REFUSALS: dict[int | str, dict[str, object]] = {
    status: {"model": Refusal} for status in (400, 403, 413, 429, 500, 502, 503)
}

router = APIRouter()


@router.post("/v1/realtime/client_secrets", responses=REFUSALS)
async def mint(request: Request, response: Response, asked: ClientSecretRequested) -> ClientSecret:
    """Make a credential for one connection of one chat, to be used within a minute.

    Where the provider holds the calls, its session is as the settings say, whatever session is asked for; the bridge
    is held here all the same. The credential and the call carry the name of this replica, where there are several: they
    are good here alone.
    """
    around: Around = request.state.around
    credentials: Credentials = request.state.credentials
    sessions: Sessions = request.state.sessions
    door.check_origin(request, around.settings.allowed_origins)
    seconds, here = _seconds(asked), mark(request.headers.get(HEADER))
    sessions.check_open()
    if here:
        sessions.check_room()  # another may have room
    call_id, chat_id, traceparent = new_id("sess", here), asked.chat_id or uuid4(), telemetry.inject()
    minted: Minted
    session: JsonObject
    by_provider = around.provider if not asked.bridge else None
    if by_provider is not None:
        session = by_provider.session
        minted = await by_provider.mint(session, seconds=seconds)
    else:
        try:
            config = around.means.updated(around.means.first(), asked.session)
        except EventError as error:
            raise BadRequest(error.message) from error
        session = config.wire()
        minted = credentials.mint(Grant(call_id, chat_id, config, traceparent), seconds=seconds, mark=here)
    around.calls.open(call_id, chat_id, traceparent)
    response.headers["cache-control"] = "no-store"
    return ClientSecret(
        value=minted.value,
        expires_at=minted.expires_at,
        session={"id": call_id, "object": "realtime.session", **session},
        voice=around.settings.chosen_voice,
        url=by_provider.url if by_provider is not None else None,
        chat_id=chat_id,
    )


def _seconds(asked: ClientSecretRequested) -> int | None:
    """The lifetime that was asked for, in seconds; a longer one than ours becomes ours."""
    if asked.expires_after is None:
        return None
    seconds: object = asked.expires_after.get("seconds")
    if seconds is None:
        return None
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < 1:
        raise BadRequest("`expires_after.seconds` is a whole number of seconds, from 1 on.")
    return seconds
