"""Files that settings name: a relative path is one from the folder in which ``talkdown up`` was started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from embedded.errors import FolderUnusable

FILES = {"TALKDOWN_MCP": ("",), "TALKDOWN_TOOLS": (".py",), "TALKDOWN_SCENARIO": (".yaml", ".yml")}
"""The settings, and how what is a file in them ends; "" is any ending."""
LISTS = frozenset({"TALKDOWN_TOOLS"})


def with_whole_paths(environment: Mapping[str, str], started_in: Path) -> dict[str, str]:
    """An environment in which these settings mean the same in any folder; names of modules and scenarios stay."""

    def whole(setting: str, text: str) -> str:
        named = text.strip()
        if not named or not named.endswith(FILES[setting]):
            return text
        return str(started_in / os.path.expanduser(named))  # noqa: PTH111 - fails for nobody

    told = dict(environment)
    for setting in FILES.keys() & environment.keys():
        text = environment[setting]
        parts = text.split(",") if setting in LISTS else [text]
        told[setting] = ",".join(whole(setting, part) for part in parts)
    return told


def current_folder() -> Path:
    """Where somebody stands; raises :class:`FolderUnusable` when that folder is gone."""
    try:
        return Path.cwd()
    except OSError:
        raise FolderUnusable("The folder that you are in is gone: change to another, and start again.") from None
