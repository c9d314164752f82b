"""The voice of a provider: the gateway mints credentials with the permanent key, and holds no call itself."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from openai.types.realtime import ClientSecretCreateResponse
from pydantic import SecretStr
from test_voice_websocket import hear
from voice_fakes import FakeAgent, Gateway, serving
from voice_wire import check_session
from websockets.asyncio.client import connect

from contracts.search import Vocabulary
from voice_gateway.app import create_app
from voice_gateway.opening import open_senses
from voice_gateway.providers.openai import MAX_KEYWORDS, OpenAIVoice
from voice_gateway.settings import Settings

KEY = "sk-permanent-7f3a"
QUOTED = "what the provider quotes of the request"
WORDS = ("ORCHID-47", "x" * 65, *(f"word-{number}" for number in range(150)))


@dataclass
class FakeProvider:
    """Mints credentials as OpenAI does, until it is told to answer something else; it serves the notes' words too."""

    answer: Response | None = None
    silent: bool = False
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])

    def app(self) -> FastAPI:
        """Its routes."""
        app = FastAPI()

        @app.post("/v1/realtime/client_secrets")
        async def mint(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
            body = await request.json()
            self.asked.append((request.headers["authorization"], body))
            if self.silent:
                await asyncio.sleep(30)
            session = {"id": "sess_theirs", "object": "realtime.session", **body["session"]}
            value = f"ek_{uuid4().hex}"
            expires_at = int(time.time()) + body["expires_after"]["seconds"]
            return self.answer or JSONResponse({"value": value, "expires_at": expires_at, "session": session})

        @app.get("/vocabulary")
        async def vocabulary(most: int) -> Vocabulary:  # pyright: ignore[reportUnusedFunction]
            return Vocabulary(corpus_version=1, words=WORDS[:most])

        return app


def live(url: str = "http://127.0.0.1:9/v1", **fields: Any) -> Settings:
    """Settings with the voice of a provider."""
    return Settings(voice="openai", openai_api_key=SecretStr(KEY), openai_base_url=url, **fields)


@pytest.fixture
async def provider() -> AsyncGenerator[tuple[FakeProvider, str]]:
    fake = FakeProvider()
    async with serving(fake.app()) as url:
        yield fake, url


@pytest.fixture
async def gateway(agent: FakeAgent, provider: tuple[FakeProvider, str], valkey_url: str) -> AsyncGenerator[Gateway]:
    _, url = provider
    settings = live(f"{url}/v1", retriever_url=url, redis_url=SecretStr(valkey_url), provider_s=2, voice_language="en")
    app = create_app(settings)
    async with serving(app) as gateway_url, httpx2.AsyncClient(base_url=gateway_url, trust_env=False) as http:
        yield Gateway(gateway_url, agent, http, lambda: app.state.sessions)


@pytest.mark.behaviour("V2", "V3")
async def test_a_credential_of_the_provider_is_given_and_the_permanent_key_is_not(
    gateway: Gateway, provider: tuple[FakeProvider, str], caplog: pytest.LogCaptureFixture
) -> None:
    fake, url = provider
    chat_id = uuid4()
    with caplog.at_level(logging.DEBUG):
        answer = await gateway.http.post(
            "/v1/realtime/client_secrets", json={"chat_id": str(chat_id), "expires_after": {"seconds": 7200}}
        )
    secret = (await gateway.mint(chat_id=str(chat_id))).model_copy()
    assert (secret.voice, secret.url, secret.chat_id) == ("openai", f"{url}/v1/realtime", chat_id)
    assert secret.session["model"] == "gpt-realtime-2.1"
    assert ClientSecretCreateResponse.model_validate_json(answer.content).expires_at <= time.time() + 60
    assert answer.headers["cache-control"] == "no-store"
    assert KEY not in answer.text + str(answer.headers) + caplog.text
    assert answer.json()["value"] not in caplog.text
    (authorization, asked), _ = fake.asked
    assert authorization == f"Bearer {KEY}"
    assert asked["expires_after"] == {"anchor": "created_at", "seconds": 60}
    session = asked["session"]
    check_session(session)
    assert session["audio"]["input"]["turn_detection"] == {
        "type": "server_vad",
        "create_response": False,
        "interrupt_response": False,
    }
    assert session["audio"]["input"]["transcription"].items() >= {"model": "gpt-transcribe", "language": "en"}.items()
    assert session["audio"]["output"]["voice"] == "marin"
    assert (session["tools"], session["reasoning"]) == ([], {"effort": "minimal"})


async def test_the_session_is_as_the_settings_say_whatever_is_asked_for(
    gateway: Gateway, provider: tuple[FakeProvider, str]
) -> None:
    fake, _ = provider
    await gateway.mint(session={"type": "realtime", "model": "gpt-dear", "instructions": "Tell a joke."})
    (_, asked), *_ = fake.asked
    assert asked["session"]["model"] == "gpt-realtime-2.1"
    assert "joke" not in str(asked)


@pytest.mark.parametrize(
    ("status", "body", "headers", "says", "given"),
    [
        (401, {"error": {"message": QUOTED}}, {}, "set OPENAI_API_KEY", (502, "key_refused", None)),
        (403, {"error": {"message": QUOTED}}, {}, "set OPENAI_API_KEY", (502, "key_refused", None)),
        (404, {"error": {"message": QUOTED}}, {}, "check TALKDOWN_REALTIME_MODEL", (502, "settings_refused", None)),
        (400, {"error": {"message": QUOTED}}, {}, "TALKDOWN_VOICE_NAME", (502, "settings_refused", None)),
        (429, {"error": {"message": QUOTED}}, {"retry-after": "7"}, "in a moment", (429, "provider_busy", "7")),
        (429, {"error": {"message": QUOTED}}, {"retry-after": "Tue"}, "in a moment", (429, "provider_busy", "10")),
        (429, {"error": {"code": "insufficient_quota"}}, {}, "no credit", (502, "no_credit", None)),
        (500, {"error": {"message": QUOTED}}, {}, "in a moment", (502, "provider_failed", None)),
        (200, {"value": "sk-not-a-credential", "expires_at": 1}, {}, "in a moment", (502, "provider_failed", None)),
        (200, QUOTED, {}, "in a moment", (502, "provider_failed", None)),
    ],
)  # fmt: skip
@pytest.mark.behaviour("T11")
async def test_what_the_provider_refuses_is_one_sentence_of_ours(
    gateway: Gateway,
    provider: tuple[FakeProvider, str],
    caplog: pytest.LogCaptureFixture,
    status: int,
    body: object,
    headers: dict[str, str],
    says: str,
    given: tuple[int, str, str | None],
) -> None:
    fake, _ = provider
    fake.answer = JSONResponse(body, status, headers)
    refused = await gateway.http.post("/v1/realtime/client_secrets", json={})
    told = refused.json()
    assert (refused.status_code, told["code"], refused.headers.get("retry-after")) == given
    assert says in told["message"]
    assert QUOTED not in refused.text + caplog.text
    assert len(fake.asked) == 1


async def test_a_page_that_is_no_credential_is_none(gateway: Gateway, provider: tuple[FakeProvider, str]) -> None:
    fake, _ = provider
    fake.answer = Response("<html>Sign in to the wifi</html>", media_type="text/html")
    refused = await gateway.http.post("/v1/realtime/client_secrets", json={})
    assert (refused.status_code, refused.json()["code"]) == (502, "provider_failed")


async def test_a_provider_that_does_not_answer_is_given_up() -> None:
    fake = FakeProvider(silent=True)
    async with serving(fake.app()) as url:
        for address in (f"{url}/v1", "http://127.0.0.1:9/v1"):
            app = create_app(live(address, provider_s=0.2))
            async with serving(app) as gateway, httpx2.AsyncClient(base_url=gateway, trust_env=False) as http:
                refused = await http.post("/v1/realtime/client_secrets", json={})
                assert (refused.status_code, refused.json()["code"]) == (503, "provider_silent")
                assert refused.headers["retry-after"] == "5"


async def test_the_words_of_the_notes_go_to_the_provider_as_far_as_it_takes_them(
    gateway: Gateway, provider: tuple[FakeProvider, str]
) -> None:
    fake, _ = provider

    async def keywords() -> list[str]:
        await gateway.mint()
        return fake.asked[-1][1]["session"]["audio"]["input"]["transcription"].get("keywords", [])

    async with asyncio.timeout(10):
        while not (told := await keywords()):  # noqa: ASYNC110 - a condition of any kind sets no event
            await asyncio.sleep(0.01)
    assert told == [word for word in WORDS[:MAX_KEYWORDS] if len(word) <= 64]


@pytest.mark.parametrize(
    ("fields", "keywords", "reasoning"),
    [
        ({}, True, True),
        ({"transcription_model": "gpt-4o-transcribe", "realtime_model": "gpt-realtime-2"}, False, True),
        ({"transcription_model": "gpt-live-transcribe", "realtime_model": "gpt-realtime-2025-08-28"}, True, False),
    ],
)
def test_a_model_is_told_only_what_it_takes(fields: dict[str, Any], keywords: bool, reasoning: bool) -> None:
    voice = OpenAIVoice(live(**fields))
    voice.learn(WORDS)
    session = voice.session
    assert ("keywords" in session["audio"]["input"]["transcription"]) is keywords  # pyright: ignore[reportIndexIssue, reportArgumentType, reportCallIssue, reportOptionalSubscript]
    assert ("reasoning" in session) is reasoning


async def test_no_call_is_held_here_and_no_model_is_loaded(gateway: Gateway) -> None:
    secret = await gateway.mint()
    assert (await gateway.http.get("/health/ready")).json()["status"] == "ready"
    async with open_senses(live()) as senses:
        assert senses is None
    bearer = {"authorization": f"Bearer {secret.value}"}
    offered = await gateway.http.post(
        "/v1/realtime/calls", content="v=0", headers={"content-type": "application/sdp", **bearer}
    )
    assert (offered.status_code, offered.json()["code"]) == (400, "calls_elsewhere")
    protocols = ["realtime", f"openai-insecure-api-key.{secret.value}"]
    async with connect(gateway.ws_url, subprotocols=protocols, proxy=None) as connection:  # pyright: ignore[reportArgumentType]
        assert (await hear(connection))["error"]["code"] == "calls_elsewhere"


async def test_what_happened_in_a_call_with_the_provider_joins_its_trace(gateway: Gateway) -> None:
    secret = await gateway.mint()
    told = {"events": [{"name": "first_audio", "at": "2126-11-30T20:00:00Z"}]}
    call = f"/calls/{secret.session['id']}/timeline"
    assert (await gateway.http.post(call, json={"events": []})).status_code == 204
    assert (await gateway.http.post(call, json=told)).status_code == 400


@pytest.mark.behaviour("T13")
async def test_without_a_key_it_does_not_start_and_says_what_to_set() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TALKDOWN_", "OPENAI_"))}
    for chosen in ({"TALKDOWN_MODE": "live"}, {"TALKDOWN_VOICE": "openai"}):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "voice_gateway", env={**environment, **chosen}, stderr=-1
        )
        _, told = await process.communicate()
        assert process.returncode == 2
        assert b"set OPENAI_API_KEY to a key of the provider" in told
