"""The WebSocket itself: who is let in and how, what ends a connection, and that nothing is left of it."""

from __future__ import annotations

import json
import time
from typing import Any, cast

import pytest
from pydantic import ValidationError
from voice_fakes import Gateway, begin_only, until
from voice_wire import check
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from voice_gateway.settings import Settings


def bearer(value: str) -> dict[str, str]:
    return {"authorization": f"Bearer {value}"}


def as_page(value: str) -> list[Subprotocol]:
    return [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{value}")]


async def hear(connection: ClientConnection) -> dict[str, Any]:
    event = cast(dict[str, Any], json.loads(await connection.recv()))
    check(event)
    return event


async def say(connection: ClientConnection, kind: str, **fields: object) -> None:
    await connection.send(json.dumps({"type": kind, **fields}))


async def ask(connection: ClientConnection) -> None:
    content = [{"type": "input_text", "text": "What is the code?"}]
    await say(connection, "conversation.item.create", item={"type": "message", "role": "user", "content": content})
    await say(connection, "response.create")


async def hear_until(connection: ClientConnection, kind: str) -> dict[str, Any]:
    while (event := await hear(connection))["type"] != kind:
        pass
    return event


@pytest.mark.behaviour("V2")
async def test_a_page_brings_its_credential_as_a_subprotocol(gateway: Gateway) -> None:
    secret = await gateway.mint()
    async with connect(
        gateway.ws_url, subprotocols=as_page(secret.value), origin=Origin("http://127.0.0.1:3000")
    ) as connection:
        assert connection.subprotocol == "realtime"
        assert (await hear(connection))["type"] == "session.created"
        await ask(connection)
        assert (await hear_until(connection, "response.done"))["response"]["status"] == "completed"
    assert gateway.agent.asked[0].chat_id == secret.chat_id


@pytest.mark.behaviour("V2")
async def test_a_credential_that_is_over_opens_nothing(gateway: Gateway) -> None:
    secret = await gateway.mint(expires_after={"anchor": "created_at", "seconds": 1})
    over = time.monotonic() + 1
    await until(lambda: time.monotonic() > over)
    with pytest.raises(InvalidStatus) as refused:
        await connect(gateway.ws_url, additional_headers=bearer(secret.value))
    assert json.loads(refused.value.response.body or b"")["code"] == "credential_refused"


@pytest.mark.parametrize("headers", [{}, {"authorization": "Basic abc"}, {"authorization": "Bearer "}])
async def test_a_connection_without_a_credential_is_refused(gateway: Gateway, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(gateway.ws_url, additional_headers=headers)
    assert refused.value.response.status_code == 401
    assert json.loads(refused.value.response.body or b"")["code"] == "credential_missing"


async def test_a_page_is_told_in_an_event_that_its_credential_is_refused(gateway: Gateway) -> None:
    async with connect(gateway.ws_url, subprotocols=as_page("ek_" + "A" * 43)) as connection:
        event = await hear(connection)
        assert event["error"]["code"] == "credential_refused"
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        assert connection.close_code == 1008
        assert "ask for a new one" in (connection.close_reason or "")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:3001", "https://127.0.0.1:3000"])
async def test_a_page_from_elsewhere_is_refused_and_its_credential_stays_good(gateway: Gateway, origin: str) -> None:
    secret = await gateway.mint()
    with pytest.raises(InvalidStatus) as refused:
        await connect(gateway.ws_url, subprotocols=as_page(secret.value), origin=Origin(origin))
    assert refused.value.response.status_code == 403
    async with connect(gateway.ws_url, additional_headers=bearer(secret.value)) as connection:
        assert (await hear(connection))["type"] == "session.created"


@pytest.mark.parametrize(
    ("query", "code"), [("?call_id=rtc_1", "call_unknown"), ("?intent=transcription", "not_supported")]
)
async def test_what_is_not_served_is_said_before_the_credential_is_spent(
    gateway: Gateway, query: str, code: str
) -> None:
    secret = await gateway.mint()
    with pytest.raises(InvalidStatus) as refused:
        await connect(gateway.ws_url + query, additional_headers=bearer(secret.value))
    assert json.loads(refused.value.response.body or b"")["code"] == code
    async with connect(gateway.ws_url, additional_headers=bearer(secret.value)) as connection:
        assert (await hear(connection))["type"] == "session.created"


@pytest.mark.parametrize("settings", [Settings(max_sessions=1)])
async def test_a_full_house_says_so_and_the_credential_stays_good(gateway: Gateway) -> None:
    first, second = await gateway.mint(), await gateway.mint()
    async with connect(gateway.ws_url, additional_headers=bearer(first.value)) as connection:
        await hear(connection)
        with pytest.raises(InvalidStatus) as refused:
            await connect(gateway.ws_url, additional_headers=bearer(second.value))
        assert refused.value.response.status_code == 429
        assert refused.value.response.headers["retry-after"] == "5"
    await until(lambda: len(gateway.sessions()) == 0)
    async with connect(gateway.ws_url, additional_headers=bearer(second.value)) as connection:
        assert (await hear(connection))["type"] == "session.created"


@pytest.mark.parametrize("settings", [Settings(idle_s=1.0, silent_s=0.1)])
async def test_a_silent_session_is_closed_with_its_reason_but_never_in_an_answer(gateway: Gateway) -> None:
    gateway.agent.play = begin_only
    async with connect(gateway.ws_url, additional_headers=bearer((await gateway.mint()).value)) as connection:
        await ask(connection)
        failed = await hear_until(connection, "response.done")
        assert failed["response"]["status_details"]["error"]["code"] == "worker_lost"
        assert (await hear(connection))["type"] == "rate_limits.updated"
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        assert connection.close_code == 1000
        assert "new credential" in (connection.close_reason or "")


async def test_bytes_and_oversize_messages_get_an_error_and_the_session_goes_on(gateway: Gateway) -> None:
    async with connect(gateway.ws_url, additional_headers=bearer((await gateway.mint()).value)) as connection:
        await hear(connection)
        await connection.send(b"\x00\xff" * 320)
        assert (await hear(connection))["error"]["code"] == "invalid_json"
        await connection.send(json.dumps({"type": "input_audio_buffer.append", "audio": "A" * 100_000}))
        assert (await hear(connection))["error"]["code"] == "event_too_large"
        await ask(connection)
        assert (await hear_until(connection, "response.done"))["response"]["status"] == "completed"


async def test_a_client_that_vanishes_in_an_answer_leaves_nothing_behind_and_its_turn_alone(gateway: Gateway) -> None:
    gateway.agent.play = begin_only
    connection = await connect(gateway.ws_url, additional_headers=bearer((await gateway.mint()).value))
    await ask(connection)
    await hear_until(connection, "response.output_text.delta")
    connection.transport.abort()
    await until(lambda: len(gateway.sessions()) == 0)
    assert gateway.agent.cancelled == []


async def test_connections_that_come_and_go_leave_nothing(gateway: Gateway) -> None:
    for _ in range(20):
        secret = await gateway.mint()
        async with connect(gateway.ws_url, additional_headers=bearer(secret.value)) as connection:
            await hear(connection)
    await until(lambda: len(gateway.sessions()) == 0)


@pytest.mark.parametrize("more", [{"unknown": 1}, {"event_id": 7}, {"item_id": None}])
def test_the_check_of_events_is_strict(more: dict[str, object]) -> None:
    event = {"type": "conversation.item.deleted", "event_id": "event_1", "item_id": "item_1"}
    check(event)
    with pytest.raises(ValidationError):
        check({**event, **more})


def test_the_check_of_events_is_strict_all_the_way_down() -> None:
    item: dict[str, Any] = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "?"}]}
    event = {"type": "conversation.item.added", "event_id": "event_1", "item": item}
    check(event)
    item["content"][0]["mood"] = "curious"
    with pytest.raises(ValidationError):
        check(event)
