"""How well passages are found, questions are answered, and unanswerable ones are declined.

    python -m bench.retrieval --xquad DIR                      the product's modules in this process
    talkdown up COPY --data DATA                               (COPY: a copy of DIR/en, which will be changed)
    python -m bench.retrieval --xquad DIR --languages en --running DATA     that product, over HTTP

The corpus (questions with the paragraphs that answer them, `bench/retrieval/questions.py` says in which form) is not
part of this repository; BENCH_XQUAD may name it instead. With `--running` paragraphs are taken out of the product's
folder and put back. What is counted, and what is held apart from the tuning, stands in `measures.py` and `train.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from bench.machine import machine  # noqa: E402
from bench.retrieval.inprocess import Indexed, index_folder  # noqa: E402
from bench.retrieval.measures import (  # noqa: E402
    Answered,
    contains,
    declined,
    drawn,
    mean,
    ndcg_at_10,
    paragraphs_of,
    ranked_paragraphs,
)
from bench.retrieval.questions import UNRELATED, Asked, halves, read_questions  # noqa: E402
from bench.retrieval.subjects import InProcess, Running, Subject  # noqa: E402
from retriever.embedding import LocalEmbedder  # noqa: E402

SEED = 11
GONE, THERE = 200, 400
GOALS = {"en": 0.97, "de": 0.935, "zh": 0.95}


@dataclass(frozen=True)
class Figure:
    """One line of the table: what was measured, how much it is, what was aimed at, and on how many questions."""

    name: str
    value: float
    goal: float | None
    questions: int
    at_most: bool = False

    @property
    def reached(self) -> bool:
        """Whether the goal was reached; true without one."""
        return self.goal is None or (self.value <= self.goal if self.at_most else self.value >= self.goal)


async def finding(subject: Subject, questions: Sequence[Asked], folder: Path, language: str) -> list[Figure]:
    """Measure nDCG@10 of hybrid search and of each leg."""
    paragraphs = paragraphs_of(folder)
    gains: dict[str, list[float]] = {}
    for asked in questions:
        for name, places in (await subject.rankings(asked.question)).items():
            gains.setdefault(name, []).append(ndcg_at_10(ranked_paragraphs(places, paragraphs), asked))
    hybrid = mean(gains["hybrid"])
    figures = [Figure(f"{language} nDCG@10 hybrid", hybrid, GOALS.get(language), len(questions))]
    # A leg that does not serve a language has no ranking of its own.
    legs = {name: mean(gain) for name, gain in gains.items() if name != "hybrid" and len(gain) == len(questions)}
    figures += [Figure(f"{language} nDCG@10 {name}", value, None, len(questions)) for name, value in legs.items()]
    lead = hybrid - max(legs.values(), default=0.0)
    return [*figures, Figure(f"{language} hybrid less the better leg", lead, 0.0, len(questions))]


def answering(there: Sequence[tuple[Asked, Answered]], language: str) -> list[Figure]:
    """Measure how often an answer contains a gold answer."""
    anywhere, first = contains(there)
    measured = set(halves([asked for asked, _ in there])[1])
    apart = contains([each for each in there if each[0] in measured])
    goals = (0.9, 0.8) if language == "en" else (None, None)
    most = max((len(given.quotes) for _, given in there), default=0)
    return [
        Figure(f"{language} answer contains gold", anywhere, goals[0], len(there)),
        Figure(f"{language} first sentence contains gold", first, goals[1], len(there)),
        Figure(f"{language}   contains gold, apart from tuning", apart[0], None, len(measured)),
        Figure(f"{language}   first sentence, apart from tuning", apart[1], None, len(measured)),
        Figure(f"{language} most sentences quoted", most, 2, len(there), at_most=True),
    ]


def declining(
    there: Sequence[tuple[Asked, Answered]], gone: Sequence[Answered], unrelated: Sequence[Answered], language: str
) -> list[Figure]:
    """Measure how often questions are declined: unanswerable, answerable, and about other things entirely."""
    measured = set(halves([asked for asked, _ in there])[1])
    kept = drawn([given for asked, given in there if asked in measured], THERE, SEED)
    goals = (0.85, 0.05, 29) if language == "en" else (None, None, None)
    return [
        Figure(f"{language} declined, answer taken out", declined(gone), goals[0], len(gone)),
        Figure(f"{language} declined, answerable", declined(kept), goals[1], len(kept), at_most=True),
        Figure(f"{language} declined, unrelated (count)", sum(g.declined for g in unrelated), goals[2], len(unrelated)),
    ]


async def in_process(folder: Path, language: str, embedder: LocalEmbedder) -> list[Figure]:
    """Measure the modules of this process on one language."""
    questions = read_questions(folder, language)
    chunks = await index_folder(folder / language, embedder)
    subject = InProcess(chunks, embedder)
    paragraphs = sum(map(len, paragraphs_of(folder / language).values()))
    print(f"{language}: {len(chunks)} chunks of {paragraphs} paragraphs", flush=True)
    figures = await finding(subject, questions, folder / language, language)
    there = [(asked, await subject.ask(asked.question)) for asked in questions]
    gone: list[Answered] = []
    for (path, line), together in _grouped(drawn(halves(questions)[1], GONE, SEED)).items():
        smaller = InProcess(_without(chunks, path, line), embedder)
        gone += [await smaller.ask(asked.question) for asked in together]
    unrelated = [await subject.ask(question) for question in UNRELATED] if language == "en" else []
    return [*figures, *answering(there, language), *declining(there, gone, unrelated, language)]


async def running(folder: Path, language: str, data: Path) -> list[Figure]:
    """Measure a running product on one language; `data` is where it keeps its data."""
    questions = read_questions(folder, language)
    run = json.loads(await asyncio.to_thread((data / "run.json").read_text))
    watched, services = Path(run["folder"]), run["services"]
    headers = {"authorization": f"Bearer {run['token']}"}
    async with httpx2.AsyncClient(timeout=60, headers=headers) as client:
        subject = Running(client, services["web"], services["retriever"])
        await subject.refresh()
        figures = await finding(subject, questions, watched, language)
        there = [(asked, await subject.ask(asked.question)) for asked in questions]
        gone: list[Answered] = []
        for (path, line), together in _grouped(drawn(halves(questions)[1], GONE, SEED)).items():
            async with subject.without(watched, path, line):
                gone += [await subject.ask(asked.question) for asked in together]
        await subject.refresh()
        unrelated = [await subject.ask(question) for question in UNRELATED] if language == "en" else []
    return [*figures, *answering(there, language), *declining(there, gone, unrelated, language)]


def _grouped(questions: Sequence[Asked]) -> dict[tuple[str, int], list[Asked]]:
    found: dict[tuple[str, int], list[Asked]] = {}
    for asked in questions:
        found.setdefault((asked.path, asked.line), []).append(asked)
    return found


def _without(chunks: Sequence[Indexed], path: str, line: int) -> list[Indexed]:
    return [each for each in chunks if each.path != path or not each.chunk.lines[0] <= line <= each.chunk.lines[1]]


def show(figures: Sequence[Figure]) -> None:
    """Print one table."""
    width = max(len(figure.name) for figure in figures)
    print(f"{'':{width}}      value      goal   questions")
    for figure in figures:
        sign = "<=" if figure.at_most else ">="
        goal = f"{sign} {figure.goal:g}" if figure.goal is not None else ""
        mark = "" if figure.reached else "   not reached"
        print(f"{figure.name:{width}}  {figure.value:9.4f}  {goal:>8}  {figure.questions:10d}{mark}")


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure what was asked for."""
    figures: list[Figure] = []
    if arguments.running:
        (language,) = arguments.languages
        figures = await running(arguments.xquad, language, arguments.running)
    else:
        embedder = await LocalEmbedder.load()
        for language in arguments.languages:
            figures += await in_process(arguments.xquad, language, embedder)
        embedder.close()
    show(figures)
    how = "running" if arguments.running else "in process"
    return {"machine": machine(), "how": how, "seed": SEED, "figures": [asdict(figure) for figure in figures]}


def main() -> None:
    """Measure, print one table, and write it to `bench/results/retrieval.json`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given = os.environ.get("BENCH_XQUAD")
    parser.add_argument("--xquad", type=Path, default=Path(given) if given else None)
    parser.add_argument("--languages", nargs="+", default=["en", "de", "zh"])
    parser.add_argument("--running", type=Path, metavar="DATA")
    arguments = parser.parse_args()
    if arguments.xquad is None:
        print("No corpus of questions is given, so retrieval is not measured: pass --xquad DIR, or set BENCH_XQUAD.")
        return
    if arguments.running and len(arguments.languages) != 1:
        parser.error("--running measures one language: name it with --languages")
    results = asyncio.run(measure(arguments))
    target = ROOT / "bench" / "results" / "retrieval.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
