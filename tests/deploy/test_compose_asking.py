"""The compose file as whoever has Docker uses it: asked in the page's way and by the command, and saved to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from docker_stack import Stack, seconds_to_health

AMBER = "What is the amber valve recovery code?"
WIFI = "What is the guest wifi password?"


@pytest.mark.behaviour("E3")
def test_every_container_says_of_itself_that_it_is_healthy(stack: Stack, tell: Callable[[str], None]) -> None:
    containers = stack.containers()
    took = seconds_to_health(containers)
    assert {container["Config"]["Labels"]["com.docker.compose.service"] for container in containers} == {
        *("postgres", "redis", "retriever", "ingestor", "agent", "voice-gateway", "web", "jaeger")
    }
    assert len(took) == len(containers) - 1, "only Jaeger's image has no command that could ask"
    tell(f"all healthy {max(took.values()):.0f} s after the first container began, with an empty index")


@pytest.mark.behaviour("T9", "R7")
def test_the_amber_valves_code_is_answered_with_its_lines(stack: Stack) -> None:
    answer = stack.ask(AMBER)
    assert "ORCHID-47" in answer.text
    cited = [source for source in answer.cited if "ORCHID-47" in source.text]
    assert cited, answer.text
    for source in cited:
        first, last = source.lines
        lines = (stack.folder / source.path).read_text(encoding="utf-8").splitlines()[first - 1 : last]
        assert any("ORCHID-47" in line for line in lines)


@pytest.mark.behaviour("C16")
def test_the_command_runs_inside_webs_container(stack: Stack) -> None:
    assert "ORCHID-47" in (said := stack.execute("web", "talkdown", "ask", AMBER))
    assert "] safety/valves.md:" in said
    assert "folder     /folder" in stack.execute("web", "talkdown", "status")
    report = stack.execute("web", "talkdown", "refresh")
    counted = {line.split()[0]: line.split()[1] for line in report.splitlines()}
    assert {*counted} >= {"added", "changed", "deleted", "rejected", "took"}
    assert int(counted["unchanged"]) == stack.corpus().documents


@pytest.mark.behaviour("C6", "C12", "T12")
def test_a_note_saved_in_the_mounted_folder_answers_and_leaves_with_its_file(stack: Stack) -> None:
    assert stack.corpus().watching == "events"
    file = stack.save("new.md", "# Visitors\n\nThe guest wifi password is plum-29.\n")
    try:
        stack.until(lambda: "new.md" in {one.path for one in stack.corpus().files if one.state == "current"})
        assert "plum-29" in stack.ask(WIFI).text
    finally:
        file.unlink()
    stack.until(lambda: "new.md" not in {one.path for one in stack.corpus().files})
    assert stack.ask(WIFI).abstained


def test_a_warm_start_keeps_what_was_said_and_embeds_nothing_again(stack: Stack, tell: Callable[[str], None]) -> None:
    answer = stack.ask(AMBER)
    before = stack.corpus()
    stack.down(volumes=False)
    stack.up()
    assert stack.embedded_nothing_since(before)
    frames = list(stack.resume(answer.turn_id))
    assert frames[-1].type == "done"
    took = seconds_to_health(stack.containers())
    tell(f"all healthy {max(took.values()):.0f} s after the first container of a warm start began")
