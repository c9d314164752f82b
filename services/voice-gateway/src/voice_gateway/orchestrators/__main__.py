"""``python -m voice_gateway.orchestrators FILE``: look at a scenario and its tools before anybody speaks.

It prints who is in it and who hands over to whom, or every mistake with its line, and what a model is told of tools.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from uuid import uuid4

from voice_gateway.errors import VoiceError
from voice_gateway.live.port import ToolError
from voice_gateway.orchestrators.functions import tools_in
from voice_gateway.orchestrators.models import arguments
from voice_gateway.orchestrators.port import OWNER
from voice_gateway.orchestrators.reading import load
from voice_gateway.orchestrators.scenario import RETRIEVE, Scenario
from voice_gateway.orchestrators.toolbox import Caller, Tools


def main() -> int:
    """Look; 1 where something is wrong."""
    asked = argparse.ArgumentParser(prog="python -m voice_gateway.orchestrators", description=__doc__)
    asked.add_argument("scenario", nargs="?", help="a .yaml file, or the name of a shipped scenario")
    asked.add_argument("--tools", action="append", default=[], help="a Python file or module; may be given again")
    asked.add_argument("--call", nargs=2, metavar=("NAME", "JSON"), help="call one tool, and print its result")
    options = asked.parse_args()
    try:
        tools = Tools(tool for place in options.tools for tool in tools_in(place))
        if options.call:
            return asyncio.run(_call(tools, *options.call))
        _show_tools(tools)
        if options.scenario:
            _show(load(options.scenario, {RETRIEVE, *tools.names}))
    except VoiceError as error:
        print(error.message, file=sys.stderr)
        return 1
    except (OSError, ImportError, SyntaxError, TypeError, ValueError) as error:
        print(f"The tools cannot be used: {error}", file=sys.stderr)
        return 1
    return 0


async def _call(tools: Tools, name: str, text: str) -> int:
    given = arguments(text)
    if given is None:
        print("The arguments are no JSON object.", file=sys.stderr)
        return 1
    try:
        result = await tools.bound(tools.names, None, Caller(uuid4(), OWNER)).call(name, given)
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(result, ensure_ascii=False))
    return 0


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
