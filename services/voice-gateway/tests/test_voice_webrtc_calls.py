"""Calls over WebRTC: opened by an offer, spoken in, interrupted, hung up, dropped, and watched from beside."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from openai import AsyncOpenAI
from voice_caller import Caller, tone
from voice_fakes import ANSWER, FakeAgent, Gateway, until
from voice_wire import check
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from contracts.frames import Delta, Done
from voice_gateway.settings import Settings

QUESTION = "What is the amber valve recovery code?"
LONG = "The valve is closed by hand. " * 6
PATH = "/v1/realtime/calls"


def audible(*script: str, **changed: Any) -> Settings:
    """Settings of a gateway that hears and says what is written down."""
    fixed = {"voice": "local", "ears": "scripted", "mouth": "scripted", "max_voices": 100, "script": script}
    return Settings.model_validate({**fixed, "silent_s": 0.1, "answer_s": 20, "stop_s": 0.2, **changed})


@pytest.fixture
def settings() -> Settings:
    return audible(QUESTION)


async def answer_at_length(agent: FakeAgent, turn_id: UUID) -> None:
    await agent.write(turn_id, Delta(text=LONG), Done(answer=LONG, sources=()))


async def dial(gateway: Gateway, caller: Caller) -> str:
    """Open a call with a fresh credential, and give the answer."""
    secret = await gateway.mint()
    headers = {"authorization": f"Bearer {secret.value}", "content-type": "application/sdp"}
    answer = await gateway.http.post(PATH, content=await caller.offer(), headers=headers)
    assert answer.status_code == 201, answer.text
    assert answer.headers["content-type"].startswith("application/sdp")
    caller.call_id = answer.headers["location"].removeprefix(f"{PATH}/")
    assert caller.call_id.startswith("rtc_")
    return answer.text


@asynccontextmanager
async def calling(gateway: Gateway) -> AsyncGenerator[Caller]:
    """A call that stands; all that was said in it was said as the provider's types have it."""
    caller = Caller()
    try:
        await caller.accept(await dial(gateway, caller))
        await caller.hears("session.created")
        yield caller
        for event in caller.events:
            check(event)
    finally:
        await caller.close()


async def hear(connection: ClientConnection, kind: str) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while True:
            event: dict[str, Any] = json.loads(await connection.recv())
            if event["type"] == kind:
                return event


@pytest.mark.behaviour("V9")
async def test_a_spoken_question_is_heard_answered_and_spoken(gateway: Gateway) -> None:
    async with calling(gateway) as caller:
        caller.microphone.play(tone(0.8))
        heard = await caller.hears("conversation.item.input_audio_transcription.completed")
        assert heard["transcript"] == QUESTION
        done = await caller.hears("response.done")
        assert done["response"]["status"] == "completed"
        await caller.hears("output_audio_buffer.stopped")
        said = "".join(event["delta"] for event in caller.kinds("response.output_audio_transcript.delta"))
        assert said == "".join(ANSWER).replace(" [1]", "")
        # The scripted mouth speaks 60 ms a character; on a track no sound goes in events.
        assert caller.kinds("response.output_audio.delta") == []
        await until(lambda: caller.loud_s() > len(said) * 0.06 - 0.1)
        assert caller.loud_s() < len(said) * 0.06 + 0.2
    assert [asked.question for asked in gateway.agent.asked] == [QUESTION]
    await until(lambda: len(gateway.sessions()) == 0)


@pytest.mark.behaviour("V6")
async def test_speaking_up_silences_the_old_answer(gateway: Gateway) -> None:
    gateway.agent.play = answer_at_length
    async with calling(gateway) as caller:
        caller.microphone.play(tone(0.6))
        await caller.hears("output_audio_buffer.started")
        await until(lambda: caller.loud_s() > 0.3)
        caller.microphone.play(tone(0.6))
        cleared = await caller.hears("output_audio_buffer.cleared")
        heard_by_then = caller.loud_s()
        await until(lambda: len(caller.kinds("output_audio_buffer.started")) == 2)
        first, second = caller.kinds("output_audio_buffer.started")
        assert cleared["response_id"] == first["response_id"] != second["response_id"]
        assert heard_by_then < len(LONG) * 0.06 / 2


@pytest.mark.behaviour("V6", "V10")
@pytest.mark.parametrize("settings", [audible(QUESTION, "", QUESTION)])
async def test_after_a_noise_the_answer_goes_on_where_it_was(gateway: Gateway) -> None:
    async with calling(gateway) as caller:
        caller.microphone.play(tone(0.6))
        await caller.hears("output_audio_buffer.started")
        caller.microphone.play(tone(0.3))
        await until(lambda: len(caller.kinds("input_audio_buffer.speech_started")) == 2)
        await caller.hears("input_audio_buffer.cleared")
        await caller.hears("output_audio_buffer.stopped")
        said = len("".join(ANSWER).replace(" [1]", ""))
        await until(lambda: caller.loud_s() > said * 0.06 - 0.1)
        assert caller.kinds("output_audio_buffer.cleared") == []


