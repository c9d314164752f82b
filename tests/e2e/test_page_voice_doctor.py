"""What a person is told when the microphone or the voice fails, and what helps: devices, the meter, the doctor."""

from __future__ import annotations

import re

import pytest
from page_voice import Voice, voiced
from page_window import Opens
from playwright.sync_api import Route, expect

# Devices that a test plugs in and pulls out; each gives the browser's own pretended sound under its own name.
DEVICES = """
window.devices = [["audioinput", "webcam", "Webcam"], ["audioinput", "headset", "Headset (0b0e:0305)"],
                  ["audiooutput", "box", "Box"]];
window.opened = [];
const media = navigator.mediaDevices;
media.enumerateDevices = async () => devices.map(([kind, deviceId, label]) => ({ kind, deviceId, label }));
const ask = media.getUserMedia.bind(media);
media.getUserMedia = async ({ audio }) => {
  const wanted = audio.deviceId?.exact;
  const device = wanted ? devices.find(([, id]) => id === wanted) : devices.find(([kind]) => kind === "audioinput");
  if (!device) throw new DOMException("none", "NotFoundError");
  const stream = await ask({ audio: true });
  const [track] = stream.getAudioTracks();
  track.getSettings = () => ({ deviceId: device[1] });
  Object.defineProperty(track, "label", { value: device[2] });
  opened.push(device[1]);
  window.track = track;
  return stream;
};
window.plug = (...now) => {
  window.devices = now;
  media.dispatchEvent(new Event("devicechange"));
};
"""
WEBCAM = '["audioinput", "webcam", "Webcam"]'
HEADSET = '["audioinput", "headset", "Headset (0b0e:0305)"]'


def with_a_headset(opens: Opens) -> Voice:
    """A page whose headset is chosen, in a call."""
    voice = voiced(opens, script=DEVICES)
    voice.page.get_by_role("button", name="Microphone").click()
    voice.page.locator("#microphone").select_option(label="Headset")
    voice.page.get_by_role("button", name="Close").first.click()
    voice.start()
    assert voice.does("return opened") == ["headset"]
    return voice


def test_a_microphone_and_a_speaker_are_chosen_and_remembered(opens: Opens) -> None:
    voice = with_a_headset(opens)
    voice.page.get_by_role("button", name="Microphone").click()
    voice.page.locator("#speaker").select_option(label="Box")
    assert voice.told()[-1] == "changeSpeaker box"
    voice.page.locator("#microphone").select_option(label="Webcam")
    voice.page.wait_for_function("() => opened.at(-1) === 'webcam'")
    assert voice.told() == ["changeMicrophone"]
    voice.page.reload()
    voice.start()
    assert voice.does("return opened") == ["webcam"]
    assert "changeSpeaker box" in voice.told()


@pytest.mark.behaviour("V12")
def test_a_headset_that_is_pulled_out_is_named_and_the_call_goes_on(opens: Opens) -> None:
    voice = with_a_headset(opens)
    voice.does(f"plug({WEBCAM})")
    expect(voice.note).to_have_text("“Headset” is gone. Going on with “Webcam”.")
    assert voice.does("return opened") == ["headset", "webcam"]
    voice.does(f"plug({WEBCAM}, {HEADSET})")
    voice.page.wait_for_function("() => opened.at(-1) === 'headset'")


@pytest.mark.behaviour("V12")
def test_the_last_microphone_that_is_pulled_out_is_said_to_be_gone(opens: Opens) -> None:
    voice = with_a_headset(opens)
    voice.does("plug()")
    expect(voice.note).to_contain_text("The microphone was taken away.")
    expect(voice.note).to_contain_text("Plug it in again")
    voice.does(f"plug({WEBCAM})")
    voice.page.wait_for_function("() => opened.at(-1) === 'webcam'")
    expect(voice.note).not_to_contain_text("taken away")


def test_the_meter_shows_before_a_call_that_the_microphone_works(opens: Opens) -> None:
    voice = voiced(opens)
    page = voice.page
    page.get_by_role("button", name="Microphone").click()
    expect(page.locator("#voice-settings-title")).to_be_focused()
    page.get_by_role("button", name="Check it").click()
    expect(page.locator("#meter-words")).to_have_text("It hears you.")  # Chromium's pretended microphone beeps
    page.get_by_role("button", name="Close").first.click()
    expect(page.locator("#voice-settings")).to_be_hidden()
    expect(page.locator("#voice-toggle")).to_be_focused()


