"""What the environment says to the embedded run; the services read the rest of it themselves.

A plain dataclass rather than a ``BaseSettings``: nothing here needs validating, and reading it must not delay the start
of the servers by the third of a second that the validator takes to load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Servers of the person's own; an empty variable counts as unset."""

    postgres_url: str | None
    redis_url: str | None
    otlp_endpoint: str | None
    jaeger_url: str | None
    mode: str

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Settings:
        """Read them from the environment."""

        def named(name: str) -> str | None:
            return environment.get(f"TALKDOWN_{name}") or None

        return cls(
            postgres_url=named("POSTGRES_URL"),
            redis_url=named("REDIS_URL"),
            otlp_endpoint=named("OTLP_ENDPOINT"),
            jaeger_url=named("JAEGER_URL"),
            mode=named("MODE") or "local",
        )
