"""A call for everybody: rules of axe in each of its states, light and dark, at a desk and on a phone."""

from __future__ import annotations

import pytest
from page_voice import voiced
from page_window import Opens
from test_page_access import LOOKS, faults_of

STATES = {
    "listening": "call.on({ kind: 'listening' })",
    "hearing": "call.on({ kind: 'hearing', words: 'What is the amber valve' })",
    "speaking": "call.level.agent = 0.6; call.says(0, 18)",
    "fallback": "call.on({ kind: 'listening' }, { note: 'The call runs over the WebSocket.' })",
    "returning": "call.needs.changed({ kind: 'returning', attempt: 1 })",
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_to_mend_in_a_call(opens: Opens, look: str) -> None:
    # The rules are a script of the test's, which the page's own policy would rightly refuse.
    voice = voiced(opens, bypass_csp=True, reduced_motion="reduce", **LOOKS[look])
    voice.page.get_by_role("button", name="Microphone").click()
    assert faults_of(voice.window) == []
    voice.window.picture(f"{look}-voice-settings")
    voice.page.keyboard.press("Escape")
    voice.start()
    turn = voice.ask()
    voice.does("call.happens('first_audio', Date.now() + 400, call.turns.at(-1).turnId)")
    turn.locator(".timeline summary").click()
    for state, script in STATES.items():
        voice.does(script)
        assert faults_of(voice.window) == [], state
        voice.window.picture(f"{look}-voice-{state}")
    voice.does("call.on({ kind: 'listening' })")
    voice.page.keyboard.press("m")
    assert faults_of(voice.window) == [], "muted"
