"""The adapters that the suite runs over, and the table of what they hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import pytest
from bus_carrier import ADAPTERS, SERVERS, Carrier
from bus_relay import LOOPBACK, Relay
from bus_table import table

from embedded.ports import free_port

FOLDER = "chassis/tests/bus/"


@pytest.fixture(params=ADAPTERS)
async def carrier(request: pytest.FixtureRequest) -> AsyncIterator[Carrier]:
    """Each adapter in turn."""
    name: str = request.param
    server = {"redis": "valkey_url", "kafka": "kafka_url"}.get(name)
    carrier = Carrier(name, request.getfixturevalue(server) if server else "memory://")
    yield carrier
    await carrier.close()


@pytest.fixture(params=SERVERS)
async def server_carrier(request: pytest.FixtureRequest) -> AsyncIterator[Carrier]:
    """Each adapter that has a server, with a relay before it."""
    name: str = request.param
    url: str = request.getfixturevalue({"redis": "valkey_url", "kafka": "kafka_url"}[name])
    place = urlsplit(url)
    assert place.port is not None
    if name == "kafka":
        detour = request.getfixturevalue("kafka_server").detour
        if detour is None:
            pytest.skip("the Kafka of TALKDOWN_TEST_KAFKA_URL knows of no relay")
        relay = Relay(detour[1], detour[0])
    else:
        relay = Relay(free_port(), place.port)
    login = f"{place.netloc.rpartition('@')[0]}@" if "@" in place.netloc else ""
    relayed = urlunsplit(place._replace(netloc=f"{login}{LOOPBACK}:{relay.port}"))
    carrier = Carrier(name, url, relay, relayed)
    yield carrier
    await carrier.close()


@pytest.fixture
async def redis_carrier(valkey_url: str) -> AsyncIterator[Carrier]:
    """Redis alone."""
    carrier = Carrier("redis", valkey_url)
    yield carrier
    await carrier.close()


@pytest.fixture
async def kafka_carrier(kafka_url: str) -> AsyncIterator[Carrier]:
    """Kafka alone."""
    carrier = Carrier("kafka", kafka_url)
    yield carrier
    await carrier.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what a real Kafka is needed for, and what every adapter does, before it is chosen what runs."""
    for item in items:
        if isinstance(item, pytest.Function):
            chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
            if {"kafka_url", "kafka_server"} & {*item.fixturenames} or "kafka" in chosen:
                item.add_marker(pytest.mark.kafka)
            if any(isinstance(value, str) and value in ADAPTERS for value in chosen):
                item.add_marker(pytest.mark.adapter)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which adapter holds which guarantee, from what the tests came to."""
    reports = [
        report
        for kind in ("passed", "failed", "error", "skipped")
        for report in terminalreporter.stats.get(kind, ())
        if isinstance(report, pytest.TestReport) and FOLDER in report.nodeid
    ]
    if lines := table(reports):
        terminalreporter.section("what the bus guarantees, by adapter")
        for line in lines:
            terminalreporter.write_line(line)
