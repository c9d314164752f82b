"""Three retrievers, three agents and two webs answer as one does, share the work, and outlive one of each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from docker_stack import Stack, free_ports, seconds_to_health

from embedded.instances import Instance
from embedded.reached import Answer

AMBER = "What is the amber valve recovery code?"
SCALE = {"retriever": 3, "agent": 3, "web": 2}
PEOPLE = 8
HEALS_WITHIN_S = 90.0


@pytest.fixture
def scaled(stack: Stack) -> Stack:
    """The shared stack with several replicas; its pages have a port each."""
    first = free_ports(2)
    stack.up(scale=SCALE, TALKDOWN_PORT=f"{first}-{first + 1}")
    return stack


def ask(stack: Stack, page: Instance) -> Answer:
    """A question through one replica of web."""
    return Answer(tuple(stack.stream(AMBER, through=page)))


def ask_all(stack: Stack, rounds: int) -> list[Answer]:
    """Several people ask through every replica of web at once, some rounds one after the other."""
    pages = stack.pages()
    with ThreadPoolExecutor(PEOPLE) as people:
        asked = [people.submit(ask, stack, pages[number % len(pages)]) for number in range(PEOPLE * rounds)]
        return [one.result() for one in asked]


@pytest.mark.behaviour("T2", "T8", "E1")
def test_replicas_share_the_questions_and_outlive_one_of_each(scaled: Stack, tell: Callable[[str], None]) -> None:
    assert {name: len(scaled.containers(name)) for name in SCALE} == SCALE
    pages = scaled.pages()
    assert len({page.url for page in pages}) == 2
    took = seconds_to_health(scaled.containers())
    tell(f"all healthy {max(took.values()):.0f} s after the first container began, with {SCALE}")

    answers = ask_all(scaled, rounds=6)
    assert all("ORCHID-47" in answer.text for answer in answers)
    shares = scaled.until(lambda: shares_of(scaled, answers))
    tell(f"of {len(answers)} questions each replica of the agent answered {shares['agent']}")
    tell(f"for {len(answers)} questions each replica of the retriever searched for {shares['retriever']}")

    started = ask(scaled, pages[0])
    assert [frame.type for frame in scaled.resume(started.turn_id, through=pages[1])][-1] == "done"

    for service in ("agent", "retriever"):
        scaled.engine.run("kill", scaled.containers(service)[0]["Id"])
    answers = ask_all(scaled, rounds=2)
    assert all(answer.done or answer.error for answer in answers)
    answers = ask_all(scaled, rounds=2)
    assert all("ORCHID-47" in answer.text for answer in answers), [answer.error for answer in answers if answer.error]

    scaled.up(scale=SCALE)
    file = scaled.save("scaled.md", "# Scaled\n\nThe orangery was painted vermilion by three people.\n")
    try:
        scaled.until(lambda: "vermilion" in ask_once(scaled, "What colour was the orangery painted?"))
    finally:
        file.unlink()


def ask_once(stack: Stack, question: str) -> str:
    """The text of an answer, or its error."""
    answer = stack.ask(question)
    return answer.text or str(answer.error)


def shares_of(stack: Stack, answers: list[Answer]) -> dict[str, list[int]] | None:
    """In how many of the answers' traces each replica has a part; nothing while one has none in any."""
    parts: dict[str, dict[str, set[str]]] = {"agent": {}, "retriever": {}}
    for answer in answers:
        for service, replica in stack.replicas_in(answer.trace_id):
            if service in parts:
                parts[service].setdefault(replica, set()).add(answer.trace_id)
    shares = {service: sorted(map(len, of.values())) for service, of in parts.items()}
    return shares if all(len(shares[service]) == SCALE[service] for service in shares) else None
