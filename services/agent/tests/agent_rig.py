"""One agent's parts on a real database and a real Valkey, without its HTTP server, and what a test sees of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID, uuid4

from agent_fakes import FakeSearch, PiecewiseAnswerer, judge_by_words
from redis.asyncio import Redis

from agent import control
from agent.accepting import Limits, Reception
from agent.answering import Answerer
from agent.cancelling import Canceller
from agent.claims import Claims
from agent.ledger import Ledger
from agent.prefetching import Prefetches
from agent.running import Runner
from agent.sweeping import Sweeper
from agent.workers import Workers
from agent.writing import Desk
from chassis.frames import FrameWriter
from chassis.postgres import Pool
from chassis.tasks import end
from chassis.telemetry import span
from contracts.events import Event
from contracts.frames import LAST_FRAMES, AnyFrame, Delta, frame_adapter, frames_key
from contracts.search import Filter
from contracts.turns import TurnAccepted, TurnAsked

PATIENCE_S = 60.0


@dataclass
class Announcements:
    """A bus that keeps what is published, or loses it."""

    events: list[Event] = field(default_factory=list[Event])
    lost: bool = False

    async def publish(self, *events: Event) -> None:
        """Keep the events."""
        if self.lost:
            raise ConnectionError("the bus is gone")
        self.events.extend(events)


@dataclass
class Rig:
    """An agent without its server."""

    pool: Pool
    redis: Redis
    answerer: Answerer
    search: FakeSearch
    bus: Announcements
    reception: Reception
    canceller: Canceller
    ledger: Ledger
    prefetches: Prefetches
    claims: Claims
    runner: Runner
    workers: Workers
    sweeper: Sweeper

    async def ask(
        self, question: str = "What is the code?", chat_id: UUID | None = None, prefetch_id: UUID | None = None
    ) -> TurnAccepted:
        """Ask as a request would, inside a span."""
        asked = TurnAsked(chat_id=chat_id or uuid4(), question=question, prefetch_id=prefetch_id, filter=Filter())
        with span("POST /turns"):
            return await self.reception.accept(asked)

    async def frames(self, turn_id: UUID) -> list[AnyFrame]:
        """The frames that a reader would have by now."""
        return await read_frames(self.redis, turn_id)

    async def ended(self, turn_id: UUID) -> list[AnyFrame]:
        """The frames, once the last one stands."""
        return await frames_until(self.redis, turn_id, lambda frames: frames[-1].type in LAST_FRAMES)

    async def deltas(self, turn_id: UUID, least: int) -> list[AnyFrame]:
        """The frames, once so many deltas stand."""
        return await frames_until(self.redis, turn_id, lambda frames: types(frames).count("delta") >= least)


@asynccontextmanager
async def rig(
    pool: Pool,
    redis: Redis,
    *,
    answerer: Answerer | None = None,
    search: FakeSearch | None = None,
    limits: Limits | None = None,
    lost_after_s: float = 4.0,
    heartbeat_s: float = 0.1,
    at_once: int = 128,
    grace_s: float = 0.0,
    works: bool = True,
    sweeps: bool = True,
) -> AsyncGenerator[Rig]:
    """Run an agent's workers and sweeper while the block runs."""
    answerer, search = answerer or PiecewiseAnswerer(), search or FakeSearch()
    bus, frames, ledger = Announcements(), FrameWriter(redis), Ledger(pool)
    prefetches = Prefetches(search, ledger.history, answerer, lifetime_s=5)
    claims = Claims(pool, f"worker-{uuid4()}")
    desk = Desk(answerer, judge_by_words, search, ledger.history, ledger.answered, prefetches, frames)
    runner = Runner(desk, claims, bus)
    workers = Workers(claims, runner, at_once=at_once, heartbeat_s=heartbeat_s, lost_after_s=lost_after_s)
    sweeper = Sweeper(pool, redis, workers.wake, every_s=0.1, lost_after_s=lost_after_s, untold_after_s=0.3)
    made = Rig(
        pool,
        redis,
        answerer,
        search,
        bus,
        Reception(pool, frames, bus, workers.wake, limits or Limits()),
        Canceller(pool, redis, workers.cancelled),
        ledger,
        prefetches,
        claims,
        runner,
        workers,
        sweeper,
    )
    jobs = [control.listen(redis, workers.cancelled)]
    if works:
        jobs.append(workers.claim_turns())
    if sweeps:
        jobs.append(sweeper.sweep_on())
    async with workers.alive(grace_s):
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            yield made
        finally:
            await end(*tasks)
    await prefetches.close()


async def read_frames(redis: Redis, turn_id: UUID) -> list[AnyFrame]:
    """Every frame of a turn, in order."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrange(frames_key(turn_id)))
    return [frame_adapter.validate_json(fields[b"frame"]) for _, fields in entries]


async def frames_until(redis: Redis, turn_id: UUID, holds: Callable[[list[AnyFrame]], bool]) -> list[AnyFrame]:
    """The frames of a turn, once something holds of them."""
    frames: list[AnyFrame] = []

    async def look() -> bool:
        frames[:] = await read_frames(redis, turn_id)
        return bool(frames) and holds(frames)

    await until(look, lambda: f"the frames are {types(frames)}")
    return frames


async def drop_last_frame(redis: Redis, turn_id: UUID) -> None:
    """Take the last frame away, as if its writer had died before it wrote it."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrevrange(frames_key(turn_id), count=1))
    await redis.xdel(frames_key(turn_id), entries[0][0])


async def until(holds: Callable[[], Awaitable[object]], else_say: Callable[[], str] = lambda: "never") -> None:
    """Wait until a condition holds, with a bound."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await holds():  # noqa: ASYNC110 - another process may be the one that makes it hold
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(else_say()) from None


def types(frames: list[AnyFrame]) -> list[str]:
    """The kinds of frames, in order."""
    return [frame.type for frame in frames]


def joined(frames: list[AnyFrame]) -> str:
    """What the deltas join to."""
    return "".join(frame.text for frame in frames if isinstance(frame, Delta))
