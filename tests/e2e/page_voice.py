"""The page with a voice, and a call in it whose every step the test takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_window import Opens, Window
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

CODE = "What is the amber valve recovery code?"
SCRIPTED = (Path(__file__).parent / "scripted-call.js").read_text(encoding="utf-8")


def _with_a_voice(context: BrowserContext) -> None:
    def corpus(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "voice": "local"})

    context.route("**/api/corpus", corpus)
    context.route("**/page/call.js", lambda route: route.fulfill(body=SCRIPTED, content_type="text/javascript"))


@dataclass
class Voice:
    """A window with a scripted call."""

    window: Window

    @property
    def page(self) -> Page:
        """Its page."""
        return self.window.page

    @property
    def words(self) -> Locator:
        """What is said of the call's state."""
        return self.page.locator("#presence-words")

    @property
    def live(self) -> Locator:
        """What is being heard or said."""
        return self.page.locator("#live")

    @property
    def note(self) -> Locator:
        """What is wrong, or worth knowing, though the call stands."""
        return self.page.locator("#call-note")

    def does(self, script: str) -> Any:
        """Let the call do something; it is ``call``."""
        return self.page.evaluate(f"() => {{ {script} }}")

    def told(self) -> list[str]:
        """What the page told the call since it was last asked."""
        return self.page.evaluate("() => call.told.splice(0)")

    def start(self) -> Voice:
        """Press Start, and wait until the call stands."""
        self.page.get_by_role("button", name="Start").click()
        expect(self.page.locator("body")).to_have_class("empty calling")
        return self

    def ask(self, question: str = CODE) -> Locator:
        """A question is asked aloud, and its answer is written to the end; the turn."""
        place = self.page.locator(".turn").count()
        self.page.evaluate(
            "(text) => { call.needs.said({ itemId: 'item_1', text, question: true }); call.needs.ask(text); }", question
        )
        turn = self.page.locator(".turn").nth(place)
        expect(turn).to_have_attribute("data-stage", "done")
        return turn


def voiced(opens: Opens, **options: Any) -> Voice:
    """A page with a voice, before Start."""
    voice = Voice(opens(prepare=_with_a_voice, **options))
    expect(voice.page.locator("#voice-toggle")).to_be_visible()
    return voice
