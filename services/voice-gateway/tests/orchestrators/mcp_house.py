"""An MCP server for tests, made with the ``mcp`` package: over its standard streams, or over HTTP on a given port."""

import os
import sys

from mcp.server import MCPServer

server = MCPServer("house")


@server.tool()
def tide(day: str, hours: int = 5) -> dict[str, object]:
    """When the causeway is dry."""
    return {"day": day, "hours": hours, "key": os.environ.get("TIDES_KEY", ""), "home": "OPENAI_API_KEY" in os.environ}


@server.tool()
def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()


@server.tool()
def broken() -> str:
    """It does not work."""
    raise ValueError("the pump is dry")


@server.tool()
def die() -> str:
    """The server ends."""
    os._exit(3)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
