"""What an agent is told before it answers: what is known of the person and the chat, who it is, who handed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from voice_gateway.orchestrators.handoffs import Handoff
from voice_gateway.orchestrators.placeholders import filled
from voice_gateway.orchestrators.scenario import AgentSpec


def instructions(
    agent: AgentSpec,
    fields: Mapping[str, str],
    *,
    memory: Sequence[str] = (),
    session: Sequence[str] = (),
    handoff: Handoff | None = None,
    greeting: str | None = None,
) -> tuple[str, ...]:
    """Each part for itself: the memory first (L7), the agent's own, those of the session, and how it got the floor.

    ``greeting`` is what it is to begin with, where nobody speaks that for it.
    """
    told = [*memory, filled(agent.instructions, {**fields, "agent": agent.name})]
    told += [filled(text, {**fields, "agent": agent.name}) for text in session]
    if handoff is not None:
        why = f" Why: {handoff.reason}" if handoff.reason else ""
        told.append(f"The agent `{handoff.source}` has just handed this conversation over to you.{why}")
    if greeting:
        told.append(f'Begin with these words, and go on with what the person wants: "{greeting}"')
    return tuple(told)
