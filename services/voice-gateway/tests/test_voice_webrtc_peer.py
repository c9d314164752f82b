"""Sound and events between a gateway's peer connection and a client's, without a session."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from voice_caller import Caller, Loopback, tone
from voice_fakes import until

from contracts.vocabulary import JsonObject
from voice_gateway.errors import NoWay
from voice_gateway.playout import Playout
from voice_gateway.transports.webrtc.offer import read_offer
from voice_gateway.transports.webrtc.opus import OpusThread
from voice_gateway.transports.webrtc.peer import Peer


@dataclass
class Line:
    """Both ends of a connection."""

    caller: Caller
    peer: Peer
    playout: Playout
    takes: int
    told: list[JsonObject] = field(default_factory=list[JsonObject])
    heard: bytearray = field(default_factory=bytearray)
    read: list[str | bytes] = field(default_factory=list[str | bytes])


@asynccontextmanager
async def connected(caller: Caller | None = None, where: Loopback | None = None) -> AsyncGenerator[Line]:
    thread = OpusThread()
    caller = caller or Caller()
    told: list[JsonObject] = []
    heard, read = bytearray(), list[str | bytes]()
    playout = Playout(told.append)
    peer = Peer(playout, thread, where or Loopback(), hear=heard.extend, read=read.append)
    try:
        offer = read_offer("application/sdp", (await caller.offer()).encode())
        await caller.accept(await peer.answer(offer))
        await asyncio.wait_for(peer.connected.wait(), 5)
        yield Line(caller, peer, playout, offer.max_message_bytes, told, heard, read)
    finally:
        await peer.close()
        await caller.close()
        thread.stop()


def loud_s(pcm: bytes) -> float:
    frames = np.frombuffer(pcm[: len(pcm) // 960 * 960], dtype="<i2").reshape(-1, 480)
    return float((np.abs(frames).max(axis=1) > 500).sum() * 0.02)


async def test_sound_is_heard_on_both_sides_and_told_of() -> None:
    async with connected() as line:
        line.caller.microphone.play(tone(1.0, 300))
        speech = line.playout.open("resp_1", "item_1")
        speech.add(tone(1.0))
        speech.end()
        await until(speech.over.is_set)
        await until(lambda: loud_s(bytes(line.heard)) >= 0.96)
        await until(lambda: line.caller.loud_s() >= 0.96)
        assert loud_s(bytes(line.heard)) <= 1.1
        assert line.caller.loud_s() <= 1.1
        assert [event["type"] for event in line.told] == [
            "output_audio_buffer.started",
            "output_audio_buffer.stopped",
        ]


async def test_events_go_both_ways_and_large_ones_too() -> None:
    async with connected() as line:
        large = json.dumps({"type": "large", "text": "ü" * 30_000})
        line.caller.say("small")
        assert line.caller.channel is not None
        line.caller.channel.send(large)
        await until(lambda: len(line.read) == 2)
        assert json.loads(line.read[0]) == {"type": "small"}
        assert line.read[1] == large
        for number in range(200):
            assert await line.peer.send(json.dumps({"type": "many", "number": number, "text": "x" * 5000}))
        assert not await line.peer.send(json.dumps({"type": "too large", "text": "x" * line.takes}))
        await line.peer.flush()
        await until(lambda: len(line.caller.events) == 200)
        assert [event["number"] for event in line.caller.events] == list(range(200))


async def test_a_client_that_leaves_ends_the_call() -> None:
    async with connected() as line:
        await line.caller.close()
        await until(line.peer.over.is_set)


async def test_a_closed_data_channel_ends_the_call() -> None:
    async with connected() as line:
        assert line.caller.channel is not None
        line.caller.channel.close()
        await until(line.peer.over.is_set)
        assert line.peer.why == "channel closed"


async def test_a_client_that_falls_silent_ends_the_call() -> None:
    async with connected() as line:
        watching = asyncio.create_task(line.peer.watch(1.0))
        # The network is cut: no packet of the client comes through any more.
        for transport in line.caller.pc.getTransceivers():
            for protocol in transport.sender.transport.transport._connection._protocols:  # pyright: ignore[reportPrivateUsage]
                protocol.transport.abort()
        await until(line.peer.over.is_set)
        await watching
        assert line.peer.why == "silent"


async def test_ports_are_those_of_the_settings() -> None:
    async with connected(where=Loopback(ice_ports=(41_000, 41_050))) as line:
        ports = [
            int(text.split()[5])
            for text in line.caller.pc.remoteDescription.sdp.splitlines()
            if text.startswith("a=candidate:")
        ]
        assert ports
        assert all(41_000 <= port <= 41_050 for port in ports)


async def test_an_announced_address_stands_for_every_address_and_calls_come_in_by_it() -> None:
    where = Loopback(("all",), ice_ports=(41_000, 41_050), ice_announced="127.0.0.1")
    async with connected(where=where) as line:
        sdp = line.caller.pc.remoteDescription.sdp.splitlines()
        candidates = [text.split() for text in sdp if text.startswith("a=candidate:")]
        assert {candidate[4] for candidate in candidates} == {"127.0.0.1"}
        assert len({candidate[5] for candidate in candidates}) == 1
        assert 41_000 <= int(candidates[0][5]) <= 41_050


async def test_addresses_that_cannot_be_had_are_said() -> None:
    with pytest.raises(NoWay):
        async with connected(where=Loopback(("203.0.113.1",))):
            pass


async def test_another_channel_is_left_alone() -> None:
    caller = Caller()
    chat = caller.pc.createDataChannel("chat")
    async with connected(caller) as line:
        await until(lambda: chat.readyState == "open")
        chat.send("not an event")
        line.caller.say("hello")
        await until(lambda: line.read)
        assert line.read == ['{"type": "hello"}']


async def test_connections_leave_no_task_thread_or_socket_behind() -> None:
    async with connected():
        pass
    threads, tasks = threading.active_count(), len(asyncio.all_tasks())
    for _ in range(3):
        async with connected():
            pass
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    assert threading.active_count() <= threads
