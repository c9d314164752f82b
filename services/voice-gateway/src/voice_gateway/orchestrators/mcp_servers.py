"""Which MCP servers there are: a JSON file in the form that other clients read, too.

::

    {"mcpServers": {"tides": {"command": ".venv/bin/python", "args": ["tides.py"], "env": {"KEY": "${TIDES_KEY}"}},
                    "plants": {"url": "https://plants.example/mcp", "headers": {"authorization": "Bearer ${TOKEN}"},
                               "tags": ["plants"]}}}

``${NAME}`` stands for a variable of the environment; servers themselves are given nothing of it but what ``env`` says.
A server is started in the folder of this file, so relative paths are paths from there; so is a relative ``cwd``.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails

from voice_gateway.errors import VoiceError
from voice_gateway.orchestrators.wording import what_it_is

MAX_BYTES: Final = 262_144
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,30}$")]


class McpConfigError(VoiceError):
    """The file of TALKDOWN_MCP cannot be used."""

    code = "invalid_mcp"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ServerConfig(_Part):
    """A server: a ``command`` that is started and spoken with over its standard streams, or a ``url`` over HTTP."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    tags: frozenset[str] = frozenset()

    @model_validator(mode="after")
    def _one_way(self) -> ServerConfig:
        if bool(self.command) == bool(self.url):
            raise ValueError("it has either a `command` or a `url`")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError("its `url` begins with http:// or https://")
        return self

    def filled(self) -> ServerConfig:
        """With what the environment says in the place of ``${NAME}``."""
        return self.model_copy(
            update={
                "env": {name: _filled(value) for name, value in self.env.items()},
                "headers": {name: _filled(value) for name, value in self.headers.items()},
                "url": _filled(self.url) if self.url else None,
                "args": tuple(_filled(value) for value in self.args),
                "command": _filled(self.command) if self.command else None,
                "cwd": _filled(self.cwd) if self.cwd else None,
            }
        )

    def started_in(self, folder: Path) -> ServerConfig:
        """With paths that are whole: a relative ``cwd`` or file is one from ``folder``, where servers are started."""
        if not self.command:
            return self
        cwd = folder / os.path.expanduser(self.cwd or "")  # noqa: PTH111 - fails for nobody
        command = os.path.expanduser(self.command)  # noqa: PTH111 - fails for nobody
        args = self.args
        if cwd != folder:
            args = tuple(_file_in(folder, cwd, arg) for arg in args)
        return self.model_copy(
            update={"command": str(folder / command) if "/" in command else command, "cwd": str(cwd), "args": args}
        )


class _File(_Part):
    servers: dict[Name, ServerConfig] = Field(alias="mcpServers")


def servers_in(place: str) -> dict[str, ServerConfig]:
    """The servers of a file by name; :class:`McpConfigError` says what is wrong with it."""
    try:
        path = Path(place).expanduser().absolute()
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise McpConfigError(f"{place} has more than {MAX_BYTES} bytes; name a smaller file in TALKDOWN_MCP.")
        told = _File.model_validate(json.loads(raw))
        return {name: config.filled().started_in(path.parent) for name, config in told.servers.items()}
    except OSError as error:
        raise McpConfigError(f"{place} cannot be read ({error.strerror}): set TALKDOWN_MCP to a JSON file.") from None
    except ValidationError as error:
        raise McpConfigError(f"{place}: {_said(error.errors(include_url=False)[0])}.") from None
    except (ValueError, RecursionError) as error:
        raise McpConfigError(f"{place} is not JSON ({error}).") from None


def _said(fault: ErrorDetails) -> str:
    there = ", ".join(f"`{str(name)[:60]}`" for name in [*fault["input"]][:20]) if _has_fields(fault) else ""
    match fault["type"], fault["loc"]:
        case "missing", _:
            return f"it has no `mcpServers`, which holds a server by each name; here stands: {there or 'nothing'}"
        case "value_error", (*_, name):
            told = fault["msg"].removeprefix("Value error, ")
            return f"of the server `{name}`: {told}; here stands: {there or 'nothing'}"
        case _, ():
            return f"the file {what_it_is(fault)}"
        case _, (*_, name, "[key]"):
            return f"`{str(name)[:60]}` is no name of a server: at most 31 letters, digits, `_` and `-`"
        case _, place:
            return f"`{'.'.join(map(str, place))}` {what_it_is(fault)}"


def _has_fields(fault: ErrorDetails) -> bool:
    return isinstance(fault["input"], dict)


def _file_in(folder: Path, cwd: Path, arg: str) -> str:
    """An argument that names a file of ``folder``, and none of the folder that the server is started in."""
    try:
        named = not arg.startswith("-") and (folder / arg).is_file() and not (cwd / arg).exists()
    except (OSError, ValueError):
        return arg
    return str(folder / arg) if named else arg


def _filled(text: str) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in os.environ:
            raise McpConfigError(f"The variable {found[1]}, which TALKDOWN_MCP's file names, is not set; set it.")
        return os.environ[found[1]]

    return _VARIABLE.sub(value, text)