def test_a_microphone_that_cannot_be_tried_says_why(opens: Opens) -> None:
    refused = "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', 'NotAllowedError'));"
    voice = voiced(opens, script=refused)
    voice.page.get_by_role("button", name="Microphone").click()
    voice.page.get_by_role("button", name="Check it").click()
    expect(voice.page.locator("#meter-words")).to_contain_text("The microphone was refused.")


@pytest.mark.behaviour("V12")
def test_a_microphone_that_is_muted_elsewhere_is_said_to_be_so_for_as_long_as_it_is(opens: Opens) -> None:
    voice = voiced(opens, script=DEVICES).start()
    voice.does("track.dispatchEvent(new Event('mute'))")
    expect(voice.note).to_contain_text("The system or the headset mutes the microphone.")
    voice.note.get_by_role("button", name="Choose another").click()
    expect(voice.page.locator("#voice-settings")).to_be_visible()
    voice.page.keyboard.press("Escape")
    voice.does("track.dispatchEvent(new Event('unmute'))")
    expect(voice.note).to_be_hidden()


@pytest.mark.behaviour("V12")
def test_a_microphone_that_gives_no_sound_at_all_is_doubted(opens: Opens) -> None:
    # Time goes as fast as the page looks at it.
    faster = "const now = performance.now.bind(performance); performance.now = () => now() * 40;"
    voice = voiced(opens, script=faster).start()
    expect(voice.note).to_contain_text("Nothing is heard from the microphone.")
    voice.does("call.level = { agent: 0, microphone: 0.3 }")
    expect(voice.note).to_be_hidden()


@pytest.mark.behaviour("V12")
def test_a_voice_that_the_browser_keeps_back_is_turned_on_with_a_button(opens: Opens) -> None:
    voice = voiced(opens).start()
    voice.does(
        "import('/page/microphone.js').then(({ problem }) =>"
        "call.on({ kind: 'listening' }, { problem: problem('blocked') }))"
    )
    expect(voice.note).to_contain_text("The browser keeps the voice silent")
    voice.told()
    voice.note.get_by_role("button", name="Turn the voice on").click()
    assert voice.told() == ["unblock"]
    voice.does("call.on({ kind: 'listening' })")
    expect(voice.note).to_be_hidden()


@pytest.mark.behaviour("V12", "V7")
def test_a_fallback_and_a_lost_connection_are_said(opens: Opens) -> None:
    voice = voiced(opens).start()
    voice.does("call.on({ kind: 'listening' }, { transport: 'websocket', note: 'The call runs over the WebSocket.' })")
    expect(voice.note).to_have_text("The call runs over the WebSocket.")
    voice.does("call.needs.changed({ kind: 'returning', attempt: 1 })")
    expect(voice.words).to_have_text("The voice connection was lost. Opening it again…")
    expect(voice.page.locator("#mute")).to_be_visible()
    voice.does(
        "call.needs.changed({ kind: 'failed', problem:"
        "{ code: 'lost', message: 'The voice connection was lost.', remedy: 'Press Start to open a new one.' } })"
    )
    expect(voice.words).to_have_text("The voice connection was lost. Press Start to open a new one.")
    expect(voice.page.get_by_role("button", name="Start")).to_be_visible()
    expect(voice.page.locator("#mute")).to_be_hidden()


@pytest.mark.behaviour("V12")
@pytest.mark.parametrize(
    ("script", "says", "remedy"),
    [
        ("Object.defineProperty(window, 'isSecureContext', { value: false });", "to this address", "http://localhost"),
        (
            "Object.defineProperty(navigator, 'mediaDevices', { value: undefined });",
            "no microphone to pages",
            "current",
        ),
    ],
)
def test_a_page_that_can_have_no_microphone_says_what_to_do(opens: Opens, script: str, says: str, remedy: str) -> None:
    voice = voiced(opens, script=script)
    voice.page.get_by_role("button", name="Start").click()
    expect(voice.words).to_contain_text(says)
    expect(voice.words).to_contain_text(re.compile(remedy))


@pytest.mark.behaviour("V12")
def test_a_voice_that_is_still_getting_ready_is_waited_for(opens: Opens) -> None:
    voice = voiced(opens)
    page, start = voice.page, voice.page.get_by_role("button", name="Start")

    def corpus(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "voice": "local", "voice_ready": ready})

    ready = False
    page.route("**/api/corpus", corpus)
    expect(voice.words).to_have_text("The voice is getting ready. You can type already.")
    expect(start).to_be_disabled()
    ready = True
    expect(voice.words).to_have_text("Ready.")
    voice.start()
