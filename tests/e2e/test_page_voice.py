"""A call as a person sees it: the orb, what is heard and said, how one talks. The call itself is scripted."""

from __future__ import annotations

import re
from typing import Any

import pytest
from page_voice import CODE, voiced
from page_window import Opens
from playwright.sync_api import expect

FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# What each light of the page lies on.
LIT = """() => Object.fromEntries([...CSS.highlights].map(([name, ranges]) => {
  const [{ startContainer, startOffset, endContainer, endOffset }] = ranges;
  const range = new Range();
  range.setStart(startContainer, startOffset);
  range.setEnd(endContainer, endOffset);
  return [name, range.toString()];
}))"""
TOUCHED = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.mark.behaviour("V8")
def test_the_orb_moves_with_the_agent_s_audio_and_not_the_microphone_s(opens: Opens) -> None:
    voice = voiced(opens).start()

    def level_becomes(level: float) -> None:
        voice.page.wait_for_function(
            "(level) => Number(document.getElementById('orb').style.getPropertyValue('--level')) === level", arg=level
        )

    voice.does("call.level = { agent: 0, microphone: 0.9 }")
    voice.page.wait_for_function(
        "() => Number(document.getElementById('mute').style.getPropertyValue('--level')) === 0.9"
    )
    level_becomes(0)
    voice.ask()
    voice.does("call.level = { agent: 0.25, microphone: 0.9 }; call.says(0)")
    expect(voice.page.locator("#orb")).to_have_attribute("data-state", "speaking")
    level_becomes(0.25)
    small: Any = voice.page.locator(".orb-core").bounding_box()
    voice.does("call.level = { agent: 1, microphone: 0 }")
    level_becomes(1)
    voice.page.wait_for_function(
        "(width) => document.querySelector('.orb-core').getBoundingClientRect().width > width + 3", arg=small["width"]
    )


@pytest.mark.behaviour("V8")
def test_with_reduced_motion_words_say_what_the_orb_would(opens: Opens) -> None:
    voice = voiced(opens, reduced_motion="reduce").start()
    expect(voice.words).to_have_text("Listening. Just talk.")
    voice.does("call.on({ kind: 'hearing', words: '' })")
    expect(voice.words).to_have_text("Listening to you…")
    voice.does("call.on({ kind: 'thinking' })")
    expect(voice.words).to_have_text("Understanding…")
    voice.ask()
    voice.does("call.level = { agent: 1, microphone: 1 }; call.says(0)")
    expect(voice.words).to_have_text("Speaking. Talk to interrupt.")
    voice.page.evaluate(FRAMES)
    assert voice.page.evaluate("() => document.getElementById('orb').style.getPropertyValue('--level')") == ""
    assert voice.page.evaluate("() => document.getAnimations().length") == 0


@pytest.mark.behaviour("V3")
def test_what_is_heard_is_shown_while_it_is_said_and_becomes_the_question(opens: Opens) -> None:
    voice = voiced(opens).start()
    voice.does("call.on({ kind: 'hearing', words: 'What is the amber' })")
    expect(voice.live).to_have_text("You: What is the amber")
    voice.does("call.on({ kind: 'hearing', words: 'What is the amber valve' })")
    expect(voice.live).to_have_text("You: What is the amber valve")
    turn = voice.ask()
    expect(turn.locator(".question")).to_have_text(CODE)
    expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
    assert "speak" in voice.told()
    voice.does("call.needs.said({ itemId: 'item_2', text: 'mhm', question: false }); call.says(0)")
    expect(voice.words).to_have_text("Heard “mhm”, and went on.")
    expect(voice.page.locator(".turn")).to_have_count(1)


