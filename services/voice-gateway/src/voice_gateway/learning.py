"""The words that only the notes say, kept with the ears: at the start, and whenever the corpus has changed."""

from __future__ import annotations

import asyncio
import logging

import httpx2
from pydantic import ValidationError

from contracts.search import Vocabulary
from voice_gateway.ears.port import Ears

log = logging.getLogger(__name__)

LOOK_S = 10.0
"""How often the retriever is asked; it answers that nothing has changed without reading anything."""
AGAIN_S = 2.0
"""How soon it is asked again while it does not answer."""


async def keep_learning(ears: Ears, retriever: httpx2.AsyncClient, most: int) -> None:
    """Teach the ears the ``most`` telling words of the corpus, until cancelled.

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
                ears.learn(known.words)
                log.info("the ears learnt the words of the notes", extra={"words": len(known.words)})
            answered = answer.status_code in (200, 304)
        except (httpx2.HTTPError, ValidationError):
            answered = False
        await asyncio.sleep(LOOK_S if answered else AGAIN_S)
