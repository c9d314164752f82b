"""Two webs, two agents, two retrievers and two voice gateways: each may take the other's place."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from crowd import Crowd, gathered
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

NOTE = "ORCHID-47 is the recovery code of the amber valve.\n\nThe amber valve closes the north line.\n"
pytestmark = pytest.mark.timeout(300)

QUESTION = "What is the recovery code of the amber valve?"


@pytest.fixture(scope="module")
def running_crowd(
    postgres_server: Any, valkey_server: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Crowd, str]]:
    """All of them on one note, once a module."""
    place = tmp_path_factory.mktemp("crowd")
    folder = place / "notes"
    folder.mkdir()
    (folder / "valves.md").write_text(NOTE)
    url = postgres_server.fresh()
    try:
        with gathered(url, valkey_server.url_of(8), folder, place) as crowd:
            yield crowd, url
    finally:
        postgres_server.drop(url)


@pytest.fixture
def crowd(running_crowd: tuple[Crowd, str]) -> Iterator[Crowd]:
    """All of them, ready; whatever the test ends is started again."""
    yield running_crowd[0]
    running_crowd[0].restore()


def answer_of(frames: list[dict[str, Any]]) -> str:
    assert frames[-1]["type"] == "done", frames[-1]
    return frames[-1]["answer"]


@pytest.mark.behaviour("T8")
def test_any_web_shows_the_rest_of_an_answer_that_another_began(crowd: Crowd) -> None:
    frames = crowd.ask(0, QUESTION)
    assert "ORCHID-47" in answer_of(frames)
    cursor = frames[2]["cursor"]
    with crowd.web(1) as other:
        rest = other.get(f"/api/turns/{frames[0]['turn_id']}/frames", params={"after": cursor})
    assert [json.loads(line) for line in rest.text.splitlines()] == frames[3:]


@pytest.mark.behaviour("T2")
def test_questions_at_either_web_are_answered_by_both_agents(crowd: Crowd, running_crowd: tuple[Crowd, str]) -> None:
    for number in range(12):
        answer_of(crowd.ask(number % 2, QUESTION))
    with psycopg.connect(running_crowd[1]) as connection:
        rows = connection.execute("SELECT worker, count(*) FROM agent.turns GROUP BY worker").fetchall()
    assert len(rows) == 2, rows


@pytest.mark.behaviour("E3")
@pytest.mark.parametrize("module", ["agent", "retriever"])
def test_a_replica_that_is_killed_is_missed_by_nobody(crowd: Crowd, module: str) -> None:
    crowd.end(module, 0, signal.SIGKILL).process.wait(30)
    for number in range(6):
        assert "ORCHID-47" in answer_of(crowd.ask(number % 2, QUESTION))


def session(crowd: Crowd, number: int, credential: str) -> ClientConnection:
    address = crowd.members["web"][number].url.replace("http", "ws") + "/v1/realtime"
    return connect(address, additional_headers={"authorization": f"Bearer {credential}"}, proxy=None)


def minted(crowd: Crowd, number: int) -> str:
    with crowd.web(number) as web:
        answer = web.post("/v1/realtime/client_secrets", json={})
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


@pytest.mark.behaviour("V2")
def test_a_credential_from_one_web_opens_a_session_through_the_other_whichever_gateway_made_it(crowd: Crowd) -> None:
    marks: set[str] = set()
    for number in range(6):
        credential = minted(crowd, number % 2)
        marks.add(credential[:9])
        with session(crowd, 1 - number % 2, credential) as opened:
            assert json.loads(opened.recv(30))["type"] == "session.created"
    assert len(marks) == 2, "both gateways took calls"


@pytest.mark.behaviour("E3")
def test_a_gateway_that_stops_says_so_to_its_calls_and_new_ones_go_to_the_other(crowd: Crowd) -> None:
    by_gateway: dict[str, str] = {}
    while len(by_gateway) < 2:
        credential = minted(crowd, 0)
        by_gateway[credential[:9]] = credential
    reasons: list[int | None] = []
    with ExitStack() as stack:
        opened = [stack.enter_context(session(crowd, 0, credential)) for credential in by_gateway.values()]
        for one in opened:
            assert json.loads(one.recv(30))["type"] == "session.created"
        crowd.end("voice_gateway", 0, signal.SIGTERM).process.wait(30)
        for one in opened:
            try:
                one.send(json.dumps({"type": "session.update", "session": {"type": "realtime"}}))
                assert json.loads(one.recv(30))["type"] == "session.updated"
            except ConnectionClosed:
                reasons.append(one.close_code)
    assert reasons == [1001], "one gateway's call ended as going away, and the other's went on"
    for _ in range(4):
        with session(crowd, 1, minted(crowd, 1)) as again:
            assert json.loads(again.recv(30))["type"] == "session.created"
