"""The embedding of OpenAI, or of any server that speaks its ``/v1/embeddings``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from chassis.conventions import EMBEDDINGS
from chassis.model_calls import call_of, count_input_tokens
from retriever.embedding.checks import checked, in_batches
from retriever.embedding.port import PassageText, PassageVectors, Vectors
from retriever.errors import EmbeddingUnavailable, InvalidVectors

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_OWN_ADDRESS: Final = "https://api.openai.com/v1"


class OpenAIEmbedder:
    """Asks a server for vectors: at most 32 texts a request, answers put in order by their index (C8)."""

    def __init__(self, *, api_key: str, model: str, dimensions: int, base_url: str | None, timeout_s: float) -> None:
        # Imported here: the package takes half a second, and only this mode needs it.
        from openai import AsyncOpenAI

        self.dimensions = dimensions
        self.fingerprint = f"openai/{model}/{dimensions}"
        self._model = model
        self._client: AsyncOpenAI = AsyncOpenAI(
            api_key=api_key, base_url=base_url or _OWN_ADDRESS, timeout=timeout_s, max_retries=2
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Give one vector a text, in order; texts without characters are sent as a full stop, which servers accept."""
        found = [await self._request([text if text.strip() else "." for text in batch]) for batch in in_batches(texts)]
        return np.concatenate(found) if found else np.empty((0, self.dimensions), np.float32)

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Give the vectors of passages; their sentences have none, since each would be paid for."""
        return [PassageVectors(vector) for vector in await self.embed([passage.text for passage in passages])]

    async def nearest_words(
        self, query: str, words: Sequence[tuple[int, int]], sentences: Sequence[str]
    ) -> list[list[float]] | None:
        """Tell nothing: the server does not show the vectors of words."""
        return None

    async def _request(self, texts: list[str]) -> Vectors:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        # Only the newer models can be asked for a length, and they answer at their full one when they are not.
        shortened = self._model.startswith("text-embedding-3")
        try:
            # Plain numbers: the package's default, base64, is not understood by every compatible server.
            answer = (
                await self._client.embeddings.create(
                    model=self._model, input=texts, encoding_format="float", dimensions=self.dimensions
                )
                if shortened
                else await self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
            )
        except APIConnectionError:
            raise EmbeddingUnavailable("The embedding provider cannot be reached.") from None
        except APIStatusError as error:
            raise EmbeddingUnavailable(f"The embedding provider answered {error.status_code}.") from None
        except (OpenAIError, ValueError) as error:
            raise EmbeddingUnavailable(f"The embedding provider failed ({type(error).__name__}).") from None
        # A compatible server may answer with anything; the package does not check it.
        data: list[Any] = getattr(answer, "data", None) or []
        tokens = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
        if isinstance(tokens, int):
            count_input_tokens(call_of(EMBEDDINGS, "openai", self._model), tokens)
        by_index: dict[int, list[float]] = {item.index: item.embedding for item in data}
        if len(data) != len(texts) or set(by_index) != set(range(len(texts))):
            raise InvalidVectors(f"The embedding provider answered {len(data)} vectors for {len(texts)} texts.")
        return checked([by_index[place] for place in range(len(texts))], texts=len(texts), dimensions=self.dimensions)
