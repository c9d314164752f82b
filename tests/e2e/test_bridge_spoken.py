"""A call that the server holds, with real recordings, real ears and a real mouth."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_product import Served
from playwright.sync_api import BrowserContext, expect
from recordings import QUESTION, Recordings, joined, silence, transcribed
from spoken_call import BOUND_MS, opened
from transcripts import answer_of, assert_heard

from embedded.product import Product, copy_of, environment_in, running

pytestmark = [pytest.mark.timeout(300), pytest.mark.behaviour("L8", "V9", "V10")]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="talkdown-held-"))
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def recordings(place: Path) -> Recordings:
    """The recordings, spoken before the product takes the processors."""
    recordings = Recordings(place / "recordings")
    recordings.spoken("question")
    recordings.spoken("backchannel")
    return recordings


@pytest.fixture(scope="module")
def product(place: Path, recordings: Recordings, handbook: Path) -> Iterator[Product]:
    """The product as ``make up`` starts it."""
    folder = copy_of(handbook, place / "handbook")
    with running(folder, place / "run", environment_in(place, TALKDOWN_VOICE="local")) as product:
        product.until(lambda: product.manifest().state == "current")
        product.until(lambda: all(service.state == "ready" for service in product.corpus().services), bound_s=120)
        yield product


def test_a_question_asked_aloud_is_heard_answered_and_spoken_over_a_sign_of_listening(
    product: Product, recordings: Recordings
) -> None:
    sounds = {
        "question": joined(recordings.spoken("question"), silence(1)),
        "mhm": joined(recordings.spoken("backchannel"), silence(1)),
    }

    def choose(context: BrowserContext) -> None:
        context.add_init_script("localStorage.setItem('talkdown.through', 'server');")

    with opened(product, sounds, recordings.folder, prepare=choose) as call:
        expect(call.page.locator("#through-setting")).to_have_js_property("hidden", value=False)
        it = Served(call)
        it.start()
        began, _ = call.say("question")
        # Where a name is written large in the notes it may be written so.
        expect(call.page.locator(".question")).to_have_text(
            re.compile(re.escape(QUESTION), re.IGNORECASE), timeout=BOUND_MS
        )
        expect(call.page.locator(".sentence[data-spoken]")).to_be_visible(timeout=BOUND_MS)
        call.say("mhm")
        turn = it.answered()
        expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
        it.hushed()
        assert call.tap.events("interrupted") == []
        expect(it.turns).to_have_count(1)
        assert_heard(answer_of(turn), "ORCHID-47", transcribed(call.tap.loudspeaker(began), recordings.folder))
