"""The local embedding: a small sentence model run by onnxruntime, in threads of its own.

::

    texts ── tokenize ── batches of 4, sorted by length ── token vectors ──┬── mean of all ────────> the text's vector
                                                                           └── mean of a sentence's ──> the sentence's

Large batches and the memory arena made the same model hold 937 MB instead of 250.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from retriever.embedding.checks import checked, in_batches
from retriever.embedding.model_files import ModelFiles, in_folder, shipped
from retriever.embedding.port import PassageText, PassageVectors, Vectors, pack
from retriever.embedding.runtime import onnxruntime
from retriever.errors import EmbeddingUnavailable

_BATCH: Final = 4
KEPT: Final = 256
"""Texts whose token vectors are kept: a question's own, and sentences that were looked at closely; about 45 kB each."""
LONGEST_KEPT: Final = 64
"""In tokens; few sentences are longer."""
LONGEST: Final = 256
"""Tokens; the model was trained on no longer texts, and what comes after is not in the vector."""

T = TypeVar("T")


class LocalEmbedder:
    """A sentence model on this machine; questions have a thread of their own, so that no indexing makes them wait."""

    def __init__(self, files: ModelFiles, *, threads: int = 1) -> None:
        options: Any = onnxruntime.SessionOptions()  # the package has no types for it
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        try:
            self._session = onnxruntime.InferenceSession(files.model, options, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_str(files.tokenizer)
        except Exception as error:  # both libraries raise their own kinds
            raise EmbeddingUnavailable(f"The model {files.name} cannot be loaded ({type(error).__name__}).") from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        inputs = cast("list[Any]", self._session.get_inputs())
        self._inputs = {str(each.name) for each in inputs}
        outputs = cast("list[Any]", self._session.get_outputs())
        self.dimensions = int(outputs[0].shape[-1])
        self.fingerprint = f"local/{files.name}/{self.dimensions}"
        self._kept: OrderedDict[str, tuple[Vectors, Encoding]] = OrderedDict()
        self._questions = ThreadPoolExecutor(1, "embed-questions")
        self._documents = ThreadPoolExecutor(1, "embed-documents")

    @classmethod
    async def load(cls, folder: Path | None = None, *, threads: int = 1) -> LocalEmbedder:
        """Read, verify and warm the model: the one that is shipped, or `model.onnx` and `tokenizer.json` of a folder.

        `threads` are those of one pass over a batch. Raises :class:`retriever.errors.EmbeddingUnavailable`.
        """

        def read() -> LocalEmbedder:
            return cls(in_folder(folder) if folder else shipped(), threads=threads)

        embedder = await asyncio.to_thread(read)
        await embedder.embed(["warm"])
        return embedder

    def close(self) -> None:
        """End the threads; what they are computing is finished first."""
        for executor in (self._questions, self._documents):
            executor.shutdown(wait=True, cancel_futures=True)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Give one vector a text, in order; a question's way, kept clear of the documents'."""
        passed: list[list[tuple[Vectors, Encoding]]] = []
        for batch in in_batches(texts):
            if len(texts) <= _BATCH:
                passed.append(await self._run(self._questions, partial(self._keep, batch)))
            else:
                passed.append(await self._run(self._documents, partial(self._pass, batch)))
        means = [tokens.mean(axis=0) for batch in passed for tokens, _ in batch]
        if not means:
            return np.empty((0, self.dimensions), np.float32)
        return checked(np.stack(means), texts=len(texts), dimensions=self.dimensions)

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Give the vectors of passages and of their sentences, in order, at most 32 passages a step."""
        found: list[PassageVectors] = []
        for batch in in_batches(passages):
            passed = await self._run(self._documents, partial(self._pass, [passage.text for passage in batch]))
            means = np.stack([tokens.mean(axis=0) for tokens, _ in passed])
            vectors = checked(means, texts=len(batch), dimensions=self.dimensions)
            found += [
                PassageVectors(vector, pack(_of_sentences(passage.sentences(), tokens, encoding)))
                for passage, vector, (tokens, encoding) in zip(batch, vectors, passed, strict=True)
            ]
        return found

    async def nearest_words(
        self, query: str, words: Sequence[tuple[int, int]], sentences: Sequence[str]
    ) -> list[list[float]] | None:
        """Give, for each sentence, the cosine of its nearest token to each of the query's words, 0 for one cut off."""
        if not sentences:
            return []
        (asked, asked_encoding), *told = await self._run(self._questions, partial(self._keep, [query, *sentences]))
        query_tokens = _unit(asked)
        of_words = [_inside(asked_encoding, first, end) for first, end in words]
        nearest: list[list[float]] = []
        for tokens, _ in told:
            # The first and the last token are marks of the model's own.
            best = (query_tokens @ _unit(tokens[1:-1] if len(tokens) > 2 else tokens).T).max(axis=1)
            nearest.append([float(best[places].mean()) if places else 0.0 for places in of_words])
        return nearest

    async def _run(self, executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, work)
        except RuntimeError as error:
            # A closed executor, or the library's own failure.
            raise EmbeddingUnavailable(f"The local model does not answer ({type(error).__name__}).") from None

    def _keep(self, texts: Sequence[str]) -> list[tuple[Vectors, Encoding]]:
        """As ``_pass``, in the questions' thread, but for what was passed lately: vectors hang on their text alone."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        found = dict(zip(missing, self._pass(missing), strict=True)) if missing else {}
        for text in texts:
            if text in self._kept:
                found[text] = self._kept[text]
                self._kept.move_to_end(text)
            elif len(found[text][1].ids) <= LONGEST_KEPT:
                self._kept[text] = found[text]
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return [found[text] for text in texts]

    def _pass(self, texts: Sequence[str]) -> list[tuple[Vectors, Encoding]]:
        """Run the model over texts; the vectors of each one's tokens, in order."""
        encodings: list[Encoding] = self._tokenizer.encode_batch([_well_formed(text) for text in texts])
        order = sorted(range(len(texts)), key=lambda place: len(encodings[place].ids))
        found: dict[int, Vectors] = {}
        for first in range(0, len(order), _BATCH):
            places = order[first : first + _BATCH]
            width = max(len(encodings[place].ids) for place in places)
            ids: NDArray[np.int64] = np.zeros((len(places), width), np.int64)
            mask: NDArray[np.int64] = np.zeros_like(ids)
            for row, place in enumerate(places):
                length = len(encodings[place].ids)
                ids[row, :length] = encodings[place].ids
                mask[row, :length] = 1
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            output: Any = self._session.run(
                None, {name: value for name, value in feed.items() if name in self._inputs}
            )[0]
            states = np.asarray(output, dtype=np.float32)
            for row, place in enumerate(places):
                found[place] = states[row, : len(encodings[place].ids)]
        return [(found[place], encodings[place]) for place in range(len(texts))]


def _of_sentences(spans: Sequence[tuple[int, int]], tokens: Vectors, encoding: Encoding) -> Vectors:
    """The mean of each sentence's tokens; a sentence past the model's reach has the mean of all."""
    means = [
        tokens[places].mean(axis=0) if (places := _inside(encoding, *span)) else tokens.mean(axis=0) for span in spans
    ]
    return _unit(np.stack(means)) if means else np.empty((0, tokens.shape[1]), np.float32)


def _inside(encoding: Encoding, first: int, end: int) -> list[int]:
    return [
        place for place, (start, stop) in enumerate(encoding.offsets) if start < stop and start >= first and stop <= end
    ]


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _well_formed(text: str) -> str:
    # The tokenizer refuses lone surrogates; one character for one keeps the offsets.
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
