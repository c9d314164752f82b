"""``talkdown up`` as a person meets it: side by side, stopped, killed, started again, and refused in one sentence."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from embedded.product import Product, command, environment_in, running, start

NOTE = "# Visitors\n\nThe guest wifi password is {word}.\n"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="talkdown-runs-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def notes(place: Path, word: str) -> Path:
    folder = place / f"notes-{word}"
    folder.mkdir()
    (folder / "visitors.md").write_text(NOTE.format(word=word))
    return folder


def family(product: Product) -> list[psutil.Process]:
    """The supervisor and every process below it."""
    parent = psutil.Process(product.process.pid)
    found = [parent, *parent.children(recursive=True)]
    running = {process.pid for process in found}
    children = {name: pid for name, pid, _ in product.run.children}
    assert set(children) == {"PostgreSQL", "Valkey", "ingestor", "retriever", "agent", "voice-gateway", "web"}
    assert set(children.values()) <= running
    return found


def is_over(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.behaviour("E3")
def test_ctrl_c_stops_everything_and_the_next_start_has_the_data(place: Path) -> None:
    folder, data = notes(place, "plum-29"), place / "data"
    first = start(folder, data, environment_in(place))
    first.until(lambda: first.finds("plum-29"))
    chat = "8f14e45f-ceea-467f-9d3a-111111111111"
    first.ask("What is the guest wifi password?", chat)
    processes = family(first)
    assert first.stop(signal.SIGINT) == 0
    first.until(lambda: all(is_over(process) for process in processes))
    assert not (data / "run.json").exists()
    with running(folder, data, environment_in(place)) as again:
        report = again.refresh()
        assert (report.unchanged, report.added, report.embedded) == (1, 0, 0)
        assert [turn["status"] for turn in again.instance.ask_json("GET", f"/api/chats/{chat}")["turns"]] == [
            "completed"
        ]


def test_killing_the_supervisor_leaves_no_process_and_loses_nothing(place: Path) -> None:
    folder, data = notes(place, "fig-11"), place / "data"
    product = start(folder, data, environment_in(place))
    product.until(lambda: product.finds("fig-11"))
    processes = family(product)
    product.process.kill()
    product.process.wait()
    product.until(lambda: all(is_over(process) for process in processes))
    product.stop()
    with running(folder, data, environment_in(place)) as again:
        assert again.refresh().embedded == 0
        assert "fig-11" in again.ask("What is the guest wifi password?").text


def test_two_runs_side_by_side_know_nothing_of_each_other(place: Path) -> None:
    environment = environment_in(place)
    with (
        running(notes(place, "pear-1"), place / "one", environment) as one,
        running(notes(place, "quince-2"), place / "other", environment) as other,
    ):
        for product, word, strange in ((one, "pear-1", "quince-2"), (other, "quince-2", "pear-1")):
            product.until(lambda product=product, word=word: product.finds(word))
            assert word in product.ask("What is the guest wifi password?").text
            assert not product.finds(strange)
        lost = one.cli("status")
        assert lost.returncode == 1
        assert f"--port {one.run.port}" in lost.stderr
        assert f"--port {other.run.port}" in lost.stderr
        assert one.cli("status", "--port", str(other.run.port)).stdout.count(str(other.folder)) == 1
        refused = subprocess.run(
            command("up", str(one.folder), "--data", str(one.data), "--port", "0"),
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert refused.returncode == 1
        assert "already runs with the data folder" in refused.stderr


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="changes to another user, which root may")
def test_an_ordinary_user_runs_it_too(place: Path) -> None:
    folder = notes(place, "kiwi-7")
    home = place / "home"
    home.mkdir()
    for path in (place, folder, folder / "visitors.md", home):
        os.chown(path, 65534, 65534)
    # Where this Python is in a folder closed to others, the user is let through to read it, and to nothing else.
    reads = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *reads)
    environment = environment_in(home, HOME=str(home))
    with running(folder, home / "run", environment, prefix=user) as product:
        product.until(lambda: product.finds("kiwi-7"))
        assert {process.uids().real for process in family(product)} == {65534}
        assert "kiwi-7" in product.ask("What is the guest wifi password?").text


def refused(*arguments: str, place: Path) -> str:
    """What ``talkdown up`` says as it refuses."""
    done = subprocess.run(
        command("up", *arguments), env=environment_in(place), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr


def test_what_cannot_be_run_is_refused_in_one_sentence_with_the_remedy(place: Path) -> None:
    folder = notes(place, "nut-3")
    assert "There is no folder" in refused(str(place / "missing"), place=place)
    assert "is a file" in refused(str(folder / "visitors.md"), place=place)
    assert "inside the watched folder" in refused(str(folder), "--data", str(folder / "data"), place=place)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(str(folder), "--port", str(port), "--data", str(place / "data"), place=place)
    assert f"Port {port} of 127.0.0.1 is taken" in said
    assert f"--port {port + 1}" in said


@pytest.mark.behaviour("T13")
def test_live_mode_without_a_key_is_refused_and_says_what_to_set(place: Path) -> None:
    environment = {name: value for name, value in environment_in(place).items() if name != "OPENAI_API_KEY"}
    done = subprocess.run(
        command("up", str(notes(place, "oak-5")), "--mode", "live", "--port", "0", "--data", str(place / "data")),
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "OPENAI_API_KEY" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_an_empty_folder_starts_says_so_and_finds_the_first_note(place: Path) -> None:
    folder = place / "empty"
    folder.mkdir()
    with running(folder, place / "data", environment_in(place)) as product:
        assert product.ask("What is the guest wifi password?").abstained
        product.save("deep/visitors.md", NOTE.format(word="lime-4"))
        product.until(lambda: product.finds("lime-4"))
        product.stop()
        assert any("no Markdown in it yet" in line for line in product.said)
