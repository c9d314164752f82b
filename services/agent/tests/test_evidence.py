"""T9: a sentence is supported by the lines that say the same, and by nothing else."""

import datetime as dt

import pytest

from agent.evidence import judge, lines_of
from chassis.sentences import sentence_spans
from contracts.documents import chunk_id
from contracts.search import Passage, SentenceScore

SHA = "a" * 64


def passage(
    text: str, path: str = "a.md", ordinal: int = 0, first_line: int = 1, language: str = "en", **named: object
) -> Passage:
    """A passage whose every line of text is a line of its file."""
    runs: list[tuple[int, int, int]] = []
    offset = 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        runs.append((offset, offset, first_line + number))
        offset += len(line)
    return Passage.model_validate(
        {
            "id": chunk_id(path, SHA, ordinal),
            "path": path,
            "ordinal": ordinal,
            "heading": (),
            "lines": (first_line, first_line + max(len(runs) - 1, 0)),
            "text": text,
            "version": SHA,
            "saved_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
            "language": language,
            "runs": tuple(runs),
            "sentences": tuple(SentenceScore(span=span) for span in sentence_spans(text)),
            **named,
        }
    )


VALVE = passage(
    "The amber valve sits behind the boiler.\n\nIts code is ORCHID-47.\nIt was fitted in 1998 by Ada Lee.", first_line=5
)


@pytest.mark.behaviour("T9")
@pytest.mark.parametrize(
    ("sentence", "lines"),
    [
        ("The amber valve sits behind the boiler.", (5, 5)),
        ("Behind the boiler sits the amber valve!", (5, 5)),
        ("Its code is ORCHID-47.", (7, 7)),
        ("Ada Lee fitted it in 1998.", (8, 8)),
    ],
)
def test_a_sentence_is_supported_by_the_lines_that_say_it(sentence: str, lines: tuple[int, int]) -> None:
    judgement = judge(sentence, [VALVE])

    assert judgement.verdict == "supported"
    assert [(one.source_id, one.lines) for one in judgement.support] == [(VALVE.id, lines)]


@pytest.mark.behaviour("T9")
@pytest.mark.parametrize(
    "sentence",
    [
        "Its code is ORCHID-74.",
        "It was fitted in 1989 by Ada Lee.",
        "It was fitted in 1998 by Bob Lee.",
        "Its code is not ORCHID-47.",
        "The amber valve never sits behind the boiler.",
        "The green pump stands under the stairs.",
        "The notes do not say.",
        "",
        "...",
    ],
)
def test_another_number_another_name_a_denial_or_other_words_are_not_supported(sentence: str) -> None:
    assert judge(sentence, [VALVE]).verdict == "unsupported"
    assert judge(sentence, [VALVE]).support == ()


@pytest.mark.behaviour("T9")
def test_words_and_figures_are_the_same_number() -> None:
    assert judge("It has three doors.", [passage("It has 3 doors.")]).verdict == "supported"
    assert judge("It has 3 doors.", [passage("It has four doors.")]).verdict == "unsupported"
    assert judge("It cost 100,000 euros.", [passage("It cost 100000 euros.")]).verdict == "supported"


@pytest.mark.behaviour("T9")
def test_every_source_that_says_it_is_named_and_the_others_are_not() -> None:
    other = passage("Its code is ORCHID-47.", path="b.md")
    unrelated = passage("The tea is in the kitchen.", path="c.md")

    judgement = judge("Its code is ORCHID-47.", [unrelated, VALVE, other])

    assert {one.source_id for one in judgement.support} == {VALVE.id, other.id}


@pytest.mark.behaviour("T9")
@pytest.mark.parametrize(
    ("text", "language", "right", "wrong"),
    [
        (
            "Das Ventil sitzt nicht hinter dem Kessel.",
            "de",
            "Hinter dem Kessel sitzt das Ventil nicht.",
            "Das Ventil sitzt hinter dem Kessel.",
        ),
        ("阀门在锅炉后面，代码是308。", "zh", "代码是308。", "代码是309。"),
    ],
)
def test_other_languages_are_judged_by_their_own_words(text: str, language: str, right: str, wrong: str) -> None:
    source = passage(text, language=language)

    assert judge(right, [source]).verdict == "supported"
    assert judge(wrong, [source]).verdict == "unsupported"


@pytest.mark.behaviour("T9")
def test_a_row_of_a_table_is_read_with_its_header() -> None:
    row = passage("Amber valve | ORCHID-47", context="Device | Code")

    assert judge("The code of the amber valve is ORCHID-47.", [row]).verdict == "supported"
    assert judge("The code of the amber valve is ORCHID-48.", [row]).verdict == "unsupported"


def test_a_passage_without_runs_or_sentences_is_cited_whole() -> None:
    bare = passage("It is blue. It is old.", runs=(), sentences=(), lines=(3, 9))

    assert lines_of(bare, (0, 5)) == (3, 9)
    assert judge("It is blue.", [bare]).support[0].lines == (3, 9)


def test_no_passages_support_nothing() -> None:
    assert judge("Anything at all.", []).verdict == "unsupported"
