"""The bridge's own protocol: how a session is opened, what passes after it, and the code that each end has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress

import pytest
from bridge_fakes import CHAT, Bridge, Talker, bridging
from voice_fakes import until
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from voice_gateway.errors import EarsBusy
from voice_gateway.live.errors import InvalidConfig, LiveError
from voice_gateway.live.events import (
    AudioDelta,
    Failure,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    ResponseEnded,
    ResponseStarted,
    SpeechStarted,
    TurnComplete,
    TurnStarted,
)
from voice_gateway.outbox import GOING_AWAY
from voice_gateway.settings import Settings

SOUND = bytes(range(256)) * 15
"""80 ms at 24 kHz."""

pytestmark = pytest.mark.behaviour("L8")


@pytest.fixture
async def bridge() -> AsyncGenerator[Bridge]:
    async with bridging() as bridge:
        yield bridge


async def closed(client: Talker) -> tuple[int | None, str]:
    """The code and the reason that the bridge closes with."""
    with suppress(ConnectionClosed):
        while True:
            await client.next()
    return client.socket.close_code, client.socket.close_reason or ""


async def test_ready_tells_both_rates_and_the_session_before_any_sound(bridge: Bridge) -> None:
    async with bridge.connected(orchestrator="cascade", agent="concierge", voice="tone") as client:
        assert client.ready == {
            "type": "ready",
            "input_rate": 16_000,
            "output_rate": 24_000,
            "session_id": "sess_0123456789",
            "chat_id": str(CHAT),
            "orchestrator": "cascade",
            "provider": "local",
            "scenario": "notes",
            "agent": "concierge",
            "modality": "audio",
            "vad": True,
            "leaves": None,
            "capabilities": {"images": False, "resumption": False, "truncation": False, "changes_agent": False},
        }
        assert bridge.wanted[0].config.voice == "tone"
        bridge.opened[0].tell(ResponseStarted(response_id="r"), AudioDelta(data=SOUND))
        assert await client.hear() == {"type": "response_started", "response_id": "r"}
        assert b"".join([await sound(client) for _ in range(2)]) == SOUND


async def sound(client: Talker) -> bytes:
    message = await client.next()
    assert isinstance(message, bytes)
    return message


@pytest.mark.parametrize("frame", ["[]", "null", "7", "{", "", b"{}", b"\x00\x01" * 160])
async def test_a_first_frame_that_is_no_json_object_closes_with_1003(bridge: Bridge, frame: str | bytes) -> None:
    async with connect(bridge.url, additional_headers={"authorization": f"Bearer {bridge.token()}"}) as socket:
        await socket.send(frame)
        assert await closed(Talker(socket)) == (
            1003,
            "The first frame is a JSON object with the settings of the session; {} takes them as they are.",
        )
    assert bridge.opened == []


async def test_the_size_of_a_first_frame_is_counted_in_bytes(bridge: Bridge) -> None:
    async with connect(f"{bridge.url}?token={bridge.token()}") as socket:
        await socket.send(json.dumps({"voice": "ö" * 600_000}, ensure_ascii=False))
        assert (await Talker(socket).hear())["message"] == "The first frame has at most 1,048,576 bytes."


async def test_a_first_frame_that_does_not_come_closes_with_1003() -> None:
    async with bridging(first_frame_s=0.05) as bridge:
        async with connect(bridge.url, additional_headers={"authorization": f"Bearer {bridge.token()}"}) as socket:
            code, reason = await closed(Talker(socket))
        assert code == 1003
        assert "No first frame came" in reason
        await until(lambda: len(bridge.sessions) == 0)


@pytest.mark.parametrize(
    ("init", "named"),
    [
        ({"voices": "a"}, "voices"),
        ({"vad": {"silence_duration_ms": -1}}, "vad.silence_duration_ms"),
        ({"modality": "smell"}, "modality"),
        ({"orchestrator": "choir"}, "orchestrator"),
        ({"agent": "../../etc"}, "agent"),
        ({"phrases": [""]}, "phrases.0"),
        ({"reconnect": {"max_attempts": float("inf")}}, None),
    ],
)
async def test_a_wrong_setting_is_told_by_its_name_and_closes(
    bridge: Bridge, init: dict[str, object], named: str | None
) -> None:
    async with connect(bridge.url, additional_headers={"authorization": f"Bearer {bridge.token()}"}) as socket:
        client = Talker(socket)
        await client.say(**init)
        if named is not None:
            event = await client.hear()
            assert (event["code"], event["fatal"]) == ("invalid_config", True)
            assert f"`{named}`" in event["message"]
        assert (await closed(client))[0] == (1008 if named else 1003)
    assert bridge.opened == []


@pytest.mark.parametrize(
    ("error", "code", "closes"),
    [
        (InvalidConfig("There is no agent `x`."), "invalid_config", 1008),
        (EarsBusy(), "too_many_sessions", 1013),
        (LiveError("provider_refused", "The provider refuses the key."), "provider_refused", 1011),
        (RuntimeError("a secret"), "internal", 1011),
    ],
)
async def test_a_session_that_cannot_be_opened_says_why(
    bridge: Bridge, error: Exception, code: str, closes: int
) -> None:
    bridge.refusal.append(error)
    async with connect(bridge.url, additional_headers={"authorization": f"Bearer {bridge.token()}"}) as socket:
        client = Talker(socket)
        await client.say()
        event = await client.hear()
        assert (event["type"], event["code"], event["fatal"]) == ("error", code, True)
        assert "secret" not in event["message"]
        assert (await closed(client))[0] == closes
    await until(lambda: len(bridge.sessions) == 0)


@pytest.mark.parametrize("place", ["header", "subprotocol", "query"])
async def test_the_credential_comes_in_any_of_three_places_and_serves_once(bridge: Bridge, place: str) -> None:
    token = bridge.token()
    how = {"header": {"additional_headers": {"authorization": f"Bearer {token}"}}, "query": {}}
    subprotocols = [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{token}")]
    address = bridge.url + (f"?token={token}" if place == "query" else "")
    given = {"subprotocols": subprotocols} if place == "subprotocol" else how[place]
    async with connect(address, **given) as socket:  # type: ignore[arg-type]
        client = Talker(socket)
        await client.say()
        assert (await client.hear())["type"] == "ready"
    async with connect(address, **given) as socket:  # type: ignore[arg-type]
        assert (await Talker(socket).hear())["code"] == "credential_refused"
        assert (await closed(Talker(socket)))[0] == 1008


async def test_without_a_credential_it_closes_with_1008(bridge: Bridge) -> None:
    async with connect(bridge.url) as socket:
        assert (await Talker(socket).hear())["code"] == "credential_missing"
        assert (await closed(Talker(socket)))[0] == 1008
    assert len(bridge.sessions) == 0


async def test_another_site_s_page_is_refused_before_the_handshake(bridge: Bridge) -> None:
    token = bridge.token()
    with pytest.raises(InvalidStatus) as refused:
        await connect(f"{bridge.url}?token={token}", origin=Origin("http://evil.example"))
    assert refused.value.response.status_code == 403
    assert len(bridge.credentials) == 1


async def test_over_the_limit_it_closes_with_1013_and_the_credential_stays_good() -> None:
    async with bridging(Settings(max_sessions=1)) as bridge:
        token = bridge.token()
        async with bridge.connected(), connect(f"{bridge.url}?token={token}") as socket:
            assert (await Talker(socket).hear())["code"] == "too_many_sessions"
            assert (await closed(Talker(socket)))[0] == 1013
        await until(lambda: len(bridge.sessions) == 0)
        async with connect(f"{bridge.url}?token={token}") as socket:
            client = Talker(socket)
            await client.say()
            assert (await client.hear())["type"] == "ready"


async def test_sound_and_words_go_up(bridge: Bridge) -> None:
    async with bridge.connected() as client:
        await client.socket.send(b"\1\2\3")
        await client.socket.send(b"\4\5\6")
        await client.say(type="text", text="What is the code?")
        taken = bridge.opened[0].queue.taken
        await until(lambda: len(taken) == 2)
        assert taken == [("audio 16000", b"\1\2\3\4\5\6"), ("text", "What is the code?")]


async def test_every_event_comes_down_as_its_fields_are(bridge: Bridge) -> None:
    events = [
        SpeechStarted(),
        InputTranscript(text="Was ist mit Ökö?", finished=True),
        TurnStarted(turn=1, turn_id=CHAT, trace_id="0" * 31 + "1"),
        ResponseStarted(response_id="r"),
        OutputTranscript(text="Gut."),
        ResponseEnded(response_id="r"),
        TurnComplete(turn=1),
    ]
    async with bridge.connected() as client:
        bridge.opened[0].tell(*events)
        heard = [await client.hear() for _ in events]
    assert heard == [event.model_dump(mode="json") for event in events]


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", "invalid_json"),
        ("[1]", "invalid_json"),
        ('{"type": "dance"}', "unknown_message"),
        ('{"type": "text"}', "invalid_message"),
        ('{"type": "text", "text": "  "}', "blank_question"),
        (json.dumps({"type": "text", "text": "a\0b"}), "invalid_message"),
        (json.dumps({"type": "text", "text": "a" * 2001}), "question_too_long"),
        ('{"type": "played", "response_id": "r", "ms": -1}', "invalid_message"),
        ('{"type": "activity_start"}', "not_by_hand"),
        ("a" * 1_048_577, "frame_too_large"),
        (b"\0" * 1_048_578, "frame_too_large"),
    ],
)
async def test_a_wrong_frame_is_told_and_dropped_and_the_session_goes_on(
    bridge: Bridge, frame: str | bytes, code: str
) -> None:
    async with bridge.connected() as client:
        await client.socket.send(frame)
        event = await client.hear()
        assert (event["type"], event["code"], event["fatal"]) == ("error", code, False)
        await client.say(type="text", text="And now?")
        taken = bridge.opened[0].queue.taken
        await until(lambda: taken)
        assert taken == [("text", "And now?")]


async def test_a_frame_of_exactly_one_mebibyte_is_taken(bridge: Bridge) -> None:
    async with bridge.connected() as client:
        await client.socket.send(b"\0" * 1_048_576)
        taken = bridge.opened[0].queue.taken
        await until(lambda: taken)
        assert taken == [("audio 16000", b"\0" * 1_048_576)]


@pytest.mark.behaviour("L9")
async def test_turns_are_marked_by_hand_where_the_session_was_opened_so(bridge: Bridge) -> None:
    async with bridge.connected(vad={"enabled": False}) as client:
        assert client.ready["vad"] is False
        for kind in ("activity_start", "activity_end", "activity_cancel"):
            await client.say(type=kind)
        taken = bridge.opened[0].queue.taken
        await until(lambda: len(taken) == 3)
        assert taken == [("activity", "start"), ("activity", "end"), ("activity", "cancel")]


async def test_silence_that_the_client_wants_takes_back_what_was_not_sent_and_all_that_comes_late(
    bridge: Bridge,
) -> None:
    async with bridge.connected() as client:
        session = bridge.opened[0]
        session.tell(ResponseStarted(response_id="old"), AudioDelta(data=SOUND * 100))
        await client.hear_until("response_started")
        await sound(client)
        await client.say(type="interrupt", played_ms=40)
        before = await client.hear_until("interrupted")
        assert sum(len(message) for message in before if isinstance(message, bytes)) < len(SOUND) * 10
        session.tell(AudioDelta(data=SOUND), OutputTranscript(text="late"), Interrupted())
        session.tell(ResponseStarted(response_id="new"), AudioDelta(data=SOUND))
        assert await client.hear() == {"type": "response_started", "response_id": "new"}, "it was told already"
        assert session.interrupted == [40]


async def test_close_lets_what_is_being_said_come_to_its_end(bridge: Bridge) -> None:
    async with bridge.connected() as client:
        session = bridge.opened[0]
        session.lingers = True
        await client.say(type="close")
        await until(lambda: session.queue.closed)
        session.tell(ResponseStarted(response_id="r"), AudioDelta(data=SOUND * 8), ResponseEnded(response_id="r"))
        session.end()
        heard = await client.hear_until("response_ended")
        assert b"".join(message for message in heard if isinstance(message, bytes)) == SOUND * 8
        await client.say(type="text", text="too late")
        assert await closed(client) == (1000, "The session was closed.")
    assert session.queue.taken == []
    await until(lambda: session.closed)


async def test_close_waits_no_longer_than_it_may() -> None:
    async with bridging(drain_s=0.1) as bridge, bridge.connected() as client:
        session = bridge.opened[0]
        session.lingers = True
        await client.say(type="close")
        assert (await closed(client))[0] == 1000
        await until(lambda: session.closed)


async def test_a_session_that_ends_by_itself_closes_with_1000(bridge: Bridge) -> None:
    async with bridge.connected() as client:
        bridge.opened[0].end()
        assert await closed(client) == (1000, "The session was closed.")


async def test_a_fatal_error_is_told_and_closes_with_1011_and_its_sentence(bridge: Bridge) -> None:
    async with bridge.connected() as client:
        failure = Failure(code="reconnect_failed", message="The voice provider is gone.", fatal=True)
        bridge.opened[0].tell(ResponseStarted(response_id="r"), AudioDelta(data=SOUND * 100), failure)
        heard = await client.hear_until("error")
        assert heard[-1] == failure.model_dump(mode="json")
        assert await closed(client) == (1011, "The voice provider is gone.")


async def test_a_session_that_breaks_closes_with_1011_and_tells_nothing_of_it(bridge: Bridge) -> None:
    async with bridge.connected() as client:
        bridge.opened[0].fail(RuntimeError("a secret"))
        assert (await client.hear())["code"] == "internal"
        code, reason = await closed(client)
        assert code == 1011
        assert "secret" not in reason


async def test_a_process_that_stops_closes_with_1001_when_the_answer_is_said(bridge: Bridge) -> None:
    async with bridge.connected() as busy, bridge.connected() as idle:
        session = bridge.opened[0]
        session.lingers = True
        session.tell(TurnStarted(turn=1), ResponseStarted(response_id="r"))
        await busy.hear_until("response_started")
        stopping = asyncio.create_task(bridge.sessions.stop(5))
        assert await closed(idle) == (1001, GOING_AWAY.reason)
        await until(lambda: session.queue.closed)
        session.tell(AudioDelta(data=SOUND), TurnComplete(turn=1))
        session.end()
        heard = await busy.hear_until("turn_complete")
        assert heard[-2:] == [SOUND[-1920:], {"type": "turn_complete", "turn": 1}]
        assert await closed(busy) == (1001, GOING_AWAY.reason)
        await stopping


async def test_a_process_that_stops_sends_away_who_has_not_said_what_it_wants(bridge: Bridge) -> None:
    async with connect(f"{bridge.url}?token={bridge.token()}") as socket:
        await until(lambda: len(bridge.sessions) == 1)
        await bridge.sessions.stop(0)
        assert await closed(Talker(socket)) == (1001, GOING_AWAY.reason)


async def test_a_silent_client_is_sent_away_but_never_in_an_answer() -> None:
    async with bridging(Settings(idle_s=0.1)) as bridge, bridge.connected() as client:
        session = bridge.opened[0]
        session.tell(TurnStarted(turn=1))
        await client.hear_until("turn_started")
        session.tell(TurnComplete(turn=1))
        await client.hear_until("turn_complete")
        code, reason = await closed(client)
        assert code == 1000
        assert "new credential" in reason


async def test_clients_that_come_and_go_and_vanish_leave_nothing(bridge: Bridge) -> None:
    for vanishes in [False, True] * 5:
        async with bridge.connected() as client:
            bridge.opened[-1].tell(ResponseStarted(response_id="r"), AudioDelta(data=SOUND * 100))
            await sound_after(client)
            if vanishes:
                client.socket.transport.abort()
    await until(lambda: len(bridge.sessions) == 0)
    assert len(bridge.opened) == 10
    await until(lambda: all(session.closed for session in bridge.opened))


async def sound_after(client: Talker) -> None:
    while not isinstance(await client.next(), bytes):
        pass
