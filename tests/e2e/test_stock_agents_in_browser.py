"""The stock ``@openai/agents-realtime`` in Chromium, on a page of its own, talks with the gateway through web."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from embedded.product import Product, copy_of, environment_in, running

pytestmark = pytest.mark.timeout(240)  # it starts a product of its own

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "services/web/node_modules/@openai/agents-realtime/dist/bundle/openai-realtime-agents.umd.js"
SCRIPT = Path(__file__).parent / "stock-agents.js"
CODE = "What is the amber valve recovery code?"
VISITORS = "When is the glasshouse open to visitors?"
SENSES = {
    "TALKDOWN_VOICE": "local",
    "TALKDOWN_EARS": "scripted",
    "TALKDOWN_MOUTH": "scripted",
    "TALKDOWN_SCRIPT": f"{CODE}|{VISITORS}",
}


@pytest.fixture(scope="module")
def speaking_product(handbook: Path) -> Iterator[Product]:
    """The product with ears and a mouth that hear and say what is written down."""
    place = Path(tempfile.mkdtemp(prefix="talkdown-stock-"))
    try:
        folder = copy_of(handbook, place / "handbook")
        with running(folder, place / "run", {**environment_in(place), **SENSES}) as product:
            product.until(lambda: product.manifest().state == "current")
            yield product
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def stock(browser: Browser, speaking_product: Product) -> Iterator[Page]:
    """A page of the product's own origin that holds the stock client and nothing else."""
    if not BUNDLE.exists():
        sentence = "The stock client is not installed: make services/web/node_modules/.ready"
        if os.environ.get("CI"):
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(f"{speaking_product.url}/health/live")
    page.add_script_tag(path=BUNDLE)
    page.add_script_tag(path=SCRIPT)
    yield page
    context.close()


@pytest.mark.behaviour("V6", "V9")
@pytest.mark.parametrize("transport", ["webrtc", "websocket"])
def test_the_stock_agents_hold_a_conversation(stock: Page, transport: str) -> None:
    stock.evaluate("(transport) => stock.connect(transport)", transport)
    stock.evaluate("() => stock.speak(0.8)")
    stock.wait_for_function("(words) => stock.heard.includes(words)", arg=CODE)
    stock.wait_for_function("() => stock.said.includes('ORCHID-47') && stock.loud > 0.5")
    # Whoever speaks up interrupts: the old answer is cleared, and the next question is answered.
    stock.evaluate("() => stock.speak(0.8)")
    stock.wait_for_function("() => stock.cleared > 0")
    stock.wait_for_function("(words) => stock.heard.includes(words)", arg=VISITORS)
    stock.wait_for_function("() => stock.said.includes('Wednesday') && stock.answers >= 2")
    assert stock.evaluate("() => stock.errors") == []
    stock.evaluate("() => stock.close()")
