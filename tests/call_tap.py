"""Listens in on a call in the browser: its microphone, its loudspeaker and its events, on one clock (``tap.js``)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import BrowserContext, Page, Route
from recordings import MICROPHONE_RATE, RATE, Sound, of_pcm

HERE = Path(__file__).parent
SCRIPT = (HERE / "tap.js").read_text(encoding="utf-8")
WORKLET = (HERE / "tap-worklet.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Passed:
    """An event that passed between page and gateway, at a time of the recording's clock, in seconds."""

    sender: str
    type: str
    at: float
    event: Mapping[str, Any]


@dataclass
class Tap:
    """The tap of one page; ``install`` it in a context before the page is opened."""

    page: Page
    _pcm: bytearray = field(default_factory=bytearray, repr=False)

    @property
    def began(self) -> float:
        """When the recording begins, on its own clock."""
        return float(self.page.evaluate("() => tap.began ?? 0"))

    def now(self) -> float:
        """Seconds of the recording's clock."""
        return float(self.page.evaluate("() => tap.now()"))

    def play(self, name: str) -> float:
        """Say a sound into the microphone; when it begins, on the recording's clock."""
        return float(self.page.evaluate("(name) => tap.play(name)", name))

    def recorded(self) -> tuple[Sound, Sound]:
        """What the microphone gave and what the loudspeaker played since the recording began."""
        self._pcm += base64.b64decode(self.page.evaluate("() => tap.read()"))
        both = np.frombuffer(bytes(self._pcm), "<i2").reshape(-1, 2)
        left, right = (of_pcm(both[:, side].tobytes(), MICROPHONE_RATE) for side in (0, 1))
        return left, right

    def loudspeaker(self, since: float = 0.0) -> Sound:
        """What the loudspeaker played from a moment of the recording's clock on."""
        _, right = self.recorded()
        return Sound(right.samples[max(int((since - self.began) * RATE), 0) :])

    def events(self, type_: str | None = None, *, since: float = 0.0) -> list[Passed]:
        """The events that passed, in order; of one type, from a moment on."""
        passed: list[dict[str, Any]] = self.page.evaluate("() => tap.events")
        return [
            Passed(one["from"], one["type"], one["at"], one["event"] or {})
            for one in passed
            if type_ in (None, one["type"]) and one["at"] >= since
        ]

    def notes(self) -> list[tuple[str, float]]:
        """When the loudspeaker was muted, and when it was audible again."""
        return [(one["what"], one["at"]) for one in self.page.evaluate("() => tap.notes")]


def install(context: BrowserContext, sounds: Mapping[str, Path], *, cue: bool = True) -> None:
    """Tap every page of ``context``; ``cue``: its microphone hears the sounds that ``Tap.play`` names, no others."""

    def give(route: Route) -> None:
        name = route.request.url.rsplit("/", 1)[1].removesuffix(".wav")
        route.fulfill(path=sounds[name], content_type="audio/wav")

    def admit(route: Route) -> None:
        """The page's own policy, which beside its own scripts admits the recorder's."""
        if route.request.resource_type != "document":
            return route.fallback()
        answer = route.fetch()
        policy = answer.headers.get("content-security-policy", "")
        headers = {**answer.headers, "content-security-policy": f"{policy}; script-src 'self' blob:"}
        return route.fulfill(response=answer, headers=headers)

    # A page that was fulfilled has come from nowhere, and Chromium would keep it from the services of this machine.
    context.grant_permissions(["local-network-access", "microphone"])
    context.route("**/*", admit)
    context.route("**/tap/*.wav", give)
    script = SCRIPT.replace("TAP_WORKLET", json.dumps(WORKLET)).replace("TAP_CUE", json.dumps(cue))
    context.add_init_script(script)
