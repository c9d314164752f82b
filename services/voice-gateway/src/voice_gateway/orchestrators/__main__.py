"""``python -m voice_gateway.orchestrators FILE``: look at a scenario and its tools before anybody speaks.

It prints who is in it and who hands over to whom, or every mistake with its line, and what a model is told of tools.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

from voice_gateway.errors import VoiceError
from voice_gateway.live.port import ToolError
from voice_gateway.opening import shipped_voices
from voice_gateway.orchestrators.doubts import misfits, warnings
from voice_gateway.orchestrators.functions import tools_in
from voice_gateway.orchestrators.mcp_servers import servers_in
from voice_gateway.orchestrators.mcp_tools import open_servers
from voice_gateway.orchestrators.models import arguments
from voice_gateway.orchestrators.own_code import told
from voice_gateway.orchestrators.port import OWNER
from voice_gateway.orchestrators.reading import BESIDE_NOTES, line_of, load
from voice_gateway.orchestrators.scenario import RETRIEVE, Scenario
from voice_gateway.orchestrators.toolbox import Caller, Names, Tools


class Unusable(VoiceError):
    """A file of tools cannot be used."""


def main() -> int:
    """Look; 1 where something is wrong."""
    asked = argparse.ArgumentParser(prog="python -m voice_gateway.orchestrators", description=__doc__)
    asked.add_argument("scenario", nargs="?", help="a .yaml file, or the name of a shipped scenario")
    asked.add_argument("--notes", metavar="FOLDER", help="the folder of notes; unset: that of a talkdown.yaml")
    asked.add_argument("--tools", action="append", default=[], help="a Python file or module; may be given again")
    asked.add_argument("--mcp", metavar="FILE", help="a JSON file of MCP servers, which are started and asked")
    asked.add_argument("--call", nargs=2, metavar=("NAME", "JSON"), help="call one tool, and print its result")
    options = asked.parse_args()
    if not (options.scenario or options.tools or options.mcp or options.call):
        asked.error("name what to look at: a scenario, --tools FILE or --mcp FILE")
    logging.disable()  # what the log of a gateway says of servers is said here as a result
    try:
        return asyncio.run(_look(options))
    except VoiceError as error:
        return _wrong(error.message)
    finally:
        logging.disable(logging.NOTSET)


async def _look(options: argparse.Namespace) -> int:
    tools = Tools()
    for place in options.tools:
        try:
            for tool in tools_in(place):
                tools.add(tool)
        except Exception as error:
            raise Unusable(f"{place} cannot be used: {told(error)}") from error
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(open_servers(servers_in(options.mcp) if options.mcp else {}, tools))
        wrong = 0
        for server in servers:
            if server.problem:
                wrong = _wrong(f"The MCP server `{server.name}` cannot be used: {server.problem}.")
        if options.call:
            return await _call(tools, *options.call)
        _show_tools(tools)
        if options.scenario:
            scenario = load(options.scenario, Names(tools.names.there | {RETRIEVE}, tools.names.expected))
            _show(scenario)
            wrong |= _doubt(scenario, options.scenario, options.notes)
    return wrong


def _doubt(scenario: Scenario, named: str, notes: str | None) -> int:
    """Say what does not fit, and what is most likely not meant; 1 for the former."""
    path = Path(named).expanduser()
    beside = path.parent if path.name == BESIDE_NOTES else None
    wrong = 0
    for place, said in misfits(scenario, Path(notes).expanduser() if notes else beside, shipped_voices()):
        wrong = _wrong(f"{named}, line {line_of(named, place)}: {said}")
    keyless = os.environ.get("TALKDOWN_CASCADE_ANSWERS", "") in ("", "ours")
    for place, said in warnings(scenario, keyless=keyless):
        print(f"{named}, line {line_of(named, place)}: {said} (This is a warning.)", file=sys.stderr)
    return wrong


async def _call(tools: Tools, name: str, text: str) -> int:
    given = arguments(text)
    if given is None:
        return _wrong("The arguments are no JSON object.")
    if not tools.names and name not in tools.names:
        return _wrong(f"There is no tool `{name}`: name its file with --tools, or that of its server with --mcp.")
    try:
        result = await tools.bound({*tools.names, name}, None, Caller(uuid4(), OWNER)).call(name, given)
    except ToolError as error:
        return _wrong(str(error))
    except Exception as error:
        return _wrong(f"The tool `{name}` failed: {told(error)}")
    print(json.dumps(result, ensure_ascii=False))
    return 0


def _wrong(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


def _show_tools(tools: Tools) -> None:
    for spec in tools.bound(sorted(tools.names), None, Caller(uuid4(), OWNER)).specs():
        print(f"tool {spec.name}: {spec.description}")
        print(f"  {json.dumps(spec.parameters['properties'], ensure_ascii=False)}")


def _show(scenario: Scenario) -> None:
    print(f"scenario {scenario.name}")
    for agent in scenario.agents:
        starts = ", who starts" if agent.name == scenario.start else ""
        where = f", in {', '.join(agent.folders)}" if agent.folders else ""
        print(f"  {agent.name}{starts}{where}; tools: {', '.join(agent.tools) or 'none'}")
        for edge in scenario.edges(agent.name):
            said = f" ({'; '.join(edge.phrases)})" if edge.phrases else ""
            print(f"    -> {edge.target}: {edge.when}{said}")


if __name__ == "__main__":
    sys.exit(main())
