"""What a person is told as the product comes up: what is waited for, that it is ready, and how the indexing ended."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from embedded.children import Child
from embedded.data import Run
from embedded.indexing import Indexing
from embedded.screen import Screen
from embedded.services import Places, health, is_ready

PATIENCE_S = 15.0
VOICE_EVERY_S = 0.3


def say_welcome(screen: Screen, run: Run, seconds: float) -> None:
    """Where the page is, and what to try."""
    screen.say()
    screen.say(f"Talkdown is ready after {seconds:.1f} s: {screen.strong(run.url)}")
    screen.say(f"  Ask         there, or in another terminal: {command()} ask 'your question'")
    screen.say(f"  Traces      {run.traces}/")
    screen.say("  Stop        Ctrl-C")


async def say_voice(places: Places, screen: Screen) -> None:
    """Say that the voice is warming up, and when it is ready; nothing where it is so already."""
    port = places.port("voice-gateway")
    if await asyncio.to_thread(is_ready, port):
        return
    screen.say("The page is ready; the voice is warming up.")
    began = time.monotonic()
    while not await asyncio.to_thread(is_ready, port):  # noqa: ASYNC110 - it is in another process
        await asyncio.sleep(VOICE_EVERY_S)
    screen.say(f"The voice is ready after {time.monotonic() - began:.1f} s more.")


def say_indexed(screen: Screen, done: asyncio.Task[Indexing]) -> None:
    """How the indexing ended, unless it was cut short."""
    if done.cancelled() or done.exception():
        return
    result = done.result()
    if result.state == "failed":
        screen.say(f"The last refresh failed, and the corpus is as it was before: {result.reason or 'see the logs'}")
    else:
        screen.say(f"Everything is indexed: {result.documents} document{'' if result.documents == 1 else 's'}.")


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
    if status and isinstance(reasons, list) and reasons:
        texts = [f"{reason['on']}: {reason['why']}" for reason in reasons]  # pyright: ignore[reportUnknownVariableType]
        return f"The {child.name} waits for {'; '.join(texts)}"
    return f"The {child.name} is {child.state}. {child.detail or ''}".strip()


def command() -> str:
    """How the command is called from the person's shell: by its name, or by its path where the name is not found."""
    found, own = shutil.which("talkdown"), Path(sys.argv[0])
    if (found and Path(found).resolve() == own.resolve()) or own.name != "talkdown":
        return "talkdown"
    return shlex.quote(os.path.relpath(own)) if own.is_relative_to(Path.cwd()) else shlex.quote(str(own))
