"""Calls without a browser, as many as wanted, in a process that can be killed: for faults and leaks.

::

    python caller.py URL TOKEN COUNT           COUNT calls one after the other, each hung up once its session stands
    python caller.py URL TOKEN COUNT --stay    COUNT calls at once, which stand until this process is killed

Says ``standing`` on a line of its own once all calls of ``--stay`` stand, and ``over`` once all others are over.
"""

from __future__ import annotations

import asyncio
import json
import sys

import httpx
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import AudioStreamTrack

BOUND_S = 30


async def call(web: httpx.AsyncClient) -> RTCPeerConnection:
    """One call, whose session stands."""
    minted = await web.post("/v1/realtime/client_secrets", json={})
    minted.raise_for_status()
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    connection.addTrack(AudioStreamTrack())
    stands = asyncio.Event()
    channel = connection.createDataChannel("oai-events")

    @channel.on("message")
    def heard(message: str) -> None:  # pyright: ignore[reportUnusedFunction]
        if json.loads(message)["type"] == "session.created":
            stands.set()

    await connection.setLocalDescription(await connection.createOffer())
    answer = await web.post(
        "/v1/realtime/calls",
        content=connection.localDescription.sdp,
        headers={"content-type": "application/sdp", "authorization": f"Bearer {minted.json()['value']}"},
    )
    answer.raise_for_status()
    await connection.setRemoteDescription(RTCSessionDescription(answer.text, "answer"))
    async with asyncio.timeout(BOUND_S):
        await stands.wait()
    return connection


async def main(url: str, token: str, count: int, *, stay: bool) -> None:
    """Make the calls."""
    async with httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=BOUND_S) as web:
        if stay:
            held = [await call(web) for _ in range(count)]
            print("standing", flush=True)
            await asyncio.Event().wait()
            del held
        for _ in range(count):
            await (await call(web)).close()
        print("over", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), stay="--stay" in sys.argv))
