"""Another embedding model never blanks search (C15); a text is embedded once (C4); questions go first."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from retriever_house import Refresh, Retriever, Start

from chassis.postgres import Pool
from contracts.refreshes import Manifest
from retriever.embedding import Embedder, PassageText, PassageVectors, ScriptedEmbedder
from retriever.embedding.port import Vectors
from retriever.errors import EmbeddingUnavailable, ForeignEmbedding
from retriever.models import Models
from retriever.precedence import Precedence
from retriever.reading import Corpus
from retriever.rebuilding import Rebuild
from retriever.settings import Settings

NOTES = {"a.md": "Apples are red.\n\nPears are green.", "b.md": "Plums are blue."}


class Other:
    """An embedder of another kind: fewer dimensions, another fingerprint, and a switch that turns it off."""

    dimensions = 96
    fingerprint = "test/other/96"

    def __init__(self) -> None:
        self.works = True
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not self.works:
            raise EmbeddingUnavailable("The embedding provider cannot be reached.")
        rows = [[zlib.crc32(f"{place}{text}".encode()) % 7 + 1 for place in range(self.dimensions)] for text in texts]
        return np.asarray(rows, dtype=np.float32)

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        vectors = await self.embed([passage.text for passage in passages])
        self.embedded += [passage.text for passage in passages]
        return [PassageVectors(vector) for vector in vectors]

    async def nearest_words(
        self, query: str, words: Sequence[tuple[int, int]], sentences: Sequence[str]
    ) -> list[list[float]] | None:
        return None


async def the_one_before(fingerprint: str) -> Embedder | None:
    return ScriptedEmbedder() if fingerprint.startswith(ScriptedEmbedder.fingerprint) else None


@pytest.mark.behaviour("C15")
async def test_the_old_embedding_serves_until_the_new_one_is_complete(retriever: Retriever, pool: Pool) -> None:
    await retriever.fill(NOTES)
    old = (await retriever.manifest()).served_embedding
    other = Other()
    changed = await Retriever.start(pool, other, Settings(), the_one_before)

    result = await changed.search("apples red")
    assert result.notice is None
    assert "vector" in {found.leg for passage in result.passages for found in passage.found}
    manifest = await changed.manifest()
    assert manifest.served_embedding == old
    assert manifest.embedding.startswith(other.fingerprint)
    assert manifest.notice

    other.works = False
    with pytest.raises(EmbeddingUnavailable):
        await changed.rebuild.complete(await changed.models.ready())
    assert (await changed.manifest()).served_embedding == old
    assert (await changed.search("plums blue")).notice is None

    other.works = True
    await changed.rebuild.complete(await changed.models.ready())
    manifest = await changed.manifest()
    assert manifest.served_embedding == manifest.embedding
    assert manifest.notice is None
    assert {entry.embedding for entry in manifest.documents} == {manifest.embedding}
    result = await changed.search("apples red")
    assert "vector" in {found.leg for passage in result.passages for found in passage.found}
    async with pool.connection() as connection:
        tables = await (await connection.execute("SELECT to_regclass('vectors_1') AS one")).fetchone()
    assert tables == {"one": None}
    changed.close()


@pytest.mark.behaviour("C15")
async def test_words_alone_serve_and_say_so_when_the_old_model_is_gone(retriever: Retriever, start: Start) -> None:
    await retriever.fill(NOTES)
    changed = await start(Other())
    result = await changed.search("apples")
    assert {passage.path for passage in result.passages} == {"a.md"}
    assert {found.leg for passage in result.passages for found in passage.found} == {"lexical"}
    assert result.notice
    assert "words alone" in result.notice


@pytest.mark.behaviour("C15")
async def test_a_note_saved_while_the_new_embedding_is_built_is_found_before_and_after(
    retriever: Retriever, pool: Pool
) -> None:
    await retriever.fill(NOTES)
    other = Other()
    changed = await Retriever.start(pool, other, Settings(), the_one_before)
    await changed.fill({"c.md": "Cherries are dark."}, scope="paths")
    result = await changed.search("cherries", neighbours=0, hits=1)
    assert [passage.path for passage in result.passages] == ["c.md"]
    await changed.rebuild.complete(await changed.models.ready())
    assert len(other.embedded) == 4, "each text once, the saved one included"
    assert (await changed.search("cherries", hits=1)).passages[0].path == "c.md"
    changed.close()


@pytest.mark.behaviour("C15")
async def test_a_retriever_of_an_embedding_that_was_replaced_says_what_to_do(
    retriever: Retriever, start: Start
) -> None:
    await retriever.fill(NOTES)
    changed = await start(Other())
    await changed.rebuild.complete(await changed.models.ready())
    refresh = Refresh()
    with pytest.raises(ForeignEmbedding, match="restart"):
        await retriever.handle(refresh.save("d.md", "Damsons."))
    assert (await retriever.search("apples")).notice


@pytest.mark.behaviour("C15")
async def test_searches_go_on_while_one_embedding_replaces_another(retriever: Retriever, pool: Pool) -> None:
    await retriever.fill({f"{n}.md": f"Note {n} about valves." for n in range(40)})
    changed = await Retriever.start(pool, Other(), Settings(), the_one_before)
    rebuilding = asyncio.create_task(changed.rebuild.complete(await changed.models.ready()))
    searched = 0
    while not rebuilding.done() or searched < 5:
        result = await changed.search("note about valves")
        assert result.passages
        assert result.notice is None
        searched += 1
    await rebuilding
    changed.close()


@pytest.mark.behaviour("C15")
async def test_a_table_that_is_still_read_is_left_for_a_later_look_and_holds_nobody_up(
    retriever: Retriever, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retriever.rebuilding.DROP_ATTEMPTS", 3)
    await retriever.fill(NOTES)
    changed = await Retriever.start(pool, Other(), Settings(), the_one_before)

    async def left() -> bool:
        async with pool.connection() as connection:
            row = await (await connection.execute("SELECT to_regclass('vectors_1') IS NOT NULL AS left")).fetchone()
        return bool(row and row["left"])

    async with pool.connection() as reading, reading.transaction():
        await reading.execute("SELECT count(*) FROM vectors_1")
        await changed.rebuild.complete(await changed.models.ready())
        manifest = await changed.manifest()
        assert manifest.served_embedding == manifest.embedding
        assert (await changed.search("apples red")).passages
        await changed.fill({"c.md": "Cherries are dark."}, scope="paths")
        assert (await (await reading.execute("SELECT count(*) AS n FROM vectors_1")).fetchone()) == {"n": 3}
    assert await left()
    await changed.rebuild.complete(await changed.models.ready())
    assert not await left()
    assert (await changed.search("cherries", hits=1)).passages[0].path == "c.md"
    changed.close()


@pytest.mark.behaviour("C4", "C15")
async def test_a_document_is_embedded_again_when_its_hash_or_the_embedding_is_another_and_at_no_other_time(
    retriever: Retriever, start: Start
) -> None:
    await retriever.fill(NOTES)
    other = Other()
    changed = await start(other)
    await changed.rebuild.complete(await changed.models.ready())
    assert sorted(other.embedded) == ["Apples are red.", "Pears are green.", "Plums are blue."]
    manifest = await changed.manifest()
    assert {entry.embedding for entry in manifest.documents} == {manifest.embedding}

    other.embedded.clear()
    await changed.rebuild.complete(await changed.models.ready())
    assert (await changed.fill(NOTES)).embedded == 0
    assert other.embedded == []
    assert (await changed.fill({**NOTES, "b.md": "Plums are ripe."})).embedded == 1
    assert other.embedded == ["Plums are ripe."]


@pytest.mark.behaviour("C4")
async def test_a_chunk_that_lost_its_vector_gets_it_again(retriever: Retriever, pool: Pool) -> None:
    await retriever.fill(NOTES)
    async with pool.connection() as connection:
        await connection.execute("DELETE FROM vectors_1 WHERE key = (SELECT min(key) FROM vectors_1)")
    await retriever.rebuild.complete(await retriever.models.ready())
    async with pool.connection() as connection:
        row = await (await connection.execute("SELECT count(*) AS n FROM vectors_1")).fetchone()
    assert row == {"n": 3}


@pytest.mark.behaviour("C8")
async def test_a_request_carries_at_most_the_texts_that_are_set(start: Start) -> None:
    sizes: list[int] = []

    class Counting(ScriptedEmbedder):
        async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
            sizes.append(len(passages))
            return await super().embed_passages(passages)

    retriever = await start(Counting())
    await retriever.fill({"a.md": "\n\n".join(f"Paragraph {n}." for n in range(40))})
    assert sum(sizes) == 40
    assert max(sizes) <= 32


@pytest.mark.behaviour("R5")
async def test_a_question_that_gets_no_vector_is_searched_by_words(start: Start) -> None:
    class Mute(ScriptedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            raise EmbeddingUnavailable("The embedding provider answered 401.")

    retriever = await start(Mute())
    await retriever.fill(NOTES)
    result = await retriever.search("plums")
    assert [passage.path for passage in result.passages] == ["b.md"]
    assert result.notice is not None
    assert "401" in result.notice


@pytest.mark.behaviour("C15", "T11")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (EmbeddingUnavailable("The model is missing: install it again."), "The model is missing: install it again."),
        (OSError("a secret"), "The embedding model cannot be loaded (OSError)."),
    ],
)
async def test_a_model_that_cannot_be_loaded_says_what_to_do_where_we_know_it(
    pool: Pool, error: Exception, said: str
) -> None:
    async def load() -> Embedder:
        raise error

    models = Models(pool, load)
    loading = asyncio.create_task(models.run())
    await models.tried()
    assert models.failure == said
    manifest = Manifest.model_validate_json(await Corpus(pool, models, Rebuild(pool)).manifest())
    assert manifest.notice == f"{said} Questions are answered by words alone, and changes wait."
    loading.cancel()


async def test_documents_wait_for_questions() -> None:
    precedence = Precedence()
    order: list[str] = []

    async def document() -> None:
        await precedence.after_questions()
        order.append("document")

    with precedence.question():
        waiting = asyncio.create_task(document())
        await asyncio.sleep(0)
        order.append("question")
    await waiting
    assert order == ["question", "document"]
