"""The Chromium that tests and benchmarks drive, without a window."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
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
    "--allow-loopback-in-peer-connection",
)


def microphone(recording: Path) -> str:
    """The flag that makes a recording (wav, 48 kHz) the microphone: it plays once, from when that is opened."""
    return f"--use-file-for-fake-audio-capture={recording}%noloop"


@contextmanager
def launched(*flags: str) -> Generator[Browser]:
    """The system's Chromium, or Playwright's own where one was installed; without either the test is skipped.

    While it lives, no test of asyncio can run in this process: the synchronous Playwright has the loop.
    """
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        if path is None and not Path(playwright.chromium.executable_path).exists():
            sentence = "There is no Chromium: apt-get install chromium, or .venv/bin/playwright install chromium."
            if os.environ.get("CI"):
                pytest.fail(sentence, pytrace=False)
            pytest.skip(sentence)
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *flags])
        yield browser
        browser.close()
