"""The parts that this run is made of, and what of them leaves the machine."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from chassis.settings import NEEDS_OPENAI, ServiceSettings
from contracts.corpus import Leaves, Mode

GEMINI_HOST = "generativelanguage.googleapis.com"


@dataclass(frozen=True)
class Parts:
    """What was chosen, by name."""

    mode: Mode
    embeddings: str
    answers: str
    voice: str
    leaves: tuple[Leaves, ...]


def parts_of(settings: ServiceSettings) -> Parts:
    """The parts that the settings choose.

    Passages travel with a question, and a voice is told what to say and which words to listen for: any provider part
    sends documents.
    """
    provider = urlsplit(settings.provider_url).netloc
    asked = (settings.chosen_embeddings, settings.chosen_answers, settings.chosen_voice)
    sent = provider if NEEDS_OPENAI.intersection(asked) else None
    return Parts(
        mode=settings.mode,
        embeddings=settings.chosen_embeddings,
        answers=settings.chosen_answers,
        voice=settings.chosen_voice,
        leaves=(
            Leaves(what="documents", to=sent),
            Leaves(what="questions", to=sent),
            Leaves(what="voice", to={"openai": provider, "gemini": GEMINI_HOST}.get(settings.chosen_voice)),
        ),
    )


def called(settings: ServiceSettings) -> tuple[str, ...]:
    """The origins that the page calls beside its own: the provider's, where that holds the calls itself."""
    if settings.chosen_voice != "openai":
        return ()
    origin = urlsplit(settings.provider_url)._replace(path="").geturl()
    return origin, origin.replace("http", "ws", 1)
