"""The embedders that this process can use: loaded beside everything else, asked by the fingerprint that is stored."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from chassis.plain import Plain
from chassis.postgres import Pool
from retriever.embedding import Embedder
from retriever.embedding.checks import checked
from retriever.embedding.port import Vectors
from retriever.errors import EmbeddingUnavailable
from retriever.precedence import Precedence
from retriever.vectors import KeptVectors, embeddings_call, fingerprint_of, register

log = logging.getLogger(__name__)

Load = Callable[[], Awaitable[Embedder]]
"""Loads the configured embedder; may take seconds, so it does not run on the event loop."""
LoadOther = Callable[[str], Awaitable[Embedder | None]]
"""Loads the embedder of another fingerprint that is still served, or says that it cannot."""

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
REMEMBERED_QUESTIONS = 256


async def no_other(fingerprint: str) -> Embedder | None:
    """No other embedder than the configured one."""
    return None


class Models:
    """The configured embedder, and the one before it as long as its vectors are served."""

    def __init__(self, pool: Pool, load: Load, load_other: LoadOther = no_other, *, batch: int = 32) -> None:
        self.precedence = Precedence()
        self.configured: KeptVectors | None = None
        self.failure: str | None = None
        self._pool = pool
        self._load, self._load_other = load, load_other
        self._batch = batch
        self._tried = asyncio.Event()
        self._ready = asyncio.Event()
        self._others: dict[str, Embedder | None] = {}
        self._questions: OrderedDict[tuple[str, str], Vectors] = OrderedDict()

    async def run(self) -> None:
        """Load the configured embedder, trying again with growing pauses."""
        wait = FIRST_WAIT_S
        while True:
            try:
                embedder = await self._load()
                number = await register(self._pool, embedder)
            except Exception as error:  # whatever a package or a provider raises: the lexical leg serves meanwhile
                own = isinstance(error, Plain) and str(error)
                self.failure = own or f"The embedding model cannot be loaded ({type(error).__name__})."
                log.exception("the embedding model cannot be loaded", extra={"again_in_s": wait})
                self._tried.set()
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT_S)
                continue
            self.configured = KeptVectors(self._pool, embedder, number, self.precedence, self._batch)
            self.failure = None
            log.info("embedding model ready", extra={"embedding": fingerprint_of(embedder)})
            self._tried.set()
            self._ready.set()
            return

    async def ready(self) -> KeptVectors:
        """The configured embedding, once it is loaded."""
        await self._ready.wait()
        assert self.configured is not None
        return self.configured

    async def tried(self) -> None:
        """Return once the configured embedder is loaded, or could not be at the first try."""
        await self._tried.wait()

    @property
    def fingerprint(self) -> str | None:
        """The configured embedding's fingerprint, once it is known."""
        return fingerprint_of(self.configured.embedder) if self.configured else None

    async def question(self, fingerprint: str, text: str) -> Vectors:
        """A question's vector in the embedding that is served; :class:`EmbeddingUnavailable` when there is none."""
        key = (fingerprint, text)
        if key in self._questions:
            self._questions.move_to_end(key)
            return self._questions[key]
        embedder = await self.serving(fingerprint)
        if embedder is None:
            raise EmbeddingUnavailable(f"The embedding {fingerprint} is not available here.")
        with self.precedence.question(), embeddings_call(embedder, 1):
            vectors = checked(await embedder.embed([text]), texts=1, dimensions=embedder.dimensions)
        self._questions[key] = vectors[0]
        if len(self._questions) > REMEMBERED_QUESTIONS:
            self._questions.popitem(last=False)
        return vectors[0]

    async def serving(self, fingerprint: str) -> Embedder | None:
        """The embedder of an embedding that is served, or nothing when it cannot be had here."""
        await self._tried.wait()
        if self.configured and self.fingerprint == fingerprint:
            return self.configured.embedder
        if fingerprint not in self._others:
            self._others[fingerprint] = await self._load_other(fingerprint)
        return self._others[fingerprint]
