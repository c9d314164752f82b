"""The metrics of documents and embeddings, by real refreshes on a real database."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from retriever_house import SAVED_AT, Refresh, Retriever

Measured = Callable[[str], list[Any]]


def saved(ago_s: float, **of: Any) -> Refresh:
    """A refresh that began so long ago, of a document that was saved a moment before that."""
    began = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=ago_s)
    refresh = Refresh(started_at=began, **of)
    refresh.save("wifi.md", "The guest wifi password is plum-29.", saved_at=began - dt.timedelta(milliseconds=20))
    return refresh


@pytest.mark.behaviour("C12")
async def test_freshness_is_timed_from_the_save_to_the_moment_it_is_found(
    retriever: Retriever, measured: Measured
) -> None:
    await retriever.show(saved(2))
    (fresh,) = measured("talkdown.document.time_to_searchable")
    assert dict(fresh.attributes) == {"talkdown.document.change": "added"}
    assert fresh.count == 1
    assert fresh.sum >= 2.02
    (refreshed,) = measured("talkdown.refresh.duration")
    assert dict(refreshed.attributes) == {"talkdown.refresh.status": "finished"}
    assert 2 <= refreshed.sum <= fresh.sum


async def test_a_file_that_came_with_an_old_time_is_not_called_stale(retriever: Retriever, measured: Measured) -> None:
    refresh = Refresh(started_at=dt.datetime.now(dt.UTC))
    refresh.save("wifi.md", "The guest wifi password is plum-29.", saved_at=SAVED_AT)
    await retriever.show(refresh)
    assert measured("talkdown.document.time_to_searchable") == []
    assert len(measured("talkdown.refresh.duration")) == 1


async def test_what_a_start_finds_in_the_folder_is_no_save(retriever: Retriever, measured: Measured) -> None:
    await retriever.show(saved(0, scope="tree"))
    assert measured("talkdown.document.time_to_searchable") == []


async def test_embeddings_of_passages_and_of_questions_are_timed(retriever: Retriever, measured: Measured) -> None:
    await retriever.show(saved(0))
    await retriever.search("guest wifi password")
    (embedded,) = measured("gen_ai.client.operation.duration")
    assert embedded.count == 2
    assert embedded.attributes["gen_ai.operation.name"] == "embeddings"
    assert "plum" not in str(dict(embedded.attributes))
