"""From a place in the folder to an event: read, cut into chunks, and said."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from contracts.events import DocumentChanged
from ingestor.chunking import CHUNK_LENGTH, Cut, chunk_document, fingerprint
from ingestor.frontmatter import front_matter_of
from ingestor.reading import FILE_LIMIT, Reading, read
from ingestor.scanning import Place, Refusal, Scan

log = logging.getLogger(__name__)

__all__ = ["Limits", "Noticed", "Prepared", "bounded", "event_of", "prepare", "read_all"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of a file, bytes of all files together (none: no bound), characters of a chunk."""

    file: int = FILE_LIMIT
    corpus: int | None = None
    chunk: int = CHUNK_LENGTH

    @property
    def chunker(self) -> str:
        """The fingerprint of the chunker at this length."""
        return fingerprint(self.chunk)


@dataclass(frozen=True, slots=True)
class Noticed:
    """A document that was read, and what is to be said of it."""

    reading: Reading
    notice: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that was read and cut."""

    reading: Reading
    cut: Cut


def prepare(places: Iterable[Place], limits: Limits) -> list[Prepared | Refusal]:
    """Read and cut documents, in their order; what cannot be read says why and stops none of the others."""
    prepared: list[Prepared | Refusal] = []
    for place in places:
        reading = read(place, limits.file)
        if isinstance(reading, Refusal):
            prepared.append(reading)
        else:
            prepared.append(_cut(reading, limits))
    return prepared


def _cut(reading: Reading, limits: Limits) -> Prepared | Refusal:
    """Cut a document; one that brings down the parser, whose panics are no ``Exception``, brings down nothing else."""
    try:
        return Prepared(reading, chunk_document(reading.data, reading.text, limits.chunk))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        log.exception("a document could not be cut", extra={"path": reading.path})
        return Refusal(
            reading.path,
            f"It could not be cut into chunks ({type(error).__name__}), which is our fault: please report it.",
        )


def read_all(places: Iterable[Place], limits: Limits) -> list[Noticed | Refusal]:
    """Read documents, in their order, for their hashes and notices alone."""
    taken = (read(place, limits.file) for place in places)
    return [one if isinstance(one, Refusal) else Noticed(one, front_matter_of(one.text).notice) for one in taken]


def bounded(scan: Scan, limits: Limits) -> Scan:
    """Refuse what is over the bound of the whole corpus: the files that come last by name."""
    if limits.corpus is None:
        return scan
    total = 0
    kept: list[Place] = []
    refusals = list(scan.refusals)
    for place in scan.places:
        if total + place.mark.size <= limits.corpus:
            total += place.mark.size
            kept.append(place)
        else:
            refusals.append(
                Refusal(
                    place.path,
                    f"With it the folder has more than {limits.corpus:,} bytes: "
                    "move notes out of it, or raise TALKDOWN_CORPUS_LIMIT.",
                )
            )
    return Scan(kept, refusals, scan.linked)


def event_of(prepared: Prepared, refresh_id: UUID, revision: int, limits: Limits) -> DocumentChanged:
    """What is said of a document that was written."""
    reading, cut = prepared.reading, prepared.cut
    return DocumentChanged(
        refresh_id=refresh_id,
        path=reading.path,
        revision=revision,
        sha256=reading.sha256,
        saved_at=reading.saved_at,
        properties=cut.properties,
        chunker=limits.chunker,
        text=reading.text,
        chunks=cut.chunks,
    )
