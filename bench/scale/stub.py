"""A service behind another that answers everything the same after a fixed time, as one that waits for others would.

``stub.py ANSWER MILLISECONDS`` prints its address and serves until it is ended. ANSWER is a file of JSON, or
``embeddings``: then it answers as a provider of embeddings would, with a vector of length 1 for each text.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import uvloop

DIMENSIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 1536


def embeddings(body: bytes) -> bytes:
    """A vector for each text; different texts have different ones."""
    texts: list[str] = json.loads(body)["input"]
    data: list[dict[str, Any]] = []
    for index, text in enumerate(texts):
        vector = [0.0] * DIMENSIONS
        vector[hash(text) % DIMENSIONS] = 1.0
        data.append({"object": "embedding", "index": index, "embedding": vector})
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json.dumps({"object": "list", "data": data, "model": "bench", "usage": usage}).encode()


async def main(same: bytes, wait_s: float) -> None:
    """Serve on a free port; without an answer that is always the same, embeddings."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0].strip()
                asked = await reader.readexactly(int(size)) if size else b""
                if wait_s:
                    await asyncio.sleep(wait_s)
                body = same or embeddings(asked)
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
                    + body
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    always = b"" if sys.argv[1] == "embeddings" else Path(sys.argv[1]).read_bytes()
    uvloop.run(main(always, float(sys.argv[2]) / 1000))
