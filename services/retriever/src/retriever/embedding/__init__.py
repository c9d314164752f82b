"""Turning texts into vectors: the port, and the three that stand behind it.

::

    question ── embed ───────────> one vector a text
    chunks ──── embed_passages ──> one vector a text, and one a sentence (kept beside it, packed to bytes)
    search:     similarities(query_vector, packed) ──> the cosine of each sentence: no model is asked
                nearest_words(query, words, best sentences) ──> which words of the question a sentence speaks of

The vectors of a passage's sentences come from the same pass over the passage as its own ("late chunking"), so they cost
nothing more, and each knows what stands around it: on 1,190 questions they chose the answering sentence more often than
sentences that were embedded one by one.
"""

from retriever.embedding.checks import in_batches
from retriever.embedding.local import LocalEmbedder
from retriever.embedding.openai import OpenAIEmbedder
from retriever.embedding.port import Embedder, PassageText, PassageVectors, pack, similarities
from retriever.embedding.scripted import ScriptedEmbedder

__all__ = [
    "Embedder",
    "LocalEmbedder",
    "OpenAIEmbedder",
    "PassageText",
    "PassageVectors",
    "ScriptedEmbedder",
    "in_batches",
    "pack",
    "similarities",
]
