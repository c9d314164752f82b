"""T9: every sentence of an answer is judged as soon as it is complete, whoever wrote it."""

from __future__ import annotations

import pytest
from agent_fakes import AMBER, CODE, judge_by_words
from hypothesis import given
from hypothesis import strategies as st

from agent.draft import Draft, without_citations
from agent.pieces import word_groups
from contracts.frames import Sentence

pytestmark = pytest.mark.behaviour("T9")


def written(pieces: list[str]) -> tuple[Draft, list[Sentence]]:
    draft = Draft((AMBER, CODE), judge_by_words)
    early = [sentence for piece in pieces for sentence in draft.add(piece)]
    return draft, early


def texts(draft: Draft) -> list[str]:
    return [draft.text[start:end] for start, end in (sentence.span for sentence in draft.sentences)]


def test_a_sentence_is_judged_when_the_next_one_has_plainly_begun() -> None:
    draft, early = written(["The code is ORCHID-47.", " It ", "is tested on Mondays."])
    assert [draft.text[slice(*sentence.span)] for sentence in early] == ["The code is ORCHID-47."]
    assert [draft.text[slice(*sentence.span)] for sentence in draft.finish()] == ["It is tested on Mondays."]


def test_an_abbreviation_at_the_end_of_a_delta_ends_no_sentence() -> None:
    draft, early = written(["Ask Dr.", " Lee", " about the valve."])
    assert early == []
    draft.finish()
    assert texts(draft) == ["Ask Dr. Lee about the valve."]


def test_a_version_split_over_deltas_ends_no_sentence() -> None:
    draft, _ = written(["Use release 3.", "12 of the pump. Then ", "restart."])
    draft.finish()
    assert texts(draft) == ["Use release 3.12 of the pump.", "Then restart."]


def test_a_citation_split_over_deltas_stays_with_its_sentence_and_is_no_evidence() -> None:
    heard: list[str] = []
    draft = Draft((AMBER,), lambda sentence, passages: heard.append(sentence) or judge_by_words(sentence, passages))
    for piece in ["It is purple.", "[", "1", "]", " The line is closed.[1]"]:
        draft.add(piece)
    draft.finish()
    assert texts(draft) == ["It is purple.[1]", "The line is closed.[1]"]
    assert heard == ["It is purple.", "The line is closed."]
    assert [sentence.verdict for sentence in draft.sentences] == ["unsupported", "unsupported"]


@pytest.mark.parametrize("mark", ["[1]", " [1]", " [1][2]", " [1] [2]"])
def test_a_citation_belongs_to_the_sentence_that_it_follows(mark: str) -> None:
    text = f"The line is closed.{mark} It is tested on Mondays.{mark}"
    expected = [f"The line is closed.{mark}", f"It is tested on Mondays.{mark}"]
    for size in (1, 3, len(text)):
        draft, early = written([text[start : start + size] for start in range(0, len(text), size)])
        assert [draft.text[slice(*sentence.span)] for sentence in early] == expected[:1]
        draft.finish()
        assert texts(draft) == expected


def test_a_cited_sentence_of_a_script_without_spaces_waits_for_its_citation() -> None:
    draft, early = written(["代码是ORCHID-47。", " [", "1]"])
    assert early == []
    assert [draft.text[slice(*sentence.span)] for sentence in draft.add(" 阀门")] == ["代码是ORCHID-47。 [1]"]
    draft.add("是琥珀色的。[2]")
    draft.add("完")
    draft.finish()
    assert texts(draft) == ["代码是ORCHID-47。 [1]", "阀门是琥珀色的。[2]", "完"]


def test_a_supported_sentence_names_the_lines_that_it_rests_on() -> None:
    draft, _ = written(["The code is ORCHID-47."])
    (sentence,) = draft.finish()
    assert sentence.verdict == "supported"
    assert [(support.source_id, support.lines) for support in sentence.support] == [(CODE.id, (7, 7))]


def test_sentences_of_scripts_without_spaces_are_judged_as_they_come() -> None:
    draft, early = written(["代码是ORCHID-47。", "阀门是琥珀色的。", "完"])
    assert len(early) == 2
    draft.finish()
    assert texts(draft) == ["代码是ORCHID-47。", "阀门是琥珀色的。", "完"]


def test_lines_of_code_are_kept_apart_from_what_follows_them() -> None:
    pieces = ["Run this:\n\n```\nmake", " up\nmake test\n```\n", "Then wait. ", "It answers."]
    whole, _ = written(["".join(pieces)])
    whole.finish()
    draft, _ = written(pieces)
    draft.finish()
    assert texts(draft) == texts(whole)


def test_citations_are_taken_out_and_other_brackets_stay() -> None:
    assert without_citations("See [it] here [12]. And[3] there.") == "See [it] here. And there."


WORDS = st.sampled_from(
    ["The", "valve", "is", "Dr.", "Lee", "3.12", "e.g.", "amber.", "Yes!", "No?[1]", "[2]", "\n\n", "- item", "完成。"]
)


@given(st.lists(WORDS, min_size=1, max_size=30), st.integers(1, 7))
def test_sentences_never_overlap_and_leave_out_nothing_however_the_text_is_cut(words: list[str], size: int) -> None:
    text = " ".join(words)
    draft, _ = written([text[start : start + size] for start in range(0, len(text), size)])
    draft.finish()
    assert draft.text == text
    end = 0
    for index, sentence in enumerate(draft.sentences):
        assert sentence.index == index
        assert text[end : sentence.span[0]].strip() == ""
        assert sentence.span[0] >= end
        end = sentence.span[1]
    assert text[end:].strip() == ""


@given(st.text(max_size=300), st.integers(1, 6))
def test_word_groups_join_to_the_text_they_were_cut_from(text: str, words: int) -> None:
    groups = list(word_groups(text, words=words))
    assert "".join(groups) == text
    assert all(groups)
