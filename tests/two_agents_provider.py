"""A provider of Chat Completions on this machine whose model hands over: a concierge asks, a specialist answers.

https://platform.openai.com/docs/api-reference/chat is what it speaks, as a stream. Whoever is offered a handover and
hears of a valve says a few words and asks for it; the specialist, who has the floor already, answers; each round says
how many tokens it took, and no two the same.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "two-agents"
HELLO = "Good day. I look after the visitors of this house, and answer what I can."
ANSWER = (
    "The amber valve recovery code is ORCHID-47.",
    "Turn the wheel slowly, to the left, until the dial is green.",
    "Then ring the number on the wall.",
)
CONCIERGE, SPECIALIST = (310, 17), (420, 61)
"""Tokens read and written of the round that hands over, and of the answer."""


@dataclass(frozen=True)
class Asked:
    """A round as it was asked for: the instructions, the last message, the tools."""

    instructions: str
    last: str
    tools: tuple[str, ...]


class TwoAgents(ThreadingHTTPServer):
    """Its address is ``url``; ``asked`` is what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Completions(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, TwoAgents)
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        instructions, last = asked["messages"][0]["content"], asked["messages"][-1]["content"] or ""
        tools = tuple(tool["function"]["name"] for tool in asked.get("tools", ()))
        self.server.asked.append(Asked(instructions, last, tools))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for chunk in _chunks(instructions, last, tools):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
            time.sleep(0.01)
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the parent's
        pass


def _chunks(instructions: str, last: str, tools: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if "safety specialist of" in instructions:
        yield from _said(" ".join(ANSWER))
        yield _usage(*SPECIALIST)
    elif "valve" in last and "hand_over" in tools:
        # Words before a call are nobody's answer.
        yield from _said("One moment, ")
        arguments = json.dumps({"agent": "safety", "reason": "It is about a valve."})
        function = {"name": "hand_over", "arguments": arguments}
        yield _chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
        yield _chunk({}, "tool_calls")
        yield _usage(*CONCIERGE)
    else:
        yield from _said(HELLO)
        yield _usage(100, 20)


def _said(text: str) -> Iterator[dict[str, Any]]:
    for word in text.split(" "):
        yield _chunk({"content": f"{word} "})
    yield _chunk({}, "stop")


def _chunk(delta: dict[str, Any], ended: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": ended}
    return {"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 0, "model": MODEL, "choices": [choice]}


def _usage(read: int, written: int) -> dict[str, Any]:
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {**_chunk({}), "choices": [], "usage": usage}


@contextmanager
def two_agents() -> Generator[TwoAgents]:
    """The provider, for as long as the block runs."""
    with TwoAgents() as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield server
        finally:
            server.shutdown()
            serving.join()
