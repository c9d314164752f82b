"""The agent as it is run: asked over HTTP, killed, stopped, and two of them on one database."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
from agent_process import agent_process, retriever_server
from agent_rig import frames_until, joined, types
from redis.asyncio import Redis
from responses_server import Reply, error, function_call, response, responses_server, streamed

from contracts.frames import LAST_FRAMES, AnyFrame, Done, Error
from contracts.turns import Chat, Turn

SLOW = {"TALKDOWN_SCRIPTED_PACE": 4}


@pytest.fixture
async def retriever() -> AsyncIterator[str]:
    async with retriever_server() as url:
        yield url


async def ended(redis: Redis, turn_id: UUID) -> list[AnyFrame]:
    return await frames_until(redis, turn_id, lambda frames: frames[-1].type in LAST_FRAMES)


async def begun(redis: Redis, turn_id: UUID) -> list[AnyFrame]:
    return await frames_until(redis, turn_id, lambda frames: "delta" in types(frames))


@pytest.mark.behaviour("T5", "T7", "T15")
async def test_a_question_over_http_is_answered_stored_and_logged_with_its_trace(
    postgres_url: str, valkey_url: str, redis: Redis, retriever: str
) -> None:
    async with agent_process(postgres_url, valkey_url, retriever) as agent:
        accepted = await agent.ask("What is the recovery code?")
        frames = await ended(redis, accepted.turn_id)
        done = frames[-1]
        assert isinstance(done, Done)
        assert done.answer == joined(frames)
        assert "ORCHID-47" in done.answer
        turn = await agent.turn(accepted.turn_id)
        assert (turn.status, turn.answer) == ("completed", done.answer)
        chat = Chat.model_validate_json((await agent.http.get(f"/chats/{accepted.chat_id}")).content)
        assert chat.turns == (turn,)
        agent.process.send_signal(signal.SIGTERM)
        await agent.process.wait()
    logged = [json.loads(line) for line in agent.lines]
    ends = [line for line in logged if line["message"] == "turn ended"]
    assert [line["trace_id"] for line in ends] == [accepted.trace_id]
    assert ends[0]["question"] == "What is the recovery code?"
    assert ends[0]["files"] == ["valves.md"]
    assert ends[0]["total_ms"] > 0
    assert "closes the north line" not in "\n".join(agent.lines), "document text is never logged"
    assert agent.process.returncode == 0


@pytest.mark.behaviour("T9", "T12")
async def test_without_any_model_sentences_of_the_sources_answer_or_the_answer_is_that_they_do_not(
    postgres_url: str, valkey_url: str, redis: Redis, retriever: str
) -> None:
    async with agent_process(postgres_url, valkey_url, retriever, TALKDOWN_MODE="local") as agent:
        accepted = await agent.ask("What is the recovery code of the amber valve?")
        done = (await ended(redis, accepted.turn_id))[-1]
        assert isinstance(done, Done)
        assert "ORCHID-47" in done.answer
        assert not done.abstained
        first = (await agent.turn(accepted.turn_id)).sentences[0]
        assert first.verdict == "supported"
        assert first.support[0].lines == (7, 7)
        elsewhere = await agent.ask("Who won the football cup in 1998?")
        done = (await ended(redis, elsewhere.turn_id))[-1]
    assert isinstance(done, Done)
    assert done.abstained
    assert "valves.md" in done.answer


@pytest.mark.behaviour("T1")
async def test_what_is_no_question_is_refused_in_a_plain_sentence_and_nothing_is_stored(
    postgres_url: str, valkey_url: str, redis: Redis, retriever: str
) -> None:
    chat = str(uuid4())
    wrong: list[bytes] = [
        json.dumps({"chat_id": chat, "question": "   "}).encode(),
        json.dumps({"chat_id": chat, "question": "x" * 2001}).encode(),
        json.dumps({"chat_id": "not-a-uuid", "question": "What?"}).encode(),
        json.dumps({"question": "What?"}).encode(),
        b"{not json",
        b"",
        b"\xff\xfe",
    ]
    async with agent_process(postgres_url, valkey_url, retriever) as agent:
        for body in wrong:
            response = await agent.http.post("/turns", content=body, headers={"content-type": "application/json"})
            assert response.status_code == 400, (body, response.text)
            assert response.json()["message"].endswith("."), response.text
        long = json.dumps({"chat_id": chat, "question": "x", "padding": "y" * 8192}).encode()
        response = await agent.http.post("/turns", content=long, headers={"content-type": "application/json"})
        assert response.status_code == 413
        assert Chat.model_validate_json((await agent.http.get(f"/chats/{chat}")).content).turns == ()
        assert await redis.keys("turn:*") == []
        edge = await agent.http.post("/turns", json={"chat_id": chat, "question": " " + "ü" * 2000 + " "})
        assert edge.status_code == 202
        assert (await agent.http.get(f"/turns/{uuid4()}")).status_code == 404


@pytest.mark.behaviour("T2")
async def test_too_many_questions_are_refused_with_429_and_a_time_to_wait(
    postgres_url: str, valkey_url: str, retriever: str
) -> None:
    settings = {**SLOW, "TALKDOWN_TURNS_IN_CHAT": 1}
    async with agent_process(postgres_url, valkey_url, retriever, **settings) as agent:
        accepted = await agent.ask()
        again = {"chat_id": str(accepted.chat_id), "question": "And now?"}
        response = await agent.http.post("/turns", json=again)
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) >= 1
    assert response.json()["code"] == "too_many_turns"


@pytest.mark.behaviour("T10")
async def test_an_agent_killed_in_the_middle_of_an_answer_is_found_out_by_the_other_within_seconds(
    postgres_url: str, valkey_url: str, redis: Redis, retriever: str
) -> None:
    async with (
        agent_process(postgres_url, valkey_url, retriever, **SLOW) as dying,
        agent_process(postgres_url, valkey_url, retriever, TALKDOWN_TURNS_AT_ONCE=1) as other,
    ):
        while True:  # until the one that is to die has claimed a turn
            accepted = await dying.ask()
            await begun(redis, accepted.turn_id)
            if (await dying.turn(accepted.turn_id)).status == "running":
                break
        dying.process.kill()
        frames = await ended(redis, accepted.turn_id)
        assert isinstance(frames[-1], Error)
        assert frames[-1].code == "worker_lost"
        again = await other.ask("And now?", accepted.chat_id)
        assert types(await ended(redis, again.turn_id))[-1] == "done"


@pytest.mark.behaviour("T10", "E3")
async def test_an_agent_that_starts_again_says_what_became_of_the_turns_it_died_with(
    postgres_url: str, valkey_url: str, redis: Redis, retriever: str
) -> None:
    quick = {"TALKDOWN_LOST_AFTER_S": 1, "TALKDOWN_HEARTBEAT_S": 0.2}
    async with agent_process(postgres_url, valkey_url, retriever, **SLOW, **quick) as agent:
        accepted = await agent.ask()
        await begun(redis, accepted.turn_id)
        agent.process.kill()
        await agent.process.wait()
    async with agent_process(postgres_url, valkey_url, retriever, **quick):
        frames = await ended(redis, accepted.turn_id)
    assert isinstance(frames[-1], Error)
    assert frames[-1].code == "worker_lost"


@pytest.mark.behaviour("E3")
async def test_an_agent_told_to_stop_ends_its_turns_with_their_reason_and_then_itself(
    postgres_url: str, valkey_url: str, redis: Redis, retriever: str
) -> None:
    settings = {"TALKDOWN_SCRIPTED_PACE": 0.5, "TALKDOWN_GRACE_S": 1}
    async with agent_process(postgres_url, valkey_url, retriever, **settings) as agent:
        accepted = await agent.ask()
        await begun(redis, accepted.turn_id)
        agent.process.send_signal(signal.SIGTERM)
        assert await agent.process.wait() == 0
        frames = await ended(redis, accepted.turn_id)
    assert isinstance(frames[-1], Error)
    assert frames[-1].code == "stopping"
    async with agent_process(postgres_url, valkey_url, retriever) as next_one:
        stored: Turn = await next_one.turn(accepted.turn_id)
    assert (stored.status, stored.error_code) == ("failed", "stopping")


@pytest.mark.behaviour("T2", "T8")
async def test_two_agents_share_the_turns_of_one_database_and_each_turn_runs_once(
    postgres_url: str, valkey_url: str, redis: Redis, retriever: str
) -> None:
    async with (
        agent_process(postgres_url, valkey_url, retriever) as one,
        agent_process(postgres_url, valkey_url, retriever) as two,
    ):
        turns = await asyncio.gather(*(agent.ask() for agent in (one, two) * 15))
        for turn in turns:
            frames = await ended(redis, turn.turn_id)
            assert types(frames).count("sources") == 1
            assert types(frames).count("done") == 1
            done = frames[-1]
            assert isinstance(done, Done)
            assert done.answer == joined(frames)


@pytest.mark.behaviour("T13")
@pytest.mark.parametrize("choice", [{"TALKDOWN_MODE": "live"}, {"TALKDOWN_ANSWERS": "responses"}])
async def test_a_model_without_a_key_refuses_to_start_and_says_what_to_set(choice: dict[str, str]) -> None:
    with pytest.raises(AssertionError, match="OPENAI_API_KEY"):
        async with agent_process("postgresql://nobody@127.0.0.1:9/x", "redis://127.0.0.1:9", "http://x", **choice):
            pass


@pytest.mark.behaviour("T6", "T9", "E2")
async def test_a_model_answers_over_real_sockets_in_two_rounds_with_its_tokens_counted(
    postgres_url: str, valkey_url: str, redis: Redis, retriever: str
) -> None:
    called = response("completed", [function_call('{"query": "recovery code of the amber valve"}')])
    async with responses_server() as model:
        model.replies = [Reply(json=called), Reply(events=streamed("The code is ", "ORCHID-47.[2]", " It is purple."))]
        settings = {"TALKDOWN_ANSWERS": "responses", "OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": model.base_url}
        async with agent_process(postgres_url, valkey_url, retriever, **settings) as agent:
            accepted = await agent.ask("And its code?")
            frames = await ended(redis, accepted.turn_id)
            done = frames[-1]
            assert isinstance(done, Done), done
            assert done.answer == joined(frames) == "The code is ORCHID-47.[2] It is purple."
            turn = await agent.turn(accepted.turn_id)
            agent.process.send_signal(signal.SIGTERM)
            await agent.process.wait()
    assert [sentence.verdict for sentence in turn.sentences] == ["supported", "unsupported"]
    assert len(model.requests) == 2
    logged = [json.loads(line) for line in agent.lines]
    (end,) = [line for line in logged if line["message"] == "turn ended"]
    assert (end["input_tokens"], end["output_tokens"]) == (22, 14)
    assert "sk-secret" not in "\n".join(agent.lines)


@pytest.mark.behaviour("T11", "T10")
async def test_a_provider_that_refuses_is_one_plain_sentence_and_is_asked_once(
    postgres_url: str, valkey_url: str, redis: Redis, retriever: str
) -> None:
    async with responses_server() as model:
        model.replies = [Reply(429, json=error("rate_limit_exceeded"))]
        settings = {"TALKDOWN_ANSWERS": "responses", "OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": model.base_url}
        async with agent_process(postgres_url, valkey_url, retriever, **settings) as agent:
            accepted = await agent.ask()
            last = (await ended(redis, accepted.turn_id))[-1]
    assert isinstance(last, Error)
    assert last.code == "rate_limited"
    assert len(model.requests) == 1
    assert not [line for line in agent.lines if "sk-secret" in line or "quotes the notes" in line]