def test_what_is_said_is_lit_where_it_stands_and_in_its_source(opens: Opens) -> None:
    voice = voiced(opens).start()
    turn = voice.ask()
    page = voice.page
    page.locator("#question").focus()
    count = turn.locator(".sentence").count()
    for index in range(count):
        voice.does(f"call.says({index}, 9)")
        sentence = turn.locator(".sentence").nth(index)
        shown = sentence.inner_text()
        now = page.evaluate(LIT)
        assert now["spoken"] == shown
        assert now["heard"] == shown[:9]
        expect(sentence.locator(".cite[data-spoken]").first).to_be_visible()
        expect(turn.locator(".sentence[data-spoken]")).to_have_count(1)
    expect(page.locator("#spoken-source")).to_contain_text(".md")
    expect(page.locator("#question")).to_be_focused()

    page.locator("#spoken-open").click()
    expect(page.locator(".line[data-lit='lines']").first).to_be_visible()
    voice.does("call.says(0)")
    expect(page.locator("#source-title")).to_be_focused()
    voice.does("call.on({ kind: 'listening' })")
    assert page.evaluate("() => CSS.highlights.size") == 0
    expect(page.locator("[data-spoken]")).to_have_count(0)
    expect(page.locator("#spoken-source")).to_be_hidden()


@pytest.mark.behaviour("V11")
def test_what_was_not_heard_of_an_answer_that_was_spoken_over_stands_back(opens: Opens) -> None:
    voice = voiced(opens).start()
    turn = voice.ask()
    whole = turn.locator(".answer").inner_text()
    voice.does("call.says(0); call.needs.interrupt(call.turns.at(-1).turnId, 10)")
    expect(turn.locator(".meta")).to_contain_text("It was interrupted, and you did not hear the rest.")
    rest = voice.page.evaluate(LIT)["unheard"]
    assert rest == whole[10:]


def test_a_spoken_answer_is_not_read_out_a_second_time(opens: Opens) -> None:
    voice = voiced(opens).start()
    expect(voice.words).to_have_attribute("aria-live", "off")
    voice.ask()
    assert voice.page.get_by_role("log").inner_text() == ""
    voice.does("call.needs.changed({ kind: 'returning', attempt: 1 })")
    expect(voice.words).to_have_attribute("aria-live", "polite")


def test_nothing_jumps_in_a_call(opens: Opens) -> None:
    voice = voiced(opens).start()
    voice.ask()
    field = voice.page.locator(".field")
    at = field.bounding_box()
    for state in (
        "call.on({ kind: 'hearing', words: '' })",
        "call.on({ kind: 'hearing', words: 'and where does one find ' + 'the spare key '.repeat(20) })",
        "call.on({ kind: 'thinking' })",
        "call.says(0)",
        "call.needs.said({ itemId: 'x', text: 'mhm', question: false })",
        "call.needs.changed({ kind: 'returning', attempt: 1 })",
        "call.on({ kind: 'listening' })",
    ):
        voice.does(state)
        assert field.bounding_box() == at, state


@pytest.mark.behaviour("V6")
def test_escape_silences_the_voice_and_leaves_the_text(opens: Opens) -> None:
    voice = voiced(opens).start()
    turn = voice.ask()
    turn.locator(".cite").first.click()
    voice.does("call.says(0)")
    voice.told()
    voice.page.keyboard.press("Escape")
    assert voice.told() == ["hush"]
    expect(voice.page.locator("#source")).to_be_visible()
    expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
    voice.does("call.on({ kind: 'listening' })")
    turn.get_by_role("button", name="Say it again").click()
    assert voice.told() == ["speak"]
    assert voice.does("return call.turns.at(-1).stage") == "done"


