"""What the commands print and answer, against an HTTP server that speaks as web does."""

from __future__ import annotations

import io
import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from contracts.corpus import Corpus
from embedded import instances
from embedded.ask import ABSTAINED, ANSWERED, ask
from embedded.cli import application
from embedded.errors import EmbeddedError, NoInstance
from embedded.harmless import Shown
from embedded.instances import Instance
from embedded.refresh import refresh
from embedded.status import show

EXAMPLES = Path(__file__).parents[3] / "contracts" / "examples"
SOURCE = {
    "id": "0123456789abcdef",
    "path": "plant/valves.md",
    "ordinal": 1,
    "heading": ["Valves"],
    "lines": [10, 20],
    "text": "The code is ORCHID-47.",
    "version": "0" * 64,
    "saved_at": "2026-01-01T00:00:00Z",
}
FRAMES: list[dict[str, Any]] = [
    {"type": "accepted", "turn_id": "7d2b2e2e-5b0a-4f36-9d3a-111111111111", "trace_id": "0" * 32},
    {"type": "sources", "sources": [SOURCE]},
    {"type": "delta", "text": "The code is "},
    {"type": "delta", "text": "ORCHID-47 [1]."},
    {
        "type": "sentence",
        "index": 0,
        "span": [0, 26],
        "support": [{"source_id": SOURCE["id"], "lines": [12, 12]}],
        "verdict": "supported",
    },
    {"type": "done", "answer": "The code is ORCHID-47 [1].", "sources": [SOURCE], "abstained": False},
]


@contextmanager
def web(status: int, body: str) -> Generator[tuple[Instance, list[tuple[str, str, str, Any]]]]:
    """A server that answers every request the same; and what it was asked."""
    asked: list[tuple[str, str, str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            said = json.loads(self.rfile.read(length) or b"null")
            asked.append((self.command, self.path, self.headers["authorization"], said))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET  # noqa: N815 - the names that the base class looks for

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's names
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Instance(f"http://127.0.0.1:{server.server_port}", "secret"), asked
        finally:
            server.shutdown()
            thread.join()


def lines(frames: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(frame) + "\n" for frame in frames)


def test_an_answer_is_printed_with_the_lines_that_it_rests_on() -> None:
    out = io.StringIO()
    with web(200, lines(FRAMES)) as (instance, asked):
        assert ask(instance, "What is the code?", None, out) == ANSWERED
    assert out.getvalue() == "The code is ORCHID-47 [1].\n[1] plant/valves.md:12\n"
    method, path, credential, body = asked[0]
    assert (method, path, credential) == ("POST", "/api/turns", "Bearer secret")
    assert body["question"] == "What is the code?"


def test_without_sentences_the_lines_of_the_source_are_printed() -> None:
    out = io.StringIO()
    with web(200, lines([frame for frame in FRAMES if frame["type"] != "sentence"])) as (instance, _):
        ask(instance, "What is the code?", None, out)
    assert out.getvalue().endswith("[1] plant/valves.md:10-20\n")


@pytest.mark.parametrize(
    ("supports", "printed"),
    [
        ([[21, 21], [21, 22]], "21-22"),
        ([[17, 17], [18, 18]], "17-18"),
        ([[30, 31], [12, 12]], "12,30-31"),
        ([[10, 18], [12, 13]], "10-18"),
    ],
)
def test_lines_that_touch_are_printed_as_one_range(supports: list[list[int]], printed: str) -> None:
    sentence = {**FRAMES[4], "support": [{"source_id": SOURCE["id"], "lines": pair} for pair in supports]}
    out = io.StringIO()
    with web(200, lines([*FRAMES[:4], sentence, FRAMES[5]])) as (instance, _):
        ask(instance, "What is the code?", None, out)
    assert out.getvalue().endswith(f"[1] plant/valves.md:{printed}\n")


def test_an_abstention_has_an_exit_code_of_its_own() -> None:
    with web(200, lines([FRAMES[0], {**FRAMES[-1], "answer": "The notes do not say.", "abstained": True}])) as (it, _):
        out = io.StringIO()
        assert ask(it, "What is love?", None, out) == ABSTAINED
    assert out.getvalue() == "The notes do not say.\n"


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (200, lines([*FRAMES[:3], {"type": "error", "code": "worker_lost", "message": "Ask again."}]), "Ask again."),
        (200, lines(FRAMES[:3]), "The answer broke off"),
        (429, json.dumps({"code": "busy", "message": "Too many questions."}), "Too many questions."),
        (500, "oops", "status 500"),
    ],
)
def test_what_goes_wrong_is_one_sentence(status: int, body: str, sentence: str) -> None:
    with web(status, body) as (instance, _), pytest.raises(EmbeddedError, match=sentence):
        ask(instance, "What is the code?", None, io.StringIO())


def test_a_chat_that_is_no_id_is_refused_before_anything_is_sent() -> None:
    with web(200, "") as (instance, asked), pytest.raises(EmbeddedError, match="--chat"):
        ask(instance, "What?", "yesterday", io.StringIO())
    assert asked == []


def test_nothing_listening_is_said_with_the_next_step() -> None:
    with pytest.raises(NoInstance, match="talkdown doctor"):
        ask(Instance("http://127.0.0.1:1", "x"), "What?", None, io.StringIO())


