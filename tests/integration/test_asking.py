"""A saved file answers a question: save, search, ask, stream, across all services as a person runs them."""

from __future__ import annotations

from uuid import uuid4

import pytest

from contracts.frames import AnyFrame, Delta, Done, Sources
from embedded.product import Product
from embedded.reached import Answer

AMBER = "What is the amber valve recovery code?"
WIFI = "What is the guest wifi password?"


@pytest.mark.behaviour("T9", "R7")
def test_the_amber_valves_code_is_found_in_another_chunk_and_cited_with_its_lines(product: Product) -> None:
    answer = product.ask(AMBER)
    assert "ORCHID-47" in answer.text
    assert not answer.abstained
    cited = [source for source in answer.cited if "ORCHID-47" in source.text]
    assert cited, f"the code's source is not cited in {answer.text!r}"
    for source in cited:
        first, last = source.lines
        lines = (product.folder / source.path).read_text(encoding="utf-8").splitlines()[first - 1 : last]
        assert any("ORCHID-47" in line for line in lines)
        assert source.heading[-1] != "The amber valve", "the code and the valve stand in one chunk"


@pytest.mark.behaviour("C16")
def test_the_command_prints_the_same_answer_with_path_and_lines(product: Product) -> None:
    asked = product.cli("ask", AMBER)
    assert asked.returncode == 0, asked.stderr
    assert "ORCHID-47" in asked.stdout
    path = next(source.path for source in product.ask(AMBER).cited if "ORCHID-47" in source.text)
    assert f"] {path}:" in asked.stdout


@pytest.mark.behaviour("C6", "C12", "T12")
def test_a_note_answers_once_saved_and_no_more_once_deleted(product: Product) -> None:
    file = product.save("new.md", "# Visitors\n\nThe guest wifi password is plum-29.\n")
    try:
        product.until(lambda: product.finds("plum-29", "new.md"))
        answer = product.ask(WIFI)
        assert "plum-29" in answer.text
        assert [source.path for source in answer.cited if "plum-29" in source.text] == ["new.md"]
    finally:
        file.unlink()
    product.until(lambda: not product.finds("plum-29"))
    gone = product.ask(WIFI)
    assert gone.abstained
    assert "plum-29" not in gone.text
    assert product.cli("ask", WIFI).returncode == 3


@pytest.mark.behaviour("T8")
def test_a_reader_that_comes_back_gets_the_rest_of_the_same_answer(product: Product) -> None:
    chat = str(uuid4())
    stream = product.stream(AMBER, chat)
    read: list[AnyFrame] = []
    for frame in stream:
        read.append(frame)
        if isinstance(frame, Sources):
            break
    stream.close()
    rest = tuple(product.resume(Answer(tuple(read)).turn_id, read[-1].cursor))
    whole = Answer((*read, *rest))
    assert isinstance(rest[-1], Done)
    assert rest[-1].answer == whole.text
    assert len({frame.cursor for frame in whole.frames}) == len(whole.frames)
    again = tuple(product.resume(whole.turn_id))
    assert [frame.text for frame in again if isinstance(frame, Delta)] == [
        frame.text for frame in whole.frames if isinstance(frame, Delta)
    ]
    turns = product.instance.ask_json("GET", f"/api/chats/{chat}")["turns"]
    assert [turn["status"] for turn in turns] == ["completed"]


@pytest.mark.behaviour("C7", "C16")
def test_a_refresh_from_outside_reports_what_it_found(product: Product) -> None:
    refreshed = product.cli("refresh")
    assert refreshed.returncode == 0, refreshed.stderr
    documents = len(product.manifest().documents)
    assert f"unchanged  {documents}\n" in refreshed.stdout
    assert "added      0\n" in refreshed.stdout


def test_the_status_says_that_nothing_leaves_the_machine(product: Product) -> None:
    status = product.cli("status")
    assert status.returncode == 0, status.stdout + status.stderr
    assert "nothing leaves this machine" in status.stdout
    for service in ("ingestor", "retriever", "agent", "voice-gateway"):
        assert f"{service} ready" in status.stdout.replace("voice gateway", "voice-gateway")


@pytest.mark.behaviour("T1")
def test_a_question_that_is_none_is_refused_in_a_sentence(product: Product) -> None:
    asked = product.cli("ask", "   ")
    assert asked.returncode == 1
    assert asked.stderr.startswith("talkdown: ")
    assert asked.stdout == ""


def test_nothing_but_the_page_is_served_without_a_credential(product: Product) -> None:
    stranger = type(product.instance)(product.url, "wrong")
    answer = stranger.request("POST", "/api/turns", {"chat_id": str(uuid4()), "question": AMBER})
    assert answer.status in (401, 403)
