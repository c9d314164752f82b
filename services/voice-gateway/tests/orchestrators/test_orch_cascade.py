"""The cascade: one turn at a time, spoken while it is written, handed over at its boundary (O1, O3, O4, O5)."""

from __future__ import annotations

import asyncio

import pytest
from orch_fakes import CHAT, HOLD, ScriptedAgent, call, hand_over, stage, until

from voice_gateway.errors import AnswerFailed
from voice_gateway.live.events import AgentChanged, RealtimeEvent, ToolCall, ToolResult, Usage
from voice_gateway.live.port import Line
from voice_gateway.orchestrators.port import Context, Result, State
from voice_gateway.orchestrators.text_agent import Calling, Spent


@pytest.mark.behaviour("O1")
async def test_the_first_chunk_is_spoken_while_the_answer_is_still_being_written() -> None:
    on = stage(["The code is ORCHID-47 [1]. It ", HOLD])
    turn = asyncio.create_task(on.turn("What is the code?"))
    await until(lambda: on.spoken)
    assert on.spoken == ["The code is ORCHID-47."]
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


@pytest.mark.behaviour("O1")
async def test_an_answer_is_spoken_whole_in_order_and_once() -> None:
    on = stage(["One sentence that is long", " enough. Then", " another one, without an end"])
    result = await on.turn("Tell me.")
    assert on.spoken == ["One sentence that is long enough.", "Then another one, without an end"]
    assert result.text == " ".join(on.spoken)
    assert on.voices == ["low", "low"]


@pytest.mark.behaviour("O3")
async def test_what_an_agent_is_asked_from_is_the_context() -> None:
    on = stage(["Yes."], of_person=("The person likes ferns.",), of_chat=("Before: hello.",))
    history = (Line("user", "Hello."), Line("assistant", "Welcome."))
    await on.turn("And now?", history, memory=("They came by boat.",))
    (asked,) = on.agent.asked
    assert (asked.text, asked.history, asked.since) == ("And now?", history, None)
    assert asked.instructions == (
        "The person likes ferns.",
        "Before: hello.",
        "They came by boat.",
        "You greet Mara.",
    )
    assert [spec.name for spec in asked.tools] == ["echo", "hand_over"]


@pytest.mark.behaviour("O3")
async def test_the_result_holds_text_calls_and_agent_and_the_state_is_saved_at_the_end() -> None:
    on = stage([call("echo", {"a": 1})], ["Here it is."])
    result = await on.turn("Echo.")
    assert isinstance(result, Result)
    assert (result.text, result.agent, result.handoff, result.new_agent) == ("Here it is.", "concierge", False, None)
    (called,) = result.calls
    assert (called.name, called.args, called.failed) == ("echo", {"a": 1}, False)
    assert on.states.saves == [State("concierge", ("concierge",))]
    assert on.agent.results[1] == (called,)


@pytest.mark.behaviour("O4")
async def test_a_handoff_is_made_at_the_turns_boundary_and_the_new_agent_answers() -> None:
    on = stage(
        ["Let me look it up for you ", Calling(), "at once. ", hand_over("safety", "A valve.")], ["It is shut now."]
    )
    result = await on.turn("The valve leaks.")
    assert on.spoken == ["This is safety.", "It is shut now."]
    assert on.voices == ["high", "high"]
    assert (result.agent, result.handoff, result.new_agent) == ("concierge", True, "safety")
    changed = [event for event in on.told if isinstance(event, AgentChanged)]
    assert changed == [AgentChanged(agent="safety", previous="concierge", reason="A valve.")]
    asked = on.agent.asked[1]
    assert asked.text == "The valve leaks."
    assert asked.within.folders == ("safety",)
    assert "`concierge` has just handed this conversation over to you. Why: A valve." in asked.instructions[-1]
    assert on.states.saves[-1] == State("safety", ("concierge", "safety"))
    assert "hand_over" not in on.agent.offered[1]


@pytest.mark.behaviour("O4")
async def test_after_a_call_begins_nothing_of_the_old_agents_text_is_spoken_and_what_was_said_stays() -> None:
    on = stage(
        ["I will look that up for you. One mo", Calling(), "ment please, it comes. ", call("echo", {})],
        ["Here is what I found for you."],
    )
    result = await on.turn("Look.")
    assert on.spoken == ["I will look that up for you.", "Here is what I found for you."]
    assert result.text == " ".join(on.spoken)


@pytest.mark.behaviour("O4")
async def test_the_first_valid_handoff_of_a_turn_wins() -> None:
    wanted = [hand_over("butler", call_id="1"), hand_over("safety", call_id="2"), hand_over("secret", call_id="3")]
    on = stage(wanted, ["Safe."])
    result = await on.turn("Help.")
    assert result.new_agent == "safety"
    assert [called.failed for called in result.calls] == [True, False, True]


