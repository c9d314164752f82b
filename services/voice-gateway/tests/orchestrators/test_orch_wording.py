"""What is said of a wrong value in a scenario: in words of the file, and never in those of Python."""

from __future__ import annotations

import pytest

from voice_gateway.orchestrators.reading import ScenarioError, read

SOUND = """\
name: house
start: a
agents:
  - name: a
    instructions: Be kind.
"""


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("folders: people", "`folders` of the agent `a` is a list; write `[people]`."),
        ("tools: {x: y}", "`tools` of the agent `a` is a list; write `[one, two]`."),
        ("greeting: [Hello]", "`greeting` of the agent `a` is one text, and no list or group of fields."),
        ("greeting: 5", "`greeting` of the agent `a` is text; write it in quotes."),
        ("greeting: ''", "`greeting` of the agent `a` is empty; write something."),
        (f"greeting: {'a' * 1001}", "`greeting` of the agent `a` is too long; it has at most 1000 characters."),
        (
            "greeting: Hello: gardener",
            "This is not YAML: in a text, `: ` begins a field; put the text in quotes.",
        ),
        ("voice: {locl: x}", "The agent `a` has a field `locl` that is not known; known are: local, openai, gemini."),
        ("voice: {local: 5}", "`local` of the agent `a` is text; write it in quotes."),
        ("voice: [x]", "`voice` of the agent `a` is one text, and no list or group of fields."),
        ("voice: ''", "`voice` of the agent `a` is empty; write something."),
    ],
)
def test_a_wrong_value_is_told_once_and_in_words_of_the_file(more: str, says: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        read(f"{SOUND}    {more}\n", "house.yaml")
    assert wrong.value.mistakes == [(6, says)]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("handoffs: none\n", "`handoffs` of the scenario is a list; write `[none]`."),
        ("fields: [x]\n", "`fields` of the scenario is a group of fields, each a name and a value."),
        ("handoffs:\n  - {from: a, to: a, when: x, phrases: the gardener}\n", "is a list; write `[the gardener]`."),
        ("handoffs:\n  - {from: a, to: a, when: x, phrases: [x]}\n", "is too short; it has at least 2 characters."),
        ("handoffs:\n  - {from: a, to: a, when: x, shares_context: maybe}\n", "is either true or false."),
    ],
)
def test_so_is_one_of_the_scenario_or_of_a_handoff(more: str, says: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        read(SOUND + more, "house.yaml")
    assert [said for _, said in wrong.value.mistakes if said.endswith(says)] == [wrong.value.mistakes[0][1]]
    assert len(wrong.value.mistakes) == 1
