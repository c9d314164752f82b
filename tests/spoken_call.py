"""A call in a browser that tests and benchmarks hold by voice: they say recordings, and hear what is answered."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from call_tap import Passed, Tap, install
from chromium import launched
from playwright.sync_api import BrowserContext, Page
from recordings import Sound

from embedded.reached import Reached

BOUND_MS = 60_000


@dataclass
class SpokenCall:
    """A page whose microphone hears what ``say`` says, and whose loudspeaker is listened to."""

    page: Page
    context: BrowserContext
    product: Reached
    sounds: Mapping[str, Sound]
    faults: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.tap = Tap(self.page)

    def start(self) -> None:
        """Press Start, and wait until the call stands."""
        self.page.get_by_role("button", name="Start").click()
        self.passes("session.updated")

    def stop(self) -> None:
        """Press Stop."""
        self.page.get_by_role("button", name="Stop", exact=True).click()

    def say(self, name: str) -> tuple[float, float]:
        """Say a sound; when its speech begins and ends, on the recording's clock, in seconds."""
        sound = self.sounds[name]
        at = self.tap.play(name)
        return at + sound.onset_s, at + sound.end_s

    def wires(self) -> dict[str, int]:
        """How many peer connections and WebSockets the page has opened so far."""
        return self.page.evaluate("() => ({ peers: tap.peers.length, sockets: tap.sockets.length })")

    def passes(self, *types: str, since: float = 0.0) -> Passed:
        """Wait for an event of one of these types, from a moment of the recording's clock on; the first such."""
        self.page.wait_for_function(
            "([types, since]) => tap.events.some(({ type, at }) => types.includes(type) && at >= since)",
            arg=[list(types), since],
            timeout=BOUND_MS,
        )
        return next(passed for passed in self.tap.events(since=since) if passed.type in types)

    def hushed(self, *, since: float = 0.0) -> None:
        """Wait until each phrase that was begun from a moment on is over, and no more of them come for a while."""
        self.page.wait_for_function(
            """(since) => {
              const of = (...types) => tap.events.filter(({ type, at }) => at >= since && types.includes(type));
              const begun = of("response.create");
              const over = of("output_audio_buffer.stopped", "output_audio_buffer.cleared");
              return begun.length > 0 && over.length >= begun.length && tap.now() > over.at(-1).at + 0.5;
            }""",
            arg=since,
            timeout=BOUND_MS,
        )


@contextmanager
def opened(
    product: Reached,
    sounds: Mapping[str, Sound],
    folder: Path,
    *flags: str,
    cue: bool = True,
    prepare: Callable[[BrowserContext], None] = lambda _: None,
    tolerated: tuple[str, ...] = (),
) -> Generator[SpokenCall]:
    """A page of the product in a browser of its own; ``folder`` is for files, ``prepare`` has the context first.

    ``cue``: the microphone hears what is said with ``SpokenCall.say``; otherwise it is Chromium's, as ``flags`` say.
    A fault that the page logs, but for those that hold a tolerated word, fails whoever used it.
    """
    files = {name: sound.save(folder / f"{name}.wav") for name, sound in sounds.items()}
    with launched(*flags) as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        install(context, files, cue=cue)
        prepare(context)
        page = context.new_page()
        call = SpokenCall(page, context, product, sounds)
        page.on("pageerror", lambda error: call.faults.append(str(error)))
        page.on("console", lambda said: call.faults.append(said.text) if said.type == "error" else None)
        page.goto(product.url)
        page.locator("#state-words", has_text="note").wait_for()
        yield call
    unexpected = [fault for fault in call.faults if not any(word in fault for word in tolerated)]
    assert unexpected == [], "the page logged errors"