@pytest.mark.behaviour("O4")
async def test_a_refused_handoff_leaves_the_floor_and_is_told_to_the_model() -> None:
    on = stage([hand_over("butler")], ["I cannot do that."])
    result = await on.turn("The butler, please.")
    assert (result.handoff, on.cascade.active) == (False, "concierge")
    assert "may not hand over to `butler`" in on.agent.results[1][0].result["error"]


@pytest.mark.behaviour("O4")
async def test_greetings_differ_on_a_first_visit_and_on_a_return() -> None:
    on = stage([hand_over("safety")], ["Shut it."], [hand_over("concierge")], ["Open at ten."])
    await on.turn("The valve leaks.")
    await on.turn("When do you open?")
    assert on.spoken == ["This is safety.", "Shut it.", "Welcome back.", "Open at ten."]
    assert on.voices == ["high", "high", "low", "low"]


@pytest.mark.behaviour("O4")
async def test_context_is_shared_unless_the_edge_says_not_to() -> None:
    on = stage(
        [hand_over("secret")], ["Who are you?"], ["I see."], [hand_over("concierge")], ["So."], of_chat=("Chat.",)
    )
    before = (Line("user", "I am Mara."), Line("assistant", "Welcome."))
    await on.turn("A secret.", before)
    secret = on.agent.asked[1]
    assert secret.history == ()
    assert secret.since is not None
    assert "Chat." not in secret.instructions
    since = (*before, Line("user", "A secret."), Line("assistant", "Who are you?"))
    await on.turn("Nobody.", since)
    assert on.agent.asked[2].history == since[2:]
    await on.turn("Back.", since)
    assert on.agent.asked[4].history == since
    assert on.agent.asked[4].since is None


@pytest.mark.behaviour("O4")
async def test_without_a_model_a_phrase_hands_over_and_its_question_goes_along() -> None:
    on = stage(["The code is ORCHID-47."], ["We open at ten."], decides=False)
    first = await on.turn("Safety specialist, what is the code of the amber valve?")
    assert on.agent.asked[0].text == "what is the code of the amber valve?"
    assert on.agent.asked[0].tools == ()
    assert (first.agent, first.new_agent) == ("concierge", "safety")
    greeted = await on.turn("Can I talk to the concierge again?")
    assert (greeted.text, len(on.agent.asked)) == ("Welcome.", 1)
    await on.turn("When do you open?")
    assert on.spoken == ["This is safety.", "The code is ORCHID-47.", "Welcome.", "We open at ten."]


@pytest.mark.behaviour("O5")
async def test_a_turn_has_at_most_five_rounds_of_tools_and_then_an_answer_without() -> None:
    rounds = [[call("echo", {"n": number}, f"call_{number}")] for number in range(5)]
    on = stage(*rounds, ["That is all I have."])
    result = await on.turn("Dig.")
    assert len(result.calls) == 5
    assert [bool(names) for names in on.agent.offered] == [True] * 5 + [False]
    assert on.spoken == ["That is all I have."]


@pytest.mark.behaviour("O5")
async def test_a_tool_that_fails_is_data_and_the_turn_goes_on() -> None:
    on = stage([call("echo", {"fail": True}, "1"), call("zap", {}, "2"), call("echo", None, "3")], ["It did not work."])
    result = await on.turn("Try.")
    assert [called.failed for called in result.calls] == [True, True, True]
    assert on.spoken == ["It did not work."]
    told = [event for event in on.told if isinstance(event, (ToolCall, ToolResult))]
    assert sorted((event.type, event.id) for event in told) == sorted(
        (kind, number) for kind in ("tool_call", "tool_result") for number in ("1", "2", "3")
    )


