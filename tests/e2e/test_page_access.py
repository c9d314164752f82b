"""The page for everybody: rules of axe, a keyboard alone, reduced motion, light and dark, a phone."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from page_window import Opens, Window
from playwright.sync_api import Locator, expect

CODE = "What is the amber valve recovery code?"
AXE = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
WHOLE = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {**PHONE},
    "phone-dark": {**PHONE, "color_scheme": "dark"},
}


def faults_of(window: Window) -> list[str]:
    """What axe finds, as rule and place."""
    window.page.evaluate(AXE)
    found: Any = window.page.evaluate(
        "(tags) => axe.run(document, { runOnly: tags, resultTypes: ['violations'] })", WHOLE
    )
    return [f"{rule['id']}: {node['html'][:120]}" for rule in found["violations"] for node in rule["nodes"]]


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_to_mend(opens: Opens, look: str) -> None:
    # The rules are a script of the test's, which the page's own policy would rightly refuse.
    window = opens(bypass_csp=True, reduced_motion="reduce", **LOOKS[look])
    assert faults_of(window) == []
    window.picture(f"{look}-empty")
    turn = window.answered(CODE)
    turn.locator("summary").click()
    assert faults_of(window) == []
    window.picture(f"{look}-answer")
    turn.locator(".cite").first.click()
    expect(window.page.locator('[data-lit="lines"]').first).to_be_visible()
    assert faults_of(window) == []
    window.picture(f"{look}-source")


def test_a_keyboard_alone_does_everything(opens: Opens) -> None:
    window = opens()
    page, keys = window.page, window.page.keyboard
    expect(page.get_by_label("Your question")).to_be_focused()
    keys.type(CODE)
    keys.press("Enter")
    expect(page.locator(".turn")).to_have_attribute("data-stage", "done")

    citation = page.locator(".cite").first
    back_to(window, citation)
    keys.press("Enter")
    expect(page.locator("#source-title")).to_be_focused()
    expect(page.locator('[data-lit="lines"]').first).to_be_visible()
    keys.press("Escape")
    expect(citation).to_be_focused()
    expect(page.locator("#source")).to_be_hidden()

    on_to(window, page.locator(".turn summary"))
    keys.press("Enter")
    expect(page.locator("blockquote").first).to_be_visible()
    for reached in ("#question", "#send", "#call", "#fresh", "#refresh", "#files .file >> nth=0"):
        on_to(window, page.locator(reached))
    keys.press("Enter")
    expect(page.locator("#source-title")).to_be_focused()
    keys.press("Escape")
    expect(page.locator("#folder-title")).to_be_focused()


def test_on_a_phone_the_folder_covers_the_page_and_gives_the_focus_back(opens: Opens) -> None:
    window = opens(**PHONE)
    page = window.page
    page.locator("#rail-toggle").click()
    expect(page.locator("#folder-title")).to_be_focused()
    assert page.evaluate("() => document.getElementById('main').inert") is True
    page.keyboard.press("Escape")
    expect(page.locator("#rail-toggle")).to_be_focused()
    assert page.evaluate("() => document.getElementById('main').inert") is False
    wider = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    assert wider <= 0


@pytest.mark.behaviour("V8")
def test_reduced_motion_gives_words_and_nothing_moves(opens: Opens) -> None:
    window = opens(reduced_motion="reduce")
    assert window.page.evaluate("() => document.getAnimations().length") == 0
    expect(window.page.locator("#presence-words")).to_have_text("Ready.")
    window.answered(CODE)
    assert window.page.evaluate("() => document.getAnimations().length") == 0


def test_an_answer_is_announced_sentence_by_sentence(opens: Opens) -> None:
    window = opens()
    window.answered(CODE)
    said = window.page.get_by_role("log")
    expect(said.locator("p", has_text="ORCHID-47").first).to_be_attached()
    assert "[1]" not in said.inner_text()
    assert window.page.locator(".answer").get_attribute("aria-live") is None


def on_to(window: Window, target: Locator) -> None:
    """Press Tab until the target has the focus."""
    _press_until(window, target, "Tab")


def back_to(window: Window, target: Locator) -> None:
    """Press Shift Tab until the target has the focus."""
    _press_until(window, target, "Shift+Tab")


def _press_until(window: Window, target: Locator, key: str) -> None:
    for _ in range(60):
        if target.evaluate("(element) => element === document.activeElement"):
            outline = target.evaluate("(element) => getComputedStyle(element).outlineStyle")
            field = target.evaluate("(element) => element.matches('#question')")
            assert outline != "none" or field, "the focus cannot be seen"
            return
        window.page.keyboard.press(key)
    raise AssertionError(f"{key} never reached {target}")
