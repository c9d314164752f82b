"""Whatever a client sends, in whatever order, the session lives and everything it says is in the protocol."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from voice_session_fakes import WHOLE, Caller, Client, HandAgent
from voice_wire import check

from contracts.frames import AnyFrame, Delta, Done, Error
from voice_gateway.errors import AnswerFailed
from voice_gateway.scripted import UNINTELLIGIBLE, ScriptedEars, tone

KINDS = (
    "session.update",
    "conversation.item.create",
    "conversation.item.retrieve",
    "conversation.item.delete",
    "conversation.item.truncate",
    "response.create",
    "response.cancel",
    "input_audio_buffer.append",
    "output_audio_buffer.clear",
)
IDS = st.sampled_from(["item_a", "item_b", "root", "", "x" * 65])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["input_text", "output_text", "input_audio", "input_image", "what"])},
    optional={"text": st.text(max_size=30) | st.none() | st.integers(), "audio": st.text(max_size=5)},
)
items = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["message", "function_call"]),
        "role": st.sampled_from(["user", "assistant", "system", "tool"]),
        "content": st.lists(parts, max_size=3) | json_values,
    },
    optional={"id": IDS, "status": json_values},
)
responses = st.fixed_dictionaries(
    {},
    optional={
        "conversation": st.sampled_from(["auto", "none", 3]),
        "output_modalities": st.lists(st.sampled_from(["text", "audio", "smell"]), max_size=2),
        "metadata": st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(), max_size=2) | st.none(),
        "tools": json_values,
        "input": json_values,
    },
)
likely = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "event_id": st.text(max_size=20) | st.integers(),
        "item": items | json_values,
        "item_id": IDS,
        "previous_item_id": IDS,
        "response": responses | json_values,
        "response_id": IDS,
        "session": st.dictionaries(st.sampled_from(["type", "model", "output_modalities", "audio"]), json_values),
    },
).map(json.dumps)
question: st.SearchStrategy[str] = st.text(max_size=40).map(
    lambda text: json.dumps(
        {
            "type": "conversation.item.create",
            "item": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        }
    )
)
plain = st.sampled_from(['{"type": "response.create"}', '{"type": "response.cancel"}'])
said: st.SearchStrategy[list[str | bytes]] = st.lists(
    question | plain | likely | json_values.map(json.dumps) | st.text(max_size=40) | st.binary(max_size=40), max_size=14
)
endings: st.SearchStrategy[tuple[AnyFrame, ...]] = st.sampled_from(
    [
        WHOLE,
        (Delta(text="a"), Error(code="model_failed", message="No.")),
        (Error(code="cancelled", message="You stopped this answer."),),
        (Delta(text="a"), Done(answer="b", sources=())),
        (Delta(text=""), Done(answer="", sources=())),
        (Delta(text="a"),),
    ]
)


@pytest.mark.behaviour("V7")
@settings(max_examples=300, deadline=None)
@given(messages=said, frames=endings, fails=st.booleans())
def test_no_event_of_a_client_ends_its_session(
    messages: list[str | bytes], frames: tuple[AnyFrame, ...], fails: bool
) -> None:
    asyncio.run(_survives(messages, frames, fails))


SOUND = b64encode(tone(200) + bytes(48 * 600)).decode()
sound: st.SearchStrategy[str] = st.sampled_from(
    [
        {"type": "input_audio_buffer.append", "audio": SOUND},
        {"type": "input_audio_buffer.append", "audio": "AAA="},
        {"type": "input_audio_buffer.append", "audio": "?"},
        {"type": "input_audio_buffer.commit"},
        {"type": "input_audio_buffer.clear"},
        {"type": "output_audio_buffer.clear"},
        {"type": "session.update", "session": {"audio": {"input": {"turn_detection": None}}}},
        {"type": "session.update", "session": {"audio": {"input": {"turn_detection": {"type": "server_vad"}}}}},
        {"type": "session.update", "session": {"output_modalities": ["text"]}},
        {
            "type": "conversation.item.create",
            "item": {"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": SOUND}]},
        },
        {
            "type": "response.create",
            "response": {
                "conversation": "none",
                "output_modalities": ["audio"],
                "input": [{"type": "message", "content": [{"type": "input_text", "text": "One two three four."}]}],
                "metadata": {"turn_id": "7e2b6f0e-8b5a-4a52-9d43-0d8d3b1f6c11"},
            },
        },
    ]
).map(json.dumps)
spoken: st.SearchStrategy[list[str | bytes | int]] = st.lists(
    sound | question | plain | likely | st.integers(1, 60), max_size=14
)
SCRIPT = ("What is the code?", "", "mhm", UNINTELLIGIBLE, "And the valve?")


@pytest.mark.behaviour("V6", "V7")
@settings(max_examples=100, deadline=None)
@given(messages=spoken, frames=endings, fails=st.booleans(), in_events=st.booleans())
def test_nothing_that_is_said_aloud_ends_a_session_and_its_end_leaves_nothing(
    messages: list[str | bytes | int], frames: tuple[AnyFrame, ...], fails: bool, in_events: bool
) -> None:
    asyncio.run(_survives_aloud(messages, frames, fails, in_events))


async def _survives_aloud(
    messages: list[str | bytes | int], frames: tuple[AnyFrame, ...], fails: bool, in_events: bool
) -> None:
    before = asyncio.all_tasks()
    agent = HandAgent(frames, failure=AnswerFailed("No.") if fails else None)
    caller = Caller(*SCRIPT, agent=agent, max_items=4, sound_in_events=in_events)
    told: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, int):
            caller.play(20 * message)
        else:
            await caller.session.receive(message)
        told += await caller.hear_all()
    await caller.session.leave()
    told += await caller.hear_all()
    assert not [event for event in told if event["type"] == "error" and event["error"]["type"] == "server_error"]
    begun = [event["response"]["id"] for event in told if event["type"] == "response.created"]
    ended = [event["response"]["id"] for event in told if event["type"] == "response.done"]
    assert len(set(ended)) == len(ended)
    assert set(ended) <= set(begun)
    playing = [event for event in told if event["type"].startswith("output_audio_buffer")]
    for one, other in pairwise(event for event in playing if not event["type"].endswith("cleared")):
        assert (one["type"], other["type"]) != ("output_audio_buffer.stopped", "output_audio_buffer.stopped")
    assert agent.following == 0
    assert isinstance(caller.ears, ScriptedEars)
    assert len(caller.ears) == 0
    assert asyncio.all_tasks() - before - agent.tasks == set()


async def _survives(messages: list[str | bytes], frames: tuple[AnyFrame, ...], fails: bool) -> None:
    client = Client(HandAgent(frames, failure=AnswerFailed("No.") if fails else None), max_items=4)
    for message in messages:
        await client.session.receive(message)
        await asyncio.sleep(0)
    if client.session.busy:
        await client.say("response.cancel")
    client.agent.frames, client.agent.failure = WHOLE, None
    await client.put_question("Do you live?", id="item_the_last")
    await client.say("response.create")
    told: list[dict[str, Any]] = []
    while not told or told[-1].get("item", {}).get("id") != "item_the_last":
        told.append(await client.hear())
    told += await client.hear_until("response.done")
    assert told[-1]["response"]["status"] == "completed"
    assert not [event for event in told if event["type"] == "error" and event["error"]["type"] == "server_error"]
    begun = [event["response"]["id"] for event in told if event["type"] == "response.created"]
    ended = [event["response"]["id"] for event in told if event["type"] == "response.done"]
    assert begun == ended
    assert len(client.session.conversation) <= 5
    for event in told:
        check(event)
    await client.session.leave()
