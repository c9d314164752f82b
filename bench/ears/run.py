"""How well the ears hear, what that costs, and how often a turn is cut or made up, beside a plain server VAD.

Counted are: the word error rate on recorded speech and on sentences with names that only notes know (without and with
the vocabulary; words in small letters, without punctuation); seconds of work a second of sound; on recordings with a
pause of 1 s inside a sentence, those that became more turns than without it; on silence and noises, the turns. The
plain VAD is the same listener with ``adaptive`` off and 500 ms. Result: ``bench/results/ears.json``.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]

from machine import machine  # noqa: E402
from recordings import RATE, Sound  # noqa: E402
from sounds import VOCABULARY, Said, names, noises, people  # noqa: E402
from transcripts import word_errors  # noqa: E402

from voice_gateway.ears.local import LocalEars, open_ears  # noqa: E402
from voice_gateway.ears.port import Heard, Tuning, Utterance  # noqa: E402
from voice_gateway.processes import ModelProcess  # noqa: E402

RESULTS = HERE.parent / "results" / "ears.json"
TICKS = os.sysconf("SC_CLK_TCK")
SHIFTS = (0, 117, 331)
"""Samples that a recording begins later: by where its windows fall some words are heard or not."""
TUNINGS = {"adaptive": Tuning(), "plain 500 ms": Tuning(adaptive=False)}


def words_of(text: str) -> list[str]:
    """Small letters, no punctuation; "Mr." is "mister" as the transcripts have it."""
    return re.findall(r"[a-z0-9']+", text.lower().replace("mr.", "mister").replace("-", " "))


async def word_error_rate(ears: LocalEars, recordings: list[Said]) -> float:
    """Of all recordings together, each heard as a session hears it, once for each of the shifts."""
    wrong = total = 0
    for said, shift in itertools.product(recordings, SHIFTS):
        late = np.concatenate((np.zeros(shift, np.float32), said.sound.samples))
        told = await heard_of(ears, Sound(late), Tuning())
        heard = words_of(" ".join(one.text for one in told if isinstance(one, Utterance)))
        wrong += word_errors(words_of(said.words), heard)
        total += len(words_of(said.words))
    return round(100 * wrong / total, 1)


async def heard_of(ears: LocalEars, sound: Sound, tuning: Tuning) -> list[Heard]:
    """All that is told of a recording, and of two seconds of a silent room after it."""
    room = np.random.default_rng(7).normal(0, 0.0005, 2 * RATE).astype(np.float32)
    content = Sound(np.concatenate((sound.samples, room))).pcm
    listener, told = ears.listen(tuning), list[Heard]()

    async def read() -> None:
        async for heard in listener:
            told.append(heard)

    reading = asyncio.create_task(read())
    for start in range(0, len(content), 2 * RATE):
        listener.hear(content[start : start + 2 * RATE])
        done = asyncio.Event()
        listener.when_heard(done.set)
        await done.wait()
    await listener.close()
    await reading
    return told


async def turns_of(ears: LocalEars, sound: Sound, tuning: Tuning) -> int:
    """How many turns it became that are no backchannels."""
    told = await heard_of(ears, sound, tuning)
    return len([one for one in told if isinstance(one, Utterance) and not one.backchannel])


def cpu_s(process: ModelProcess) -> float:
    """What a model's process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(process: ModelProcess) -> float:
    """The most that it held."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return round(int(found[1]) / 1024, 1) if found else 0.0


async def measure(folder: Path) -> dict[str, object]:
    """Every figure."""
    recorded, rare, noise = people(folder), names(folder), noises()
    async with open_ears(places=2) as ears:
        await ears.wait_ready()
        seconds = sum(said.sound.seconds for said in recorded)
        began = time.perf_counter()
        found: dict[str, object] = {
            "recordings": len(recorded),
            "seconds": round(seconds, 1),
            "wer_recorded": await word_error_rate(ears, recorded),
            "realtime_factor": round((time.perf_counter() - began) / (len(SHIFTS) * seconds), 3),
            "wer_names": await word_error_rate(ears, rare),
        }
        ears.learn(VOCABULARY)
        found["wer_names_with_vocabulary"] = await word_error_rate(ears, rare)
        found["wer_recorded_with_vocabulary"] = await word_error_rate(ears, recorded)
        halted = [(said, said.sound.halting(1.0)) for said in (*recorded[2:], *rare) if said.sound.seconds > 2]
        found["pauses_inside_a_sentence"] = len(halted)
        before, heard_s = [cpu_s(process) for process in ears.processes], 0.0
        for name, tuning in TUNINGS.items():
            cut = 0
            for said, sound in halted:
                cut += await turns_of(ears, sound, tuning) > await turns_of(ears, said.sound, tuning)
                heard_s += sound.seconds + said.sound.seconds + 4
            made_up = {kind: await turns_of(ears, sound, tuning) for kind, sound in noise.items()}
            heard_s += sum(sound.seconds + 2 for sound in noise.values())
            found[name] = {"cut_off": cut, "turns_of_noise": made_up}
        used = [cpu_s(process) - first for process, first in zip(ears.processes, before, strict=True)]
        kinds = ("hearing", "end_of_turn", "speech_to_text")
        found["cpu_ms_a_second"] = {kind: round(1000 * one / heard_s, 1) for kind, one in zip(kinds, used, strict=True)}
        found["memory_mb"] = {kind: memory_mb(one) for kind, one in zip(kinds, ears.processes, strict=True)}
    return found


def main() -> None:
    """Measure, print, and keep the figures."""
    with tempfile.TemporaryDirectory(prefix="talkdown-bench-") as folder:
        found = asyncio.run(measure(Path(folder)))
    result = {"machine": machine(), **found}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")
    for name, value in result.items():
        print(f"  {name:<30}{value}")


if __name__ == "__main__":
    main()
