"""The trace page says at a glance why an answer was slow: here, because its provider took its time.

Pictures go to ``tests/artifacts/``, or to the folder that ``TALKDOWN_PICTURES`` names: ``docs/tracing.md`` shows them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jaeger import get
from playwright.sync_api import Browser, BrowserContext, Page, expect
from slow_provider import MODEL, slow_provider
from test_page_access import AXE, WHOLE

from embedded.product import Product, copy_of, environment_in, running

PICTURES = Path(os.environ.get("TALKDOWN_PICTURES") or Path(__file__).parents[1] / "artifacts")
LARGEST_PICTURE = 200_000
SLOW_S = 3.0
LOOKS: dict[str, Any] = {
    "light": {"viewport": {"width": 1180, "height": 940}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1180, "height": 940}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}


@dataclass(frozen=True)
class Slow:
    """A product whose provider is slow, and the trace of an answer of it."""

    product: Product
    trace_id: str

    @property
    def url(self) -> str:
        return f"{self.product.run.traces}/trace/{self.trace_id}"


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory, handbook: Path) -> Iterator[Slow]:
    place = tmp_path_factory.mktemp("slow")
    with slow_provider(SLOW_S) as provider:
        asked = {"TALKDOWN_ANSWERS": "chat", "OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "none"}
        told = environment_in(place, TALKDOWN_ANSWER_MODEL=MODEL, **asked)
        with running(copy_of(handbook, place / "notes"), place / "run", told) as product:
            product.until(lambda: product.manifest().state == "current")
            product.ask("What is the north line?")  # what is loaded for the first question is no cause of the second
            answer = product.ask("What is the amber valve recovery code?")
            assert "ORCHID-47" in answer.text
            found = Slow(product, answer.trace_id)
            product.until(lambda: is_settled(found))
            yield found


def is_settled(slow: Slow) -> bool:
    """Whether the trace is whole, so that the page no longer asks for it again by itself."""
    trace, page = slow.product.trace(slow.trace_id), get(slow.url)[1]
    return trace is not None and trace["name"] == "POST /api/turns" and b"http-equiv" not in page


@pytest.fixture
def shown(browser: Browser, slow: Slow) -> Iterator[Callable[[str], Page]]:
    """The page of the slow answer's trace as somebody looks at it."""
    contexts: list[BrowserContext] = []

    def show(look: str) -> Page:
        # The rules of axe are a script of the test's, which the page's own policy would rightly refuse.
        context = browser.new_context(bypass_csp=True, **LOOKS[look])
        contexts.append(context)
        page = context.new_page()
        page.goto(slow.url)
        return page

    yield show
    for context in contexts:
        context.close()


def test_the_cause_is_named_above_all_and_leads_to_its_step(shown: Callable[[str], Page]) -> None:
    page = shown("light")
    cause = page.locator(".cause")
    expect(cause).to_contain_text(re.compile(rf"^chat {MODEL} \(agent\) took .*% of the .* that all of it took\.$"))
    first_delta = page.locator(".moments li", has_text="first delta")
    expect(first_delta).to_have_text(re.compile(r"^first delta [3-9]\.\d\d s$"))
    slowest = page.locator("details.hot")
    expect(slowest).to_have_count(1)
    expect(slowest.locator(".slowest")).to_be_visible()
    page.locator(".steps a").first.click()
    assert page.url.endswith(f"#{slowest.get_attribute('id')}")


def test_a_terminal_is_told_the_cause_too(slow: Slow) -> None:
    answer = slow.product.trace(slow.trace_id)
    assert answer is not None
    assert answer["cause"].startswith(f"chat {MODEL} (agent) took")
    longest = max(answer["spans"], key=lambda span: span["waited_for_ms"])
    assert longest["name"] == f"chat {MODEL}"


@pytest.mark.parametrize("look", LOOKS)
def test_everybody_can_read_it(shown: Callable[[str], Page], look: str) -> None:
    page = shown(look)
    page.locator("details.hot > summary").click()
    page.evaluate(AXE)
    found: Any = page.evaluate("(tags) => axe.run(document, { runOnly: tags, resultTypes: ['violations'] })", WHOLE)
    assert [f"{rule['id']}: {node['html'][:120]}" for rule in found["violations"] for node in rule["nodes"]] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off at the side"


@pytest.mark.parametrize("look", LOOKS)
def test_its_picture(shown: Callable[[str], Page], look: str) -> None:
    page = shown(look)
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture = PICTURES / f"trace-{look}.png"
    page.screenshot(path=picture, full_page=look == "light")
    assert picture.stat().st_size < LARGEST_PICTURE
