"""Requests to models."""

from __future__ import annotations

import pytest

from chassis.model_calls import returns_reasoning


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-4.1-mini", False),
        ("gpt-4o", False),
        ("gpt-5.4-mini", True),
        ("gpt-5-chat-latest", False),
        ("o4-mini", True),
        ("openai/o3", True),
        ("llama-3.3-70b", False),
    ],
)
def test_only_models_that_think_are_asked_for_their_reasoning(name: str, expected: bool) -> None:
    assert returns_reasoning(name) is expected
