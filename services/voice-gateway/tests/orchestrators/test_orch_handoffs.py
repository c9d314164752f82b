"""O4: who may hand over to whom, when, and with which words."""

from __future__ import annotations

import pytest
from orch_fakes import scenario

from voice_gateway.live.port import ToolError
from voice_gateway.orchestrators.handoffs import Handoff, Handoffs
from voice_gateway.orchestrators.port import State

pytestmark = pytest.mark.behaviour("O4")
FIELDS = {"visitor": "Mara"}


def test_the_tool_names_those_that_an_edge_leads_to_and_when() -> None:
    spec = Handoffs(scenario()).spec()
    assert spec is not None
    assert spec.name == "hand_over"
    assert "- safety: danger" in spec.description
    properties = spec.parameters["properties"]
    assert properties["agent"]["enum"] == ["safety", "secret"]
    assert spec.parameters["required"] == ["agent", "reason"]


def test_an_agent_without_edges_has_no_tool_to_hand_over() -> None:
    alone = scenario("name: one\nstart: one\nagents:\n  - {name: one, instructions: Be.}\n")
    assert Handoffs(alone).spec() is None


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"agent": "secretary", "reason": "x"}, "may not hand over to `secretary`; it may to: safety, secret"),
        ({"agent": "concierge", "reason": "x"}, "may not hand over to `concierge`"),
        ({"reason": "x"}, "Name the `agent`"),
        ({"agent": 7, "reason": "x"}, "Name the `agent`"),
    ],
)
def test_a_handoff_without_an_edge_is_refused_in_a_sentence(args: dict[str, object], says: str) -> None:
    handoffs = Handoffs(scenario())
    with pytest.raises(ToolError, match=says.replace("(", r"\(")):
        handoffs.request(args)
    assert handoffs.pending is None


def test_the_first_valid_handoff_of_a_turn_wins_and_the_next_turn_has_its_own() -> None:
    handoffs = Handoffs(scenario())
    with pytest.raises(ToolError):
        handoffs.request({"agent": "nobody", "reason": ""})
    assert handoffs.request({"agent": "safety", "reason": "A valve."}).target == "safety"
    with pytest.raises(ToolError, match="already handed over to `safety`"):
        handoffs.request({"agent": "secret", "reason": "Later."})
    assert handoffs.apply() == Handoff("concierge", "safety", "A valve.")
    assert handoffs.active.name == "safety"
    with pytest.raises(ToolError):
        handoffs.request({"agent": "concierge", "reason": "Back."})
    handoffs.begin_turn()
    assert handoffs.request({"agent": "concierge", "reason": "Back."}).target == "concierge"


def test_greetings_differ_on_the_first_visit_and_on_a_return() -> None:
    handoffs = Handoffs(scenario(), State("safety", ("concierge", "safety")))
    assert handoffs.greeting(FIELDS) == "Safety again."
    fresh = Handoffs(scenario())
    assert fresh.greeting(FIELDS) == "Welcome."
    fresh.arrive()
    assert fresh.greeting(FIELDS) == "Welcome back."
    assert Handoffs(scenario(), State("secret")).greeting(FIELDS) is None


@pytest.mark.parametrize(
    ("said", "target", "beside"),
    [
        ("Can I talk to the safety specialist, please?", "safety", ""),
        ("SAFETY   SPECIALIST!", "safety", ""),
        ("Safety specialist, what is the code?", "safety", "what is the code?"),
        ("Is it safe to turn the amber valve?", "safety", "to turn the amber valve?"),
        ("I want the safety specialists", None, None),
        ("Is the specialist on safety here?", None, None),
        ("", None, None),
    ],
)
def test_a_phrase_hands_over_and_what_is_said_beside_it_is_kept(
    said: str, target: str | None, beside: str | None
) -> None:
    handoffs = Handoffs(scenario())
    assert handoffs.by_phrase(said) == beside
    assert (handoffs.pending.target if handoffs.pending else None) == target


@pytest.mark.behaviour("O3")
def test_an_unknown_stored_agent_visit_or_handoff_is_ignored() -> None:
    handoffs = Handoffs(scenario(), State("butler", ("concierge", "butler"), "safety", "handle"))
    assert handoffs.active.name == "concierge"
    assert handoffs.state == State("concierge", ("concierge",), "safety", "handle")
    other = Handoffs(scenario(), State("safety", (), "secret"), start="secret")
    assert (other.active.name, other.pending) == ("safety", None)
    assert Handoffs(scenario(), State(), start="secret").active.name == "secret"
    assert Handoffs(scenario(), State(), start="butler").active.name == "concierge"
