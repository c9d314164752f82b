"""What a person is told as the product comes up: what is waited for, that it is ready, and how the indexing ended."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from embedded.children import Child
from embedded.data import Run
from embedded.folder import first_markdown
from embedded.harmless import harmless
from embedded.indexing import Indexing
from embedded.screen import Screen
from embedded.services import Places, health

PATIENCE_S = 15.0
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
READ_CHARACTERS = 20_000


def say_welcome(screen: Screen, run: Run, folder: Path, seconds: float) -> None:
    """Where the page is, and what to try."""
    screen.say()
    screen.say(f"Talkdown is ready after {seconds:.1f} s: {screen.strong(run.url)}")
    screen.say(f"  Ask here    talkdown ask {shlex.quote(harmless(example_question(folder)))}")
    screen.say(f"  Traces      {run.traces}/")
    screen.say("  Stop        Ctrl-C")


def say_indexed(screen: Screen, done: asyncio.Task[Indexing]) -> None:
    """How the indexing ended, unless it was cut short."""
    if done.cancelled() or done.exception():
        return
    result = done.result()
    if result.state == "failed":
        screen.say(f"The last refresh failed, and the corpus is as it was before: {result.reason or 'see the logs'}")
    else:
        screen.say(f"All {result.documents} documents are indexed.")


async def say_waiting(services: Sequence[Child], places: Places, screen: Screen) -> None:
    """After a while, say which services are not ready and what they wait for; again whenever that changes."""
    said: tuple[str, ...] = ()
    await asyncio.sleep(PATIENCE_S)
    while True:
        lines = tuple([await _waits(child, places) for child in services if not child.was_ready.is_set()])
        if lines != said:
            for line in lines:
                screen.say(line)
            said = lines
        await asyncio.sleep(1)


async def _waits(child: Child, places: Places) -> str:
    status, body = await asyncio.to_thread(health, places.port(child.name))
    reasons = body.get("waits_for")
    if status and isinstance(reasons, list):
        texts = [f"{reason['on']}: {reason['why']}" for reason in reasons]  # pyright: ignore[reportUnknownVariableType]
        return f"The {child.name} waits for {'; '.join(texts)}"
    return f"The {child.name} is {child.state}. {child.detail or ''}".strip()


def example_question(folder: Path) -> str:
    """A question that the folder can answer: about the first heading below a title, or the first title there is."""
    first = first_markdown(folder)
    headings = HEADING.findall(_beginning(first)) if first else []
    return f"What do my notes say about {headings[min(1, len(headings) - 1)]}?" if headings else "What is in my notes?"


def _beginning(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(READ_CHARACTERS)
    except OSError:
        return ""
