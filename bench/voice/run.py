"""How long a person waits for the answer, and how fast it falls silent when they speak again; in a real browser.

Chromium, whose microphone hears spoken questions, is in a call with the running product on the handbook. Microphone
and loudspeaker are recorded side by side on one clock, so both figures are counted between samples of sound::

    the question's last loud sample -----> the answer's first loud sample          goal: median 1.1 s, p95 1.7 s
    the interruption's first loud sample -> the answer's last loud sample          goal: p95 200 ms

The events that pass in between, on the same clock, tell where the time went: until the turn was over (hangover), until
its words were known (transcription), until the page had a phrase (search and answer), until its sound was played
(synthesis), and until it was heard (transport). It is done with the real models, and with scripted ones whose hangover
is fixed and whose work costs nothing, which leaves what the system itself adds (goal: 130 ms beyond the hangover).
Result: ``bench/results/voice.json``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT / "tests")]

from machine import machine  # noqa: E402
from recordings import RATE, Recordings, Sound, joined, silence  # noqa: E402
from spoken_call import SpokenCall, opened  # noqa: E402

from embedded.product import copy_of, environment_in, running  # noqa: E402

RESULTS = HERE.parent / "results" / "voice.json"
QUESTIONS = (
    "What is the amber valve recovery code?",
    "When is the glasshouse open to visitors?",
    "How warm is the Dry House kept by day?",
    "Where does the first aid kit hang?",
    "What does the boiler burn?",
)
TEXTS = {
    "barge-in": "Stop, that is enough.",
    **{f"question-{number}": question for number, question in enumerate(QUESTIONS)},
}
GOAL_MEDIAN_MS, GOAL_P95_MS, GOAL_SILENCE_MS, GOAL_MUTE_MS, GOAL_BEYOND_MS = 1100, 1700, 200, 60, 130
SCRIPTED_HANGOVER_MS = 500
LOUD = 0.004
"""The level from which 5 ms count as heard: 48 dB below full scale."""
PAUSE = 50
"""5 ms each: silence for so long is no pause between words."""
SETTLES_MS = 1500
STEPS = ("hangover", "transcription", "search and answer", "synthesis", "transport")


@dataclass(frozen=True)
class Wait:
    """What one question waited for, in milliseconds."""

    steps: dict[str, float]
    total: float


@dataclass(frozen=True)
class Hush:
    """One interruption: until the page was told and muted itself, and until nothing was heard, in milliseconds."""

    told: float
    muted: float
    silent: float


def levels(sound: Sound) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Of each 5 ms of a sound, whether it can be heard."""
    step = RATE // 200
    whole = sound.samples[: len(sound.samples) // step * step].reshape(-1, step)
    return np.sqrt((whole**2).mean(axis=1)) > LOUD


def first_heard(call: SpokenCall, since: float) -> float:
    """When the loudspeaker first plays something after a moment."""
    return since + float(np.flatnonzero(levels(call.tap.loudspeaker(since)))[0]) / 200


def silent_from(call: SpokenCall, since: float) -> float:
    """When the loudspeaker falls silent after a moment, for longer than a speaker pauses."""
    heard = levels(call.tap.loudspeaker(since))
    quiet = next(first for first in range(len(heard)) if not heard[first : first + PAUSE].any())
    return since + quiet / 200


def asked(call: SpokenCall, name: str) -> Wait:
    """Ask a question and wait until its answer is being heard."""
    began, end = call.say(name)
    call.passes("output_audio_buffer.started", since=end)
    call.page.wait_for_timeout(400)
    heard = first_heard(call, end)
    moments = [
        end,
        call.passes("input_audio_buffer.speech_stopped", since=began).at,
        call.passes("conversation.item.input_audio_transcription.completed", since=began).at,
        call.passes("response.create", since=end).at,
        call.passes("output_audio_buffer.started", since=end).at,
        heard,
    ]
    took = [(after - before) * 1000 for before, after in itertools.pairwise(moments)]
    return Wait(dict(zip(STEPS, took, strict=True)), (heard - end) * 1000)


def interrupted(call: SpokenCall, name: str) -> Hush:
    """Speak into the answer that is being heard."""
    onset, _ = call.say(name)
    told = call.passes("input_audio_buffer.speech_started", since=onset).at
    call.page.wait_for_timeout(SETTLES_MS)
    muted = next((at for what, at in call.tap.notes() if what == "muted" and at >= onset), float("nan"))
    return Hush((told - onset) * 1000, (muted - told) * 1000, (silent_from(call, onset) - onset) * 1000)


def conversation(call: SpokenCall, runs: int) -> Iterator[tuple[Wait, Hush | None]]:
    """Ask ``runs`` questions in one call; every other answer is interrupted by voice, and all are silenced then."""
    call.start()
    for run in range(runs):
        wait = asked(call, f"question-{run % len(QUESTIONS)}")
        hush = interrupted(call, "barge-in") if run % 2 else None
        call.page.wait_for_timeout(SETTLES_MS)
        call.page.keyboard.press("Escape")
        call.page.get_by_text("Listening. Just talk.").wait_for()
        yield wait, hush


def percentile(values: list[float], per_cent: float) -> float:
    """A percentile by nearest rank."""
    return sorted(values)[min(len(values) - 1, int(len(values) * per_cent / 100))]


def measured(recordings: Recordings, place: Path, runs: int, models: str) -> dict[str, object]:
    """Hold the conversation with one kind of models, tell of it, and give the figures."""
    sounds = {name: joined(recordings.spoken(name), silence(1)) for name in recordings.texts}
    script = [
        said for run in range(runs) for said in (QUESTIONS[run % len(QUESTIONS)], *[TEXTS["barge-in"]] * (run % 2))
    ]
    more = (
        {}
        if models == "real"
        else {
            "TALKDOWN_EARS": "scripted",
            "TALKDOWN_MOUTH": "scripted",
            "TALKDOWN_SCRIPT": "|".join(script),
        }
    )
    folder = place / models
    environment = environment_in(folder, TALKDOWN_VOICE="local", **more)
    waits: list[Wait] = []
    hushes: list[Hush] = []
    with running(copy_of(ROOT / "handbook", folder / "handbook"), folder / "run", environment) as product:
        product.until(lambda: product.manifest().state == "current")
        product.until(lambda: all(service.state == "ready" for service in product.corpus().services), bound_s=120)
        with opened(product, sounds, folder) as call:
            for wait, hush in conversation(call, runs):
                waits.append(wait)
                hushes += [hush] if hush else []
                spread = "  ".join(f"{step} {took:4.0f}" for step, took in wait.steps.items())
                silent = f"  | interrupted: silent after {hush.silent:.0f} ms" if hush else ""
                print(f"{models:9} {wait.total:5.0f} ms  {spread}{silent}", flush=True)
    return told(models, waits, hushes)


def told(models: str, waits: list[Wait], hushes: list[Hush]) -> dict[str, object]:
    """Print the figures beside their goals."""
    totals = [wait.total for wait in waits]
    print(f"\n{models} models, {len(waits)} questions{'':24} median    p95   (ms)")
    rows = {"end of speech to first sound": totals} | {
        f"  {step}": [wait.steps[step] for wait in waits] for step in STEPS
    }
    rows |= {
        "onset of an interruption to silence": [hush.silent for hush in hushes],
        "  until the page is told": [hush.told for hush in hushes],
        "  told to muted": [hush.muted for hush in hushes],
    }
    for name, values in rows.items():
        print(f"  {name:44} {statistics.median(values):6.0f} {percentile(values, 95):6.0f}")
    if models == "real":
        print(f"  goals: {GOAL_MEDIAN_MS} and {GOAL_P95_MS}; silence p95 {GOAL_SILENCE_MS}; mute {GOAL_MUTE_MS}\n")
    else:
        beyond = statistics.median(totals) - SCRIPTED_HANGOVER_MS
        print(f"  beyond the hangover of {SCRIPTED_HANGOVER_MS} ms: {beyond:.0f}; goal {GOAL_BEYOND_MS}\n")
    return {"waits": [asdict(wait) for wait in waits], "hushes": [asdict(hush) for hush in hushes]}


def main() -> None:
    """Measure with both kinds of models."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--models", choices=("real", "scripted"), action="append")
    chosen = options.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="talkdown-voice-") as name:
        place = Path(name)
        recordings = Recordings(place / "recordings", TEXTS)
        result = {
            models: measured(recordings, place, chosen.runs, models) for models in chosen.models or ("scripted", "real")
        }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": machine(), **result}, indent=1))


if __name__ == "__main__":
    main()
