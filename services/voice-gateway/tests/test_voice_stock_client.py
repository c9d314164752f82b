"""The stock ``openai`` client asks a typed question over the WebSocket and reads the streamed answer."""

from __future__ import annotations

import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from openai.types.realtime import RealtimeServerEvent
from voice_fakes import ANSWER, Gateway, answer_whole, begin_only, fail_midway, until
from websockets.exceptions import InvalidStatus

from contracts.turns import Refusal

QUESTION = "What is the amber valve recovery code?"


def client_of(gateway: Gateway, key: str) -> AsyncOpenAI:
    return AsyncOpenAI(api_key=key, base_url=f"{gateway.url}/v1", max_retries=0)


async def ask(connection: AsyncRealtimeConnection, question: str = QUESTION) -> None:
    await connection.conversation.item.create(
        item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]}
    )
    await connection.response.create()


async def read_until(connection: AsyncRealtimeConnection, kind: str) -> list[RealtimeServerEvent]:
    events: list[RealtimeServerEvent] = []
    async for event in connection:
        events.append(event)
        if event.type == kind:
            return events
    raise AssertionError(f"the connection ended before {kind}")


@pytest.mark.behaviour("V2", "V3")
async def test_a_stock_client_mints_a_credential_asks_and_reads_the_answer(gateway: Gateway) -> None:
    minting = client_of(gateway, "unused")
    secret = await minting.realtime.client_secrets.create(session={"type": "realtime", "model": "gpt-realtime"})
    assert secret.value.startswith("ek_")
    async with client_of(gateway, secret.value).realtime.connect(model="gpt-realtime") as connection:
        created = await connection.recv()
        assert created.type == "session.created"
        await connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        assert (await connection.recv()).type == "session.updated"
        await ask(connection)
        events = await read_until(connection, "response.done")
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == "".join(ANSWER)
    done = events[-1]
    assert done.type == "response.done"
    assert done.response.status == "completed"
    assert done.response.metadata is not None
    assert done.response.metadata["turn_id"] == str(gateway.agent.turns[0])
    assert [asked.question for asked in gateway.agent.asked] == [QUESTION]
    await minting.close()


@pytest.mark.behaviour("V2")
async def test_a_second_connection_with_the_same_credential_is_refused(gateway: Gateway) -> None:
    secret = await gateway.mint()
    async with client_of(gateway, secret.value).realtime.connect(model="talkdown") as connection:
        await connection.recv()
        with pytest.raises(InvalidStatus) as refused:
            await client_of(gateway, secret.value).realtime.connect(model="talkdown").enter()
        assert refused.value.response.status_code == 401
        body = Refusal.model_validate_json(refused.value.response.body or b"")
        assert body.code == "credential_refused"
        await ask(connection)
        assert (await read_until(connection, "response.done"))[-1].type == "response.done"


@pytest.mark.behaviour("V7")
async def test_a_failed_answer_leaves_the_session_usable(gateway: Gateway) -> None:
    gateway.agent.play = fail_midway
    secret = await gateway.mint()
    async with client_of(gateway, secret.value).realtime.connect(model="talkdown") as connection:
        await ask(connection)
        failed = (await read_until(connection, "response.done"))[-1]
        assert failed.type == "response.done"
        assert failed.response.status == "failed"
        assert failed.response.status_details is not None
        assert failed.response.status_details.error is not None
        assert failed.response.status_details.error.code == "model_failed"
        gateway.agent.play = answer_whole
        await ask(connection, "And now?")
        done = (await read_until(connection, "response.done"))[-1]
        assert done.type == "response.done"
        assert done.response.status == "completed"


@pytest.mark.behaviour("V7")
async def test_an_agent_that_refuses_gives_its_own_sentence(gateway: Gateway) -> None:
    gateway.agent.refusal = (429, Refusal(code="too_many_turns", message="Wait for one to end and ask again."))
    secret = await gateway.mint()
    async with client_of(gateway, secret.value).realtime.connect(model="talkdown") as connection:
        await ask(connection)
        failed = (await read_until(connection, "response.done"))[-1]
    assert failed.type == "response.done"
    assert failed.response.status_details is not None
    assert failed.response.status_details.error is not None
    assert failed.response.status_details.error.message == "Wait for one to end and ask again."


@pytest.mark.behaviour("V7")
async def test_cancelling_midway_stops_the_turn_and_ends_the_response(gateway: Gateway) -> None:
    gateway.agent.play = begin_only
    secret = await gateway.mint()
    async with client_of(gateway, secret.value).realtime.connect(model="talkdown") as connection:
        await ask(connection)
        await read_until(connection, "response.output_text.delta")
        await connection.response.cancel()
        events = await read_until(connection, "response.done")
        done = events[-1]
        assert done.type == "response.done"
        assert done.response.status == "cancelled"
        assert [event.type for event in events] == [
            "response.output_text.done",
            "response.content_part.done",
            "conversation.item.done",
            "response.output_item.done",
            "response.done",
        ]
        await until(lambda: gateway.agent.cancelled == gateway.agent.turns)
