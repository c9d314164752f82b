"""A session's events, without a transport; each that it sends is checked against the provider's own types."""

from __future__ import annotations

import asyncio
import json

import pytest
from voice_fakes import until
from voice_session_fakes import Client, HandAgent

from contracts.frames import Delta, Done
from voice_gateway.errors import AnswerFailed
from voice_gateway.outbox import GOING_AWAY


async def test_an_answer_is_told_in_the_protocols_order() -> None:
    client = Client()
    await client.put_question(id="item_mine")
    await client.say("response.create", response={"metadata": {"mine": "kept"}})
    events = await client.hear_until("response.done")
    assert [event["type"] for event in events] == [
        "session.created",
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ]
    assert len({event["event_id"] for event in events}) == len(events)
    created, done = events[3]["response"], events[-1]["response"]
    assert created["status"] == "in_progress"
    assert done["status"] == "completed"
    assert done["metadata"] == {"mine": "kept", "turn_id": str(client.agent.turns[0]), "trace_id": "0" * 31 + "1"}
    assert done["output"][0]["content"] == [{"type": "output_text", "text": "The code is ORCHID-47 [1]."}]
    assert events[5]["previous_item_id"] == "item_mine"
    assert {event["response_id"] for event in events[4:13] if "response_id" in event} == {done["id"]}


async def test_an_answer_without_deltas_is_still_told_whole() -> None:
    client = Client(HandAgent([Done(answer="All at once.", sources=())]))
    await client.put_question()
    await client.say("response.create")
    events = await client.hear_until("response.done")
    assert [event["delta"] for event in events if event["type"] == "response.output_text.delta"] == ["All at once."]


@pytest.mark.behaviour("V7")
async def test_a_refused_question_fails_its_response_and_the_next_one_works() -> None:
    client = Client(HandAgent(failure=AnswerFailed("Too many questions; ask again.", failure="too_many_turns")))
    await client.put_question()
    await client.say("response.create")
    failed = (await client.hear_until("response.done"))[-1]["response"]
    assert failed["status"] == "failed"
    assert failed["output"] == []
    assert failed["status_details"]["error"]["message"] == "Too many questions; ask again."
    client.agent.failure = None
    await client.say("response.create")
    assert (await client.hear_until("response.done"))[-1]["response"]["status"] == "completed"


async def test_an_answer_that_never_ends_fails_at_its_deadline() -> None:
    client = Client(HandAgent([Delta(text="The code ")]), answer_s=0.05)
    await client.put_question()
    await client.say("response.create")
    done = (await client.hear_until("response.done"))[-1]["response"]
    assert done["status_details"]["error"]["code"] == "deadline"
    assert done["output"][0]["status"] == "incomplete"
    assert client.agent.following == 0


@pytest.mark.behaviour("V7")
async def test_a_question_cancelled_on_its_way_is_stopped_when_its_turn_is_known() -> None:
    client = Client(HandAgent(hold=asyncio.Event()))
    await client.put_question()
    await client.say("response.create")
    await until(lambda: client.agent.asked)
    await client.say("response.cancel")
    done = (await client.hear_until("response.done"))[-1]["response"]
    assert done["status"] == "cancelled"
    assert done["status_details"]["reason"] == "client_cancelled"
    assert client.agent.withdrawn == []
    assert client.agent.hold is not None
    client.agent.hold.set()
    await until(lambda: client.agent.withdrawn == client.agent.turns != [])


async def test_after_a_cancel_the_next_question_may_be_asked_at_once() -> None:
    client = Client(HandAgent([Delta(text="The code ")]))
    await client.put_question()
    await client.say("response.create")
    await client.hear_until("response.output_text.delta")
    await client.say("response.cancel")
    client.agent.frames = [Done(answer="Yes.", sources=())]
    await client.put_question("Another?")
    await client.say("response.create")
    assert (await client.hear_until("response.done"))[-1]["response"]["status"] == "cancelled"
    assert (await client.hear_until("response.done"))[-1]["response"]["status"] == "completed"
    assert client.agent.asked == ["What is the code?", "Another?"]


