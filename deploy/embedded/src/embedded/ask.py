"""``talkdown ask``: a question to a running instance, its answer as it is written, and the lines that it rests on."""

from __future__ import annotations

import json
from http.client import HTTPException, HTTPResponse
from typing import Any
from uuid import UUID, uuid4

from embedded.errors import EmbeddedError
from embedded.harmless import Writer
from embedded.instances import Instance

ANSWERED, FAILED, ABSTAINED = 0, 1, 3
SILENCE_S = 45.0
"""Longer than a turn may take: past it the stream is lost."""


def ask(instance: Instance, question: str, chat: str | None, out: Writer) -> int:
    """Put a question and write its answer; :data:`ANSWERED`, :data:`ABSTAINED`, or an :class:`EmbeddedError`."""
    try:
        chat_id = str(UUID(chat)) if chat else str(uuid4())
    except ValueError:
        raise EmbeddedError(f"{chat} is no chat's id; leave --chat out for a new chat.") from None
    answer = instance.request("POST", "/api/turns", {"chat_id": chat_id, "question": question}, SILENCE_S)
    if answer.status != 200:
        raise EmbeddedError(_refusal(answer))
    sources: list[dict[str, Any]] = []
    support: dict[str, list[tuple[int, int]]] = {}
    written = False
    for frame in _frames(answer):
        match frame["type"]:
            case "delta":
                out.write(frame["text"])
                out.flush()
                written = True
            case "sources":
                sources = frame["sources"]
            case "sentence":
                for one in frame["support"]:
                    support.setdefault(one["source_id"], []).append(tuple(one["lines"]))
            case "snapshot" | "done":
                if not written:
                    out.write(frame["answer"])
                    written = True
                sources = frame["sources"] or sources
                if frame["type"] == "done":
                    out.write("\n")
                    _write_sources(out, frame["answer"], sources, support)
                    return ABSTAINED if frame.get("abstained") else ANSWERED
            case "error":
                out.write("\n" if written else "")
                raise EmbeddedError(frame["message"])
            case _:
                pass
    raise EmbeddedError("The answer broke off. Ask again.")


def _write_sources(
    out: Writer, answer: str, sources: list[dict[str, Any]], support: dict[str, list[tuple[int, int]]]
) -> None:
    """One line a cited source: ``[1] plant/valves.md:12-14``, the lines of its sentences where they are known."""
    for number, source in enumerate(sources, start=1):
        if f"[{number}]" in answer:
            lines = _joined(support.get(source["id"], [])) or [tuple(source["lines"])]
            out.write(f"[{number}] {source['path']}:{','.join(_range(*pair) for pair in lines)}\n")
    out.flush()


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same lines in as few ranges as there can be: 21-21 and 21-22 are 21-22, and so are 21-21 and 22-22."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _frames(answer: HTTPResponse) -> Any:
    while True:
        try:
            line = answer.readline()
        except (OSError, HTTPException):
            return
        if not line:
            return
        if line.strip():
            yield json.loads(line)


def _refusal(answer: HTTPResponse) -> str:
    try:
        return str(json.loads(answer.read())["message"])
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        return f"The question was not taken (status {answer.status})."