async def test_a_call_is_hung_up_once(gateway: Gateway) -> None:
    async with calling(gateway) as caller:
        assert (await gateway.http.post(f"{PATH}/{caller.call_id}/hangup")).status_code == 200
        gone = await gateway.http.post(f"{PATH}/{caller.call_id}/hangup")
        assert (gone.status_code, gone.json()["code"]) == (404, "call_unknown")
        await until(lambda: caller.pc.connectionState == "closed")
    await until(lambda: len(gateway.sessions()) == 0)
    unknown = await gateway.http.post(f"{PATH}/rtc_unknown/hangup")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "call_unknown")


async def test_the_stock_client_opens_a_call_with_a_form_and_hangs_it_up(gateway: Gateway) -> None:
    secret, caller = await gateway.mint(), Caller()
    async with AsyncOpenAI(api_key=secret.value, base_url=f"{gateway.url}/v1", max_retries=0) as client:
        wanted: Any = {"type": "realtime", "model": "gpt-realtime-2.1", "output_modalities": ["text"]}
        raw = await client.realtime.calls.with_raw_response.create(sdp=await caller.offer(), session=wanted)
        assert raw.status_code == 201
        call_id = raw.headers["location"].rpartition("/")[2]
        await caller.accept(raw.parse().text)
        session = (await caller.hears("session.created"))["session"]
        assert (session["model"], session["output_modalities"]) == ("gpt-realtime-2.1", ["text"])
        await client.realtime.calls.hangup(call_id)
        await until(lambda: caller.pc.connectionState == "closed")
    await caller.close()


@pytest.mark.parametrize(
    ("kind", "body", "status", "code"),
    [
        ("application/sdp", b"", 400, "invalid_offer"),
        ("application/sdp", b"v=0\r\n\xff\xfe", 400, "invalid_offer"),
        ("application/sdp", b"m=audio x y z\r\n" * 3, 400, "invalid_offer"),
        ("application/sdp", b"v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n", 400, "invalid_offer"),
        ("application/sdp", b"v=0\r\n" + b"a=x\r\n" * 20_000, 413, "too_large"),
        ("application/sdp", b"v" * 200_000, 413, "too_large"),
        ("application/json", b"{}", 400, "bad_request"),
        ("multipart/form-data; boundary=b", b"--b\r\n\r\nnothing\r\n--b--\r\n", 400, "bad_request"),
        ("multipart/form-data", b"no boundary", 400, "bad_request"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="sdp"\r\n\r\nv=0\r\n'
            b'--b\r\nContent-Disposition: form-data; name="session"\r\n\r\n[1]\r\n--b--\r\n',
            400,
            "bad_request",
        ),
    ],
)
async def test_an_offer_that_is_none_is_refused_and_the_credential_stays_good(
    gateway: Gateway, kind: str, body: bytes, status: int, code: str
) -> None:
    secret = await gateway.mint()
    headers = {"authorization": f"Bearer {secret.value}"}
    refused = await gateway.http.post(PATH, content=body, headers={**headers, "content-type": kind})
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert len(refused.json()["message"]) > 20
    assert len(gateway.sessions()) == 0
    async with connect(gateway.ws_url, additional_headers=headers) as connection:
        await hear(connection, "session.created")


