"""Front matter: read where it can be, passed over where not, and never in the way of the document."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.documents import Properties
from ingestor.chunking import chunk_document
from ingestor.frontmatter import front_matter_of


def properties_of(yaml: str) -> Properties:
    front = front_matter_of(f"---\n{yaml}\n---\n# Text\n")
    assert front.notice is None
    return front.properties


@pytest.mark.behaviour("C11")
@pytest.mark.parametrize(
    ("yaml", "properties"),
    [
        ("title: Valves", Properties(title="Valves")),
        ("title: 2024", Properties(title="2024")),
        ("title: 'It''s: quoted'", Properties(title="It's: quoted")),
        ("title: ~\ntags:", Properties()),
        ("tags: [a, b/c]", Properties(tags=("a", "b/c"))),
        ("tags:\n  - '#a'\n  - b\n  - a", Properties(tags=("a", "b"))),
        ("tags: a, b c", Properties(tags=("a", "b", "c"))),
        ("aliases: Red valve, Stopcock", Properties(aliases=("Red valve", "Stopcock"))),
        ("alias:\n- Red valve", Properties(aliases=("Red valve",))),
        ("Title: Big\ndate: 2026-03-01", Properties(title="Big", date=dt.date(2026, 3, 1))),
        ("date: 2026-03-01T10:00:00Z", Properties(date=dt.date(2026, 3, 1))),
        ("date: soon\ncreated: 2026-01-02", Properties(date=dt.date(2026, 1, 2))),
        ("# a comment\n\ntitle: After it", Properties(title="After it")),
        ("title: [not, text]\ntags: {a: 1}\naliases: [[x], y]", Properties(aliases=("y",))),
        ("title: !!python/object/apply:os.system [true]", Properties()),
        ("other: 1", Properties()),
    ],
)
def test_what_front_matter_says(yaml: str, properties: Properties) -> None:
    assert properties_of(yaml) == properties


@pytest.mark.behaviour("C11")
def test_front_matter_is_no_passage() -> None:
    text = "\ufeff---\r\ntitle: Valves\r\ntags: [water]\r\n---\r\n\r\nThe valve is shut.\r\n"
    cut = chunk_document(text.encode(), text)
    (chunk,) = cut.chunks
    assert cut.properties == Properties(title="Valves", tags=("water",))
    assert chunk.plain == "The valve is shut."
    assert chunk.lines == (6, 6)
    assert text.encode()[slice(*chunk.span)] == b"The valve is shut."


@pytest.mark.behaviour("C11")
@pytest.mark.parametrize(
    ("yaml", "where"),
    [
        ("title: Kept\nbad: [1, 2", "line "),
        ("title: Kept\n\tx: - :", "line "),
        ("title: Kept\na: &a [*a]\nb: *nowhere", "line 4"),
        ("title: Kept\na: " + "[" * 2000, "brackets"),
    ],
)
def test_malformed_front_matter_is_passed_over_with_a_notice(yaml: str, where: str) -> None:
    text = f"---\n{yaml}\n---\nThe valve is shut.\n"
    cut = chunk_document(text.encode(), text)
    assert [chunk.plain for chunk in cut.chunks] == ["The valve is shut."]
    assert cut.properties == Properties(title="Kept")
    assert cut.notice is not None
    assert where in cut.notice


YAML = (
    "a: ¦title: ¦tags: ¦- ¦[¦]¦{¦}¦, ¦&a ¦*a¦!!int ¦!!python/name:os.system ¦|¦>¦'¦\"¦#¦%¦@¦"
    "\n¦\n  ¦\t¦<<: ¦? ¦: ¦---\n¦...\n¦é"
)


@pytest.mark.behaviour("C11")
@settings(max_examples=500, deadline=None)
@given(bits=st.lists(st.one_of(st.sampled_from(YAML.split("¦")), st.characters(exclude_characters="\0")), max_size=30))
def test_no_front_matter_is_an_error(bits: list[str]) -> None:
    text = f"---\ntitle: x\n{''.join(bits)}\n---\nThe text.\n".encode(errors="replace").decode()
    front = front_matter_of(text)
    assert text[front.length :].endswith("The text.\n"), "the document is never lost"
    assert chunk_document(text.encode(), text).properties == front.properties


@pytest.mark.behaviour("C11")
def test_prose_between_two_rules_stays_text() -> None:
    text = "---\n\nA motto.\n\n---\n\nThe text.\n"
    assert [chunk.plain for chunk in chunk_document(text.encode(), text).chunks] == ["A motto.\n\nThe text."]


@pytest.mark.behaviour("C11")
def test_an_unclosed_block_stays_text() -> None:
    text = "---\ntitle: open\n\nThe text.\n"
    assert "The text." in chunk_document(text.encode(), text).chunks[0].plain


@pytest.mark.behaviour("C11")
@pytest.mark.timeout(20)
def test_an_alias_bomb_stays_small() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 40)]
    assert properties_of("\n".join([*lines, "tags: *a39", "title: Small"])) == Properties(title="Small")
