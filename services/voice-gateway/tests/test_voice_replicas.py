"""One voice gateway of several: what it makes carries its name, and a full or a stopping one makes nothing."""

from __future__ import annotations

import pytest
from test_voice_websocket import bearer, hear
from voice_fakes import Gateway
from websockets.asyncio.client import connect

from chassis.replicas import HEADER, marked_with
from voice_gateway.settings import Settings

MINT = "/v1/realtime/client_secrets"
HERE = {HEADER: "0a1b2c"}


async def test_a_credential_and_its_call_carry_the_name_that_the_gateway_is_known_by(gateway: Gateway) -> None:
    secret = (await gateway.http.post(MINT, json={}, headers=HERE)).json()
    assert marked_with(secret["value"]) == marked_with(secret["session"]["id"]) == "0a1b2c"
    async with connect(gateway.ws_url, additional_headers=bearer(secret["value"])) as connection:
        assert (await hear(connection))["type"] == "session.created"


@pytest.mark.parametrize("named", [{}, {HEADER: "not a name"}, {HEADER: "0a1b2c-0a1b2c"}])
async def test_an_only_gateway_marks_nothing(gateway: Gateway, named: dict[str, str]) -> None:
    secret = (await gateway.http.post(MINT, json={}, headers=named)).json()
    assert marked_with(secret["session"]["id"]) is None
    assert "-" not in secret["session"]["id"]


@pytest.mark.parametrize("settings", [Settings(max_sessions=1)])
async def test_a_full_gateway_leaves_new_calls_to_the_others(gateway: Gateway) -> None:
    first = await gateway.mint()
    async with connect(gateway.ws_url, additional_headers=bearer(first.value)) as connection:
        await hear(connection)
        refused = await gateway.http.post(MINT, json={}, headers=HERE)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_sessions")


@pytest.mark.behaviour("E3")
async def test_a_stopping_gateway_takes_no_new_calls_on_connections_that_are_kept(gateway: Gateway) -> None:
    await gateway.sessions().stop(0.1)
    refused = await gateway.http.post(MINT, json={})
    assert (refused.status_code, refused.json()["code"]) == (503, "going_away")
