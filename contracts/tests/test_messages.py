"""The examples that both sides of every message are tested against."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from contracts.catalog import MESSAGES
from contracts.documents import chunk_id
from contracts.events import EVENTS, DocumentChanged, DocumentDeleted, type_of
from contracts.frames import Delta, frame_adapter
from contracts.turns import TurnAsked

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_every_event_names_a_type_of_its_own() -> None:
    assert len({type_of(kind) for kind in EVENTS}) == len(EVENTS)
    assert type_of(DocumentDeleted) == "document.deleted.v1"


def test_every_message_has_an_example_and_no_example_is_left_over() -> None:
    # How an answer is cut into phrases is no message, but a rule that the gateway and the page share.
    assert {path.stem for path in EXAMPLES.glob("*.json")} - {"phrases"} == set(MESSAGES)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_an_example_survives_being_read_and_written(name: str) -> None:
    text = (EXAMPLES / f"{name}.json").read_text(encoding="utf-8")
    model: type[BaseModel] = MESSAGES[name]
    assert json.loads(model.model_validate_json(text).model_dump_json()) == json.loads(text)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_a_field_of_a_later_version_is_ignored(name: str) -> None:
    body = json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    model: type[BaseModel] = MESSAGES[name]
    assert model.model_validate({**body, "a_field_of_tomorrow": 1}) == model.model_validate(body)


def test_the_bytes_at_a_runs_place_are_its_text() -> None:
    event = DocumentChanged.model_validate_json((EXAMPLES / "document.changed.v1.json").read_text(encoding="utf-8"))
    raw = event.text.encode()
    for chunk in event.chunks:
        ends = [*(start for start, _, _ in chunk.runs[1:]), len(chunk.plain)]
        for (start, byte, line), end in zip(chunk.runs, ends, strict=True):
            piece = chunk.plain[start:end].rstrip("\n")
            assert raw[byte : byte + len(piece.encode())].decode() == piece
            assert raw[:byte].count(b"\n") + 1 == line


def test_a_chunks_id_depends_on_path_version_and_ordinal() -> None:
    ids = {chunk_id("a.md", "0" * 64, 0), chunk_id("a.md", "0" * 64, 1), chunk_id("b.md", "0" * 64, 0)}
    assert len(ids) == 3
    assert all(len(one) == 16 for one in ids)


def test_a_frame_is_known_by_its_type() -> None:
    assert frame_adapter.validate_json('{"type":"delta","text":"x"}') == Delta(text="x")
    with pytest.raises(ValidationError):
        frame_adapter.validate_json('{"type":"gossip"}')


@pytest.mark.behaviour("T1")
@pytest.mark.parametrize("question", ["", " \n\t ", "x" * 2001])
def test_a_blank_or_too_long_question_is_no_question(question: str) -> None:
    with pytest.raises(ValidationError):
        TurnAsked.model_validate({"chat_id": "c2a1b7f4-95a4-4d08-8b64-7a0f2d6c9e21", "question": question})


@pytest.mark.behaviour("T1")
@pytest.mark.parametrize(
    "asked", [{"question": "a\0b"}, {"question": "\0"}, {"filter": {"folder": "\0"}}, {"filter": {"tags": ["a\0"]}}]
)
def test_a_text_that_no_database_can_hold_is_no_question(asked: dict[str, object]) -> None:
    body = {"chat_id": "c2a1b7f4-95a4-4d08-8b64-7a0f2d6c9e21", "question": "Where is it?"}
    with pytest.raises(ValidationError, match="NUL"):
        TurnAsked.model_validate({**body, **asked})


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.md", "a//b.md", "a/./b.md", "a\\b.md", ""])
def test_a_path_that_leaves_the_folder_is_no_document(path: str) -> None:
    with pytest.raises(ValidationError):
        DocumentDeleted.model_validate(
            {"refresh_id": "c2a1b7f4-95a4-4d08-8b64-7a0f2d6c9e21", "path": path, "revision": 1}
        )
