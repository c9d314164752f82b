"""A real HTTP server on a real socket that speaks the Responses API as it is documented, as each test tells it to.

https://platform.openai.com/docs/api-reference/responses-streaming describes the events. Everything that it sends is
first read with the ``openai`` package's own types, and refused when it holds a field that they do not know.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

Json = dict[str, Any]
_EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


@dataclass
class Reply:
    """One answer of the server; ``cut`` ends the connection after it without a last chunk, ``hang`` never ends it."""

    status: int = 200
    json: Json | None = None
    events: Sequence[Json] = ()
    raw: bytes = b""
    cut: bool = False
    hang: bool = False
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class ResponsesServer:
    """The replies still to give, and the requests that came."""

    replies: list[Reply] = field(default_factory=list[Reply])
    requests: list[Json] = field(default_factory=list[Json])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    base_url: str = ""
    path: str = "/v1/responses"
    """What is asked for there; one for another API has that one's."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests, each with the next reply."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            assert head[0].startswith(f"POST {self.path} "), head[0]
            self.requests.append(json.loads(body))
            self.headers.append(headers)
            await self._answer(self.replies.pop(0), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        kind = "application/json" if reply.json is not None else "text/event-stream"
        more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        writer.write(
            f"HTTP/1.1 {reply.status} X\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n{more}"
            "connection: close\r\n\r\n".encode()
        )
        parts = [json.dumps(reply.json).encode()] if reply.json is not None else [sse(event) for event in reply.events]
        for part in [*parts, *([reply.raw] if reply.raw else [])]:
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
        if reply.hang:
            await asyncio.sleep(3600)
        if not reply.cut:
            writer.write(b"0\r\n\r\n")
        await writer.drain()


@asynccontextmanager
async def responses_server() -> AsyncGenerator[ResponsesServer]:
    """Serve on a free port of this machine while the block runs."""
    replying = ResponsesServer()
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            await replying.serve(reader, writer)
        except asyncio.CancelledError:
            writer.close()
        finally:
            connections.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    replying.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield replying
    finally:
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()


def sse(event: Json) -> bytes:
    """An event as it stands on the wire."""
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def response(status: str, output: Sequence[Json] = (), *, usage: tuple[int, int] | None = (11, 7), **more: Any) -> Json:
    """A response object, as the API gives it."""
    counted = usage and {
        "input_tokens": usage[0],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum(usage),
    }
    body: Json = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1767225600.0,
        "status": status,
        "model": "gpt-4.1-mini",
        "output": list(output),
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": counted,
        **more,
    }
    return _checked(body, Response.model_validate(body))


def function_call(arguments: str, *, name: str = "retrieve_documents", call_id: str = "call_1") -> Json:
    """A call of a function, as an item of a response's output."""
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def reasoning(encrypted: str = "c2VjcmV0") -> Json:
    """A reasoning item, as models that think give it."""
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted}


def message(text: str) -> Json:
    """A message of the model, as an item of a response's output."""
    part: Json = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def streamed(
    *deltas: str, calls: Sequence[Json] = (), before: Sequence[Json] = (), last: Json | None = None
) -> list[Json]:
    """The events of a streamed answer in the order in which the API sends them: items ``before``, text, ``calls``."""
    if not deltas:
        return _stream([*before, *calls], [], last)
    text = "".join(deltas)
    place = len(before)
    at = {"item_id": "msg_1", "output_index": place, "content_index": 0}
    item: Json = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    part: Json = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    said: list[Json] = [
        {"type": "response.output_item.added", "output_index": place, "item": item},
        {"type": "response.content_part.added", **at, "part": part},
        *({"type": "response.output_text.delta", **at, "delta": delta, "logprobs": []} for delta in deltas),
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": {**part, "text": text}},
        {"type": "response.output_item.done", "output_index": place, "item": message(text)},
    ]
    return _stream([*before, message(text), *calls], said, last)


def _stream(output: Sequence[Json], said: Sequence[Json], last: Json | None) -> list[Json]:
    called = [
        {"type": f"response.output_item.{what}", "output_index": place, "item": {**item, "status": status}}
        for place, item in enumerate(output)
        if item["type"] == "function_call"
        for what, status in (("added", "in_progress"), ("done", "completed"))
    ]
    opened = [
        {"type": f"response.{what}", "response": response("in_progress", usage=None)}
        for what in ("created", "in_progress")
    ]
    return in_order(
        [*opened, *said, *called, last or {"type": "response.completed", "response": response("completed", output)}]
    )


def in_order(events: Sequence[Json]) -> list[Json]:
    """Number the events of a stream, and check each of them."""
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return [_checked(event, _EVENTS.validate_python(event)) for event in numbered]


def error(code: str | None, message: str = "It says sk-secret and quotes the notes.") -> Json:
    """The body of a refused request."""
    return {"error": {"message": message, "type": "error", "param": None, "code": code}}


def _checked(body: Json, read: BaseModel) -> Json:
    assert not (unknown := list(_unknown(read))), f"the openai package knows no {unknown}"
    return body


def _unknown(value: Any) -> list[str]:
    if isinstance(value, BaseModel):
        inside = [name for field in type(value).model_fields for name in _unknown(getattr(value, field))]
        return [f"{type(value).__name__}.{name}" for name in value.model_extra or {}] + inside
    if isinstance(value, list):
        return [name for one in cast("list[Any]", value) for name in _unknown(one)]
    return []
