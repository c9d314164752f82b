"""What a call does when something behind it breaks: it says so, comes back where it can, and leaves nothing behind.

Ears and mouth are scripted where the fault is elsewhere, so that calls are cheap; who is killed is the real process.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from playwright.sync_api import expect
from recordings import QUESTION, RATE, Sound, joined, silence
from spoken_call import SpokenCall, opened
from udp_relay import relay

from embedded.product import Product, copy_of, environment_in, running

CALLER = Path(__file__).parents[1] / "caller.py"
CUT_S = 5.0
SETTLES_WITHIN_S = 60.0
DROPPED, FEW, MANY = 30, 20, 200
GROWTH = 1.1
POOLED = 5
"""Connections to other services that come and go with what happens to be asked at once; a call that leaks has 230."""
PLAYED_OUT_S = 1.0
"""Behind a kill, the browser has nothing more to play."""
SILENT = 0.002
RESTARTS = ("502", "503", "404")
"""What a page that looks for a gateway that is not there, or knows nothing of its call, may log."""

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="talkdown-faults-"))
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def scripted(place: Path, handbook: Path) -> Iterator[Product]:
    """The product with ears that hear the one question in any speech, and a mouth of tones."""
    environment = environment_in(
        place,
        TALKDOWN_VOICE="local",
        TALKDOWN_EARS="scripted",
        TALKDOWN_MOUTH="scripted",
        TALKDOWN_SCRIPT=QUESTION,
        TALKDOWN_MAX_VOICES="100",
    )
    with running(copy_of(handbook, place / "handbook"), place / "run", environment) as product:
        product.until(lambda: product.manifest().state == "current")
        yield product


@pytest.fixture(scope="module")
def sounds() -> dict[str, Sound]:
    """Anything that is loud is a question to scripted ears."""
    moments = np.arange(int(1.2 * RATE)) / RATE
    return {"question": joined(Sound((0.3 * np.sin(2 * np.pi * 220 * moments)).astype(np.float32)), silence(1.5))}


def gateway(product: Product) -> psutil.Process:
    """The gateway's process."""
    return psutil.Process(product.until(lambda: product.pid("voice-gateway")))


def answer_is_heard(call: SpokenCall, turns: int) -> float:
    """Ask aloud, and wait until the answer begins to be heard; when, on the recording's clock."""
    _, end = call.say("question")
    expect(call.page.locator(".turn")).to_have_count(turns, timeout=30_000)
    return call.passes("output_audio_buffer.started", since=end).at


@pytest.mark.behaviour("V7")
def test_a_gateway_killed_in_the_middle_of_a_phrase_falls_silent_and_comes_back_by_itself(
    scripted: Product, sounds: dict[str, Sound], place: Path
) -> None:
    with opened(scripted, sounds, place, tolerated=RESTARTS) as call:
        call.start()
        answer_is_heard(call, 1)
        at = call.tap.now()
        killed = scripted.kill("voice-gateway")
        expect(call.page.locator("#presence-words")).to_contain_text("connection was lost")
        back = call.passes("session.created", since=at).at
        assert scripted.pid("voice-gateway") not in (None, killed)
        between = call.tap.loudspeaker(at).samples[int(PLAYED_OUT_S * RATE) : int((back - at) * RATE)]
        assert not np.abs(between).max() > SILENT
        # What it was saying is said again, and gives way to the person as ever.
        call.passes("output_audio_buffer.started", since=back)
        asked = answer_is_heard(call, 2)
        call.hushed(since=asked - 1)


@pytest.mark.behaviour("V7")
def test_a_network_that_is_gone_for_five_seconds_is_said_and_the_call_goes_on(
    scripted: Product, sounds: dict[str, Sound], place: Path
) -> None:
    with relay() as wire, opened(scripted, sounds, place, prepare=wire.tie) as call:
        call.start()
        answer_is_heard(call, 1)
        wire.cut = True
        call.page.wait_for_timeout(CUT_S * 1000)
        wire.cut = False
        back = call.tap.now()
        call.page.wait_for_timeout(3000)
        answer_is_heard(call, 2)
        call.hushed(since=back)


@pytest.mark.behaviour("V1")
def test_calls_that_are_opened_and_dropped_leave_no_socket_no_process_and_no_memory_behind(scripted: Product) -> None:
    process = gateway(scripted)
    dropped(scripted, process)  # What is pooled for later requests is there from now on.
    scripted.until(lambda: at_rest(process), bound_s=SETTLES_WITHIN_S)
    files, children = process.num_fds(), len(process.children(recursive=True))
    dropped(scripted, process)
    calls(scripted, FEW)
    few = process.memory_info().rss
    calls(scripted, MANY - FEW)
    assert process.memory_info().rss <= GROWTH * few
    scripted.until(lambda: at_rest(process) and process.num_fds() <= files + POOLED, bound_s=SETTLES_WITHIN_S)
    assert len(process.children(recursive=True)) == children
    assert process == gateway(scripted)


def dropped(product: Product, process: psutil.Process) -> None:
    """Make many calls at once, and kill who made them."""
    held = subprocess.Popen([*caller(product, DROPPED), "--stay"], stdout=subprocess.PIPE, text=True)
    assert held.stdout is not None
    assert held.stdout.readline() == "standing\n"
    assert len(wires(process)) >= DROPPED
    held.kill()
    held.communicate()


def caller(product: Product, count: int) -> list[str]:
    """The command that makes so many calls."""
    return [sys.executable, str(CALLER), product.url, product.token, str(count)]


def calls(product: Product, count: int) -> None:
    """Make so many calls, one behind the other."""
    done = subprocess.run(caller(product, count), capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout == "over\n", done.stderr


def wires(process: psutil.Process) -> list[object]:
    """The UDP sockets of its calls."""
    return [one for one in process.net_connections("udp") if one.laddr]


def at_rest(process: psutil.Process) -> bool:
    """Whether no call has a UDP socket."""
    return not wires(process)
