"""What a client sends faster than it can be taken: it is told, and the end of a turn is never lost."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
from bridge_fakes import HandSession

from voice_gateway.outbox import NORMAL
from voice_gateway.transports.bridge.carrying import Carrying
from voice_gateway.transports.bridge.sending import Downstream

pytestmark = pytest.mark.behaviour("L8")


class FullSession(HandSession):
    """Its queue is full."""

    def __init__(self) -> None:
        super().__init__()
        self.queue.full = True


async def told(down: Downstream) -> list[dict[str, Any]]:
    """What the client is told, at the end."""
    down.close(NORMAL)
    async with asyncio.timeout(5):
        return [cast(dict[str, Any], json.loads(message)) async for message in down]


@pytest.mark.parametrize("message", [{"type": "text", "text": "Hello?"}, {"type": "activity_end"}])
async def test_what_finds_no_room_is_told_and_the_session_goes_on(message: dict[str, str]) -> None:
    carrying = Carrying(Downstream(100_000))
    carrying.begin(FullSession(), by_hand=True, gives_way=True)
    await carrying.take(json.dumps(message))
    [failed] = await told(carrying.down)
    assert (failed["type"], failed["code"], failed["fatal"]) == ("error", "input_full", False)
    assert "again" in failed["message"]
    assert carrying.down.close_with == NORMAL


async def test_what_comes_after_the_end_is_no_mistake() -> None:
    carrying = Carrying(Downstream(100_000))
    session = FullSession()
    carrying.begin(session, by_hand=True, gives_way=True)
    session.queue.close()
    await carrying.take(json.dumps({"type": "text", "text": "Hello?"}))
    assert await told(carrying.down) == []
