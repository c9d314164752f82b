"""Why an MCP server cannot be used, in words; the rest of an address may hold a secret, and is not told."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlsplit

from voice_gateway.orchestrators.mcp_servers import ServerConfig


def reason(error: Exception, config: ServerConfig, within_s: float) -> str:
    """The first thing that went wrong, as a sentence without its beginning: the server's name comes before it."""
    import httpx2
    from mcp.shared.exceptions import MCPError

    at = _where(config.url) if config.url else f"`{config.command}`"
    match _first(error):
        case TimeoutError() | httpx2.TimeoutException():
            return f"{at} gave no answer within {within_s:g} seconds"
        case FileNotFoundError() | NotADirectoryError() as missing:
            return f"there is no `{missing.filename or config.command}`"
        case PermissionError() as refused:
            return f"`{refused.filename or config.command}` may not be used from here"
        case OSError() as failed:
            return f"{at} cannot be used ({failed.strerror or type(failed).__name__})"
        case httpx2.TransportError():
            return f"nothing answers at {at}"
        case MCPError() as refused if is_refusal(refused):
            return f"{at} says: {' '.join(refused.message.split())[:200]}"
        case MCPError():
            return f"{at} ended; why, it may have written to the log of the voice gateway"
        case other:
            return f"what {at} says cannot be understood ({type(other).__name__})"


def is_refusal(error: Exception) -> bool:
    """Whether the server answered, and said no: the connection stands."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED

    return isinstance(error, MCPError) and error.error.code != CONNECTION_CLOSED


def _first(error: BaseException) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        return _first(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return error


def _where(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
