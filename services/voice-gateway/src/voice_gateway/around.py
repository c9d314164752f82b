"""What every session of a process stands on."""

from __future__ import annotations

from dataclasses import dataclass

from voice_gateway.agent import Agent
from voice_gateway.calls import Calls
from voice_gateway.opening import Senses
from voice_gateway.orchestrators.orchestra import Orchestra
from voice_gateway.providers.openai import OpenAIVoice
from voice_gateway.session_config import Means
from voice_gateway.settings import Settings


@dataclass(frozen=True, slots=True)
class Around:
    """The settings, and what all sessions share; without senses their voice is silent, or a provider's."""

    settings: Settings
    agent: Agent
    calls: Calls
    senses: Senses | None = None
    provider: OpenAIVoice | None = None
    orchestra: Orchestra | None = None

    @property
    def means(self) -> Means:
        """What its sessions can do."""
        return self.senses.means if self.senses else Means()
