"""The settings of the voice gateway, from ``TALKDOWN_*`` environment variables."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator, model_validator
from pydantic_settings import NoDecode

from chassis.settings import ServiceSettings
from contracts.voice import CREDENTIAL_LIFETIME_S


class Settings(ServiceSettings):
    """Where the agent is, who may connect, and the bounds of what is held."""

    port: int = 3013
    agent_url: str = "http://127.0.0.1:3010"
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("http://127.0.0.1:3000", "http://localhost:3000"),
        description="origins of pages that may connect, comma-separated",
    )
    credential_s: Annotated[int, Field(ge=1, le=CREDENTIAL_LIFETIME_S)] = CREDENTIAL_LIFETIME_S
    max_credentials: Annotated[int, Field(ge=1)] = Field(default=1000, description="that wait to be used")
    max_sessions: Annotated[int, Field(ge=1)] = Field(default=100, description="of this process")
    idle_s: Annotated[float, Field(gt=0)] = Field(default=600.0, description="a silent session is closed after it")
    max_message_bytes: Annotated[int, Field(ge=1024)] = Field(default=65_536, description="of a client's event")
    max_unread_bytes: Annotated[int, Field(ge=65_536)] = Field(
        default=4_194_304, description="of events that a client leaves unread before its session is closed"
    )
    max_items: Annotated[int, Field(ge=2)] = Field(default=500, description="of a session; the oldest leave first")
    answer_s: Annotated[float, Field(gt=0)] = Field(default=35.0, description="a little over the agent's own 30 s")
    silent_s: Annotated[float, Field(gt=0)] = Field(default=2.0, description="a turn so long silent is looked up")
    lost_s: Annotated[float, Field(gt=0)] = Field(default=4.0, description="an older heartbeat is a lost worker's")
    stop_s: Annotated[float, Field(ge=0)] = Field(default=7.0, description="answers in work may take so long at a stop")

    @field_validator("allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip().rstrip("/").lower() for part in value.split(",") if part.strip())
        return value

    @model_validator(mode="after")
    def _voice_is_here(self) -> Settings:
        if self.chosen_voice != "simulated":
            raise ValueError(
                f"TALKDOWN_VOICE={self.chosen_voice} is not served by this version: set TALKDOWN_VOICE to simulated."
            )
        return self
