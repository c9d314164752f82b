"""What a person reads of Markdown: the same words, without the marks."""

from __future__ import annotations

import pytest

from contracts.documents import Chunk
from ingestor.chunking import chunk_document


def only_chunk(text: str) -> Chunk:
    (chunk,) = chunk_document(text.encode(), text).chunks
    return chunk


@pytest.mark.behaviour("C10", "C11")
@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("Some *slanted*, **strong** and ~~struck~~ words.", "Some slanted, strong and struck words."),
        ("A [link](http://x.y 'title') and <http://z.w>.", "A link and http://z.w."),
        ("[One][1] and [two].\n\n[1]: /one\n[two]: /two", "One and two."),
        ("![A *red* valve](valve.png) shut", "A red valve shut"),
        ("See [[Valves]], [[Valves|the valves]] and [[a/b#c]].", "See Valves, the valves and a/b#c."),
        ("![[Plan]] and ![[valve.png|300]]", "Plan and valve.png"),
        ("Fish &amp; chips &mdash; 3 &lt; 4 &#9731;", "Fish & chips — 3 < 4 ☃"),
        (r"\*not slanted\* and 1\. not a list", "*not slanted* and 1. not a list"),
        ("Call `snake_case(*args)` and ``a ` b``.", "Call snake_case(*args) and a ` b."),
        ("Claim.[^a]\n\n[^a]: The proof.", "Claim.\n\nThe proof."),
        ("- one\n- two\n  - deep\n- three", "one\n\ntwo\n\ndeep\n\nthree"),
        ("3. three\n4. four", "3. three\n\n4. four"),
        ("1. one\n\n   still one\n\n2. two", "1. one\n\nstill one\n\n2. two"),
        ("- [x] done\n- [ ] open", "[x] done\n\n[ ] open"),
        ("1. [x] done", "1. [x] done"),
        ("> quoted\n> on", "quoted on"),
        ("> [!warning] Mind the step\n> It is wet.", "Mind the step\n\nIt is wet."),
        ("> [!tip]-\n> Folded.", "Tip\n\nFolded."),
        ("> [!NOTE]\n> Heed *this*.", "Note\n\nHeed this."),
        ("| a | b |\n|---|---|\n| 1 | |\n| | *2* |", "a | b\n\n1 | \n\n | 2"),
        ("first  \nsecond\\\nthird\nsame", "first\nsecond\nthird same"),
        ("```py\ndef f():\n    return 1\n\nf()\n```", "def f():\n    return 1\n\nf()"),
        ("    indented\n      more", "indented\n  more"),
        ("a <b>bold</b> <kbd>key</kbd><br>next <!-- hidden -->line", "a bold key\nnext line"),
        ("<details>\n<summary>More &amp; more</summary>\n\nInside.\n\n</details>", "More & more\n\nInside."),
        ("<!-- a\nb -->\n\n<script>\nlet x = 1 < 2;\n</script>\n\nText.", "Text."),
        ("<p title='a > b'>Para\nof two</p><p>Next</p>", "Para of two\n\nNext"),
        ("Setext\n======\n\nText", "Setext\n\nText"),
        ("one\n\n---\n\ntwo", "one\n\ntwo"),
        ("中文写在\n两行。", "中文写在两行。"),
        ("Half English\n中文", "Half English 中文"),
        ("a\r\nb\r\n\r\nc", "a b\n\nc"),
        ("`a\nb`", "a b"),
    ],
)
def test_plain_is_what_a_person_reads(markdown: str, plain: str) -> None:
    assert only_chunk(markdown).plain == plain


@pytest.mark.behaviour("C10")
def test_the_runs_lead_from_each_word_back_to_its_place() -> None:
    text = "# The *amber* valve\r\n\r\nStands by &amp; under\r\nthe **Ölbad**, see [[x|here]].\r\n"
    chunk = only_chunk(text)
    data = text.encode()
    for word in ("The ", "amber", " valve", "Stands by ", " under", "the ", "Ölbad", ", see ", "here"):
        offset = chunk.plain.index(word)
        (place, line) = next((place, line) for first, place, line in chunk.runs if first == offset)
        assert data[place : place + len(word.encode())].decode() == word
        assert line == data[:place].count(b"\n") + 1
    ampersand = next(run for run in chunk.runs if chunk.plain[run[0]] == "&")
    assert data[ampersand[1] :].startswith(b"&amp;")


@pytest.mark.behaviour("C10")
def test_a_byte_order_mark_moves_nothing() -> None:
    text = "\ufeff# Title\n\nText.\n"
    chunk = only_chunk(text)
    assert chunk.span == (3, len(text.encode()) - 1)
    assert (chunk.heading, chunk.plain) == (("Title",), "Title\n\nText.")


@pytest.mark.behaviour("C10")
@pytest.mark.parametrize(
    "text", ["", "\n\n", "\ufeff", "---\n", "[a]: /b\n", "<!-- only a comment -->\n", "![](x.png)\n"]
)
def test_a_file_that_says_nothing_has_no_chunks(text: str) -> None:
    assert chunk_document(text.encode(), text).chunks == ()
