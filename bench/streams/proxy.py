"""The plain way: FastAPI, an httpx stream, ``aiter_lines``, a StreamingResponse. ``proxy.py PORT UPSTREAM_PORT``."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

PORT, UPSTREAM = int(sys.argv[1]), f"http://127.0.0.1:{sys.argv[2]}"
client = httpx.AsyncClient(base_url=UPSTREAM, timeout=60, limits=httpx.Limits(max_connections=None))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    """Close the client at the end."""
    async with client:
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/api/turns/{place}/frames")
async def turn(place: int) -> StreamingResponse:
    """Pass the frames of a turn on, line by line."""

    async def lines() -> AsyncGenerator[str]:
        async with client.stream("GET", f"/turns/{place}") as response:
            async for line in response.aiter_lines():
                yield line + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


if __name__ == "__main__":
    uvicorn.run(app, port=PORT, loop="uvloop", http="httptools", log_config=None, access_log=False)
