"""Write what follows from the models: ``schema/*.json``, ``asyncapi.yaml``, ``openapi/*.json``.

``python contracts/generate.py`` writes; ``--check`` writes nothing, names what is out of date, and exits with 1.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml
from fastapi import FastAPI

from contracts.catalog import EVENTS, MESSAGES
from contracts.events import EVENTS as KINDS
from contracts.events import STREAMS, type_of

HERE = Path(__file__).parent
SERVICES = ("ingestor", "retriever", "agent", "voice_gateway", "web")
SAMPLE_SETTINGS = {
    "TALKDOWN_FOLDER": ".",
    "TALKDOWN_POSTGRES_URL": "postgresql://localhost/talkdown",
    "TALKDOWN_BUS_URL": "memory://",
    "TALKDOWN_REDIS_URL": "redis://localhost",
}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def schemas() -> dict[str, str]:
    """JSON Schema of every message, by the path of its file."""
    return {f"schema/{name}.json": _json(model.model_json_schema()) for name, model in MESSAGES.items()}


def asyncapi() -> str:
    """The bus as an AsyncAPI 3.0 document."""
    channels = {
        stream: {
            "address": f"talkdown.{stream}.{{partition}}",
            "description": f"The {stream} stream, partitioned by key.",
            "parameters": {"partition": {"description": "0 up to the number of partitions"}},
            "messages": {
                type_of(kind): {"$ref": f"#/components/messages/{type_of(kind)}"}
                for kind in KINDS
                if kind.stream == stream
            },
        }
        for stream in STREAMS
    }
    messages = {
        name: {
            "name": name,
            "summary": (model.__doc__ or "").strip().split("\n")[0],
            "contentType": "application/json",
            "payload": {"$ref": f"schema/{name}.json"},
        }
        for name, model in EVENTS.items()
    }
    document = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Talkdown's events",
            "version": "1",
            "description": "At least once; in the order of one key while nothing fails; fields are only added.",
        },
        "channels": channels,
        "operations": {
            f"{stream}.{action}": {"action": action, "channel": {"$ref": f"#/channels/{stream}"}}
            for stream in STREAMS
            for action in ("send", "receive")
        },
        "components": {"messages": messages},
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)


def openapi() -> dict[str, str]:
    """The OpenAPI document of every service, by the path of its file."""
    os.environ.update(SAMPLE_SETTINGS)
    written: dict[str, str] = {}
    for name in SERVICES:
        settings = importlib.import_module(f"{name}.settings").Settings()
        app = importlib.import_module(f"{name}.app").create_app(settings)
        if not isinstance(app, FastAPI):
            raise TypeError(f"{name}.app.create_app() must return the FastAPI application")
        written[f"openapi/{name}.json"] = _json(app.openapi())
    return written


def main() -> int:
    """Write the files, or with ``--check`` compare them; the exit code."""
    wanted = {**schemas(), "asyncapi.yaml": asyncapi(), **openapi()}
    present = {
        str(path.relative_to(HERE)): path.read_text(encoding="utf-8")
        for pattern in ("schema/*.json", "asyncapi.yaml", "openapi/*.json")
        for path in HERE.glob(pattern)
    }
    stale = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"contracts/{name} is out of date: run make contracts")
        return 1 if stale else 0
    for name in stale:
        path = HERE / name
        if name in wanted:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
    print(f"{len(wanted)} files, {len(stale)} of them new")
    return 0


if __name__ == "__main__":
    sys.exit(main())