async def test_a_client_that_leaves_takes_nothing_with_it_but_its_reader() -> None:
    client = Client(HandAgent([Delta(text="The code ")]))
    await client.put_question()
    await client.say("response.create")
    await client.hear_until("response.output_text.delta")
    await client.session.leave()
    assert client.agent.following == 0
    assert client.agent.withdrawn == []
    assert not client.session.busy


@pytest.mark.behaviour("E3")
async def test_a_stop_ends_an_answer_in_work_with_its_reason() -> None:
    client = Client(HandAgent([Delta(text="The code ")]))
    await client.put_question()
    await client.say("response.create")
    await client.hear_until("response.output_text.delta")
    await client.session.leave(GOING_AWAY, answer="stopping", patience_s=0.01)
    done = (await client.hear_until("response.done"))[-1]["response"]
    assert done["status_details"]["error"]["code"] == "stopping"
    assert client.session.outbox.close_with == GOING_AWAY
    assert client.agent.withdrawn == []


async def test_one_answer_is_given_at_a_time() -> None:
    client = Client(HandAgent([Delta(text="The code ")]))
    await client.put_question()
    await client.say("response.create")
    await client.say("response.create", event_id="second")
    error = await client.error()
    assert error["code"] == "conversation_already_has_active_response"
    assert error["event_id"] == "second"
    await client.session.leave()


@pytest.mark.behaviour("V3")
@pytest.mark.parametrize(
    ("text", "code"), [("  \n ", "blank_question"), ("x" * 2001, "question_too_long"), (None, "no_question")]
)
async def test_what_is_no_question_is_not_asked(text: str | None, code: str) -> None:
    client = Client()
    if text is not None:
        await client.put_question(text)
    await client.say("response.create")
    assert (await client.error())["code"] == code
    assert client.agent.asked == []
    await client.put_question("x" * 2000)
    await client.say("response.create")
    await client.hear_until("response.done")
    assert client.agent.asked == ["x" * 2000]


async def test_an_answered_question_is_not_asked_again() -> None:
    client = Client()
    await client.put_question()
    await client.say("response.create")
    await client.hear_until("response.done")
    await client.say("response.create")
    assert (await client.error())["code"] == "no_question"


@pytest.mark.parametrize(
    "kind",
    [
        "input_audio_buffer.append",
        "input_audio_buffer.commit",
        "input_audio_buffer.clear",
        "output_audio_buffer.clear",
        "conversation.item.truncate",
    ],
)
async def test_sound_gets_an_error_that_says_what_to_send_instead(kind: str) -> None:
    client = Client()
    await client.say(kind, event_id="mine", audio="AAAA", item_id="item_1", content_index=0, audio_end_ms=0)
    error = await client.error()
    assert error["code"] == "audio_not_available"
    assert "input_text" in error["message"]
    assert error["event_id"] == "mine"


@pytest.mark.parametrize(
    ("event", "code", "param"),
    [
        ("{", "invalid_json", None),
        ("[]", "invalid_json", None),
        ("[" * 5000, "invalid_json", None),
        ('{"type": "response.create", "x": NaN}', "invalid_json", None),
        ("{}", "missing_type", "type"),
        ('{"type": 7}', "missing_type", "type"),
        ('{"type": "\\ud800"}', "invalid_json", None),
        (b"\xff\xfe", "invalid_json", None),
        ('{"type": "session.destroy"}', "unknown_event", "type"),
        ('{"type": "session.update"}', "invalid_value", "session"),
        ('{"type": "session.update", "session": {"type": "transcription"}}', "not_supported", "session.type"),
        (
            '{"type": "session.update", "session": {"output_modalities": ["audio"]}}',
            "audio_not_available",
            "session.output_modalities",
        ),
        (
            '{"type": "session.update", "session": {"output_modalities": []}}',
            "invalid_value",
            "session.output_modalities",
        ),
        ('{"type": "response.create", "response": {"conversation": "none"}}', "not_supported", "response.conversation"),
        ('{"type": "response.create", "response": {"input": []}}', "not_supported", "response.input"),
        ('{"type": "response.create", "response": {"metadata": {"a": 1}}}', "invalid_value", "response.metadata.a"),
        ('{"type": "response.cancel"}', "response_cancel_not_active", None),
        ('{"type": "conversation.item.retrieve", "item_id": "item_none"}', "item_not_found", "item_id"),
        ('{"type": "conversation.item.delete", "item_id": "item_none"}', "item_not_found", "item_id"),
        ('{"type": "conversation.item.create", "item": {"type": "function_call"}}', "invalid_value", "item.type"),
    ],
)
async def test_a_wrong_event_gets_an_error_that_names_what_is_wrong(
    event: str | bytes, code: str, param: str | None
) -> None:
    client = Client()
    await client.session.receive(event)
    error = await client.error()
    assert (error["code"], error["param"]) == (code, param)
    await client.put_question()
    await client.say("response.create")
    await client.hear_until("response.done")


