"""The words that only the notes say, taught to who listens: at the start, and when the corpus has changed."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

import httpx2
from pydantic import ValidationError

from contracts.search import Vocabulary

log = logging.getLogger(__name__)

LOOK_S = 10.0
"""How often the retriever is asked; it answers that nothing has changed without reading anything."""
AGAIN_S = 2.0
"""How soon it is asked again while it does not answer."""


class Learner(Protocol):
    """Who listens: the ears of this machine, or those of a provider."""

    def learn(self, words: tuple[str, ...]) -> None:
        """From now on listen for these words, and for no others of the notes."""
        ...


async def keep_learning(learner: Learner, retriever: httpx2.AsyncClient, most: int) -> None:
    """Teach ``learner`` the ``most`` telling words of the corpus, until cancelled.

    The retriever is asked without a span: what happens every few seconds would bury the traces of what people do.
    """
    version: str | None = None
    while True:
        try:
            headers = {"if-none-match": version} if version else {}
            answer = await retriever.get("/vocabulary", params={"most": most}, headers=headers)
            if answer.status_code == 200:
                known = Vocabulary.model_validate_json(answer.content)
                version = f'"{known.corpus_version}"'
                learner.learn(known.words)
                log.info("the words of the notes were learnt", extra={"words": len(known.words)})
            answered = answer.status_code in (200, 304)
        except (httpx2.HTTPError, ValidationError):
            answered = False
        await asyncio.sleep(LOOK_S if answered else AGAIN_S)
