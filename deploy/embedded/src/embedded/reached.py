"""A running product, however it was started, as tests and benchmarks speak to it: through web alone."""

from __future__ import annotations

import http.client
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from contracts.corpus import Corpus
from contracts.frames import Accepted, AnyFrame, Delta, Done, Error, Sources, frame_adapter
from contracts.refreshes import RefreshReport
from contracts.search import Source
from embedded.instances import Instance

BOUND_S = 30.0
POLL_S = 0.02

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """Every frame of one turn, in order."""

    frames: tuple[AnyFrame, ...]

    @property
    def text(self) -> str:
        """The answer's text: the joined deltas."""
        return "".join(frame.text for frame in self.frames if isinstance(frame, Delta))

    @property
    def done(self) -> Done | None:
        """The frame that ended it well."""
        return next((frame for frame in self.frames if isinstance(frame, Done)), None)

    @property
    def error(self) -> Error | None:
        """The frame that ended it badly."""
        return next((frame for frame in self.frames if isinstance(frame, Error)), None)

    @property
    def abstained(self) -> bool:
        """Whether it says that the notes do not hold the answer."""
        return self.done is not None and self.done.abstained

    @property
    def trace_id(self) -> str:
        """The trace of the question."""
        return next(frame.trace_id for frame in self.frames if isinstance(frame, Accepted))

    @property
    def turn_id(self) -> str:
        """The turn."""
        return str(next(frame.turn_id for frame in self.frames if isinstance(frame, Accepted)))

    @property
    def cited(self) -> tuple[Source, ...]:
        """The sources that the text points at."""
        sources = next((frame.sources for frame in self.frames if isinstance(frame, Sources)), ())
        return tuple(source for place, source in enumerate(sources, start=1) if f"[{place}]" in self.text)


class Reached(ABC):
    """A running product: its page, its ``folder``, and the questions that are put to it."""

    folder: Path

    @property
    @abstractmethod
    def instance(self) -> Instance:
        """The product as the commands reach it."""

    @property
    def url(self) -> str:
        """The page, by the loopback's number."""
        return self.instance.url

    def save(self, path: str, text: str) -> Path:
        """Write a document as an editor does: in place."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def corpus(self) -> Corpus:
        """The ledger as the page sees it."""
        return Corpus.model_validate(self.instance.ask_json("GET", "/api/corpus"))

    def refresh(self) -> RefreshReport:
        """Ask for a refresh of the whole folder."""
        return RefreshReport.model_validate(self.instance.ask_json("POST", "/api/corpus/refresh", {}, None))

    def stream(self, question: str, chat: str | None = None, through: Instance | None = None) -> Generator[AnyFrame]:
        """Put a question, ``through`` a replica of web where there are several; the frames as they come."""
        body = {"chat_id": chat or str(uuid4()), "question": question}
        yield from self.frames((through or self.instance).request("POST", "/api/turns", body))

    def resume(self, turn_id: str, after: str | None = None, through: Instance | None = None) -> Iterator[AnyFrame]:
        """The frames of a turn after a cursor."""
        query = f"?after={after}" if after else ""
        yield from self.frames((through or self.instance).request("GET", f"/api/turns/{turn_id}/frames{query}"))

    def ask(self, question: str, chat: str | None = None) -> Answer:
        """Put a question and wait for its end."""
        return Answer(tuple(self.stream(question, chat)))

    def until(self, condition: Callable[[], T | None], bound_s: float = BOUND_S) -> T:
        """Wait until a condition gives something true; ``AssertionError`` after the bound."""
        last = time.monotonic() + bound_s
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < last, f"it did not come true within {bound_s:.0f} s"
            time.sleep(POLL_S)

    def frames(self, answer: http.client.HTTPResponse) -> Iterator[AnyFrame]:
        """The frames of an answer of web, as they come."""
        assert answer.status == 200, answer.read().decode(errors="replace")
        with answer:
            while line := answer.readline():
                if line.strip():
                    yield frame_adapter.validate_json(line)