async def test_an_event_that_is_too_large_is_refused_and_the_session_goes_on() -> None:
    client = Client(max_message_bytes=1024)
    await client.put_question("x" * 1024)
    assert (await client.error())["code"] == "event_too_large"
    await client.put_question()
    assert (await client.hear_until("conversation.item.done"))[-1]["item"]["content"][0]["text"] == "What is the code?"


async def test_items_are_placed_retrieved_and_deleted_as_the_protocol_says() -> None:
    client = Client()
    await client.put_question("second", id="b")
    item = {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "first"}], "id": "a"}
    await client.say("conversation.item.create", item=item, previous_item_id="root")
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "third"}], "id": "c"}
    await client.say("conversation.item.create", item=answer, previous_item_id="b")
    assert [item.id for item in client.session.conversation] == ["a", "b", "c"]
    events = await client.hear_until("conversation.item.done")
    events += await client.hear_until("conversation.item.done")
    events += await client.hear_until("conversation.item.done")
    added = [event["previous_item_id"] for event in events if event["type"] == "conversation.item.added"]
    assert added == [None, None, "b"]
    await client.say("conversation.item.retrieve", item_id="c")
    assert (await client.hear())["item"]["content"] == [{"type": "output_text", "text": "third"}]
    await client.say("conversation.item.delete", item_id="b")
    assert await client.hear_until("conversation.item.deleted")
    assert [item.id for item in client.session.conversation] == ["a", "c"]
    await client.put_question("again", id="a")
    assert (await client.error())["code"] == "item_exists"
    await client.say("conversation.item.create", item=answer | {"id": "d"}, previous_item_id="nowhere")
    assert (await client.error())["param"] == "previous_item_id"


async def test_the_oldest_items_leave_a_full_conversation_and_the_client_is_told() -> None:
    client = Client(max_items=2)
    for number in range(3):
        await client.put_question(f"question {number}", id=f"item_{number}")
    assert (await client.hear_until("conversation.item.deleted"))[-1]["item_id"] == "item_0"
    assert [item.id for item in client.session.conversation] == ["item_1", "item_2"]


async def test_the_last_item_is_kept_even_when_everything_else_has_to_leave() -> None:
    """A question put in front is the oldest of all, and goes at once; the one at the end stays."""
    client = Client(max_items=2)
    await client.put_question(id="a")
    await client.put_question(id="b")
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}], "id": "z"}
    await client.say("conversation.item.create", item=item, previous_item_id="root")
    assert (await client.hear_until("conversation.item.deleted"))[-1]["item_id"] == "z"
    assert [item.id for item in client.session.conversation] == ["a", "b"]


async def test_a_client_that_reads_nothing_is_sent_away() -> None:
    client = Client(max_unread_bytes=65_536)
    client.agent.frames = [*(Delta(text="x" * 1000) for _ in range(100)), Done(answer="", sources=())]
    await client.put_question()
    await client.say("response.create")
    await until(lambda: client.session.outbox.closed.is_set())
    assert client.session.outbox.close_with is not None
    assert client.session.outbox.close_with.code == 1008


async def test_events_wait_for_a_client_that_has_not_read_the_last_ones() -> None:
    client = Client(max_unread_bytes=65_536)
    await client.put_question("x" * 20_000)
    late = asyncio.create_task(client.put_question(id="late"))
    done, _ = await asyncio.wait({late}, timeout=0.05)
    assert not done
    while "late" not in json.dumps(await client.hear()):
        pass
    await late
