"""A real Chromium on the running product.

Each test has a browser context of its own, and fails when the page logged an error or broke its policy. Pictures
go to ``tests/artifacts/``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from page_window import Opens, Window
from playwright.sync_api import Browser, expect, sync_playwright

from embedded.product import Product

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)
expect.set_options(timeout=15_000)


# One browser a module: while the synchronous Playwright lives, no test of asyncio can run in this process.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, or Playwright's own where one was installed."""
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        if path is None and not Path(playwright.chromium.executable_path).exists():
            sentence = "There is no Chromium: apt-get install chromium, or .venv/bin/playwright install chromium."
            if os.environ.get("CI"):
                pytest.fail(sentence, pytrace=False)
            pytest.skip(sentence)
        launched = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def opens(browser: Browser, product: Product) -> Generator[Opens]:
    """Opens windows; options are those of a browser context, ``script`` runs in the page before its own."""
    windows: list[Window] = []

    def open_window(*, script: str | None = None, tolerated: tuple[str, ...] = (), **options: Any) -> Window:
        settings: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, **options}
        context = browser.new_context(**settings)
        if script is not None:
            context.add_init_script(script)
        page = context.new_page()
        window = Window(page, product, context, tolerated=tolerated)
        page.on("pageerror", lambda error: window.faults.append(str(error)))
        page.on("console", lambda said: window.faults.append(said.text) if said.type == "error" else None)
        windows.append(window)
        return window.open()

    yield open_window
    for window in windows:
        window.context.close()
    for window in windows:
        unexpected = [fault for fault in window.faults if not any(word in fault for word in window.tolerated)]
        assert unexpected == [], "the page logged errors"
