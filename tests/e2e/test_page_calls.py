"""Start and Stop, the microphone, and connections that are lost, in a real browser on the real product."""

from __future__ import annotations

import re
from typing import Any

import pytest
from page_window import Opens, Window
from playwright.sync_api import expect

CODE = "What is the amber valve recovery code?"

# Notes what the page asks of the browser, and changes nothing of it.
WATCHING = """
window.seen = { tracks: [], sockets: [], credentials: [] };
const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => {
  const stream = await ask(wanted);
  window.seen.tracks.push(...stream.getTracks());
  return stream;
};
const Real = window.WebSocket;
window.WebSocket = class extends Real {
  constructor(url, protocols) {
    super(url, protocols);
    window.seen.sockets.push(this);
    window.seen.credentials.push(protocols);
  }
};
"""

REFUSING = """
navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException(%r, %r));
"""

# The first stream of frames breaks off behind its first piece, as when a laptop sleeps.
CUTTING = """
const real = window.fetch;
window.fetch = async (path, init) => {
  const response = await real(path, init);
  if (path !== "/api/turns" || window.cut) return response;
  window.cut = true;
  const reader = response.body.getReader();
  let pieces = 0;
  const body = new ReadableStream({
    async pull(controller) {
      if (pieces++ > 0) {
        await reader.cancel();
        return controller.error(new TypeError("network error"));
      }
      controller.enqueue((await reader.read()).value);
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
};
"""


def seen(window: Window) -> Any:
    """What the page asked of the browser so far."""
    return window.page.evaluate(
        """() => ({
          tracks: seen.tracks.map((track) => track.readyState),
          sockets: seen.sockets.map((socket) => socket.readyState),
          credentials: seen.credentials,
          chat: sessionStorage.getItem("talkdown.chat"),
        })"""
    )


@pytest.mark.behaviour("V1", "V2")
def test_start_takes_the_microphone_and_gives_it_back_and_stop_ends_everything(opens: Opens) -> None:
    window = opens(script=WATCHING)
    window.page.get_by_role("button", name="Start").click()
    expect(window.page.locator("#presence-words")).to_contain_text("Connected")
    first = seen(window)
    assert first["tracks"] == ["ended"]
    assert first["sockets"] == [1]
    assert first["credentials"][0][0] == "realtime"
    assert first["credentials"][0][1].startswith("openai-insecure-api-key.ek_")
    window.answered(CODE)
    window.picture("in-a-call")

    window.page.get_by_role("button", name="Stop", exact=True).click()
    expect(window.page.locator(".turn")).to_have_count(0)
    expect(window.page.get_by_role("button", name="Start")).to_be_visible()
    window.page.wait_for_function("() => seen.sockets[0].readyState === 3")
    assert seen(window)["chat"] is None

    window.page.get_by_role("button", name="Start").click()
    expect(window.page.locator("#presence-words")).to_contain_text("Connected")
    second = seen(window)
    assert second["chat"] not in (None, first["chat"])
    assert second["credentials"][1][1] != first["credentials"][0][1]


@pytest.mark.behaviour("V1")
def test_stop_in_the_middle_of_an_answer_lets_nothing_late_in(opens: Opens) -> None:
    window = opens()
    window.page.get_by_role("button", name="Start").click()
    expect(window.page.locator("#presence-words")).to_contain_text("Connected")
    window.ask(CODE)
    window.page.get_by_role("button", name="Stop", exact=True).click()
    window.answered("When is the glasshouse open to visitors?")
    expect(window.page.locator(".turn")).to_have_count(1)
    expect(window.page.locator(".question")).to_have_text("When is the glasshouse open to visitors?")


@pytest.mark.behaviour("V12")
@pytest.mark.parametrize(
    ("name", "says", "remedy"),
    [
        ("NotAllowedError", "was refused", "Allow it in the site settings"),
        ("NotFoundError", "No microphone was found", "Plug one in"),
        ("NotReadableError", "does not hand it over", "Close other programs"),
        ("SecurityError", "policy", "privacy settings"),
    ],
)
def test_each_failure_of_the_microphone_says_what_to_do(opens: Opens, name: str, says: str, remedy: str) -> None:
    window = opens(script=REFUSING % ("no", name))
    window.page.get_by_role("button", name="Start").click()
    words = window.page.locator("#presence-words")
    expect(words).to_contain_text(says)
    expect(words).to_contain_text(remedy)
    expect(window.page.get_by_role("button", name="Start")).to_be_visible()
    turn = window.answered(CODE)
    expect(turn.locator(".answer")).to_contain_text("ORCHID-47")


