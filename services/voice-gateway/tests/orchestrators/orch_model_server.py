"""A server on a real socket that answers as the Responses API and Chat Completions do; ``openai`` types check it.

https://platform.openai.com/docs/api-reference/responses-streaming and .../chat/streaming describe the events.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from openai.types.chat import ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

Json = dict[str, Any]
_EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


@dataclass
class Reply:
    """One answer: events of a stream, or a refusal; ``cut`` breaks the connection off, ``hang`` never ends it."""

    events: Sequence[Json] = ()
    status: int = 200
    body: Json | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    cut: bool = False
    hang: bool = False


@dataclass
class ModelServer:
    """What is still to be answered, and what was asked."""

    base_url: str = ""
    replies: list[Reply] = field(default_factory=list[Reply])
    requests: list[Json] = field(default_factory=list[Json])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            self.requests.append(json.loads(await reader.readexactly(int(headers.get("content-length", "0")))))
            await self._answer(self.replies.pop(0), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        kind = "application/json" if reply.body is not None else "text/event-stream"
        extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        head = f"HTTP/1.1 {reply.status} X\r\ncontent-type: {kind}\r\n{extra}transfer-encoding: chunked\r\n"
        writer.write(f"{head}connection: close\r\n\r\n".encode())
        chat = any("object" in event for event in reply.events)
        parts = [json.dumps(reply.body)] if reply.body is not None else [_sse(event) for event in reply.events]
        if chat and not reply.cut:
            parts.append("data: [DONE]\n\n")
        for part in parts:
            raw = part.encode()
            writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
            await writer.drain()
        if reply.hang:
            await asyncio.sleep(3600)
        if not reply.cut:
            writer.write(b"0\r\n\r\n")
        await writer.drain()


@asynccontextmanager
async def model_server() -> AsyncGenerator[ModelServer]:
    """Serve on a free port while the block runs."""
    serving, at_work = ModelServer(), set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        at_work.add(task)
        try:
            await serving.serve(reader, writer)
        except asyncio.CancelledError:
            writer.close()
        finally:
            at_work.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    serving.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield serving
    finally:
        server.close()
        for task in list(at_work):
            task.cancel()
        await asyncio.gather(*at_work, return_exceptions=True)
        await server.wait_closed()


def response(status: str, output: Sequence[Json] = (), usage: tuple[int, int] | None = (11, 7), **more: Any) -> Json:
    """A response object."""
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
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": counted,
        **more,
    }
    Response.model_validate(body)
    return body


def function_call(name: str, arguments: str, call_id: str = "call_1") -> Json:
    """A call as an output item."""
    about: Json = {"call_id": call_id, "name": name, "arguments": arguments, "status": "completed"}
    return {"type": "function_call", "id": f"fc_{call_id}", **about}


def reasoning() -> Json:
    """A reasoning item."""
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}


def streamed(
    *deltas: str, calls: Sequence[Json] = (), before: Sequence[Json] = (), last: Json | None = None
) -> list[Json]:
    """The events of a response: text, then calls."""
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    text = "".join(deltas)
    part: Json = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    said: Json = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    output = [*before, *([said] if deltas else []), *calls]
    events: list[Json] = [
        {"type": "response.created", "response": response("in_progress", usage=None)},
        *({"type": "response.output_text.delta", **at, "delta": delta, "logprobs": []} for delta in deltas),
        *(
            {"type": "response.output_item.added", "output_index": 1, "item": {**call, "status": "in_progress"}}
            for call in calls
        ),
        last or {"type": "response.completed", "response": response("completed", output)},
    ]
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    for event in numbered:
        _EVENTS.validate_python(event)
    return numbered


def chunks(*deltas: Json, finish: str | None = "stop", usage: tuple[int, int] | None = (11, 7)) -> list[Json]:
    """The chunks of a chat completion."""
    about: Json = {"id": "c1", "object": "chat.completion.chunk", "created": 1767225600, "model": "m"}
    made = [{**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if finish:
        made.append({**about, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
        made.append({**about, "choices": [], "usage": counted})
    for chunk in made:
        ChatCompletionChunk.model_validate(chunk)
    return made


def refusal(code: str | None) -> Json:
    """The body of a refused request; its words are not for anybody."""
    return {"error": {"message": "It says sk-secret and quotes the notes.", "type": "error", "code": code}}


def _sse(event: Json) -> str:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"
