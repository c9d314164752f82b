"""What becomes of an answer when a server dies under it: one clear end, and the next question works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import cast

import psycopg
import pytest
from agent_fakes import PiecewiseAnswerer
from agent_rig import Rig, joined, rig, types, until
from redis.asyncio import Redis

from agent.claims import Answered, Claims
from agent.errors import NotAccepting, WorkerLost
from chassis.postgres import Connection, Pool
from chassis.redis import connect
from contracts.frames import Done, Error
from contracts.turns import TurnAccepted
from embedded.launch import start, start_on_free_port, stop
from embedded.valkey import Valkey

pytestmark = pytest.mark.behaviour("T10", "T5")


@dataclass
class MortalValkey:
    """A Valkey of the test's own, which may be killed and started again in its place."""

    kind: Valkey
    process: Popen[bytes]
    port: int

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        self.process = start(self.kind.launch(self.port))


@pytest.fixture
def valkey(tmp_path: Path) -> Generator[MortalValkey]:
    kind = Valkey(tmp_path, durable=False)
    mortal = MortalValkey(kind, *start_on_free_port(kind.launch))
    yield mortal
    stop(mortal.process)


@pytest.fixture
async def mortal_redis(valkey: MortalValkey) -> AsyncGenerator[Redis]:
    client = connect(valkey.kind.url(valkey.port))
    yield client
    await client.aclose()


async def taken(agent: Rig) -> TurnAccepted:
    """Ask until the question is taken."""
    accepted: list[TurnAccepted] = []

    async def ask() -> bool:
        try:
            accepted.append(await agent.ask("And now?"))
        except NotAccepting:
            return False
        return True

    await until(ask)
    return accepted[0]


async def test_redis_dying_under_an_answer_fails_the_turn_and_its_end_is_told_when_redis_is_back(
    pool: Pool, valkey: MortalValkey, mortal_redis: Redis
) -> None:
    answerer = PiecewiseAnswerer(gate=(gate := asyncio.Semaphore(2)))
    async with rig(pool, mortal_redis, answerer=answerer) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 2)
        valkey.kill()
        for _ in range(20):
            gate.release()
        await until(lambda: _status(agent, accepted, "failed"))
        with pytest.raises(NotAccepting):
            await agent.ask("Is anybody there?")
        valkey.start()
        frames = await agent.ended(accepted.turn_id)
        assert isinstance(frames[-1], Error)
        assert frames[-1].code == "unavailable"
        assert types(await agent.ended((await taken(agent)).turn_id))[-1] == "done"


async def test_the_database_restarting_under_an_answer_does_not_end_it(pool: Pool, redis: Redis) -> None:
    answerer = PiecewiseAnswerer(gate=(gate := asyncio.Semaphore(2)))
    async with rig(pool, redis, answerer=answerer) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 2)
        await _cut_all_connections(pool)
        for _ in range(20):
            gate.release()
        frames = await agent.ended(accepted.turn_id)
        assert isinstance(frames[-1], Done)
        assert frames[-1].answer == joined(frames)


async def test_a_question_that_meets_dead_connections_to_the_database_is_taken(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis, sweeps=False) as agent:
        await asyncio.gather(*(agent.ask() for _ in range(12)))  # all connections of the pool have been used
        await _cut_all_connections(pool)
        await agent.ended((await agent.ask("And now?")).turn_id)


class ForgetfulPool:
    """Connections of which the first is lost just after its transaction was committed."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.lost = pool, False

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Connection]:
        async with self.pool.connection() as connection:
            yield connection
        if not self.lost:
            self.lost = True
            raise psycopg.OperationalError("the answer to the commit was lost")


async def test_an_answer_whose_storing_was_not_confirmed_counts_when_it_was_stored(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis, works=False, sweeps=False) as agent:
        accepted = await agent.ask()
        assert await agent.claims.claim() is not None
        claims = Claims(cast(Pool, ForgetfulPool(pool)), agent.claims.worker)
        assert await claims.complete(accepted.turn_id, Answered("ORCHID-47.")) is True
        turn = await agent.ledger.turn(accepted.turn_id)
    assert turn is not None
    assert (turn.status, turn.answer) == ("completed", "ORCHID-47.")


async def test_an_end_that_was_not_confirmed_does_not_count_when_another_agent_ended_the_turn(
    pool: Pool, redis: Redis
) -> None:
    async with rig(pool, redis, works=False, sweeps=False) as agent:
        accepted = await agent.ask()
        assert await agent.claims.claim() is not None
        claims = Claims(cast(Pool, ForgetfulPool(pool)), agent.claims.worker)
        assert await agent.claims.end(accepted.turn_id, "failed", WorkerLost(), None) is True
        assert await claims.complete(accepted.turn_id, Answered("ORCHID-47.")) is False


async def _status(agent: Rig, accepted: TurnAccepted, status: str) -> bool:
    turn = await agent.ledger.turn(accepted.turn_id)
    return turn is not None and turn.status == status


async def _cut_all_connections(pool: Pool) -> None:
    """End every connection of the database but the one that asks for it, as a restart does."""
    async with pool.connection() as connection:
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
