"""The bridge in a running gateway: ears, a cascade of Talkdown's own agent, and a mouth behind it."""

from __future__ import annotations

import asyncio
import json

import pytest
from bridge_fakes import Talker
from pydantic import SecretStr
from voice_fakes import Gateway, until
from websockets.asyncio.client import connect

from contracts.voice import LiveOffer
from voice_gateway.scripted import tone
from voice_gateway.settings import Settings
from voice_gateway.transports.bridge.serving import PATH

HEARS = Settings(
    voice="local", ears="scripted", mouth="scripted", script=("What is the code?",), silent_s=0.1, stop_s=0.2
)
KEY = "sk-the-permanent-one"
LIVE = Settings(voice="openai", openai_api_key=SecretStr(KEY), openai_base_url="http://127.0.0.1:9/v1", silent_s=0.1)


def spoken() -> bytes:
    """300 ms of speech and a second of silence, at 16 kHz."""
    return tone(450)[: 300 * 32] + bytes(32_000)


@pytest.mark.behaviour("L8")
@pytest.mark.parametrize("settings", [HEARS])
async def test_a_question_asked_aloud_over_the_bridge_is_answered_aloud(gateway: Gateway) -> None:
    secret = await gateway.mint(bridge=True)
    assert secret.url is None
    address = gateway.url.replace("http", "ws", 1) + PATH
    async with connect(f"{address}?token={secret.value}") as socket:
        client = Talker(socket)
        await client.say()
        ready = await client.hear()
        assert (ready["type"], ready["orchestrator"], ready["provider"]) == ("ready", "cascade", "local")
        assert ready["chat_id"] == str(secret.chat_id)
        for start in range(0, len(spoken()), 1280):
            await socket.send(spoken()[start : start + 1280])
        heard = await client.hear_until("turn_complete")
        events = [message for message in heard if isinstance(message, dict)]
        sound = b"".join(message for message in heard if isinstance(message, bytes))
        assert [event["text"] for event in events if event["type"] == "input_transcript"][-1] == "What is the code?"
        words = "".join(
            event["text"] for event in events if event["type"] == "output_transcript" and not event["finished"]
        )
        assert "ORCHID-47" in words
        assert len(sound) / 48 == pytest.approx(len(words) * 60, abs=100)
        named = [event["turn_id"] for event in events if event["type"] == "turn_started" and event["turn_id"]]
        assert len(named) == 1
        await client.say(type="close")
        await socket.wait_closed()
        assert socket.close_code == 1000
    assert [asked.question for asked in gateway.agent.asked] == ["What is the code?"]
    assert gateway.agent.asked[0].chat_id == secret.chat_id
    await until(lambda: len(gateway.sessions()) == 0)


@pytest.mark.behaviour("L10")
@pytest.mark.parametrize("settings", [HEARS])
@pytest.mark.parametrize(
    ("init", "named"),
    [
        ({"agent": "nobody"}, "`agent`"),
        ({"scenario": "nothing"}, "nothing"),
        ({"provider": "gemini"}, "`provider`"),
        ({"orchestrator": "live"}, "`orchestrator`"),
        ({"voice": "Pavarotti"}, "`voice`"),
        ({"voice": "../../x"}, "`voice`"),
        ({"voice": ""}, "`voice`"),
    ],
)
async def test_what_this_gateway_does_not_have_is_refused_by_name(
    gateway: Gateway, init: dict[str, object], named: str
) -> None:
    secret = await gateway.mint(bridge=True)
    async with connect(f"{gateway.url.replace('http', 'ws', 1)}{PATH}?token={secret.value}") as socket:
        client = Talker(socket)
        await client.say(**init)
        event = await client.hear()
        assert (event["code"], event["fatal"]) == ("invalid_config", True)
        assert named in event["message"]
        await socket.wait_closed()
        assert socket.close_code == 1008


@pytest.mark.parametrize("settings", [HEARS, Settings(voice="simulated")])
async def test_what_may_be_named_is_offered(gateway: Gateway, settings: Settings) -> None:
    answer = await gateway.http.get(PATH)
    offer = LiveOffer.model_validate_json(answer.content)
    there = settings.voice == "local"
    assert (offer.orchestrators, offer.providers) == ((("cascade",), ("local",)) if there else ((), ()))
    assert (await gateway.http.get(PATH, headers={"origin": "http://evil.example"})).status_code == 403


@pytest.mark.behaviour("V2")
@pytest.mark.parametrize("settings", [LIVE])
async def test_where_a_provider_holds_the_calls_the_bridge_has_credentials_of_our_own(gateway: Gateway) -> None:
    answer = await gateway.http.post("/v1/realtime/client_secrets", json={"bridge": True})
    secret = answer.json()
    assert answer.status_code == 200
    assert secret["url"] is None
    assert KEY not in json.dumps(secret)
    assert LiveOffer.model_validate_json((await gateway.http.get(PATH)).content).orchestrators == ("live",)


@pytest.mark.behaviour("V2")
@pytest.mark.parametrize("settings", [HEARS])
async def test_a_credential_in_the_address_is_in_no_log(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    secret = await gateway.mint(bridge=True)
    async with connect(f"{gateway.url.replace('http', 'ws', 1)}{PATH}?token={secret.value}") as socket:
        client = Talker(socket)
        await client.say()
        await client.hear()
    await until(lambda: len(gateway.sessions()) == 0)
    await asyncio.sleep(0)
    ours = [record for record in caplog.records if record.name.split(".")[0] in ("voice_gateway", "chassis")]
    assert any("live session" in record.getMessage() for record in ours)
    assert not any(secret.value in json.dumps(vars(record), default=str) for record in ours)