@pytest.mark.behaviour("O3")
async def test_turns_run_one_at_a_time() -> None:
    on = stage(["First answer, which is held. ", "It ends."], ["Second answer, at last."])
    on.hold_speech = asyncio.Event()
    first = asyncio.create_task(on.turn("One?"))
    await until(lambda: on.spoken)
    second = asyncio.create_task(on.turn("Two?"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(on.agent.asked) == 1
    on.hold_speech.set()
    await asyncio.gather(first, second)
    assert on.spoken == ["First answer, which is held.", "It ends.", "Second answer, at last."]


@pytest.mark.behaviour("O3")
async def test_an_interrupted_turn_closes_its_answer_and_leaves_a_state_that_goes_on() -> None:
    ended: list[tuple[str, Result, bool]] = []
    on = stage(
        ["One sentence that was heard. And ", HOLD],
        ["The next answer."],
        ended=lambda said, result, interrupted: ended.append((said, result, interrupted)),
    )
    turn = asyncio.create_task(on.turn("Tell me."))
    await until(lambda: on.spoken)
    on.cascade.heard("One sentence")
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert on.agent.broken == 1
    assert on.agent.turns[0].heard_characters == [len("One sentence")]
    assert on.states.saves == [State("concierge", ("concierge",))]
    assert (ended[0][1].text, ended[0][2]) == ("One sentence", True)
    assert (await on.turn("Go on.")).text == "The next answer."
    assert ended[1][2] is False


@pytest.mark.behaviour("O4")
async def test_a_handoff_that_was_interrupted_before_it_was_made_is_made_with_the_next_turn() -> None:
    slow = ScriptedAgent([[hand_over("safety"), call("echo", {}, "2")], ["It is shut now."]])
    on = stage(agent=slow)

    on.told = Interrupting()
    with pytest.raises(asyncio.CancelledError):
        await on.turn("The valve leaks.")
    assert on.states.saves[-1] == State("concierge", ("concierge",), "safety")
    on.told = []
    assert (await on.turn("Hello?")).new_agent == "safety"
    assert on.spoken == ["This is safety.", "It is shut now."]
    assert on.states.saves[-1] == State("safety", ("concierge", "safety"))


class Interrupting(list[RealtimeEvent]):
    """Cancels the turn as soon as a handoff has been taken."""

    def append(self, event: RealtimeEvent) -> None:
        if isinstance(event, ToolResult) and event.name == "hand_over":
            raise asyncio.CancelledError


@pytest.mark.behaviour("O3")
async def test_a_new_session_goes_on_where_the_chat_was() -> None:
    on = stage(["Still here."], state=State("safety", ("concierge", "safety")))
    assert (await on.turn("Are you there?")).agent == "safety"
    assert on.voices == ["high"]


async def test_a_failed_answer_is_an_error_with_its_sentence_and_the_next_turn_works() -> None:
    on = stage([AnswerFailed("The model took too long.", failure="model_failed")], ["Better."])
    with pytest.raises(AnswerFailed, match="took too long"):
        await on.turn("One?")
    assert on.states.saves
    assert (await on.turn("Two?")).text == "Better."


async def test_tokens_are_those_of_the_provider_and_counted_for_each_agent() -> None:
    on = stage([hand_over("safety"), Spent("m", 10, 2)], ["Safe now.", Spent("m", 7, 3)])
    result = await on.turn("Help.")
    assert result.metadata["tokens"] == [
        {"agent": "concierge", "model": "m", "input_tokens": 10, "output_tokens": 2},
        {"agent": "safety", "model": "m", "input_tokens": 7, "output_tokens": 3},
    ]
    assert [event.input_tokens for event in on.told if isinstance(event, Usage)] == [10, 7]


async def test_a_state_that_cannot_be_saved_holds_no_turn_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voice_gateway.orchestrators.cascade.SAVE_S", 0.01)
    on = stage(["Fine all the same."])
    on.states.hangs = True
    async with asyncio.timeout(2):
        assert (await on.turn("Well?")).text == "Fine all the same."


@pytest.mark.behaviour("O3")
async def test_what_a_turn_says_of_itself_fills_the_instructions() -> None:
    on = stage(["Yes."])
    context = Context(CHAT, "Hm?", metadata={"visitor": "Tomasz", "count": 3})
    await on.cascade.process_turn(context, on.speak, on.told.append)
    assert on.agent.asked[0].chat_id == CHAT
    assert on.agent.asked[0].instructions == ("You greet Tomasz.",)


async def test_a_model_that_says_nothing_gave_no_answer() -> None:
    on = stage([Spent("m", 1, 1)], [" \n "], [hand_over("safety")], [])
    for _ in range(2):
        with pytest.raises(AnswerFailed, match="gave no answer"):
            await on.turn("Well?")
    with pytest.raises(AnswerFailed, match="gave no answer"):
        await on.turn("The valve leaks.")
    assert on.spoken == ["This is safety."]
    assert on.cascade.active == "safety"


@pytest.mark.behaviour("O5")
async def test_a_tool_that_hangs_is_late_and_the_turn_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voice_gateway.orchestrators.toolbox.TOOL_S", 0.01)
    on = stage([call("echo", {"hang": True})], ["It took too long."])
    result = await on.turn("Try.")
    assert "no result in time" in result.calls[0].result["error"]
    assert on.spoken == ["It took too long."]
