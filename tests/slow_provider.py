"""A provider of Chat Completions on this machine that takes its time, so that an answer is slow for a known reason.

https://platform.openai.com/docs/api-reference/chat is what it speaks: the first round is a forced call of the search,
the second a stream of words whose first comes after ``first_word_s`` seconds.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "slow-model"
ANSWER = "The amber valve recovery code is ORCHID-47 [1]."


class SlowProvider(ThreadingHTTPServer):
    """Its address is ``url``."""

    daemon_threads = True

    def __init__(self, first_word_s: float) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.first_word_s = first_word_s

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Completions(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, SlowProvider)
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked.get("stream"):
            time.sleep(self.server.first_word_s)
            body = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in _words()) + b"data: [DONE]\n\n"
            self._send(body, "text/event-stream")
        else:
            question = asked["messages"][-1]["content"]
            self._send(json.dumps(_call(question)).encode(), "application/json")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the parent's
        pass


def _call(question: str) -> dict[str, Any]:
    function = {"name": "retrieve_documents", "arguments": json.dumps({"query": question})}
    message = {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
    return _completion("chat.completion", {"message": message, "finish_reason": "tool_calls"}) | {
        "usage": _usage(90, 12)
    }


def _words() -> Iterator[dict[str, Any]]:
    for word in ANSWER.split(" "):
        yield _completion("chat.completion.chunk", {"delta": {"content": f"{word} "}, "finish_reason": None})
    yield _completion("chat.completion.chunk", {"delta": {}, "finish_reason": "stop"})
    yield {**_completion("chat.completion.chunk"), "usage": _usage(1500, 20)}


def _completion(kind: str, *choices: dict[str, Any]) -> dict[str, Any]:
    given = [{"index": 0, **choice} for choice in choices]
    return {"id": "chatcmpl_1", "object": kind, "created": 0, "model": MODEL, "choices": given}


def _usage(read: int, written: int) -> dict[str, int]:
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


@contextmanager
def slow_provider(first_word_s: float) -> Generator[SlowProvider]:
    """A provider that serves while the block runs."""
    with SlowProvider(first_word_s) as provider:
        serving = threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        serving.start()
        try:
            yield provider
        finally:
            provider.shutdown()
            serving.join()
