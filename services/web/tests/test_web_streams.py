"""The frames of an answer, as a browser reads them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from pydantic import SecretStr
from web_fakes import TRACE_ID, Running, closed_port, running, serving, stored, until

from contracts.frames import Accepted, Delta, Done, frame_adapter
from web.app import create_app
from web.settings import Settings

ASKED = {"chat_id": str(uuid4()), "question": "What is the amber valve recovery code?"}


def frames_of(response: httpx2.Response) -> list[dict[str, Any]]:
    """The frames of a whole body; each fits the contract and carries its cursor."""
    frames = [json.loads(line) for line in response.text.splitlines()]
    for frame in frames:
        assert frame_adapter.validate_python(frame).cursor is not None
    return frames


@pytest.mark.behaviour("T7")
async def test_a_question_streams_its_frames_to_done(web: Running) -> None:
    response = await web.page.post("/api/turns", json=ASKED)
    assert [frame["type"] for frame in frames_of(response)] == ["accepted", "delta", "delta", "done"]
    assert response.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in response.headers
    assert web.behind.asked[0].question == ASKED["question"]


@pytest.mark.behaviour("T1")
@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (json.dumps({**ASKED, "question": "x" * 9000}), 413, "8,192"),
        (json.dumps({**ASKED, "question": "x" * 2001}), 400, "2,000"),
        (json.dumps({**ASKED, "question": " \n\t "}), 400, "blank"),
        (json.dumps({**ASKED, "chat_id": "mine"}), 400, "UUID"),
        ("{not json", 400, "JSON"),
        ("[]", 400, "JSON"),
        ("", 400, "JSON"),
        (b"\xff\xfe", 400, "JSON"),
        (json.dumps({"chat_id": str(uuid4())}), 400, "question"),
    ],
    ids=["huge", "long", "blank", "not a chat", "no JSON", "no object", "empty", "no text", "no question"],
)
async def test_what_is_no_question_is_refused_before_anything_is_stored(
    web: Running, body: str | bytes, status: int, says: str
) -> None:
    response = await web.page.post("/api/turns", content=body, headers={"content-type": "application/json"})
    assert response.status_code == status
    assert says in response.json()["message"]
    assert web.behind.asked == []


@pytest.mark.behaviour("T1")
async def test_a_question_of_2000_characters_in_any_script_is_taken(web: Running) -> None:
    response = await web.page.post(
        "/api/turns", content=json.dumps({**ASKED, "question": "語" * 2000}, ensure_ascii=False)
    )
    assert response.status_code == 200
    assert len(web.behind.asked[0].question) == 2000


@pytest.mark.behaviour("T2")
async def test_a_refusal_of_the_agent_reaches_the_reader_with_its_advice(web: Running) -> None:
    web.behind.refusal = (429, {"retry-after": "7"})
    response = await web.page.post("/api/turns", json=ASKED)
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    assert response.json() == {"code": "busy", "message": "This chat has four questions already."}


@pytest.mark.behaviour("T8")
async def test_a_reader_that_comes_back_gets_the_rest_and_nothing_twice(web: Running) -> None:
    turn_id = uuid4()
    cursors = await web.behind.begin(
        running(turn_id),
        Accepted(turn_id=turn_id, trace_id=TRACE_ID),
        Delta(text="a"),
        Delta(text="b"),
        Done(answer="ab", sources=()),
    )
    response = await web.page.get(f"/api/turns/{turn_id}/frames", params={"after": cursors[1]})
    assert [frame["cursor"] for frame in frames_of(response)] == cursors[2:]
    again = await web.page.get(f"/api/turns/{turn_id}/frames", params={"after": cursors[3]})
    assert [frame["type"] for frame in frames_of(again)] == ["done"]
    assert web.behind.asked == []


@pytest.mark.behaviour("T8")
@pytest.mark.parametrize("cursor", ["yesterday", "99999999999999999999-0", "-1-0", "1-1\n", "١-١", ""])
async def test_a_cursor_that_no_frame_carried_is_refused(web: Running, cursor: str) -> None:
    response = await web.page.get(f"/api/turns/{uuid4()}/frames", params={"after": cursor})
    assert response.status_code == 400
    assert "cursor" in response.json()["message"]


@pytest.mark.behaviour("T8")
async def test_an_answer_whose_frames_are_gone_is_read_from_the_store(web: Running) -> None:
    turn_id = uuid4()
    web.behind.turns[turn_id] = stored(turn_id)
    frames = frames_of(await web.page.get(f"/api/turns/{turn_id}/frames"))
    assert [frame["type"] for frame in frames] == ["accepted", "snapshot", "done"]
    assert frames[1]["answer"] == frames[2]["answer"] == "Its recovery code is ORCHID-47. [1]"
    assert frames[1]["sentences"][0]["verdict"] == "supported"


@pytest.mark.parametrize(
    ("status", "code", "kinds"),
    [
        ("failed", "deadline", ["accepted", "error"]),
        ("cancelled", "cancelled", ["accepted", "error"]),
        ("interrupted", "interrupted", ["accepted", "snapshot", "error"]),
    ],
)
async def test_a_turn_that_ended_without_an_answer_says_so_again(
    web: Running, status: str, code: str, kinds: list[str]
) -> None:
    turn_id = uuid4()
    answer = "It is" if status == "interrupted" else None
    web.behind.turns[turn_id] = stored(
        turn_id, status=status, answer=answer, error_code=code, error_message="So it is."
    )
    frames = frames_of(await web.page.get(f"/api/turns/{turn_id}/frames"))
    assert [frame["type"] for frame in frames] == kinds
    assert (frames[-1]["code"], frames[-1]["message"]) == (code, "So it is.")


async def test_a_turn_that_nobody_knows_is_not_found(web: Running) -> None:
    response = await web.page.get(f"/api/turns/{uuid4()}/frames")
    assert response.status_code == 404
    assert response.json()["code"] == "not_found"


@pytest.mark.behaviour("T10")
async def test_a_turn_whose_worker_is_lost_ends_with_an_error(web: Running) -> None:
    turn_id = uuid4()
    old = datetime.now(UTC) - timedelta(seconds=3)
    await web.behind.begin(
        running(turn_id, heartbeat_at=old), Accepted(turn_id=turn_id, trace_id=TRACE_ID), Delta(text="a")
    )
    frames = frames_of(await web.page.get(f"/api/turns/{turn_id}/frames"))
    assert [frame["type"] for frame in frames] == ["accepted", "delta", "error"]
    assert frames[-1]["code"] == "worker_lost"
    assert frames[-1]["cursor"] == frames[-2]["cursor"]


@pytest.mark.behaviour("T10")
async def test_a_turn_that_thinks_for_long_is_not_given_up_while_its_worker_lives(web: Running) -> None:
    turn_id = uuid4()
    await web.behind.begin(running(turn_id), Accepted(turn_id=turn_id, trace_id=TRACE_ID))
    reading = asyncio.create_task(web.page.get(f"/api/turns/{turn_id}/frames", timeout=20))
    for _ in range(20):
        web.behind.turns[turn_id] = running(turn_id)
        await asyncio.sleep(0.05)
        assert not reading.done()
    await web.behind.frames.append(turn_id, Done(answer="late", sources=()))
    assert [frame["type"] for frame in frames_of(await reading)] == ["accepted", "done"]


@pytest.mark.behaviour("T10")
async def test_an_answer_that_was_stored_but_whose_last_frames_were_lost_is_told_from_the_store(web: Running) -> None:
    turn_id = uuid4()
    await web.behind.begin(stored(turn_id), Accepted(turn_id=turn_id, trace_id=TRACE_ID), Delta(text="Its"))
    frames = frames_of(await web.page.get(f"/api/turns/{turn_id}/frames"))
    assert [frame["type"] for frame in frames] == ["accepted", "delta", "snapshot", "done"]


@pytest.mark.behaviour("T10")
@pytest.mark.parametrize("changed", [{"agent_url": closed_port}])
async def test_a_silent_turn_without_an_agent_ends_with_an_error(web: Running) -> None:
    turn_id = uuid4()
    await web.behind.begin(running(turn_id), Accepted(turn_id=turn_id, trace_id=TRACE_ID))
    frames = frames_of(await web.page.get(f"/api/turns/{turn_id}/frames"))
    assert [frame["type"] for frame in frames] == ["accepted", "error"]
    assert frames[-1]["code"] == "unavailable"


@pytest.mark.parametrize("changed", [{"agent_url": closed_port}])
async def test_without_an_agent_a_question_is_refused_with_what_to_do(web: Running) -> None:
    response = await web.page.post("/api/turns", json=ASKED)
    assert response.status_code == 503
    assert "Try again" in response.json()["message"]


@pytest.mark.behaviour("T10")
@pytest.mark.parametrize("changed", [{"redis_url": lambda: closed_port().replace("http", "redis") + "/0"}])
async def test_without_redis_a_running_turn_ends_with_an_error(web: Running) -> None:
    turn_id = uuid4()
    web.behind.turns[turn_id] = running(turn_id)
    frames = frames_of(await web.page.get(f"/api/turns/{turn_id}/frames", timeout=20))
    assert [frame["type"] for frame in frames] == ["error"]


@pytest.mark.behaviour("T5")
async def test_a_reader_that_leaves_leaves_nothing_behind(web: Running) -> None:
    turn_id = uuid4()
    await web.behind.begin(running(turn_id), Accepted(turn_id=turn_id, trace_id=TRACE_ID))
    before = asyncio.all_tasks()
    async with web.page.stream("GET", f"/api/turns/{turn_id}/frames") as response:
        async for _ in response.aiter_lines():
            break
    await until(lambda: not (asyncio.all_tasks() - before))
    assert web.behind.told == []


async def test_answers_are_counted_while_they_are_read(web: Running, measured: Callable[[str], list[Any]]) -> None:
    def reading() -> int:
        return sum(point.value for point in measured("talkdown.web.streams"))

    turn_id = uuid4()
    await web.behind.begin(running(turn_id), Accepted(turn_id=turn_id, trace_id=TRACE_ID))
    async with web.page.stream("GET", f"/api/turns/{turn_id}/frames") as response:
        async for _ in response.aiter_lines():
            break
        assert reading() == 1
    await until(lambda: reading() == 0)


async def test_many_readers_of_one_turn_read_the_same(web: Running) -> None:
    turn_id = uuid4()
    await web.behind.begin(running(turn_id), Accepted(turn_id=turn_id, trace_id=TRACE_ID))
    reads = [asyncio.create_task(web.page.get(f"/api/turns/{turn_id}/frames", timeout=20)) for _ in range(20)]
    for count in range(50):
        await web.behind.frames.append(turn_id, Delta(text=f"{count} "))
    await web.behind.frames.append(turn_id, Done(answer="", sources=()))
    texts = {(await read).text for read in reads}
    assert len(texts) == 1
    assert len(texts.pop().splitlines()) == 52


async def test_stop_and_what_was_heard_go_on_to_the_agent(web: Running) -> None:
    turn_id = uuid4()
    assert (await web.page.post(f"/api/turns/{turn_id}/cancel")).status_code == 204
    assert (await web.page.post(f"/api/turns/{turn_id}/heard", json={"characters": 12})).status_code == 204
    assert (await web.page.post(f"/api/turns/{turn_id}/heard", json={"characters": -1})).status_code == 400
    assert [what for what, _ in web.behind.told] == ["cancel", "heard"]


@pytest.mark.behaviour("E3")
async def test_a_stream_that_web_cannot_finish_before_it_stops_ends_with_its_reason(
    web: Running, valkey_url: str
) -> None:
    turn_id = uuid4()
    await web.behind.begin(running(turn_id), Accepted(turn_id=turn_id, trace_id=TRACE_ID))
    settings = Settings(redis_url=SecretStr(valkey_url), agent_url=closed_port(), grace_s=0.1, lost_s=60)
    async with serving(create_app(settings)) as url:
        reading = asyncio.create_task(web.page.get(f"{url}/api/turns/{turn_id}/frames", headers={"origin": url}))
        async with web.page.stream("GET", f"{url}/api/turns/{turn_id}/frames", headers={"origin": url}) as second:
            async for _ in second.aiter_lines():
                break
    frames = frames_of(await reading)
    assert [frame["type"] for frame in frames] == ["accepted", "error"]
    assert frames[-1]["code"] == "stopping"
