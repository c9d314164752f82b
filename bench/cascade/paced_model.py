"""A server of the Responses API that writes one answer at a fixed pace, a token behind the other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

JsonObject = dict[str, object]


@asynccontextmanager
async def paced_model(answer: str, tokens_a_second: float) -> AsyncGenerator[str]:
    """Serve while the block runs, and give the base URL; a token is a word, or what stands between two."""
    tokens = re.findall(r"\s*\S+", answer)
    at_work: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        at_work.add(task)
        task.add_done_callback(at_work.discard)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = re.search(r"content-length: (\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)
            kind = "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close"
            writer.write(f"HTTP/1.1 200 OK\r\n{kind}\r\n\r\n".encode())
            await _write(writer, tokens, 1 / tokens_a_second)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for task in list(at_work):
            task.cancel()
        await server.wait_closed()


async def _write(writer: asyncio.StreamWriter, tokens: list[str], pause_s: float) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    at: JsonObject = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    for number, token in enumerate(tokens):
        await asyncio.sleep(began + (number + 1) * pause_s - loop.time())
        event: JsonObject = {
            "type": "response.output_text.delta",
            **at,
            "delta": token,
            "logprobs": [],
            "sequence_number": number,
        }
        await _send(writer, event)
    part: JsonObject = {"type": "output_text", "text": "".join(tokens), "annotations": []}
    said: JsonObject = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    usage = {
        "input_tokens": 40,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": len(tokens),
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 40 + len(tokens),
    }
    response: JsonObject = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1767225600.0,
        "status": "completed",
        "model": "paced",
        "output": [said],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }
    await _send(writer, {"type": "response.completed", "response": response, "sequence_number": len(tokens)})
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _send(writer: asyncio.StreamWriter, event: JsonObject) -> None:
    raw = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
    writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
    await writer.drain()
