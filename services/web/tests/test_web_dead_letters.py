"""What was given up, and how it is tried again, from the page."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from web_fakes import Running, closed_port, until

from chassis.bus import Reject, open_bus
from contracts.corpus import DeadLetters
from contracts.events import DocumentDeleted

pytestmark = pytest.mark.behaviour("E1")


async def letters_of(web: Running) -> DeadLetters:
    return DeadLetters.model_validate_json((await web.page.get("/api/dead-letters")).content)


async def test_a_dead_letter_is_shown_with_its_reason_and_can_be_tried_again(web: Running, valkey_url: str) -> None:
    handled: list[str] = []

    async def handle(event: DocumentDeleted) -> None:
        handled.append(event.path)
        if len(handled) == 1:
            raise Reject("the disk was full")

    async with open_bus(valkey_url, service="retriever") as bus:
        await bus.publish(DocumentDeleted(refresh_id=uuid4(), path="valves.md", revision=1))
        consuming = asyncio.create_task(bus.consume("documents", "retriever", {DocumentDeleted: handle}))
        await until(lambda: handled)
        async with asyncio.timeout(60):
            while not (found := (await letters_of(web)).dead_letters):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert "the disk was full" in found[0].reason
        assert found[0].type == "document.deleted.v1"
        assert (await web.page.post(f"/api/dead-letters/{found[0].id}/replay")).status_code == 200
        await until(lambda: len(handled) == 2)
        assert (await letters_of(web)).dead_letters == ()
        consuming.cancel()
        await asyncio.wait({consuming})


@pytest.mark.parametrize("letter", ["1700000000000-0", "nothing", "..", "%00"])
async def test_a_dead_letter_that_is_not_there_is_not_found(web: Running, letter: str) -> None:
    response = await web.page.post(f"/api/dead-letters/{letter}/replay")
    assert response.status_code in (404, 405)


@pytest.mark.parametrize("changed", [{"redis_url": lambda: closed_port().replace("http", "redis") + "/0"}])
async def test_without_a_bus_the_page_is_told_so(web: Running) -> None:
    response = await web.page.get("/api/dead-letters")
    assert response.status_code == 503
    assert "Try again" in response.json()["message"]
