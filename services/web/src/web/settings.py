"""What can be set in web; every name has the prefix ``TALKDOWN_``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from chassis.settings import ServiceSettings


class Settings(ServiceSettings):
    """The settings of web: where the other services are, and who may ask."""

    port: int = Field(default=3000, ge=0, le=65535, description="a port from 0 to 65535; 0 takes a free one")
    agent_url: str = Field(default="http://127.0.0.1:3010", description="the address of the agent")
    retriever_url: str = Field(default="http://127.0.0.1:3011", description="the address of the retriever")
    ingestor_url: str = Field(default="http://127.0.0.1:3012", description="the address of the ingestor")
    voice_url: str = Field(
        default="http://127.0.0.1:3013", description="the address of the voice gateway, or of several, comma-separated"
    )
    jaeger_url: str | None = Field(
        default=None, description="the address where traces are looked at; unset: answers have no link to theirs"
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="host names served beside the loopback ones, separated by commas, without a port"
    )
    cli_token: SecretStr | None = Field(default=None, description="the bearer credential of the command line")
    silent_s: float = Field(
        default=2.0, gt=0, le=60, description="the seconds of silence after which a turn is looked up"
    )
    lost_s: float = Field(default=4.0, gt=0, le=60, description="the age in seconds of a lost worker's heartbeat")

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value

    @property
    def trace_url(self) -> str | None:
        """Where a trace is looked at, with ``{trace_id}`` in the place of its id."""
        return f"{self.jaeger_url.rstrip('/')}/trace/{{trace_id}}" if self.jaeger_url else None