@pytest.mark.behaviour("V1", "V12")
def test_a_call_that_does_not_come_about_leaves_the_conversation_as_it_was(opens: Opens) -> None:
    window = opens(script=REFUSING % ("no", "NotAllowedError"))
    window.answered(CODE)
    window.page.get_by_role("button", name="Start").click()
    expect(window.page.locator("#presence-words")).to_contain_text("was refused")
    expect(window.page.locator(".turn .answer")).to_contain_text("ORCHID-47")
    window.page.reload()
    expect(window.page.locator(".turn .answer")).to_contain_text("ORCHID-47")


@pytest.mark.behaviour("V1")
def test_a_call_given_up_while_it_opens_leaves_the_conversation_and_the_question(opens: Opens) -> None:
    window = opens(script="navigator.mediaDevices.getUserMedia = () => new Promise(() => undefined);")
    window.answered(CODE)
    window.page.get_by_role("button", name="Start").click()
    expect(window.page.locator("#presence-words")).to_have_text("Asking for the microphone…")
    window.ask("When is the glasshouse open to visitors?")
    expect(window.page.get_by_role("alert")).to_contain_text("press Stop")
    window.page.get_by_role("button", name="Stop", exact=True).click()
    expect(window.page.locator("#presence-words")).to_have_text("Ready.")
    expect(window.page.locator(".turn")).to_have_count(1)
    window.page.get_by_role("button", name="Ask", exact=True).click()
    expect(window.page.locator(".turn").nth(1)).to_have_attribute("data-stage", "done")


@pytest.mark.behaviour("V1")
def test_a_call_that_stands_begins_a_fresh_chat(opens: Opens) -> None:
    window = opens(script=WATCHING)
    window.answered(CODE)
    before = seen(window)["chat"]
    window.page.get_by_role("button", name="Start").click()
    expect(window.page.locator("#presence-words")).to_contain_text("Connected")
    expect(window.page.locator(".turn")).to_have_count(0)
    assert seen(window)["chat"] not in (None, before)


def test_without_a_voice_the_page_promises_no_call(opens: Opens) -> None:
    window = opens()
    welcome = window.page.locator("#welcome")
    expect(welcome).to_contain_text("typed for now")
    expect(welcome).not_to_contain_text("aloud")
    start = window.page.get_by_role("button", name="Start: try the microphone and open a fresh chat")
    expect(start).to_have_attribute("title", "Start: try the microphone and open a fresh chat")
    start.click()
    expect(window.page.get_by_role("button", name="Stop", exact=True)).not_to_have_attribute("title", re.compile("."))


@pytest.mark.behaviour("T8")
def test_a_stream_that_breaks_off_is_taken_up_where_it_was(opens: Opens) -> None:
    window = opens(script=CUTTING)
    turn = window.answered(CODE)
    assert window.page.evaluate("() => window.cut") is True
    assert turn.locator(".answer").inner_text().count("ORCHID-47") == 1


@pytest.mark.behaviour("V7", "T10")
def test_a_lost_connection_is_said_and_comes_back_by_itself(opens: Opens) -> None:
    window = opens(tolerated=("ERR_INTERNET_DISCONNECTED",))
    window.answered(CODE)
    window.context.set_offline(True)
    window.ask("When is the glasshouse open to visitors?")
    expect(window.page.locator("#presence-words")).to_contain_text("connection was lost")
    window.picture("connection-lost")
    window.context.set_offline(False)
    trouble = window.page.locator(".trouble")
    expect(trouble).to_contain_text("Ask it again")
    window.picture("error")
    trouble.get_by_role("button", name="Ask again").click()
    expect(window.page.locator(".turn").nth(2)).to_have_attribute("data-stage", "done")
