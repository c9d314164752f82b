"""How a refresh becomes visible, and what it reports."""

from __future__ import annotations

import pytest
from retriever_house import Refresh, Retriever


@pytest.mark.behaviour("C5", "C7")
async def test_a_saved_note_is_found(retriever: Retriever) -> None:
    report = await retriever.fill(
        {"wifi.md": "The guest wifi password is plum-29.", "tea.md": "Tea is served at four."}
    )
    assert (report.status, report.reason, report.added, report.embedded) == ("finished", None, 2, 2)
    result = await retriever.search("What is the guest wifi password?")
    best = max(result.passages, key=lambda passage: passage.score)
    assert best.path == "wifi.md"
    assert {found.leg for found in best.found} == {"vector", "lexical"}
    assert result.notice is None


@pytest.mark.behaviour("C5")
async def test_nothing_is_visible_before_the_last_document_of_the_refresh_is_staged(retriever: Retriever) -> None:
    refresh = Refresh("paths")
    first, second = refresh.save("a.md", "Apples are red."), refresh.save("b.md", "Bananas are yellow.")
    await retriever.take([first, refresh.seal])
    assert not (await retriever.search("apples")).passages
    assert (await retriever.corpus.refresh(refresh.id)).staged == 1
    await retriever.take([second])
    assert [passage.path for passage in (await retriever.search("apples bananas")).passages] == ["a.md", "b.md"]


@pytest.mark.behaviour("C5")
async def test_an_unsealed_refresh_is_never_visible(retriever: Retriever) -> None:
    await retriever.take([Refresh().save("a.md", "Apples are red.")])
    assert not (await retriever.search("apples")).passages
    assert (await retriever.manifest()).documents == ()