def test_push_to_talk_is_held_with_space_or_the_button_and_is_remembered(opens: Opens) -> None:
    voice = voiced(opens)
    page, keys = voice.page, voice.page.keyboard
    page.get_by_role("button", name="Microphone").click()
    page.get_by_label("Push to talk").check()
    keys.press("Escape")
    expect(page.locator("#voice-toggle")).to_be_focused()
    page.reload()
    voice.start()
    assert "pushToTalk true" in voice.told()
    expect(voice.words).to_have_text("Hold Space or the button, and talk.")
    expect(page.locator("#mute")).to_be_hidden()

    button = page.locator("#hold")
    keys.down("Space")
    expect(button).to_have_text("Let go to ask")
    expect(voice.words).to_have_text("Listening to you…")
    keys.down("Space")
    keys.up("Space")
    assert voice.told() == ["press", "release"]
    keys.down("Space")
    keys.press("Escape")
    keys.up("Space")
    assert voice.told() == ["press", "retract"]

    page.locator("#question").fill("a")
    keys.press("Space")
    expect(page.locator("#question")).to_have_value("a ")
    page.locator("#question").fill("")
    keys.press("Space")
    expect(page.locator("#question")).to_have_value("")
    assert voice.told() == ["press", "release"]

    button.hover()
    page.mouse.down()
    expect(button).to_have_text("Let go to ask")
    page.mouse.up()
    expect(button).to_have_text("Hold to talk")
    button.dispatch_event("click")
    expect(button).to_have_text("Let go to ask")
    button.dispatch_event("click")
    assert voice.told() == ["press", "release"] * 2


def test_on_a_phone_the_button_is_held_with_a_finger(opens: Opens) -> None:
    voice = voiced(opens, script="localStorage.setItem('talkdown.talk', 'hold');", **TOUCHED).start()
    expect(voice.words).to_have_text("Hold the button and talk.")
    voice.told()
    box: Any = voice.page.locator("#hold").bounding_box()
    touch = voice.window.context.new_cdp_session(voice.page)
    point = {"x": box["x"] + 20, "y": box["y"] + 20}
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    expect(voice.page.locator("#hold")).to_have_text("Let go to ask")
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(voice.page.locator("#hold")).to_have_text("Hold to talk")
    assert voice.told() == ["press", "release"]
    assert voice.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_m_mutes_and_no_letter_of_a_question_does(opens: Opens) -> None:
    voice = voiced(opens).start()
    voice.told()
    voice.page.keyboard.press("m")
    expect(voice.page.locator("#mute")).to_have_text("Unmute")
    expect(voice.words).to_have_text("You are muted.")
    voice.page.keyboard.press("/")
    voice.page.keyboard.type("mm")
    assert voice.told() == ["mute true"]
    voice.page.locator("#mute").click()
    expect(voice.words).to_have_text("Listening. Just talk.")
    assert voice.told() == ["mute false"]


def test_an_answer_shows_where_its_time_went(opens: Opens) -> None:
    voice = voiced(opens).start()
    voice.does("call.happens('speech_stopped', Date.now() - 300); call.happens('transcript', Date.now() - 100)")
    turn = voice.ask()
    voice.does(
        "const { turnId } = call.turns.at(-1); const now = Date.now();"
        "call.happens('first_delta', now, turnId); call.happens('first_phrase', now + 5, turnId);"
        "call.happens('first_audio', now + 400, turnId)"
    )
    summary = turn.locator(".timeline summary")
    expect(summary).to_have_text(re.compile(r"^First sound .* after you stopped speaking$"))
    summary.click()
    names = turn.locator(".step > :first-child")
    expect(names).to_have_text(["Understanding", "Asking", "Searching", "First words", "First phrase", "First sound"])
    for bar in turn.locator(".step-ms").all():
        expect(bar).to_have_text(re.compile(r"^\d+(\.\d)? m?s$"))


def test_the_tab_says_that_it_is_in_a_call(opens: Opens) -> None:
    voice = voiced(opens).start()
    expect(voice.page).to_have_title("In a call · Talkdown")
    voice.page.get_by_role("button", name="Stop", exact=True).click()
    expect(voice.page).to_have_title("Talkdown")
    assert voice.told()[-1] == "stop"
    assert voice.does("return call.stream.getTracks().map((track) => track.readyState)") == ["ended"]
