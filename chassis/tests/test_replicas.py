"""Several replicas behind one address: work is spread, a gone one is passed over, keys and names find theirs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from chassis.http import ServiceClient, Unreachable, open_client
from chassis.replicas import RESOLVE_EVERY_S, Replica, Replicas, stand_for_several
from contracts.health import Live


class Server:
    """Says which one it is, over plain HTTP, on connections that it keeps; may hold its answers back."""

    def __init__(self, name: str) -> None:
        self.name, self.port, self.go = name, 0, asyncio.Event()
        self.go.set()
        self.waiting = 0
        self._writers: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Server]:
        """Serve while the block runs."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", self.port)
        self.port = int(server.sockets[0].getsockname()[1])
        try:
            yield self
        finally:
            server.close()
            for writer in self._writers:
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.waiting += 1
                await self.go.wait()
                self.waiting -= 1
                body = Live(service=self.name).model_dump_json().encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass


@pytest.fixture
async def servers() -> AsyncGenerator[list[Server]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Server(name).serving()) for name in ("a", "b", "c")]


@pytest.fixture
async def client(servers: list[Server]) -> AsyncGenerator[ServiceClient]:
    async with open_client(",".join(f"http://127.0.0.1:{one.port}" for one in servers), "retriever") as client:
        yield client


async def asked(client: ServiceClient, times: int, near: str | None = None) -> Counter[str]:
    answers = [await client.get("/health/live", Live, near=near) for _ in range(times)]
    return Counter(one.service for one in answers)


async def test_questions_one_after_the_other_go_to_each_in_turn(client: ServiceClient) -> None:
    assert await asked(client, 9) == {"a": 3, "b": 3, "c": 3}


async def test_a_replica_that_is_busy_gets_no_more_while_others_are_free(
    client: ServiceClient, servers: list[Server]
) -> None:
    slow = servers[0]
    slow.go.clear()
    held = [asyncio.create_task(client.get("/health/live", Live)) for _ in range(3)]
    async with asyncio.timeout(10):
        while not slow.waiting:  # noqa: ASYNC110 - the condition is a request's arrival
            await asyncio.sleep(0.01)
        assert "a" not in await asked(client, 8)
        slow.go.set()
        assert Counter(one.service for one in await asyncio.gather(*held)) == {"a": 1, "b": 1, "c": 1}


async def test_all_of_one_chat_go_to_one_replica_and_many_chats_to_all(client: ServiceClient) -> None:
    for chat in ("x", "y", "z"):
        assert len(await asked(client, 5, near=chat)) == 1
    spread: Counter[str] = Counter()
    for number in range(60):
        spread += await asked(client, 1, near=f"chat {number}")
    assert set(spread) == {"a", "b", "c"}


async def test_a_replica_that_is_gone_is_passed_over_and_found_again() -> None:
    async with Server("a").serving() as stays:
        comes_back = Server("b")
        async with comes_back.serving():
            pass
        urls = f"http://127.0.0.1:{comes_back.port},http://127.0.0.1:{stays.port}"
        async with open_client(urls, "retriever") as client:
            assert await asked(client, 6) == {"a": 6}
            async with comes_back.serving(), asyncio.timeout(20):
                while "b" not in await asked(client, 4):  # noqa: ASYNC110 - the client finds out by asking
                    await asyncio.sleep(0.05)


async def test_without_any_replica_the_service_is_unreachable(unused_tcp_port: int) -> None:
    async with open_client(f"http://127.0.0.1:{unused_tcp_port},http://127.0.0.1:{unused_tcp_port}", "agent") as agent:
        with pytest.raises(Unreachable, match="The agent does not answer"):
            await agent.get("/", Live)


class Names:
    """A server of names that a test changes."""

    def __init__(self, *hosts: str) -> None:
        self.hosts, self.now, self.asked = list(hosts), 0.0, 0

    async def resolve(self, host: str, port: int) -> list[str]:
        self.asked += 1
        if not self.hosts:
            raise OSError("no such name")
        return self.hosts

    def replicas(self) -> Replicas:
        return Replicas("http://retriever:3011", resolve=self.resolve, clock=lambda: self.now)


async def hosts(replicas: Replicas) -> set[str]:
    return {one.host for one in await replicas.all()}


async def test_a_name_is_looked_up_again_and_what_it_stands_for_followed() -> None:
    names = Names("10.0.0.1", "10.0.0.2")
    replicas = names.replicas()
    assert await hosts(replicas) == {"10.0.0.1", "10.0.0.2"}
    names.hosts = ["10.0.0.2", "10.0.0.3"]
    assert await hosts(replicas) == {"10.0.0.1", "10.0.0.2"}, "not asked for each request"
    names.now += RESOLVE_EVERY_S
    async with asyncio.timeout(5):
        while await hosts(replicas) != {"10.0.0.2", "10.0.0.3"}:  # noqa: ASYNC110 - a look-up sets no event
            await asyncio.sleep(0)
    names.hosts, asked_before = [], names.asked
    names.now += RESOLVE_EVERY_S
    async with asyncio.timeout(5):
        while names.asked == asked_before:
            await hosts(replicas)
            await asyncio.sleep(0)
    assert await hosts(replicas) == {"10.0.0.2", "10.0.0.3"}, "a server of names that is away takes nobody with it"
    await replicas.close()


async def test_a_name_that_stands_for_nothing_is_looked_up_until_it_does() -> None:
    names = Names()
    replicas = names.replicas()
    with pytest.raises(OSError, match="no address"):
        await replicas.all()
    names.hosts = ["10.0.0.1"]
    names.now += RESOLVE_EVERY_S
    assert await hosts(replicas) == {"10.0.0.1"}


async def test_a_key_stays_where_it_is_when_another_replica_leaves() -> None:
    names = Names("10.0.0.1", "10.0.0.2", "10.0.0.3")
    replicas = names.replicas()
    first = {key: (await replicas.ordered(key))[0].host for key in map(str, range(40))}
    gone = Replicas("http://retriever:3011", resolve=Names("10.0.0.1", "10.0.0.3").resolve, clock=lambda: 0.0)
    for key, host in first.items():
        if host != "10.0.0.2":
            assert (await gone.ordered(key))[0].host == host


async def test_a_replica_is_found_by_its_name() -> None:
    replicas = Replicas("http://10.0.0.1:3013,http://10.0.0.2:3013")
    second = Replica("10.0.0.2", 3013)
    found = await replicas.named(second.name)
    assert found is not None
    assert found.netloc == "10.0.0.2:3013"
    assert await replicas.named("ffffff") is None


@pytest.mark.parametrize(
    ("urls", "several"),
    [
        ("http://127.0.0.1:3011", False),
        ("http://[::1]:3011", False),
        ("http://localhost:3011", False),
        ("https://retriever.example", False),
        ("http://retriever:3011", True),
        ("http://127.0.0.1:1,http://127.0.0.1:2", True),
    ],
)
def test_an_address_stands_for_one_process_and_a_name_for_any_number(urls: str, several: bool) -> None:
    assert stand_for_several(urls) is several
