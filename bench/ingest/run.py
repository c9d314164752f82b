"""How fast the ingestor cuts Markdown into chunks, in one process, and what the chunks look like.

Prints a line a corpus: the parser alone, parser and plain text, and all of it, in MB a second of CPU time (the best of
several rounds), then the sizes of the chunks. Without folders it takes the handbook, and a long article made of it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pyromark

from contracts.documents import Chunk
from ingestor.chunking import chunk_document
from ingestor.markdown import read_markdown
from ingestor.scanning import scan

HANDBOOK = Path(__file__).parents[2] / "handbook"
PARSER = pyromark.Markdown(options=pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_FOOTNOTES)
ENOUGH_BYTES = 1_000_000

Documents = list[tuple[bytes, str]]


def parse(documents: Documents) -> None:
    """The parser's events alone."""
    for _, text in documents:
        for _ in PARSER.events_with_range(text):
            pass


def read(documents: Documents) -> None:
    """The tree of blocks and the plain text."""
    for data, text in documents:
        read_markdown(data, text, 0)


def cut(documents: Documents) -> list[Chunk]:
    """Everything that happens between a file's bytes and its event."""
    return [chunk for data, text in documents for chunk in chunk_document(data, text).chunks]


def best(work: Callable[[Documents], object], documents: Documents, rounds: int) -> float:
    """MB a second of CPU time, in the best round: other work on the machine takes no part."""
    size = sum(len(data) for data, _ in documents)
    took: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        work(documents)
        took.append(time.process_time() - began)
    return size / min(took) / 1e6


def documents_of(folder: Path) -> Documents:
    """The Markdown files of a folder that are UTF-8, repeated until they are large enough to be measured."""
    files = [Path(place.file).read_bytes() for place in scan(folder).places]
    files = [data for data in files if _is_text(data)]
    if not files:
        raise SystemExit(f"There is no Markdown in {folder}.")
    times = max(1, ENOUGH_BYTES // max(1, sum(map(len, files))))
    return [(data, data.decode()) for data in files * times]


def article() -> Documents:
    """The handbook's prose in one long file of about 250 KB, without a heading to cut at."""
    lines = [line for _, text in documents_of(HANDBOOK) for line in text.splitlines() if line[:1].isalpha()]
    text = "\n\n".join(lines)[:250_000]
    return [(text.encode(), text)] * 4


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def main() -> None:
    """Measure each corpus."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folders", nargs="*", type=Path)
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    corpora = {folder.name: documents_of(folder) for folder in given.folders or [HANDBOOK]}
    if not given.folders:
        corpora["article"] = article()
    for name, documents in corpora.items():
        speeds = [best(work, documents, given.rounds) for work in (parse, read, cut)]
        print(
            f"{name}: {sum(len(data) for data, _ in documents) / 1e6:.2f} MB in {len(documents)} files · "
            f"parse {speeds[0]:.1f}, with plain {speeds[1]:.1f}, chunks {speeds[2]:.1f} MB/s"
        )
        lengths = sorted(len(chunk.plain) for chunk in cut(documents))
        print(
            f"  {len(lengths)} chunks, characters of plain: mean {statistics.mean(lengths):.0f}, "
            f"p10 {lengths[len(lengths) // 10]}, median {lengths[len(lengths) // 2]}, "
            f"p90 {lengths[len(lengths) * 9 // 10]}, longest {lengths[-1]}"
        )


if __name__ == "__main__":
    main()
