"""Credentials: random, short-lived, good for one connection, kept as a hash, and never too many."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from openai.types.realtime import ClientSecretCreateResponse
from voice_fakes import Gateway

from contracts.voice import ClientSecret, ClientSecretRequested
from voice_gateway.credentials import Credentials, Grant
from voice_gateway.errors import CredentialRefused, TooManyCredentials
from voice_gateway.session_config import SessionConfig
from voice_gateway.settings import Settings

EXAMPLES = Path(__file__).parents[3] / "contracts" / "examples"


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def grant() -> Grant:
    return Grant("sess_1", uuid4(), SessionConfig())


def store(clock: Clock, limit: int = 10) -> Credentials:
    return Credentials(lifetime_s=60, limit=limit, clock=clock, wall=clock)


@pytest.mark.behaviour("V2")
def test_a_credential_opens_what_it_was_made_for_once() -> None:
    credentials, given = store(Clock()), grant()
    minted = credentials.mint(given)
    assert credentials.redeem(minted.value) is given
    with pytest.raises(CredentialRefused):
        credentials.redeem(minted.value)


@pytest.mark.behaviour("V2")
def test_a_credential_is_refused_when_its_time_is_over() -> None:
    clock = Clock()
    credentials = store(clock)
    minted = credentials.mint(grant())
    assert minted.expires_at == 1060
    clock.now += 60
    with pytest.raises(CredentialRefused):
        credentials.redeem(minted.value)


def test_a_shorter_time_may_be_asked_for_and_a_longer_one_becomes_ours() -> None:
    credentials = store(Clock())
    assert credentials.mint(grant(), seconds=10).expires_at == 1010
    assert credentials.mint(grant(), seconds=7200).expires_at == 1060


@pytest.mark.parametrize("value", ["", "ek_", "ek_" + "A" * 43, "\ud800", "x" * 100_000])
def test_what_was_never_minted_is_refused(value: str) -> None:
    credentials = store(Clock())
    credentials.mint(grant())
    with pytest.raises(CredentialRefused):
        credentials.redeem(value)
    assert len(credentials) == 1


@pytest.mark.behaviour("V2")
def test_a_credential_has_256_random_bits_and_only_its_hash_is_kept() -> None:
    credentials = store(Clock(), limit=100)
    values = [credentials.mint(grant()).value for _ in range(100)]
    assert len(set(values)) == 100
    assert all(len(value) == len("ek_") + 43 for value in values)
    kept = repr(vars(credentials))
    assert all(repr(hashlib.sha256(value.encode()).digest()) in kept for value in values)
    assert not any(value in kept or value.removeprefix("ek_") in kept for value in values)


def test_a_full_store_says_so_until_a_credential_is_used_or_over() -> None:
    clock = Clock()
    credentials = store(clock, limit=2)
    first = credentials.mint(grant())
    credentials.mint(grant())
    with pytest.raises(TooManyCredentials):
        credentials.mint(grant())
    credentials.redeem(first.value)
    credentials.mint(grant())
    clock.now += 61
    credentials.mint(grant())
    assert len(credentials) == 1


async def test_the_route_answers_as_the_contract_and_the_provider_have_it(gateway: Gateway) -> None:
    asked = (EXAMPLES / "voice.client-secret.request.json").read_bytes()
    request = ClientSecretRequested.model_validate_json(asked)
    answer = await gateway.http.post(
        "/v1/realtime/client_secrets", content=asked, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    secret = ClientSecret.model_validate_json(answer.content)
    assert secret.chat_id == request.chat_id
    assert secret.voice == "simulated"
    assert ClientSecretCreateResponse.model_validate_json(answer.content).session.type == "realtime"
    assert (await gateway.mint()).chat_id != (await gateway.mint()).chat_id


@pytest.mark.parametrize(
    "body",
    [
        {"chat_id": "not a uuid"},
        {"expires_after": {"seconds": 0}},
        {"expires_after": {"seconds": "soon"}},
        {"expires_after": {"seconds": True}},
        {"session": {"type": "transcription"}},
        {"session": {"output_modalities": ["audio"]}},
        {"session": {"model": ""}},
        {"session": []},
        [],
    ],
)
async def test_a_wrong_request_is_refused_with_a_sentence_and_makes_no_credential(
    gateway: Gateway, body: object
) -> None:
    answer = await gateway.http.post("/v1/realtime/client_secrets", json=body)
    assert answer.status_code == 400
    assert len(answer.json()["message"]) > 10


async def test_a_page_from_elsewhere_gets_no_credential(gateway: Gateway) -> None:
    refused = await gateway.http.post("/v1/realtime/client_secrets", json={}, headers={"origin": "http://evil.example"})
    assert (refused.status_code, refused.json()["code"]) == (403, "origin_refused")
    ours = await gateway.http.post("/v1/realtime/client_secrets", json={}, headers={"origin": "http://localhost:3000"})
    assert ours.status_code == 200


@pytest.mark.parametrize("settings", [Settings(max_credentials=1)])
async def test_too_many_credentials_are_refused_with_when_to_come_back(gateway: Gateway) -> None:
    await gateway.mint()
    refused = await gateway.http.post("/v1/realtime/client_secrets", json={})
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "60"
    assert refused.json()["code"] == "too_many_credentials"
