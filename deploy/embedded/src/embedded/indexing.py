"""How far the first indexing has come, asked of the retriever."""

from __future__ import annotations

import asyncio
import http.client
import json
from dataclasses import dataclass
from typing import Any

from embedded.ports import LOOPBACK
from embedded.screen import Screen

EVERY_S = 0.3


@dataclass(frozen=True)
class Indexing:
    """What the manifest says of the corpus."""

    state: str
    documents: int
    done: int
    whole: int
    reason: str | None


def indexing(port: int) -> Indexing | None:
    """Ask the retriever on a port; ``None`` while it does not answer."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", "/manifest")
        answer = connection.getresponse()
        said: Any = json.loads(answer.read())
        if answer.status != 200:
            return None
        progress: dict[str, Any] = said.get("progress") or {}
        report: dict[str, Any] = said.get("last_refresh") or {}
        return Indexing(
            state=said["state"],
            documents=len(said["documents"]),
            done=progress.get("staged", 0),
            whole=progress.get("documents", 0),
            reason=report.get("reason") if report.get("status") == "failed" else None,
        )
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()


async def show_indexing(port: int, screen: Screen) -> Indexing:
    """Show a bar until the corpus is no longer being built; what it was then."""
    with screen.bar("Indexing") as bar:
        while True:
            now = await asyncio.to_thread(indexing, port)
            if now and now.state != "building":
                return now
            if now:
                bar.at(now.done, now.whole)
            await asyncio.sleep(EVERY_S)