@pytest.mark.behaviour("C7", "C16")
def test_a_refresh_prints_its_report_with_the_reasons_of_what_was_rejected() -> None:
    report = json.loads((EXAMPLES / "ingestor.refresh.response.json").read_text())
    report["rejected"] = [{"path": "big.md", "reason": "It is larger than 256 KiB."}]
    out = io.StringIO()
    with web(200, json.dumps(report)) as (instance, asked):
        assert refresh(instance, out, rebuild=True) == 0
    assert asked[0] == ("POST", "/api/corpus/refresh", "Bearer secret", {"rebuild": True})
    printed = out.getvalue()
    for word in ("added", "changed", "deleted", "unchanged"):
        assert f"{word:<10} {report[word]}\n" in printed
    assert "  big.md: It is larger than 256 KiB.\n" in printed


def test_a_refresh_that_failed_says_why_and_that_nothing_was_lost() -> None:
    report = json.loads((EXAMPLES / "ingestor.refresh.response.json").read_text())
    out = io.StringIO()
    with web(200, json.dumps({**report, "status": "failed", "reason": "The model is gone."})) as (instance, _):
        assert refresh(instance, out) == 1
    assert "The model is gone." in out.getvalue()


def test_the_status_names_what_is_rejected_and_what_is_not_ready() -> None:
    corpus = Corpus.model_validate_json((EXAMPLES / "web.corpus.json").read_text()).model_dump(mode="json")
    corpus["services"] = [{"name": "agent", "state": "restarting", "detail": "It ended by SIGKILL."}]
    corpus["files"] = [{"path": "big.md", "state": "rejected", "reason": "It is too large."}]
    out = io.StringIO()
    with web(200, json.dumps(corpus)) as (instance, _):
        assert show(instance, out) == 1
    assert "agent restarting: It ended by SIGKILL.\n" in out.getvalue()
    assert "big.md: It is too large.\n" in out.getvalue()


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ([], "leaves     nothing leaves this machine\n"),
        (
            [{"orchestrator": "cascade", "what": "questions", "to": "models.example"}],
            "leaves     nothing leaves this machine, but in calls through the server\n"
            "calls      questions and passages go to models.example, whose model answers\n",
        ),
        (
            [{"orchestrator": "live", "what": "voice", "to": "api.example"}],
            "calls      voice, questions and passages go to api.example, where its speech model answers\n",
        ),
    ],
)
def test_the_status_says_what_leaves_in_calls_too(calls: list[dict[str, str]], says: str) -> None:
    corpus = json.loads((EXAMPLES / "web.corpus.json").read_text()) | {"calls": calls}
    out = io.StringIO()
    with web(200, json.dumps(corpus)) as (instance, _):
        show(instance, out)
    assert says in out.getvalue()


def test_what_leaves_anyway_is_not_told_again_of_calls() -> None:
    corpus = json.loads((EXAMPLES / "web.corpus.json").read_text())
    corpus["leaves"] = [{"what": what, "to": "api.example"} for what in ("documents", "questions", "voice")]
    corpus["calls"] = [{"orchestrator": "live", "what": "voice", "to": "api.example"}]
    out = io.StringIO()
    with web(200, json.dumps(corpus)) as (instance, _):
        show(instance, out)
    assert "leaves     documents to api.example" in out.getvalue()
    assert "calls " not in out.getvalue()


def test_what_a_document_says_cannot_command_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "Red \x1b[31m, title \x1b]0;x\x07, c1 \x9b2J, turned \u202etxt\u202c, over\rwritten."
    shown = r"Red \u001b[31m, title \u001b]0;x\u0007, c1 \u009b2J, turned \u202etxt\u202c, over\u000dwritten."
    corpus = Corpus.model_validate_json((EXAMPLES / "web.corpus.json").read_text()).model_dump(mode="json")
    corpus["files"] = [{"path": "big.md", "state": "rejected", "reason": evil}]
    report = json.loads((EXAMPLES / "ingestor.refresh.response.json").read_text())
    report["rejected"] = [{"path": "big.md", "reason": evil}]
    frames = lines([FRAMES[0], {"type": "delta", "text": evil}, {**FRAMES[-1], "answer": evil, "sources": []}])
    for command, body in (
        (["ask", "What?"], frames),
        (["status"], json.dumps(corpus)),
        (["status", "--json"], json.dumps(corpus)),
        (["refresh"], json.dumps(report)),
    ):
        with web(200, body) as (instance, _):
            monkeypatch.setattr(instances, "find", lambda port, data, instance=instance: instance)  # type: ignore[misc]
            with pytest.raises(SystemExit):
                application(command)
        said = capsys.readouterr().out
        assert "--json" in command or shown in said
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & set(said)
        if "--json" in command:
            assert json.loads(said)["files"][0]["reason"] == evil


def test_letters_that_the_terminal_does_not_know_are_written_out() -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as out:
        Shown(out).write("K\u00fcche \u2192 \U0001f33f\n")
        out.flush()
        assert raw.getvalue() == b"K\\xfcche \\u2192 \\U0001f33f\n"


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        application(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"talkdown {version('talkdown')}\n")
