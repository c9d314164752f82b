"""The embedder that the settings choose."""

from __future__ import annotations

from retriever.embedding import Embedder, LocalEmbedder, OpenAIEmbedder, ScriptedEmbedder
from retriever.settings import Settings


async def chosen(settings: Settings) -> Embedder:
    """Load the configured embedder; the local one takes about half a second, in a thread."""
    match settings.chosen_embeddings:
        case "scripted":
            return ScriptedEmbedder()
        case "openai":
            key = settings.openai_api_key
            return OpenAIEmbedder(
                api_key=key.get_secret_value() if key else "",
                model=settings.embedding_model,
                dimensions=settings.embedding_dimensions,
                base_url=settings.openai_base_url,
                timeout_s=settings.provider_timeout_s,
            )
        case "local":
            return await LocalEmbedder.load(settings.model_folder, threads=settings.model_threads)


async def earlier(fingerprint: str) -> Embedder | None:
    """Load the embedder of a corpus that was built with other settings, as far as it needs nothing but this machine."""
    if fingerprint.startswith(f"{ScriptedEmbedder.fingerprint}/"):
        return ScriptedEmbedder()
    if fingerprint.startswith("local/"):
        embedder = await LocalEmbedder.load()
        return embedder if fingerprint.startswith(f"{embedder.fingerprint}/") else None
    return None
