"""Tools of MCP servers: real servers, made with the same package, over their streams and over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from orch_fakes import CHAT, call

from voice_gateway.orchestrators.mcp_servers import McpConfigError, ServerConfig, servers_in
from voice_gateway.orchestrators.mcp_tools import open_servers
from voice_gateway.orchestrators.reading import read
from voice_gateway.orchestrators.toolbox import AgentTools, Caller, Tool, Tools

HOUSE = str(Path(__file__).with_name("mcp_house.py"))
STDIO = ServerConfig(command=sys.executable, args=(HOUSE,), env={"TIDES_KEY": "k1"}, tags=frozenset({"island"}))


@asynccontextmanager
async def tools_of(**servers: ServerConfig) -> AsyncGenerator[Tools]:
    tools = Tools()
    async with open_servers(servers, tools):
        yield tools


def bound(tools: Tools) -> AgentTools:
    return tools.bound(sorted(tools.names), None, Caller(CHAT, "mara"))


async def test_a_servers_tools_are_listed_and_called_and_its_process_ends_with_us() -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    async with tools_of(house=STDIO) as tools:
        assert set(tools.names) == {"house_tide", "house_shout", "house_broken", "house_die"}
        ours = bound(tools)
        tide = next(spec for spec in ours.specs() if spec.name == "house_tide")
        assert tide.description == "When the causeway is dry."
        assert tide.parameters["required"] == ["day"]
        assert [spec.name for spec in ours.specs(["island"])] == [spec.name for spec in ours.specs()]
        assert ours.specs(["other"]) == ()
        result = await ours.call("house_tide", {"day": "Friday"})
        assert result == {"day": "Friday", "hours": 5, "key": "k1", "home": False}
        assert await ours.call("house_shout", {"text": "tide"}) == {"result": "TIDE"}
        started = {child.pid for child in psutil.Process().children(recursive=True)} - before
        assert started
    assert not [pid for pid in started if psutil.pid_exists(pid)]


@pytest.mark.behaviour("O5")
async def test_a_tool_that_fails_or_is_called_wrongly_is_told_as_data_and_the_server_serves_on() -> None:
    async with tools_of(house=STDIO) as tools:
        ours = bound(tools)
        failed = await ours.answered(call("house_broken", {}))
        assert failed.failed
        assert "broken" in failed.result["error"]
        wrong = await ours.answered(call("house_tide", {"hours": "many"}))
        assert wrong.failed
        assert (await ours.answered(call("house_shout", {"text": "on"}))).result == {"result": "ON"}


async def test_a_server_that_dies_costs_one_call_and_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voice_gateway.orchestrators.mcp_tools.PAUSES_S", (0.01,))
    async with tools_of(house=STDIO) as tools:
        ours = bound(tools)
        assert (await ours.answered(call("house_die", {}))).failed
        async with asyncio.timeout(20):
            while (await ours.answered(call("house_shout", {"text": "back"}))).failed:  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def test_a_server_over_http_serves_its_tools_with_the_headers_that_it_asks_for() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, HOUSE, str(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await reachable(port)
        config = ServerConfig(url=f"http://127.0.0.1:{port}/mcp", headers={"authorization": "Bearer t"})
        async with tools_of(house=config) as tools:
            assert await bound(tools).call("house_shout", {"text": "tide"}) == {"result": "TIDE"}
    finally:
        process.kill()
        await process.wait()


async def reachable(port: int) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            await writer.wait_closed()
            return


async def test_a_server_that_is_not_there_holds_nobody_up_for_long_and_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gone = ServerConfig(command="/nowhere/at/all")
    silent = ServerConfig(command=sys.executable, args=("-c", "import time; time.sleep(60)"))
    refused = ServerConfig(url="http://mara:s3cret@127.0.0.1:9/mcp?key=s3cret")
    ends = ServerConfig(command=sys.executable, args=("-c", "raise SystemExit(2)"))
    tools, told = Tools(), dict[str, str | None]()
    for within_s, some in ((20.0, {"gone": gone, "refused": refused, "ends": ends}), (0.5, {"silent": silent})):
        monkeypatch.setattr("voice_gateway.orchestrators.mcp_tools.CONNECT_S", within_s)
        async with asyncio.timeout(20), open_servers(some, tools) as servers:
            assert not tools.names
            told |= {server.name: server.problem for server in servers}
    assert told == {
        "gone": "there is no `/nowhere/at/all`",
        "silent": f"`{sys.executable}` gave no answer within 0.5 seconds",
        "refused": "nothing answers at http://127.0.0.1:9",
        "ends": f"`{sys.executable}` ended; why, it may have written to the log of the voice gateway",
    }
    for name, problem in told.items():
        assert f"the MCP server `{name}` cannot be used: {problem}" in caplog.messages
    assert "s3cret" not in caplog.text


@pytest.mark.behaviour("O5")
async def test_a_tool_of_a_server_that_is_not_there_yet_may_be_named_and_fails_with_a_sentence_until_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("voice_gateway.orchestrators.mcp_tools.PAUSES_S", (0.05,))
    late = ServerConfig(
        command=sys.executable, args=("house.py",), cwd=str(tmp_path / "house"), tags=frozenset({"island"})
    )
    tools = Tools()
    async with open_servers({"house": late}, tools):
        assert read(HOUSE_SCENARIO, "house.yaml", tools.names).agents[0].tools == ("house_shout",)
        assert "house shout" not in tools.names
        assert "mouse_shout" not in tools.names
        ours = tools.bound(["house_shout", "other"], ["island"], Caller(CHAT, "mara"))
        assert [spec.name for spec in ours.specs()] == ["house_shout"]
        assert "does not answer right now" in ours.specs()[0].description
        failed = await ours.answered(call("house_shout", {"text": "tide"}))
        assert failed.failed
        assert failed.result["error"].startswith("The tools of `house` cannot be reached right now")
        (tmp_path / "built").mkdir()
        (tmp_path / "built" / "house.py").symlink_to(HOUSE)
        (tmp_path / "built").rename(tmp_path / "house")
        async with asyncio.timeout(20):
            while (found := await ours.answered(call("house_shout", {"text": "tide"}))).failed:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert found.result == {"result": "TIDE"}
        # However often it was tried meanwhile.
        assert [said.rpartition("`")[0] for said in caplog.messages if "cannot be used" in said] == [
            f"the MCP server `house` cannot be used: there is no `{tmp_path}/house"
        ]
        assert "the MCP server `house` can be used again" in caplog.messages
        assert "house_whisper" not in tools.names


HOUSE_SCENARIO = "{name: house, start: a, agents: [{name: a, instructions: Be kind., tools: [house_shout]}]}"


def test_a_name_that_is_taken_stays_whose_it_was() -> None:
    def named(owner: str) -> Iterable[Tool]:
        from orch_fakes import echo

        return [Tool(echo().spec, echo().run, frozenset({owner}))]

    tools = Tools()
    tools.take("one", named("one"))
    tools.take("two", named("two"))
    tools.take("one", named("one again"))
    assert tools.bound(["echo"], ["one again"], Caller(CHAT, "mara")).specs() != ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "the file is a group of fields"),
        ('{"servers": {}}', "it has no `mcpServers`, which holds a server by each name; here stands: `servers`"),
        ('{"mcpServers": {"a": {"comand": "x"}}}', "server `a`: .* `command` or a `url`; here stands: `comand`"),
        ('{"mcpServers": {"a": {"command": "x", "args": "y.py"}}}', r"`mcpServers.a.args` is a list; write `\[y.py\]`"),
        ('{"mcpServers": {"a": "x"}}', "`mcpServers.a` is a group of fields"),
        ('{"mcpServers": {"a": {}}}', "either a `command` or a `url`"),
        ('{"mcpServers": {"a": {"command": "x", "url": "http://y"}}}', "either a `command` or a `url`"),
        ('{"mcpServers": {"a": {"url": "ftp://y"}}}', "begins with http"),
        ('{"mcpServers": {"a b": {"command": "x"}}}', "`a b` is no name of a server"),
        ('{"mcpServers": {"a": {"command": "x", "env": {"K": "${NOT_SET_ANYWHERE}"}}}}', "NOT_SET_ANYWHERE"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "mcp.json").write_text(text)
    with pytest.raises(McpConfigError, match=says):
        servers_in(str(tmp_path / "mcp.json"))


def test_a_file_names_servers_and_takes_secrets_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTS_TOKEN", "t1")
    headers = {"authorization": "Bearer ${PLANTS_TOKEN}"}
    servers = {"plants": {"url": "https://plants.example/mcp", "headers": headers, "type": "http"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    config = servers_in(str(tmp_path / "mcp.json"))["plants"]
    assert config.headers == {"authorization": "Bearer t1"}
    with pytest.raises(McpConfigError, match="cannot be read"):
        servers_in(str(tmp_path / "none.json"))


def test_relative_paths_are_paths_from_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = tmp_path / "house"
    (house / "sub").mkdir(parents=True)
    (house / "tides.py").touch()
    servers = {
        "plain": {"command": "python", "args": ["tides.py", "--fast"]},
        "placed": {"command": "bin/serve", "args": ["tides.py", "-x"], "cwd": "sub"},
        "far": {"command": "/bin/serve", "cwd": "/"},
        "web": {"url": "http://plants.example/mcp"},
    }
    (house / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    monkeypatch.chdir(tmp_path)
    told = servers_in("house/mcp.json")
    assert (told["plain"].command, told["plain"].args) == ("python", ("tides.py", "--fast"))
    assert told["plain"].cwd == str(house)
    assert (told["placed"].command, told["placed"].cwd) == (f"{house}/bin/serve", f"{house}/sub")
    assert told["placed"].args == (f"{house}/tides.py", "-x")
    assert (told["far"].command, told["far"].cwd) == ("/bin/serve", "/")
    assert told["web"].cwd is None


async def test_a_server_named_from_its_own_folder_is_started(tmp_path: Path) -> None:
    (tmp_path / "house.py").symlink_to(HOUSE)
    (tmp_path / "mcp.json").write_text(
        json.dumps({"mcpServers": {"house": {"command": sys.executable, "args": ["house.py"]}}})
    )
    async with tools_of(**servers_in(str(tmp_path / "mcp.json"))) as tools:
        assert "house_tide" in tools.names
