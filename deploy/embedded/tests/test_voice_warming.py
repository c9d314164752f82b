"""The page does not wait for the voice: its models are loaded while typed questions are answered already."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import cast

import pytest

from embedded import welcome
from embedded.screen import Screen
from embedded.services import MODELS, Places, is_ready

EARS = {"on": "ears", "why": "the models of the ears are being loaded"}
REDIS = {"on": "redis", "why": "Redis does not answer"}


@contextmanager
def service(*answers: tuple[int, str, list[dict[str, str]]]) -> Generator[int]:
    """A service that answers so about its health, the last answer again and again."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, word, waits = left.pop(0) if len(left) > 1 else left[0]
            body = json.dumps({"service": "voice-gateway", "status": word, "waits_for": waits}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "word", "waits", "ready"),
    [
        (200, "ready", [], True),
        (503, "waiting", [EARS], True),
        (503, "waiting", [EARS, REDIS], False),
        (503, "stopping", [], False),
        (503, "stopping", [EARS], False),
    ],
)
def test_a_service_that_only_loads_its_models_is_ready_for_the_start(
    status: int, word: str, waits: list[dict[str, str]], ready: bool
) -> None:
    with service((status, word, waits)) as port:
        assert is_ready(port, but_for=MODELS) is ready
        assert is_ready(port) is (status == 200)


async def test_it_is_said_that_the_voice_is_warming_up_and_when_it_is_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(welcome, "VOICE_EVERY_S", 0.01)
    with service((503, "waiting", [EARS]), (503, "waiting", [EARS]), (200, "ready", [])) as port:
        places = cast(Places, SimpleNamespace(port=lambda name: port))  # pyright: ignore[reportUnknownLambdaType]
        await welcome.say_voice(places, Screen(False))
        said = capsys.readouterr().out
        assert said.startswith("The page is ready; the voice is warming up.\nThe voice is ready after ")
        await welcome.say_voice(places, Screen(False))
        assert capsys.readouterr().out == ""