@pytest.mark.parametrize("without", ["m=audio", "opus", "a=fingerprint", "a=ice-ufrag", "a=rtcp-mux"])
async def test_an_offer_that_lacks_something_is_refused_in_words(gateway: Gateway, without: str) -> None:
    secret, caller = await gateway.mint(), Caller(channel=None)
    offer = "".join(line + "\r\n" for line in (await caller.offer()).splitlines() if without not in line)
    headers = {"authorization": f"Bearer {secret.value}", "content-type": "application/sdp"}
    refused = await gateway.http.post(PATH, content=offer, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_offer")
    await caller.close()


@pytest.mark.behaviour("V2")
async def test_a_credential_opens_one_call(gateway: Gateway) -> None:
    secret, caller = await gateway.mint(), Caller()
    headers = {"authorization": f"Bearer {secret.value}", "content-type": "application/sdp"}
    offer = await caller.offer()
    assert (await gateway.http.post(PATH, content=offer, headers=headers)).status_code == 201
    again = await gateway.http.post(PATH, content=offer, headers=headers)
    assert (again.status_code, again.json()["code"]) == (401, "credential_refused")
    bare = await gateway.http.post(PATH, content=offer, headers={"content-type": "application/sdp"})
    assert (bare.status_code, bare.json()["code"]) == (401, "credential_missing")
    foreign = await gateway.http.post(PATH, content=offer, headers={**headers, "origin": "http://evil.example"})
    assert foreign.status_code == 403
    await caller.close()


@pytest.mark.parametrize("settings", [audible(QUESTION, max_sessions=1)])
async def test_past_the_cap_a_call_is_refused_and_the_credential_stays_good(gateway: Gateway) -> None:
    secret, other = await gateway.mint(), Caller()
    headers = {"authorization": f"Bearer {secret.value}", "content-type": "application/sdp"}
    offer = await other.offer()
    async with calling(gateway):
        refused = await gateway.http.post(PATH, content=offer, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_sessions")
        assert refused.headers["retry-after"] == "5"
    await until(lambda: len(gateway.sessions()) == 0)
    assert (await gateway.http.post(PATH, content=offer, headers=headers)).status_code == 201
    await other.close()


@pytest.mark.parametrize("settings", [audible(QUESTION, call_connect_s=0.5)])
async def test_a_call_whose_client_cannot_be_reached_is_given_up(gateway: Gateway) -> None:
    caller = Caller()
    await dial(gateway, caller)  # and its answer never arrives
    assert len(gateway.sessions()) == 1
    await until(lambda: len(gateway.sessions()) == 0)
    await caller.close()


@pytest.mark.parametrize("settings", [audible(QUESTION, idle_s=1.0)])
async def test_a_call_in_which_nobody_speaks_is_ended(gateway: Gateway) -> None:
    async with calling(gateway) as caller:
        await until(lambda: caller.pc.connectionState == "closed")
    assert len(gateway.sessions()) == 0


async def test_a_client_without_a_data_channel_is_heard_all_the_same(gateway: Gateway) -> None:
    caller = Caller(channel=None)
    await caller.accept(await dial(gateway, caller))
    caller.microphone.play(tone(0.6))
    await until(lambda: caller.loud_s() > 1.0)
    await caller.close()
    await until(lambda: len(gateway.sessions()) == 0)


async def test_beside_a_call_its_events_are_seen_and_more_are_sent(gateway: Gateway) -> None:
    async with calling(gateway) as caller:
        headers = {"authorization": f"Bearer {(await gateway.mint()).value}"}
        async with connect(f"{gateway.ws_url}?call_id={caller.call_id}", additional_headers=headers) as beside:
            created = await hear(beside, "session.created")
            check(created)
            await beside.send(json.dumps({"type": "session.update", "session": {"output_modalities": ["text"]}}))
            assert (await hear(beside, "session.updated"))["session"]["output_modalities"] == ["text"]
            await caller.hears("session.updated")
            caller.microphone.play(tone(0.6))
            done = await hear(beside, "response.done")
            assert (await caller.hears("response.done")) == done
            with pytest.raises(InvalidStatus) as refused:
                await connect(f"{gateway.ws_url}?call_id={caller.call_id}", additional_headers=headers)
            assert refused.value.response.status_code == 401
        # Who sat beside it has left, and the call goes on.
        caller.say("session.update", session={"output_modalities": ["audio"]})
        await until(lambda: len(caller.kinds("session.updated")) == 2)


async def test_with_the_call_the_place_beside_it_ends(gateway: Gateway) -> None:
    headers = {"authorization": f"Bearer {(await gateway.mint()).value}"}
    async with calling(gateway) as caller:
        beside = await connect(f"{gateway.ws_url}?call_id={caller.call_id}", additional_headers=headers)
    with pytest.raises(ConnectionClosed):
        await hear(beside, "nothing more")
    assert beside.close_code == 1000
    with pytest.raises(InvalidStatus) as refused:
        await connect(
            f"{gateway.ws_url}?call_id={caller.call_id}",
            additional_headers={"authorization": f"Bearer {(await gateway.mint()).value}"},
        )
    assert refused.value.response.status_code == 404


async def test_calls_that_were_opened_and_dropped_leave_nothing_behind(gateway: Gateway) -> None:
    async def round_of(count: int) -> None:
        callers = [Caller() for _ in range(count)]
        for number, caller in enumerate(callers):
            answer = await dial(gateway, caller)
            if number % 2:
                await caller.accept(answer)
        await asyncio.gather(*(caller.close() for caller in callers))
        for caller in callers:
            await gateway.http.post(f"{PATH}/{caller.call_id}/hangup")
        await until(lambda: len(gateway.sessions()) == 0)

    def threads() -> int:
        """Those of the calls; the loop's own pool grows as it likes."""
        return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())

    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    await round_of(2)
    await until(lambda: threads() <= 2)
    before = len(asyncio.all_tasks()), threads(), descriptors()
    for _ in range(5):
        await round_of(6)
    await until(lambda: len(asyncio.all_tasks()) <= before[0])
    await until(lambda: descriptors() <= before[2] + 2)
    await until(lambda: threads() <= before[1])
