"""A product whose ears hear what is written down and whose mouth speaks in tones; the server holds the page's calls."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import BrowserContext, Locator, Page, expect
from recordings import RATE, Sound, joined, silence
from spoken_call import BOUND_MS, SpokenCall, opened

from embedded.product import Product, copy_of, environment_in, running

CODE = "What is the amber valve recovery code?"
HOURS = "When is the glasshouse open to visitors?"
MHM = "Mm-hmm."


def tone(seconds: float) -> Sound:
    """Something that counts as speech."""
    return Sound((0.5 * np.sin(np.arange(int(RATE * seconds)) * 0.1)).astype(np.float32))


SPEECH = joined(tone(0.8), silence(1.2))
COUGH = joined(tone(0.4), silence(1.2))
SOUNDS = {"speech": SPEECH, "cough": COUGH}


@contextmanager
def scripted(handbook: Path, *script: str, **more: str) -> Generator[Product]:
    """The product; ``script`` is what each session hears, an utterance behind the other."""
    place = Path(tempfile.mkdtemp(prefix="talkdown-bridge-"))
    chosen = {
        "TALKDOWN_VOICE": "local",
        "TALKDOWN_EARS": "scripted",
        "TALKDOWN_MOUTH": "scripted",
        "TALKDOWN_SCRIPT": "|".join(script),
    }
    try:
        folder = copy_of(handbook, place / "handbook")
        with running(folder, place / "run", environment_in(place, **chosen, **more)) as product:
            product.until(lambda: product.manifest().state == "current")
            yield product
    finally:
        shutil.rmtree(place, ignore_errors=True)


@dataclass
class Served:
    """A page in a call that the server holds."""

    call: SpokenCall

    @property
    def page(self) -> Page:
        """Its page."""
        return self.call.page

    @property
    def turns(self) -> Locator:
        """The turns of the conversation."""
        return self.page.locator(".turn")

    def start(self) -> None:
        """Press Start, and wait until the call stands."""
        self.page.get_by_role("button", name="Start").click()
        self.call.passes("ready")
        expect(self.page.locator("body")).to_contain_class("calling served")

    def answered(self, turn: int = 0) -> Locator:
        """The turn, when it is answered to its end."""
        found = self.turns.nth(turn)
        expect(found).to_have_attribute("data-stage", "done", timeout=BOUND_MS)
        return found

    def spoken(self, since: float = 0.0) -> str:
        """What was said by now, from a moment on."""
        told = self.call.tap.events("output_transcript", since=since)
        return "".join(one.event["text"] for one in told if not one.event["finished"])

    def hushed(self) -> None:
        """Wait until the answer was said to its end."""
        expect(self.page.locator("#presence-words")).to_have_text("Listening. Just talk.", timeout=BOUND_MS)

    def loud_s(self, since: float) -> float:
        """Seconds of sound from the loudspeaker since a moment."""
        heard = np.abs(self.call.tap.loudspeaker(since).samples)
        window = RATE // 50
        whole = heard[: len(heard) // window * window].reshape(-1, window)
        return float((whole.max(axis=1) > 0.02).sum()) / 50


@contextmanager
def served(
    product: Product, folder: Path, *, sounds: Mapping[str, Sound] = SOUNDS, talk: str = "open", **kept: str
) -> Generator[Served]:
    """A page that was told to let the server hold its calls; ``kept`` is what it keeps besides."""
    chosen = {"through": "server", "talk": talk, **kept}

    def choose(context: BrowserContext) -> None:
        lines = [f"localStorage.setItem('talkdown.{name}', '{value}');" for name, value in chosen.items()]
        context.add_init_script("\n".join(lines))

    with opened(product, sounds, folder, prepare=choose) as call:
        expect(call.page.locator("#through-setting")).to_have_js_property("hidden", value=False)
        yield Served(call)
