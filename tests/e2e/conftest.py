"""A real Chromium on the running product.

Each test has a browser context of its own, and fails when the page logged an error or broke its policy. Pictures
go to ``tests/artifacts/``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from chromium import launched
from page_window import Opens, Window
from playwright.sync_api import Browser, BrowserContext, expect

from embedded.product import Product

expect.set_options(timeout=15_000)


# One browser a module: while the synchronous Playwright lives, no test of asyncio can run in this process.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    with launched() as browser:
        yield browser


@pytest.fixture
def opens(browser: Browser, product: Product) -> Generator[Opens]:
    """Opens windows; options are those of a browser context, which ``prepare`` is given before the page is asked for.

    ``script`` runs in the page before its own.
    """
    windows: list[Window] = []

    def open_window(
        *,
        script: str | None = None,
        prepare: Callable[[BrowserContext], None] | None = None,
        tolerated: tuple[str, ...] = (),
        **options: Any,
    ) -> Window:
        settings: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, **options}
        context = browser.new_context(**settings)
        if script is not None:
            context.add_init_script(script)
        if prepare is not None:
            prepare(context)
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
