"""The vocabulary of the corpus: what ears must hear right."""

from __future__ import annotations

import pytest
from retriever_house import Refresh, Retriever

from contracts.documents import Properties
from retriever.vocabulary import Named, Said, Vocabularies, words_of


def test_titles_identifiers_and_names_come_before_rare_words_and_common_ones_not_at_all() -> None:
    documents = [Named("safety/valve-log.md", "en", title="Valves", aliases=("Taps",), tags=("water", "2024"))]
    chunks = [
        Said("en", ("Valves", "The amber valve"), "Enter the code ORCHID-47 in the Fern House with a spindle."),
        *(Said("en", (), "They are often closed by the keeper who carries the max_open_valves.") for _ in range(5)),
    ]
    words = words_of(documents, chunks, 100)
    assert words[:2] == ("Valves", "Taps")
    assert set(words[2:5]) == {"ORCHID-47", "max_open_valves", "Fern House"}
    assert {"water", "The amber valve", "valve log", "spindle"} <= set(words)
    assert not {"2024", "They", "they", "with", "closed"} & set(words)
    assert len({word.casefold() for word in words}) == len(words)
    assert words_of(documents, chunks, 3) == words[:3]


def test_where_every_noun_has_a_capital_it_makes_no_name() -> None:
    words = words_of([], [Said("de", (), "Bitte schließen Sie das Ventil im Farnhaus mit dem Code ORCHIDEE-47.")], 9)
    assert words[0] == "ORCHIDEE-47"
    assert "Farnhaus" not in words


async def test_it_follows_the_corpus(retriever: Retriever, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retriever.vocabulary.AGAIN_AFTER_S", 0.0)
    vocabularies = Vocabularies(retriever.pool)
    assert (await vocabularies(10)).words == ()
    refresh = Refresh("tree")
    refresh.save("a.md", "The code is ORCHID-47.", properties=Properties(title="Valves", aliases=("Taps",)))
    await retriever.show(refresh)
    known = await vocabularies(10)
    assert known.corpus_version == 1
    assert known.words[:3] == ("Valves", "Taps", "ORCHID-47")
    assert (await vocabularies(1)).words == ("Valves",)
    gone = Refresh()
    gone.delete("a.md")
    await retriever.show(gone)
    assert (await vocabularies(10)).words == ()
