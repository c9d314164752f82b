"""The tools of MCP servers: listed, called, and their servers closed for certain.

::

    connect -> list tools -> serve calls ... -> lost: wait 1, 2, 4 ... 30 s, connect again
                                            -> closed: the process ends, or is ended

The ``mcp`` package is imported when there is a server. One task owns each connection, since the package's scopes must
be left by whoever entered them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final, cast

from contracts.vocabulary import JsonObject
from voice_gateway.live.port import ToolError, ToolSpec
from voice_gateway.orchestrators.mcp_failures import is_refusal, reason
from voice_gateway.orchestrators.mcp_servers import ServerConfig
from voice_gateway.orchestrators.toolbox import NAME, Caller, Tool, Tools, unreachable

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult
    from mcp_types import Tool as McpTool

log = logging.getLogger(__name__)

CONNECT_S: Final = 10.0
CALL_S: Final = 25.0
CLOSE_S: Final = 8.0
PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
MAX_TOOLS: Final = 200
MAX_PAGES: Final = 20


class McpServer:
    """One server; its tools are waited for, and taken whenever they are listed anew.

    ``problem`` is why it cannot be used, after it was tried.
    """

    def __init__(self, name: str, config: ServerConfig, tools: Tools) -> None:
        self.name = name
        self.problem: str | None = None
        self._config, self._tools = config, tools
        self._client: Client | None = None
        self._lost = asyncio.Event()
        self._closing = asyncio.Event()
        self._tried = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect, and wait until that has worked or failed once; it is tried again and again meanwhile."""
        self._tools.expect(self.name, self._config.tags | {self.name})
        self._task = asyncio.create_task(self._serve())
        await self._tried.wait()

    async def close(self) -> None:
        """Close the connection, and end the server that was started for it."""
        self._closing.set()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=CLOSE_S)
            for task in late:
                task.cancel()
            await asyncio.wait({self._task})

    async def call(self, name: str, args: JsonObject) -> JsonObject:
        """Call a tool of it; :class:`ToolError` where there is no result."""
        client = self._client
        if client is None:
            raise ToolError(unreachable(self.name))
        try:
            async with asyncio.timeout(CALL_S):
                result = await client.call_tool(name, args)
        except TimeoutError:
            raise ToolError(f"`{name}` gave no result within {CALL_S:g} seconds.") from None
        except Exception as error:
            if not is_refusal(error):
                self._lost.set()
            why = reason(error, self._config, CALL_S)
            log.warning("a call of an MCP server failed", extra={"server": self.name, "reason": why})
            raise ToolError(f"`{name}` could not be called.") from None
        return _result(result)

    async def _serve(self) -> None:
        failures = 0
        while not self._closing.is_set():
            self._lost.clear()
            try:
                await self._connected()
                failures = 0
            except Exception as error:
                failures += 1
                known, self.problem = self.problem, reason(error, self._config, CONNECT_S)
                if self.problem != known:
                    log.warning(f"the MCP server `{self.name}` cannot be used: {self.problem}")
            finally:
                self._client = None
                self._tried.set()
            pause = PAUSES_S[min(failures, len(PAUSES_S) - 1)]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._closing.wait()

    async def _connected(self) -> None:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(CONNECT_S):
                client = await stack.enter_async_context(_client(self._config))
                tools = await _listed(client)
            named = [self._tool(tool) for tool in tools]
            self._tools.take(self.name, [tool for tool in named if NAME.fullmatch(tool.name)])
            if self.problem is not None:
                log.warning(f"the MCP server `{self.name}` can be used again")
            self._client, self.problem = client, None
            self._tried.set()
            waits = [asyncio.create_task(event.wait()) for event in (self._lost, self._closing)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._client = None
                for wait in waits:
                    wait.cancel()

    def _tool(self, tool: McpTool) -> Tool:
        async def run(args: JsonObject, _caller: Caller) -> JsonObject:
            return await self.call(tool.name, args)

        said = " ".join((tool.description or tool.title or tool.name).split())
        schema: JsonObject = {**tool.input_schema}
        schema.setdefault("type", "object")
        schema.setdefault("properties", {})
        named = f"{self.name}_{tool.name}".replace(".", "_").replace("/", "_")
        return Tool(ToolSpec(named, said, schema), run, self._config.tags | {self.name})


@asynccontextmanager
async def open_servers(servers: Mapping[str, ServerConfig], tools: Tools) -> AsyncGenerator[Sequence[McpServer]]:
    """Connect to all of them at once; one that does not answer holds nothing up for long, and is tried again."""
    opened = [McpServer(name, config, tools) for name, config in servers.items()]
    try:
        await asyncio.gather(*(server.start() for server in opened))
        yield opened
    finally:
        await asyncio.gather(*(server.close() for server in opened))


@asynccontextmanager
async def _client(config: ServerConfig) -> AsyncGenerator[Client]:
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    async with AsyncExitStack() as stack:
        if config.command:
            program = StdioServerParameters(
                command=config.command, args=[*config.args], env=config.env or None, cwd=config.cwd
            )
            server = stdio_client(program, errlog=sys.__stderr__ or sys.stderr)
        else:
            assert config.url is not None
            timeout = httpx2.Timeout(CALL_S, connect=CONNECT_S)
            http = await stack.enter_async_context(
                httpx2.AsyncClient(headers=config.headers, timeout=timeout, trust_env=False)
            )
            server = streamable_http_client(config.url, http_client=http)
        yield await stack.enter_async_context(Client(server, cache=None))


async def _listed(client: Client) -> list[McpTool]:
    tools: list[McpTool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor or len(tools) >= MAX_TOOLS:
            break
    return tools[:MAX_TOOLS]


def _result(result: CallToolResult) -> JsonObject:
    texts = [part.text for part in result.content if part.type == "text"]
    if result.is_error:
        raise ToolError(" ".join(texts)[:2000] or "The tool failed.")
    if isinstance(result.structured_content, dict):
        return cast(JsonObject, result.structured_content)
    told: JsonObject = {"text": "\n".join(texts)}
    others = sorted({part.type for part in result.content} - {"text"})
    if others:
        told["notice"] = f"The result also holds what cannot be told here: {', '.join(others)}."
    return told
