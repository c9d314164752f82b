"""Scenarios: what a file may say, and the sentence for each mistake in it, with its line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
import yaml
from orch_fakes import SCENARIO

from voice_gateway.orchestrators.reading import SHIPPED, ScenarioError, load, read, shipped
from voice_gateway.orchestrators.scenario import RETRIEVE, Scenario

TOOLS = frozenset({RETRIEVE, "echo"})
REPOSITORY = Path(__file__).parents[4]
GOOD = """\
name: house
start: concierge
agents:
  - name: concierge
    instructions: You greet people.
  - name: safety
    instructions: You keep people safe.
handoffs:
  - from: concierge
    to: safety
    when: danger
    phrases: [safety please]
  - from: safety
    to: concierge
    when: all else
"""


def told(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(ScenarioError) as caught:
        read(text, "house.yaml", TOOLS)
    return caught.value.mistakes


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_a_scenario_is_read_with_its_agents_and_edges() -> None:
    scenario = read(SCENARIO, "house.yaml", TOOLS)
    safety = scenario.agent("safety")
    assert safety.folders == ("safety",)
    assert scenario.agent("concierge").voice_at("openai") == "marin"
    assert scenario.agent("concierge").voice_at("gemini") is None
    assert safety.voice_at("gemini") == "high"
    assert scenario.agent("secret").tools == (RETRIEVE,)
    assert [edge.target for edge in scenario.edges("concierge")] == ["safety", "secret"]
    edge = scenario.edge("concierge", "secret")
    assert edge is not None
    assert not edge.shares_context
    assert scenario.edge("safety", "secret") is None


@pytest.mark.behaviour("O7")
def test_the_shipped_scenarios_and_that_of_the_handbook_are_sound() -> None:
    assert "notes" in shipped()
    for name in shipped():
        assert load(name, {RETRIEVE}).name == name
    demo = load(str(REPOSITORY / "handbook" / "talkdown.yaml"), {RETRIEVE})
    assert [agent.name for agent in demo.agents] == ["concierge", "safety"]
    assert demo.edge("concierge", "safety")
    assert demo.edge("safety", "concierge")


def test_the_schema_beside_the_shipped_scenarios_is_made_from_the_models() -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Scenario.model_json_schema(by_alias=True)}
    current = json.dumps(schema, indent=2, sort_keys=True) + "\n"
    assert (SHIPPED / "scenario.schema.json").read_text("utf-8") == current


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (changed("to: safety", "to: saftey"), 10, "This handoff leads to `saftey`, and there is no such agent"),
        (changed("from: safety", "from: saftey"), 13, "This handoff comes from `saftey`"),
        (changed("to: safety", "to: concierge"), 10, "`concierge` cannot hand over to itself"),
        (changed("start: concierge", "start: butler"), 2, "The start agent `butler` is not among the agents"),
        (changed("  - name: safety", "  - name: concierge"), 6, "Two agents are called `concierge`"),
        (changed("    instructions: You keep people safe.\n", ""), 6, "The agent `safety` has no `instructions`"),
        (
            changed("instructions: You keep people safe.", "instructions: ' '"),
            7,
            "`instructions` of the agent `safety`",
        ),
        (changed("You greet people.", "You greet {guest}."), 5, "`{guest}` in the instructions of `concierge`"),
        (changed("    when: danger", "    wen: danger"), 11, "Handoff 1 has a field `wen` that is not known"),
        (changed("name: house", "name: house\ncolour: amber"), 2, "The scenario has a field `colour`"),
        (changed("name: safety", "name: safety\n    tools: [ehco]"), 7, "`safety` wants the tool `ehco`"),
        (changed("name: safety", "name: Safety First"), 6, "`Safety First` is no name"),
        (changed("[safety please]", "['?!']"), 12, "The phrase `?!` has no word in it"),
        (changed("when: danger", "when: danger\n    when: more"), 12, "The field `when` stands twice here"),
        (changed("start: concierge", "start: [concierge"), 3, "This is not YAML"),
        (changed("start: concierge", "start: &a concierge"), 2, "Anchors and aliases are not used here"),
        (changed("handoffs:\n", "handoffs: &all\n"), 8, "Anchors and aliases are not used here"),
        (changed("  - name: safety", "  - &one\n    name: safety"), 6, "Anchors and aliases are not used here"),
        (changed("start: concierge", "start: *a"), 2, "Anchors and aliases are not used here"),
        (changed("start: concierge", "start: !!python/name:os.system x"), 2, "Tags (`!!python/name:os.system`)"),
        (changed("You greet people.", "!!int abc"), 5, "Tags (`!!int`) are not used here"),
        (changed("handoffs:\n", "handoffs: !!seq\n"), 8, "Tags (`!!seq`) are not used here"),
        (changed("You greet people.", "! yes"), 5, "Tags (`!`) are not used here"),
        (changed("You greet people.", "!<> yes"), 5, "This is not YAML"),
        (changed("You greet people.", "="), 5, "`=` cannot stand here as it is; put it in quotes"),
        (changed("You greet people.", "2001-99-99"), 5, "`2001-99-99` cannot stand here as it is; put it in quotes"),
        (changed("You greet people.", "2001-12-14"), 5, "`instructions` of the agent `concierge` is text"),
        (changed("start: concierge", "start: concierge\n<<: {colour: amber}"), 3, "A merge (`<<`) is not used here"),
        (changed("start: concierge", "start: concierge\n[a, b]: c"), 3, "The name of a field is one word"),
        (changed("start: concierge", "start: concierge\n{a: b}: c"), 3, "The name of a field is one word"),
        (changed("start: concierge", "start: concierge\n=: c"), 3, "The scenario has a field `=`"),
        (changed("start: concierge", "start: concierge\n1: c"), 3, "The scenario has a field `1`"),
        (changed("start: concierge", "start: concierge\n? \n: c"), 3, "The name of a field is one word"),
        (f"name: {'[' * 2500}", 1, "This is nested deeper than 20 levels"),
        (f"name: {'{a: ' * 2500}", 1, "This is nested deeper than 20 levels"),
        ("".join(f"{'  ' * depth}a:\n" for depth in range(25)), 21, "This is nested deeper than 20 levels"),
        (changed("name: house", "name: 7"), 1, "`name` of the scenario is text"),
        ("", 1, "A scenario is a list of fields"),
        ("- a\n- b\n", 1, "A scenario is a list of fields"),
        ("name: house\nstart: a\nagents: []\n", 3, "`agents` of the scenario is empty"),
        ("name: \0", None, "This is not YAML"),
    ],
)
def test_each_mistake_has_its_sentence_and_its_line(text: str, line: int | None, says: str) -> None:
    mistakes = told(text)
    assert any(where == line and said.startswith(says) for where, said in mistakes), mistakes


def test_a_file_that_is_nested_without_end_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    read_of = 0

    def counted(text: str, **how: object) -> Iterator[yaml.Event]:
        nonlocal read_of
        for event in parse(text, **how):
            read_of += 1
            yield event

    parse = cast("Callable[..., Iterator[yaml.Event]]", yaml.parse)
    monkeypatch.setattr(yaml, "parse", counted)
    assert told(f"name: {'[' * 200_000}") == [(1, "This is nested deeper than 20 levels; make it flatter.")]
    assert read_of < 30


def agents(count: int) -> str:
    return "agents:\n" + "".join(f"  - {{name: a{n}, instructions: x}}\n" for n in range(count))


def test_a_file_of_nothing_but_mistakes_tells_the_first_of_them() -> None:
    unknown = "".join(f"a{n}:\n" for n in range(3_000))
    assert len(told(f"{GOOD}{unknown}")) == 20
    edges = "handoffs:\n" + "  - {from: x, to: y, when: z}\n" * 1_000
    assert len(told(f"name: house\nstart: a0\n{agents(50)}{edges}")) == 20
    fields = "fields:\n" + "".join(f"  f{n}: x\n" for n in range(2_000))
    asking = "  - {name: a, instructions: '" + "{none} " * 1_000 + "'}\n"
    mistakes = told(f"name: house\nstart: a\n{fields}agents:\n{asking}")
    assert "more" in mistakes[0][1]
    assert len(mistakes[0][1]) < 1_000


def test_agents_who_all_hand_over_to_each_other_are_looked_through_at_once() -> None:
    pairs = [(a, b) for a in range(50) for b in range(50) if a != b]
    edges = "handoffs:\n" + "".join(f"  - {{from: a{a}, to: a{b}, when: x}}\n" for a, b in pairs)
    scenario = read(f"name: house\nstart: a0\n{agents(50)}{edges}", "house.yaml", TOOLS)
    assert len(scenario.edges("a7")) == 49


def test_a_text_is_looked_through_once_for_all_who_open_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "house.yaml"
    for text in (GOOD.replace("house", "once"), changed("name: house", "name: Once")):
        file.write_text(text)
        first = _outcome(file)
        with monkeypatch.context() as changing:
            changing.delattr(yaml, "compose")
            assert _outcome(file) == first
    file.write_text(GOOD)
    assert _outcome(file) == "house"


def _outcome(file: Path) -> str:
    try:
        return load(str(file), TOOLS).name
    except ScenarioError as error:
        return error.message


@pytest.mark.parametrize("character", ["\\0", "\\ud800"])
def test_a_text_that_nobody_can_store_is_a_mistake_of_its_line(character: str) -> None:
    mistakes = told(changed("You greet people.", f'"You{character}greet."'))
    assert [line for line, _ in mistakes] == [5], mistakes


def test_a_phrase_leads_to_one_agent_alone() -> None:
    text = SCENARIO.replace("when: secrets,", "when: secrets, phrases: [Safety  Specialist],")
    assert any("leads from `concierge` to both `safety` and `secret`" in said for _, said in told(text))


def test_a_loop_without_exit_is_named_and_one_with_an_exit_is_fine() -> None:
    loop = SCENARIO.replace("- {from: secret, to: concierge, when: all else}", "").replace(
        "- {from: safety, to: concierge, when: all else, phrases: [the concierge]}",
        "- {from: safety, to: secret, when: x}\n  - {from: secret, to: safety, when: x}",
    )
    mistakes = told(loop)
    assert len(mistakes) == 1
    assert "`safety` and `secret` hand over to each other and to nobody else" in mistakes[0][1]
    read(loop + "  - {from: secret, to: concierge, when: y}\n", "house.yaml", TOOLS)
    last = loop.replace("  - {from: secret, to: safety, when: x}\n", "")
    read(last, "house.yaml", TOOLS)  # an agent who hands over to nobody ends the matter, and no loop does


def test_all_mistakes_are_told_at_once() -> None:
    text = changed("to: safety", "to: nobody").replace("start: concierge", "start: butler")
    assert len(told(text)) == 2


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.yaml")
    with pytest.raises(ScenarioError, match="The file cannot be read"):
        load(missing)
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="not written in UTF-8"):
        load(str(tmp_path / "bad.yaml"))
    (tmp_path / "huge.yaml").write_bytes(b"#" * 300_000)
    with pytest.raises(ScenarioError, match="more than 262144 bytes"):
        load(str(tmp_path / "huge.yaml"))
    (tmp_path / "deep.yaml").write_text("a: " + "[" * 5000)
    with pytest.raises(ScenarioError):
        load(str(tmp_path / "deep.yaml"))
    with pytest.raises(ScenarioError, match="There is no such scenario"):
        load("nonsense")
