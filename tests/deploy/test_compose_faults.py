"""Each container is killed, and cut off, while questions run: every question has an end, and all of it heals."""

from __future__ import annotations

import http.client
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from uuid import uuid4

import pytest
from docker_stack import Stack

from contracts.frames import AnyFrame, Done, Error
from embedded.errors import EmbeddedError
from embedded.reached import Answer

QUESTIONS = (
    "What is the amber valve recovery code?",
    "When is the glasshouse open to visitors?",
    "How warm is the propagation room?",
)
EVERYTHING = ("web", "agent", "retriever", "ingestor", "voice-gateway", "jaeger", "redis", "postgres")
NEEDLESS = frozenset({"ingestor", "voice-gateway", "jaeger"})
"""What no question that is typed needs: without them all are answered."""
SILENT_S = 35.0
"""A little over the time that a turn has."""
ENDS_WITHIN_S = 45.0
HEALS_WITHIN_S = 90.0
AWAY_S = 6.0
"""A cut is longer than a lease, a heartbeat's patience and a probe's."""
LOST = (http.client.HTTPException, OSError, EmbeddedError)


class Asker(Thread):
    """One person who asks question after question; each ends in a word that says how."""

    def __init__(self, stack: Stack, over: Event) -> None:
        super().__init__(daemon=True)
        self.ends: list[str] = []
        self.turns: list[str] = []
        self.torn: list[Answer] = []
        """What was read of answers that broke off, or fell silent: a page comes back for the rest."""
        self.chat = str(uuid4())
        self._stack, self._over = stack, over
        self._page = stack.instance

    def run(self) -> None:
        """Ask until it is over."""
        number = 0
        while not self._over.is_set():
            self.ends.append(self._ask(QUESTIONS[number % len(QUESTIONS)]))
            number += 1
            self._over.wait(0.2)

    def _ask(self, question: str) -> str:
        read: list[AnyFrame] = []
        body = {"chat_id": self.chat, "question": question}
        try:
            with self._page.request("POST", "/api/turns", body, timeout_s=SILENT_S) as answer:
                if answer.status != 200:
                    said = json.loads(answer.read())
                    return "refused" if str(said["message"]).endswith(".") else f"refused: {said}"
                for frame in self._stack.frames(answer):
                    read.append(frame)
        except LOST:
            pass
        match read[-1] if read else None:
            case Done():
                self.turns.append(Answer(tuple(read)).turn_id)
                return "done"
            case Error(message=message):
                return "error" if message.endswith(".") else f"error: {message}"
            case None:
                return "not reached"
            case _:
                self.torn.append(Answer(tuple(read)))
                return "torn"


@pytest.fixture
def note(stack: Stack) -> Iterator[Path]:
    """The path of a note to be saved; it is gone, from the index too, after the test."""
    file, documents = stack.folder / "cut.md", stack.corpus().documents
    yield file
    file.unlink(missing_ok=True)
    stack.until(lambda: stack.corpus().documents == documents, bound_s=HEALS_WITHIN_S)


@contextmanager
def asked(stack: Stack) -> Generator[list[Asker]]:
    """Three people ask for as long as the context lasts, and have had every answer when it ends."""
    over = Event()
    askers = [Asker(stack, over) for _ in range(3)]
    for asker in askers:
        asker.start()
    try:
        stack.until(lambda: all(asker.ends for asker in askers))
        yield askers
    finally:
        over.set()
        for asker in askers:
            asker.join(ENDS_WITHIN_S)
    assert not any(asker.is_alive() for asker in askers), "a question has no end"


def accounted(askers: list[Asker], victim: str) -> None:
    """Every question ended as it may, and most of them well where the victim has no part in them."""
    ends = [end for asker in askers for end in asker.ends]
    allowed = {"done"}
    if victim not in NEEDLESS:
        allowed |= {"refused", "error"}
    if victim == "web":
        allowed |= {"not reached", "torn"}
    assert set(ends) <= allowed, ends
    assert "done" in ends


def come_back_for(stack: Stack, askers: list[Asker]) -> None:
    """Whoever lost web in the middle of an answer gets the rest of it, to its end."""
    for answer in (answer for asker in askers for answer in asker.torn):
        rest = list(stack.resume(answer.turn_id, answer.frames[-1].cursor))
        assert isinstance(rest[-1], Done | Error), rest


def kept(stack: Stack, askers: list[Asker], documents: int) -> None:
    """No answer that was given is gone, and no document."""
    assert stack.corpus().documents == documents
    for asker in askers:
        turns = stack.instance.ask_json("GET", f"/api/chats/{asker.chat}")["turns"]
        completed = {turn["turn_id"] for turn in turns if turn["status"] == "completed"}
        assert set(asker.turns) <= completed


@pytest.mark.behaviour("T7", "T10", "E1")
@pytest.mark.parametrize("victim", EVERYTHING)
def test_a_kill_while_questions_run_leaves_none_without_an_end(stack: Stack, victim: str) -> None:
    documents = stack.corpus().documents
    with asked(stack) as askers:
        restarts = stack.containers(victim)[0]["RestartCount"]
        stack.crash(victim)
        stack.until(lambda: stack.containers(victim)[0]["RestartCount"] > restarts)
        stack.until(stack.is_calm, bound_s=HEALS_WITHIN_S)
        seen = [len(asker.ends) for asker in askers]
        stack.until(lambda: all(len(asker.ends) > before + 1 for asker, before in zip(askers, seen, strict=True)))
    accounted(askers, victim)
    assert all(asker.ends[-1] == "done" for asker in askers), [asker.ends[-3:] for asker in askers]
    come_back_for(stack, askers)
    kept(stack, askers, documents)


@pytest.mark.behaviour("T7", "T10", "E1")
@pytest.mark.parametrize("victim", EVERYTHING)
def test_a_cut_network_while_questions_run_leaves_none_without_an_end(stack: Stack, victim: str, note: Path) -> None:
    documents = stack.corpus().documents
    with asked(stack) as askers:
        with stack.cut(victim):
            note.write_text(f"# Cut\n\nWhile {victim} was away, the orangery was painted teal.\n", encoding="utf-8")
            Event().wait(AWAY_S)
        stack.until(stack.is_calm, bound_s=HEALS_WITHIN_S)
        seen = [len(asker.ends) for asker in askers]
        stack.until(lambda: all(len(asker.ends) > before + 1 for asker, before in zip(askers, seen, strict=True)))
    accounted(askers, victim)
    assert all(asker.ends[-1] == "done" for asker in askers), [asker.ends[-3:] for asker in askers]
    stack.until(lambda: stack.corpus().documents == documents + 1, bound_s=HEALS_WITHIN_S)
    assert "teal" in stack.ask("What colour was the orangery painted?").text
    come_back_for(stack, askers)
    kept(stack, askers, documents + 1)
