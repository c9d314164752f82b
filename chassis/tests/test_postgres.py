"""The pool, the migrations, and the named queries, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr

from chassis.health import Health
from chassis.postgres import MigrationChanged, MigrationGap, migrate, open_pool
from chassis.queries import Queries, QueryError, parse

CREATE = "create table words (word text primary key);\ninsert into words values ('amber');"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_create_words.sql").write_text(CREATE)
    (tmp_path / "README.md").write_text("not a migration")
    return tmp_path


async def test_migrations_are_applied_once_each_however_many_processes_begin(postgres_url: str, folder: Path) -> None:
    url = SecretStr(postgres_url)
    async with open_pool(url, schema="one") as pool, open_pool(url, schema="one") as other:
        applied = await asyncio.gather(*(migrate(one, "one", folder) for one in (pool, other, pool, other)))
        assert sorted(applied) == [[], [], [], [1]]
        (folder / "0002_add_valve.sql").write_text("insert into words values ('valve');")
        assert await migrate(pool, "one", folder) == [2]
        async with pool.connection() as connection:
            rows = await (await connection.execute("select word from one.words order by word")).fetchall()
        assert rows == [{"word": "amber"}, {"word": "valve"}]


async def test_a_migration_that_breaks_leaves_nothing_of_itself(postgres_url: str, folder: Path) -> None:
    (folder / "0002_breaks.sql").write_text("create table half (one int); select * from nowhere;")
    async with open_pool(SecretStr(postgres_url), schema="one") as pool:
        with pytest.raises(Exception, match="nowhere"):
            await migrate(pool, "one", folder)
        async with pool.connection() as connection:
            row = await (await connection.execute("select to_regclass('one.half') as half")).fetchone()
        assert row == {"half": None}
        (folder / "0002_breaks.sql").write_text("create table half (one int);")
        assert await migrate(pool, "one", folder) == [2]


async def test_a_migration_that_was_changed_or_lost_is_refused(postgres_url: str, folder: Path) -> None:
    async with open_pool(SecretStr(postgres_url), schema="one") as pool:
        await migrate(pool, "one", folder)
        (folder / "0001_create_words.sql").write_text(CREATE + " -- more")
        with pytest.raises(MigrationChanged, match=r"0001_create_words\.sql was changed"):
            await migrate(pool, "one", folder)
        (folder / "0001_create_words.sql").unlink()
        with pytest.raises(MigrationGap, match="0001 was applied and its file is gone"):
            await migrate(pool, "one", folder)


async def test_two_files_with_one_number_and_names_without_one_are_refused(postgres_url: str, folder: Path) -> None:
    async with open_pool(SecretStr(postgres_url), schema="one") as pool:
        (folder / "0001_again.sql").write_text("select 1;")
        with pytest.raises(MigrationGap, match="Two migrations have the number 0001"):
            await migrate(pool, "one", folder)
        (folder / "0001_again.sql").rename(folder / "later.sql")
        with pytest.raises(MigrationGap, match="name it like 0001_what_it_does"):
            await migrate(pool, "one", folder)


@pytest.mark.behaviour("E3")
async def test_a_service_waits_for_its_database_and_says_so(unused_tcp_port: int) -> None:
    health = Health("sample")

    async def opens() -> None:
        async with open_pool(SecretStr(f"postgresql://me@127.0.0.1:{unused_tcp_port}/x"), schema="one", health=health):
            pass

    opening = asyncio.create_task(opens())
    async with asyncio.timeout(20):
        while not health.waiting:  # noqa: ASYNC110 - a condition of the service, which has no event for it
            await asyncio.sleep(0.01)
    ready = await health.ready()
    assert ready.status == "waiting"
    assert ready.waits_for[0].on == "postgres"
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)


@pytest.mark.behaviour("E3")
async def test_an_open_pool_is_asked_whether_the_database_is_there(postgres_url: str) -> None:
    health = Health("sample")
    async with open_pool(SecretStr(postgres_url), schema="one", health=health) as pool:
        assert (await health.ready()).status == "ready"
        await pool.close()
        assert (await health.ready()).waits_for[0].on == "postgres"


def test_queries_have_names_and_sentences() -> None:
    text = "-- name: all_words\n-- All.\nselect word from words order by word;\n\n-- name: one\n-- One.\nselect 1"
    queries = Queries(parse(text, "words.sql"), "words.sql")
    assert queries["all_words"].endswith(b"order by word")
    assert queries.one == b"-- One.\nselect 1"
    assert sorted(queries) == ["all_words", "one"]
    with pytest.raises(QueryError, match="no query two"):
        _ = queries["two"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("select 1", "holds no query"),
        ("-- name: one\nselect 1", "needs a comment"),
        ("-- name: one\n-- One.\nselect 1;\n-- name: one\n-- One.\nselect 1;", "stands twice"),
    ],
)
def test_a_file_of_queries_that_is_not_right_says_why(text: str, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        parse(text, "words.sql")
