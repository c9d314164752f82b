"""The parts that this run is made of, and what of them leaves the machine."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from chassis.settings import ServiceSettings
from contracts.corpus import Leaves, Mode

OPENAI_HOST = "api.openai.com"
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
    """The parts that the settings choose. Passages travel with a question, so either provider part sends documents."""
    provider = urlsplit(settings.openai_base_url).netloc if settings.openai_base_url else OPENAI_HOST
    asks_provider = settings.chosen_embeddings == "openai" or settings.chosen_answers in ("responses", "chat")
    sent = provider if asks_provider else None
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
