"""What the agent keeps of live conversations: state, lines, tokens, memories, profiles."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from agent_rig import rig
from fastapi import FastAPI
from redis.asyncio import Redis

from agent import live_routes
from agent.app import LARGER_BODIES
from agent.history import PastTurn
from agent.keeping import Keeper
from agent.ledger import Ledger
from agent.profile import statements
from agent.remembering import Remembrance
from agent.routes import Agent
from agent.settings import Settings
from chassis.postgres import Pool
from chassis.server import service

CHAT = UUID("c2a1b7f4-95a4-4d08-8b64-7a0f2d6c9e21")
PRICES = {"gpt-4.1-mini": (0.4, 1.6)}


@pytest.fixture
async def http(pool: Pool) -> AsyncIterator[httpx2.AsyncClient]:
    """The routes over HTTP, with error bodies and limits as the agent has them."""
    unused: Any = SimpleNamespace()
    agent = Agent(unused, unused, Ledger(pool), unused, Keeper(pool, PRICES), Remembrance(pool))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[dict[str, Agent]]:
        yield {"agent": agent}

    app = service("agent", lifespan, Settings(), larger_bodies=LARGER_BODIES)
    app.include_router(live_routes.router)
    async with app.router.lifespan_context(app):

        async def with_state(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "state": {"agent": agent}}, receive, send)

        transport = httpx2.ASGITransport(with_state)
        async with httpx2.AsyncClient(transport=transport, base_url="http://agent") as client:
            yield client


@pytest.mark.behaviour("O3")
async def test_the_state_of_a_chat_is_kept_and_a_chat_without_one_is_fresh(http: httpx2.AsyncClient) -> None:
    fresh = {"active": None, "visited": [], "pending": None, "resume_handle": None}
    assert (await http.get(f"/chats/{CHAT}/state")).json() == fresh
    for active in ("concierge", "safety"):
        state = {"active": active, "visited": ["concierge", active], "pending": None, "resume_handle": "h1"}
        assert (await http.put(f"/chats/{CHAT}/state", json=state)).json() == state
        assert (await http.get(f"/chats/{CHAT}/state")).json() == state


async def test_lines_of_a_live_session_are_kept_once_and_join_the_chats_history(
    http: httpx2.AsyncClient, pool: Pool
) -> None:
    session = str(uuid4())
    told = [
        {"session_id": session, "turn": 1, "role": "user", "text": "Where is the amber valve?"},
        {"session_id": session, "turn": 1, "role": "assistant", "text": "In the pump room.", "agent": "safety"},
        {"session_id": session, "turn": 2, "role": "assistant", "text": "Anything else?"},
    ]
    for _ in range(2):
        assert (await http.post(f"/chats/{CHAT}/lines", json={"lines": told})).status_code == 204
    lines = (await http.get(f"/chats/{CHAT}/lines")).json()["lines"]
    assert [(line["role"], line["text"], line["agent"]) for line in lines] == [
        ("user", "Where is the amber valve?", None),
        ("assistant", "In the pump room.", "safety"),
        ("assistant", "Anything else?", None),
    ]
    assert len((await http.get(f"/chats/{CHAT}/lines", params={"most": 1})).json()["lines"]) == 1
    assert await Ledger(pool).history(CHAT) == (PastTurn("Where is the amber valve?", "In the pump room."),)


async def test_typed_turns_and_spoken_lines_stand_in_one_order_of_time(
    http: httpx2.AsyncClient, pool: Pool, redis: Redis
) -> None:
    async with rig(pool, redis) as agent:
        turn = await agent.ask("What is the amber valve?", CHAT)
        await agent.ended(turn.turn_id)
        spoken = {"session_id": str(uuid4()), "turn": 1, "role": "user", "text": "And its code?"}
        await http.post(f"/chats/{CHAT}/lines", json={"lines": [spoken]})
        second = await agent.ask("Who keeps it?", CHAT)
        await agent.ended(second.turn_id)
        first, middle, last = await agent.ledger.history(CHAT)
        assert [first.question, middle, last.question] == [
            "What is the amber valve?",
            PastTurn("And its code?", ""),
            "Who keeps it?",
        ]
        known = (await http.get(f"/chats/{CHAT}/lines")).json()["lines"]
        assert [line["text"] for line in known if line["role"] == "user"] == [
            "What is the amber valve?",
            "And its code?",
            "Who keeps it?",
        ]


@pytest.mark.behaviour("O4")
async def test_a_turn_that_may_know_nothing_before_a_moment_is_told_nothing_of_it(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        first = await agent.ask("What is the amber valve?", CHAT)
        await agent.ended(first.turn_id)
        turn = await agent.ledger.turn(first.turn_id)
        assert turn is not None
        assert turn.ended_at is not None
        assert len(await agent.ledger.history(CHAT)) == 1
        assert await agent.ledger.history(CHAT, turn.ended_at) == ()


@pytest.mark.behaviour("O6")
async def test_what_a_chat_cost_is_added_up_by_agent_and_model_and_priced(http: httpx2.AsyncClient, pool: Pool) -> None:
    one = {"agent": "safety", "model": "gpt-4.1-mini", "input_tokens": 1000, "output_tokens": 100}
    other = {"agent": "concierge", "model": "unpriced", "input_tokens": 5, "output_tokens": 6}
    for spent in ([one, other], [one]):
        assert (await http.post(f"/chats/{CHAT}/tokens", json={"spent": spent})).status_code == 204
    concierge, safety = await Keeper(pool, PRICES).costs(CHAT)
    assert (safety.input_tokens, safety.output_tokens, safety.price) == (2000, 200, 0.00112)
    assert (concierge.agent, concierge.price) == ("concierge", None)


@pytest.mark.behaviour("L7")
async def test_turns_are_recalled_by_what_they_speak_of_and_never_those_of_others(http: httpx2.AsyncClient) -> None:
    turns = [
        ("Where do you keep the ferns?", "In the Fern House."),
        ("What is the code of the amber valve?", "ORCHID-47."),
        ("When does the boat leave?", "At noon."),
    ]
    for said, answered in turns:
        body = {"chat_id": str(CHAT), "said": said, "answered": answered}
        assert (await http.post("/people/mara/memories", json=body)).status_code == 204

    async def recalled(query: str, person: str = "mara", most: int = 10) -> list[str]:
        params = {"query": query, "most": str(most)}
        answer = await http.get(f"/people/{person}/memories", params=params)
        return [memory["said"] for memory in answer.json()["memories"]]

    assert await recalled("amber valves") == [turns[1][0]]
    assert await recalled("the boat, and the valve", most=1) in ([turns[2][0]], [turns[1][0]])
    assert await recalled("") == [said for said, _ in reversed(turns)]
    assert await recalled("what is it?") == []
    assert await recalled("'); drop table agent.memories; --") == []
    assert await recalled("amber valve", "tomasz") == []
    await http.delete("/people/mara/memories")
    assert await recalled("") == []


@pytest.mark.behaviour("L7")
async def test_a_profile_is_shown_and_erased(http: httpx2.AsyncClient) -> None:
    for said in ("My name is Mara. What is the code?", "Call me Em.", "I'm allergic to lilies; where are they?"):
        await http.post("/people/mara/memories", json={"chat_id": str(CHAT), "said": said, "answered": "Yes."})
    facts = (await http.get("/people/mara/profile")).json()["facts"]
    assert [fact["text"] for fact in facts] == ["Call me Em."]
    await http.post("/people/mara/memories", json={"chat_id": str(CHAT), "said": "I'm allergic to lilies."})
    facts = (await http.get("/people/mara/profile")).json()["facts"]
    assert [fact["text"] for fact in facts] == ["I'm allergic to lilies.", "Call me Em."]
    assert (await http.delete("/people/mara/profile")).status_code == 204
    assert (await http.get("/people/mara/profile")).json() == {"user_id": "mara", "facts": []}


@pytest.mark.behaviour("L7")
async def test_a_persons_memory_has_a_bound(
    pool: Pool, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.remembering.KEPT", 3)
    for number in range(5):
        body = {"chat_id": str(CHAT), "said": f"question {number}", "answered": ""}
        await http.post("/people/mara/memories", json=body)
    memories = (await http.get("/people/mara/memories")).json()["memories"]
    assert [memory["said"] for memory in memories] == ["question 4", "question 3", "question 2"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("My name is Mara.", ["My name is Mara."]),
        ("What is my name?", []),
        ("Is my name Mara? I live in Oban.", ["I live in Oban."]),
        ("I am going to close the valve.", []),
        ("My sister is a diver and I prefer short answers.", ["My sister is a diver and I prefer short answers."]),
        ("Ich heiße Jule.", ["Ich heiße Jule."]),
        ("If I am an engineer, may I close it?", []),
        ("I love " + "very " * 80 + "long sentences.", []),
        ("", []),
    ],
)
def test_only_plain_statements_about_oneself_are_kept(said: str, kept: list[str]) -> None:
    assert [statement.text for statement in statements(said)] == kept


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", f"/chats/{CHAT}/state", {"visited": "safety"}),
        ("PUT", f"/chats/{CHAT}/state", {"active": "a\0b"}),
        ("POST", f"/chats/{CHAT}/lines", {"lines": []}),
        (
            "POST",
            f"/chats/{CHAT}/lines",
            {"lines": [{"session_id": str(CHAT), "turn": 0, "role": "user", "text": "x"}]},
        ),
        ("POST", f"/chats/{CHAT}/lines", {"lines": [{"session_id": str(CHAT), "turn": 1, "role": "me", "text": "x"}]}),
        ("POST", f"/chats/{CHAT}/tokens", {"spent": [{"agent": "a", "model": "m", "input_tokens": -1}]}),
        ("POST", "/people/mara/memories", {"chat_id": str(CHAT), "said": "   "}),
        ("POST", "/people/~mara/memories", {"chat_id": str(CHAT), "said": "x"}),
        ("GET", "/people/mara/memories?most=0", None),
        ("GET", "/chats/mine/lines", None),
    ],
)
async def test_what_cannot_be_kept_is_refused_in_a_sentence(
    http: httpx2.AsyncClient, method: str, path: str, body: object
) -> None:
    answer = await http.request(method, path, json=body) if body is not None else await http.request(method, path)
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_request"
    assert answer.json()["message"].endswith(".")


def test_prices_are_read_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALKDOWN_PRICES", "gpt-4.1-mini=0.4/1.6, vendor/other:free = 0 / 0")
    assert Settings().prices == {"gpt-4.1-mini": (0.4, 1.6), "vendor/other:free": (0.0, 0.0)}
    monkeypatch.setenv("TALKDOWN_PRICES", "gpt-4.1-mini=cheap")
    with pytest.raises(ValueError, match="it is written as model=input/output"):
        Settings()
