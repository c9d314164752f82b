"""What a chunk is, on texts made for the purpose and on any text at all."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contracts.documents import Chunk
from contracts.events import DocumentChanged
from ingestor.chunking import CHUNK_LENGTH, chunk_document, fingerprint


def chunks_of(text: str, length: int = CHUNK_LENGTH) -> tuple[Chunk, ...]:
    return chunk_document(text.encode(), text, length).chunks


def written(text: str, chunk: Chunk) -> str:
    return text.encode()[slice(*chunk.span)].decode()


def sentences(count: int, word: str = "water") -> str:
    return " ".join(f"Sentence {n} says that the {word} runs downhill." for n in range(count))


EXAMPLES = Path(__file__).parents[3] / "contracts" / "examples"
WRITTEN = (
    "# ¦## ¦### ¦- ¦* ¦1. ¦3) ¦- - ¦> ¦> [!note] ¦- [x] ¦```¦~~~¦    ¦\n¦\r\n¦\r¦\n\n¦**¦*¦_¦~~¦`¦``¦[¦](x)¦[[¦]]¦"
    "[[a|b]]¦![[¦![¦<b>¦</b>¦<div>\n¦<!-- ¦-->¦<br>¦&amp;¦&#8212;¦&acE;¦[^1]¦[^1]: ¦|¦a | b\n---|---\n¦ | ¦---\n¦===\n"
    "x¦word ¦Ein Satz. ¦中文。¦中¦é¦e\u0301¦👩\u200d🔬¦\t¦  \n¦\\¦$¦<script>¦</script>¦\ufeff¦\u2028¦\x0b¦"
    "http://a.b/c_d ¦\x1b"
)
BITS = st.sampled_from(WRITTEN.split("¦"))
TEXTS = st.one_of(
    st.lists(BITS, max_size=60).map("".join),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300),
    st.tuples(st.lists(BITS, max_size=12).map("".join), st.integers(1, 40)).map(lambda pair: pair[0] * pair[1]),
)


@pytest.mark.behaviour("C10")
@settings(max_examples=500, deadline=None)
@given(text=TEXTS, length=st.sampled_from([20, 80, CHUNK_LENGTH]))
@example(text="\ufeff---\ntitle: x\n---\r\n# A\r\nb\r\n", length=20)
@example(text="x" * 5000, length=20)
@example(text="&acE;&acE;", length=20)
@example(text="[[!|![![]];]()#", length=80)
@example(text="a|b\n-|-\n&mp;~~~```中文。<br>  \r\n", length=20)
@example(text="-\n\n- [x] b/c_d ![[- - \n\n", length=20)
@example(text="``    #*~~~\ufeff\x1b](x)===\n ``", length=20)
@example(text="1. <t>\n)\n-", length=80)
def test_any_text_is_cut_into_chunks_that_are_places_of_the_file(text: str, length: int) -> None:
    data = text.encode()
    line_starts = [0, *(end.end() for end in re.finditer(rb"\r\n?|\n", data))]
    at = 0
    for ordinal, chunk in enumerate(chunks_of(text, length)):
        start, end = chunk.span
        assert chunk.ordinal == ordinal
        assert at <= start < end
        at = end
        assert len(data[start:end].decode()) <= length
        assert chunk.lines == (line_of(line_starts, start), line_of(line_starts, end - 1))
        assert chunk.plain.strip()
        check_runs(chunk, line_starts)


def line_of(line_starts: list[int], byte: int) -> int:
    return sum(start <= byte for start in line_starts)


def check_runs(chunk: Chunk, line_starts: list[int]) -> None:
    offsets, places, numbers = zip(*chunk.runs, strict=True)
    assert offsets[0] == 0
    assert all(a < b for a, b in pairwise(offsets))
    assert all(a <= b for a, b in pairwise(places))
    assert numbers == tuple(line_of(line_starts, place) for place in places)
    assert chunk.span[0] <= places[0]
    assert places[-1] < chunk.span[1]
    assert chunk.lines[0] <= numbers[0] <= numbers[-1] <= chunk.lines[1]


@pytest.mark.behaviour("C10")
@settings(max_examples=300, deadline=None)
@given(
    words=st.lists(
        st.sampled_from(["alpha", "beta", "übrig", "中文", "naïve", "🌱", "tail."]), min_size=1, max_size=400
    )
)
def test_plain_words_stand_in_the_file_where_their_run_says(words: list[str]) -> None:
    text = "".join(word + ("\n" if n % 7 == 6 else "  \n" if n % 31 == 30 else " ") for n, word in enumerate(words))
    found: list[str] = []
    for chunk in chunks_of(text, 120):
        runs = [*chunk.runs, (len(chunk.plain), chunk.span[1], chunk.lines[1])]
        for (first, place, _), (after, _, _) in pairwise(runs):
            piece = chunk.plain[first:after].rstrip()
            assert text.encode()[place : place + len(piece.encode())].decode() == piece
        found += chunk.plain.split()
    assert "".join(found) == "".join(words), "no word is lost, none is said twice"


@pytest.mark.behaviour("C10")
def test_every_source_line_of_a_chunk_has_a_run() -> None:
    text = "One line\nand a second\n\n- item\n  goes on\n\n```\ncode\nmore\n```\n"
    (chunk,) = chunks_of(text)
    assert [line for _, _, line in chunk.runs] == [1, 2, 4, 5, 8, 9]


@pytest.mark.behaviour("C10")
def test_a_heading_opens_a_chunk_that_knows_its_path() -> None:
    text = "# House\n\nIntro.\n\n## Kitchen\n\nStove.\n\n### Drawer\n\nForks.\n\n## Attic\n\nDust.\n"
    assert [(chunk.heading, written(text, chunk)) for chunk in chunks_of(text)] == [
        (("House",), "# House\n\nIntro."),
        (("House", "Kitchen"), "## Kitchen\n\nStove."),
        (("House", "Kitchen", "Drawer"), "### Drawer\n\nForks."),
        (("House", "Attic"), "## Attic\n\nDust."),
    ]


@pytest.mark.behaviour("C10")
def test_a_heading_stands_with_what_it_heads_even_when_that_is_long() -> None:
    text = f"# House\n\n## Kitchen\n\n{sentences(17)}\n"
    first, second = chunks_of(text)
    assert first.heading == ("House", "Kitchen")
    assert written(text, first).startswith("# House\n\n## Kitchen\n\nSentence 0 ")
    assert written(text, first).endswith("downhill.")
    assert written(text, second).startswith("Sentence ")


@pytest.mark.behaviour("C10")
def test_a_hash_in_a_fence_is_no_heading() -> None:
    text = "# Real\n\n```sh\n# not a heading\nmake up\n```\n\n~~~\n## nor this\n~~~\n"
    (chunk,) = chunks_of(text)
    assert chunk.heading == ("Real",)
    assert chunk.plain == "Real\n\n# not a heading\nmake up\n\n## nor this"


@pytest.mark.behaviour("C10")
def test_a_table_keeps_its_header_row_in_every_piece() -> None:
    rows = "".join(f"| valve {n} | {'brass ' * 6}| {n} bar |\n" for n in range(40))
    text = f"Before.\n\n| Name | Made of | Limit |\n|---|---|--:|\n{rows}\nAfter.\n"
    chunks = chunks_of(text)
    assert len(chunks) > 2
    assert chunks[0].plain.startswith("Before.\n\nName | Made of | Limit\n\nvalve 0 | brass")
    assert chunks[0].context == ""
    for chunk in chunks[1:]:
        assert chunk.context == "Name | Made of | Limit"
        assert written(text, chunk).startswith("| valve ")
    for n in range(40):
        assert sum(f"| {n} bar |\n" in written(text, chunk) + "\n" for chunk in chunks) == 1, "a row is never cut"


@pytest.mark.behaviour("C10")
def test_cells_that_a_row_leaves_out_are_not_there() -> None:
    wide = f"{'|a' * 5000}|\n{'|-' * 5000}|\n|x|y|\n"
    assert chunks_of(wide)[-1].plain == "x | y"
    assert chunks_of("|a|b|c|\n|-|-|-|\n|x||\n||y|\n")[0].plain == "a | b | c\n\nx | \n\n | y"


@pytest.mark.behaviour("C10")
@pytest.mark.parametrize(
    "block",
    [
        "- " + sentences(12).replace(". ", ".\n  "),
        "```\n" + sentences(12).replace(". ", ".\n") + "\n```",
        "> " + sentences(12),
        sentences(12),
    ],
    ids=["list item", "fence", "quotation", "paragraph"],
)
def test_what_fits_alone_is_not_cut(block: str) -> None:
    assert CHUNK_LENGTH // 2 < len(block) <= CHUNK_LENGTH
    text = f"{sentences(9)}\n\n{block}\n\n{sentences(9)}\n"
    assert block in [written(text, chunk) for chunk in chunks_of(text)]


@pytest.mark.behaviour("C10")
def test_a_list_too_long_for_a_chunk_is_taken_item_by_item() -> None:
    items = [f"- Item {n}: {sentences(3)}" for n in range(12)]
    text = "\n".join(items) + "\n"
    chunks = chunks_of(text)
    assert "\n".join(written(text, chunk) for chunk in chunks) == "\n".join(items)
    assert all(written(text, chunk).startswith("- Item") for chunk in chunks)


def test_brief_paragraphs_share_a_chunk_and_longer_ones_stand_alone() -> None:
    brief, long = sentences(2), sentences(7)
    assert len(chunks_of(f"# Water\n\n{brief}\n\n{brief}\n")) == 1
    assert len(chunks_of(f"# Water\n\n{brief}\n\n{long}\n\n{brief}\n")) == 3
    assert len(chunks_of("# 水\n\n" + "水往低处流。" * 25 + "\n\n" + "火往高处烧。" * 25 + "\n")) == 2


@pytest.mark.behaviour("C10")
def test_a_sentence_is_cut_only_when_it_alone_is_too_long() -> None:
    text = f"{sentences(60)}\n"
    for chunk in chunks_of(text):
        assert re.fullmatch(r"(Sentence \d+ says that the water runs downhill\.( |$))+", written(text, chunk))
    long = "word " * 400 + "end.\n"
    assert all(piece.plain.split()[0] == "word" for piece in chunks_of(long)[:-1])


@pytest.mark.behaviour("C10")
def test_a_line_without_a_space_is_cut_between_letters() -> None:
    family = "👩\u200d🔬"
    text = family * 600
    chunks = chunks_of(text)
    assert "".join(chunk.plain for chunk in chunks) == text
    assert all(chunk.plain.startswith("👩") for chunk in chunks)


@pytest.mark.behaviour("C10", "C11")
def test_the_contract_s_example_of_a_document_is_what_the_chunker_makes_of_it() -> None:
    example = DocumentChanged.model_validate_json((EXAMPLES / "document.changed.v1.json").read_bytes())
    cut = chunk_document(example.text.encode(), example.text)
    assert (cut.chunks, cut.properties) == (example.chunks, example.properties)


@pytest.mark.behaviour("C4")
def test_the_fingerprint_names_the_chunker_its_version_and_the_length() -> None:
    assert fingerprint() == "talkdown-markdown/1/800"
    assert fingerprint(400) != fingerprint(800)


@pytest.mark.behaviour("C10")
@pytest.mark.parametrize(
    "text",
    [
        ">" * 10_000 + " deep",
        (">" * 300 + " wide\n") * 800,
        "- " * 5_000 + "x",
        "*a **b " * 30_000,
        "[" * 100_000,
        "[a](" * 60_000,
        "<a '" * 50_000,
        "<!--" * 60_000,
        "中。" * 43_000,
        ". " * 130_000,
        "| a " * 65_000,
        "|a|b|\n|-|-|\n" + "|c|d|\n" * 40_000,
        "word" * 65_536,
        "a" + "\u0301" * 130_000,
        "# a\n" * 20_000,
        "---\n" + "a: [" * 15_000 + "\n---\n",
    ],
    ids=lambda text: f"{text[:8]!r} x {len(text)}",
)
@pytest.mark.timeout(30)
def test_no_text_takes_the_chunker_long(text: str) -> None:
    """The bound is the test's own time limit; each takes about a second or less."""
    assert all(len(written(text, chunk)) <= CHUNK_LENGTH for chunk in chunks_of(text))
