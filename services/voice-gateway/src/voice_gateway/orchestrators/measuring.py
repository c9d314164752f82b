"""What agents cost: tokens by agent and model, as providers counted them, and the wait for their first token (O6)."""

from __future__ import annotations

from chassis import metrics
from contracts.vocabulary import JsonObject

FIRST_TOKEN = metrics.histogram(
    "talkdown.agent.time_to_first_token",
    "s",
    "From an agent's turn to the first words that it writes.",
    metrics.MODEL_S,
)


class Tally:
    """The tokens of one session."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, str], tuple[int, int]] = {}
        self._told: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, agent: str, model: str, input_tokens: int, output_tokens: int) -> None:
        """One response of a model for an agent."""
        before = self._spent.get((agent, model), (0, 0))
        self._spent[agent, model] = before[0] + input_tokens, before[1] + output_tokens

    def of(self, agent: str) -> tuple[int, int]:
        """The input and output tokens of an agent."""
        spent = [tokens for (name, _), tokens in self._spent.items() if name == agent]
        return sum(tokens[0] for tokens in spent), sum(tokens[1] for tokens in spent)

    def told(self) -> list[JsonObject]:
        """All of it, an entry for each agent and model."""
        return [
            {"agent": agent, "model": model, "input_tokens": tokens[0], "output_tokens": tokens[1]}
            for (agent, model), tokens in self._spent.items()
        ]

    def news(self) -> list[tuple[str, str, int, int]]:
        """What was spent since this was asked last: agent, model, input and output tokens."""
        news = [
            (*key, tokens[0] - self._told.get(key, (0, 0))[0], tokens[1] - self._told.get(key, (0, 0))[1])
            for key, tokens in self._spent.items()
            if tokens != self._told.get(key)
        ]
        self._told = dict(self._spent)
        return news
