"""Each part is killed in the middle of its work: nothing is lost, nothing is wrong, and the next question works.

The victim gets ``kill -9`` while 500 rewritten notes are being indexed, and while an answer is being written. After the
first, the index must be what a clean rebuild of the same folder is; after the second, the reader must have a ``done``
or an ``error`` within 5 seconds, coming back with its cursor where its connection broke.
"""

from __future__ import annotations

import hashlib
import http.client
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from contracts.frames import AnyFrame, Delta, Done, Error
from embedded.errors import EmbeddedError
from embedded.product import Product, environment_in, running
from embedded.reached import Answer

COUNT = 500
Dump = list[tuple[Any, ...]]
VICTIMS = ("retriever", "ingestor", "Valkey", "PostgreSQL", "agent", "voice-gateway", "web")
ENDS_WITHIN_S = 5.0
SETTLES_WITHIN_S = 60.0
LOST = (OSError, http.client.HTTPException, EmbeddedError, AssertionError)

pytestmark = pytest.mark.timeout(180)


@dataclass
class Notes:
    """Five hundred notes that are all rewritten at once: from one text to another, and then back again."""

    folder: Path
    generation: int = 0

    def rewrite(self) -> None:
        """Write the next generation of every note."""
        self.generation += 1
        self.folder.mkdir(exist_ok=True)
        for number in range(COUNT):
            path = self.folder / f"shelf-{number % 20:02}" / f"note-{number:03}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(self.text(number), encoding="utf-8")

    def text(self, number: int) -> str:
        """What a note says now."""
        year = 2000 + self.generation % 2
        return (
            f"# Crate {number}\n\nIn the year {year} crate {number} stood on shelf {number % 20}, full of lamps.\n\n"
            f"## Keeper\n\nIts keeper in {year} was the guest of room {number * 7 % 91}, who kept key {number}.\n"
        )

    def hashes(self) -> dict[str, str]:
        """Path and sha256 of every note as it is on disk."""
        return {
            path.relative_to(self.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.folder.rglob("*.md")
        }


def indexed(product: Product) -> dict[str, str]:
    """Path and sha256 of every visible document; nothing while the retriever does not answer."""
    try:
        return {entry.path: entry.sha256 for entry in product.manifest().documents}
    except LOST:
        return {}


def is_halfway(product: Product, wanted: dict[str, str]) -> bool:
    """Whether some of the notes have arrived, visible or staged, and not all."""
    manifest = product.manifest()
    visible = sum(wanted.get(entry.path) == entry.sha256 for entry in manifest.documents)
    staged = manifest.progress.staged if manifest.progress else 0
    return 0 < visible + staged < COUNT


def dump(product: Product) -> Dump:
    """Every visible chunk with its vector, without what differs from one run to the next."""
    with psycopg.connect(product.postgres_url) as connection:
        found = connection.execute("SELECT serving FROM retriever.corpus").fetchone()
        assert found
        query = sql.SQL(
            """
            SELECT d.path, d.sha256, d.language, d.text, c.ordinal, c.id, c.first_byte, c.end_byte, c.first_line,
                   c.last_line, c.heading, c.plain, c.runs, c.context, v.vector::text
            FROM retriever.chunks c
            JOIN retriever.documents d USING (document)
            JOIN retriever.{vectors} v USING (key)
            ORDER BY d.path, c.ordinal
            """
        ).format(vectors=sql.Identifier(f"vectors_{found[0]}"))
        return connection.execute(query).fetchall()


def follow(product: Product, question: str, read: list[AnyFrame]) -> None:
    """Read an answer to its end, coming back with the last cursor wherever the connection breaks."""
    frames: Iterator[AnyFrame] = product.stream(question, str(uuid4()))
    while not (read and isinstance(read[-1], Done | Error)):
        try:
            for frame in frames:
                read.append(frame)
        except LOST:
            time.sleep(0.05)  # nobody tells a reader when the server is back
        if read:
            frames = product.resume(Answer(tuple(read)).turn_id, read[-1].cursor)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="talkdown-chaos-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def notes(place: Path) -> Notes:
    notes = Notes(place / "notes")
    notes.rewrite()
    return notes


@pytest.fixture(scope="module")
def environment(place: Path) -> dict[str, str]:
    """Vectors that cost nothing, and answers of some seconds."""
    return environment_in(place, TALKDOWN_MODE="simulated", TALKDOWN_SCRIPTED_PACE="8")


@pytest.fixture(scope="module")
def troubled(place: Path, notes: Notes, environment: dict[str, str]) -> Iterator[Product]:
    """The product that is killed piece by piece."""
    with running(notes.folder, place / "run", environment) as product:
        product.until(lambda: indexed(product) == notes.hashes(), bound_s=SETTLES_WITHIN_S)
        yield product


@pytest.fixture(scope="module")
def clean(place: Path, notes: Notes, environment: dict[str, str]) -> Callable[[], Dump]:
    """Gives the index that a run without a past makes of the notes as they are; there are only two such indexes."""
    known: dict[int, Dump] = {}

    def index() -> Dump:
        text = notes.generation % 2
        if text not in known:
            with running(notes.folder, place / f"clean-{text}", environment) as fresh:
                fresh.until(lambda: indexed(fresh) == notes.hashes(), bound_s=SETTLES_WITHIN_S)
                known[text] = dump(fresh)
            assert len(known[text]) >= COUNT
        return known[text]

    return index


@pytest.fixture
def calm(troubled: Product) -> Product:
    """The same, with every part up again."""
    troubled.until(lambda: is_calm(troubled), bound_s=SETTLES_WITHIN_S)
    return troubled


def is_calm(product: Product) -> bool:
    try:
        return all(service.state == "ready" for service in product.corpus().services)
    except LOST:
        return False


@pytest.mark.behaviour("C5", "E1")
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kill_in_the_middle_of_a_refresh_ends_in_the_index_of_a_clean_rebuild(
    calm: Product, notes: Notes, clean: Callable[[], Dump], victim: str
) -> None:
    notes.rewrite()
    wanted = notes.hashes()
    calm.until(lambda: is_halfway(calm, wanted))
    killed = calm.kill(victim)
    calm.until(lambda: calm.pid(victim) not in (None, killed))
    calm.until(lambda: indexed(calm) == wanted, bound_s=SETTLES_WITHIN_S)
    assert dump(calm) == clean()


@pytest.mark.behaviour("T7", "T8", "T10")
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kill_in_the_middle_of_an_answer_ends_it_clearly_and_the_next_question_works(
    calm: Product, victim: str
) -> None:
    read: list[AnyFrame] = []
    reader = Thread(target=follow, args=(calm, "Which crate was full of lamps?", read), daemon=True)
    reader.start()
    calm.until(lambda: any(isinstance(frame, Delta) for frame in read))
    assert not isinstance(read[-1], Done | Error), "the answer was over before it could be interrupted"
    killed = calm.kill(victim)
    reader.join(ENDS_WITHIN_S)
    assert isinstance(read[-1], Done | Error), f"{ENDS_WITHIN_S} s after the kill the answer has no end"
    if isinstance(read[-1], Done):
        assert read[-1].answer == Answer(tuple(read)).text
    else:
        assert read[-1].message.endswith(".")
    calm.until(lambda: calm.pid(victim) not in (None, killed))
    calm.until(lambda: is_calm(calm), bound_s=SETTLES_WITHIN_S)
    assert calm.ask("Which crate was full of lamps?").done
