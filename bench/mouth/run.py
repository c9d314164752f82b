"""How well and how fast the mouth speaks.

Three figures, each of the model in a process of its own as the gateway runs it, on the threads that the gateway gives:

- intelligibility: sentences spoken, and transcribed by the gateway's own speech-to-text without any vocabulary; the
  word error rate, plain sentences and those with numbers and names apart;
- time to the first sound of a phrase, and the realtime factor (time of work for a second of speech), by the length of
  the phrase: medians of several runs;
- gaps: the longest time by which a piece of a long phrase came after the one before had been played out;

and the memory of the model's process at its most.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
import psutil
import soxr

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from transcripts import word_errors, words_of  # noqa: E402

from bench.machine import machine  # noqa: E402
from bench.mouth.sentences import SENTENCES  # noqa: E402
from voice_gateway.ears.local import open_ears  # noqa: E402
from voice_gateway.mouth.local import LocalMouth, open_mouth  # noqa: E402
from voice_gateway.mouth.port import Manner  # noqa: E402

RESULTS = ROOT / "bench/results" / "mouth.json"
MANNER = Manner("af_heart")
PHRASES = {
    "1 word": "Yes.",
    "5 words": "Its code is amber blue.",
    "10 words": "The keeper of the day writes both waters down first.",
    "20 words": "Vents in the dry house are closed last, because it cools fastest, and the alarm is set with the "
    "keeper's key.",
    "35 words": "If the boiler goes out again, start the paraffin heater in the fern house, ring the duty engineer, "
    "write the time on the slate, and never press the reset button more than twice in a row.",
}


@dataclass(frozen=True, slots=True)
class Run:
    """One phrase spoken once; times in seconds."""

    first_s: float
    took_s: float
    speech_s: float
    gap_s: float


class Figures(TypedDict):
    """What is measured; times in seconds, medians of the phrase's runs."""

    threads: int
    start_s: float
    memory_mb: float
    wer: dict[str, float]
    phrases: dict[str, dict[str, float]]


async def run_of(mouth: LocalMouth, text: str) -> Run:
    """Speak ``text``, and compare when its pieces came with when they were needed."""
    began = time.perf_counter()
    first, needed, gap, speech = 0.0, 0.0, 0.0, 0.0
    async with aclosing(mouth.speak(text, MANNER)) as pieces:
        async for piece in pieces:
            now = time.perf_counter()
            first = first or now - began
            gap = max(gap, now - needed) if needed else gap
            length = len(piece.pcm) / 48_000
            needed = max(needed, now) + length
            speech += length
    return Run(first, time.perf_counter() - began, speech, gap)


async def sound_of(mouth: LocalMouth, text: str) -> bytes:
    """The speech of ``text`` as the ears get it: PCM, 16 kHz, with some silence around it."""
    async with aclosing(mouth.speak(text, MANNER)) as pieces:
        pcm = b"".join([piece.pcm async for piece in pieces])
    samples = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
    slow = np.pad(np.asarray(soxr.resample(samples, 24_000, 16_000), np.float32), 4_800)
    return (np.clip(slow, -1, 1) * 32767).astype("<i2").tobytes()


async def intelligibility(mouth: LocalMouth, *, show: bool) -> dict[str, float]:
    """The word error rate of each kind of sentence."""
    wrong: dict[str, int] = {}
    total: dict[str, int] = {}
    async with open_ears() as ears:
        for sentence in SENTENCES:
            expected = words_of(sentence.heard)
            found = words_of(await ears.words(await sound_of(mouth, sentence.written)))
            missed = word_errors(expected, found)
            if missed and show:
                print(f"    {' '.join(expected)}\n  → {' '.join(found)}")
            wrong[sentence.kind] = wrong.get(sentence.kind, 0) + missed
            total[sentence.kind] = total.get(sentence.kind, 0) + len(expected)
    return {kind: wrong[kind] / total[kind] for kind in total}


async def measure(threads: int, rounds: int, *, show: bool) -> Figures:
    """Everything, with one mouth."""
    async with open_mouth(threads=threads) as mouth:
        began = time.perf_counter()
        await mouth.wait_ready()
        started = time.perf_counter() - began
        speeds = {name: [await run_of(mouth, text) for _ in range(rounds)] for name, text in PHRASES.items()}
        rates = await intelligibility(mouth, show=show)
        memory = max(
            (child.memory_info().rss for child in psutil.Process().children() if child.is_running()), default=0
        )
    return {
        "threads": threads,
        "start_s": started,
        "memory_mb": memory / 1e6,
        "wer": rates,
        "phrases": {
            name: {field: statistics.median(getattr(run, field) for run in runs) for field in asdict(runs[0])}
            for name, runs in speeds.items()
        },
    }


def main() -> None:
    """Measure, print one table, and keep the figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--show", action="store_true", help="print what was heard wrong")
    given = options.parse_args()
    where = machine()
    found = asyncio.run(measure(given.threads, given.rounds, show=given.show))
    print(f"{where['cpu']}, {where['cores']} cores, load {where['load']} · {given.threads} threads")
    print(f"{'phrase':<10}{'first sound':>13}{'speech':>10}{'realtime factor':>17}{'longest gap':>13}")
    for name, run in found["phrases"].items():
        factor = run["took_s"] / run["speech_s"]
        print(f"{name:<10}{run['first_s']:>11.2f} s{run['speech_s']:>8.2f} s{factor:>17.2f}{run['gap_s']:>11.2f} s")
    print("word error rate: " + ", ".join(f"{kind} {rate:.1%}" for kind, rate in found["wer"].items()))
    print(f"ready after {found['start_s']:.1f} s · {found['memory_mb']:.0f} MB")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": where, **found}, indent=2))


if __name__ == "__main__":
    main()
