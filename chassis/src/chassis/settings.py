"""The settings that all services share, and how a wrong one stops the start with one sentence.

Every setting is an environment variable ``TALKDOWN_...``; the provider's own two keep their usual names.
A mode is a preset of three parts (embeddings, answers, voice), and each part may be chosen on its own.
"""

from __future__ import annotations

import re
import sys
from typing import ClassVar, Literal, NoReturn, TypeVar
from urllib.parse import urlsplit, urlunsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from contracts.corpus import Mode

Embeddings = Literal["local", "scripted", "openai"]
Answers = Literal["extractive", "scripted", "responses", "chat"]
Voice = Literal["simulated", "local", "openai", "gemini"]
Part = Literal["embeddings", "answers", "voice"]

PRESETS: dict[Mode, tuple[Embeddings, Answers, Voice]] = {
    "local": ("local", "extractive", "local"),
    "simulated": ("scripted", "scripted", "simulated"),
    "live": ("openai", "responses", "openai"),
}
KEYLESS: dict[Part, str] = {"embeddings": "local", "answers": "extractive", "voice": "local"}
OPENAI_URL = "https://api.openai.com/v1"
NEEDS_OPENAI = frozenset({"openai", "responses", "chat"})
ADDRESS = re.compile(r"https?://[^/?#\s;,'\"]+(?:/[^?#\s]*)?")
PREFIX = "TALKDOWN_"
EXIT_CODE = 2
"""What a process answers when its settings are wrong."""

S = TypeVar("S", bound="ServiceSettings")


class ServiceSettings(BaseSettings):
    """What every service may be told; a service adds its own fields in a subclass.

    ``parts`` are the parts that the service itself carries out: only these may ask for a provider's key.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True)
    parts: ClassVar[frozenset[Part]] = frozenset()

    mode: Mode = Field(default="local", description="local, simulated or live")
    embeddings: Embeddings | None = Field(default=None, description="local, scripted or openai; unset: by the mode")
    answers: Answers | None = Field(
        default=None, description="extractive, scripted, responses or chat; unset: by the mode"
    )
    voice: Voice | None = Field(default=None, description="simulated, local, openai or gemini; unset: by the mode")

    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key"),
        description="a key of the provider (any word for a compatible server that asks for none)",
    )
    openai_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("OPENAI_BASE_URL", "openai_base_url"),
        description="the address of a compatible server; unset: OpenAI's own",
    )

    host: str = Field(default="127.0.0.1", description="the address to listen on")
    port: int = Field(default=0, ge=0, le=65535, description="a port from 0 to 65535; 0 takes a free one")
    listen_fd: int | None = Field(
        default=None, ge=0, description="the number of a bound socket that was inherited; it wins over host and port"
    )

    postgres_url: SecretStr = Field(
        default=SecretStr("postgresql://talkdown@127.0.0.1:5432/talkdown"), description="postgresql://user@host/name"
    )
    redis_url: SecretStr = Field(
        default=SecretStr("redis://127.0.0.1:6379/0"), description="where frames live: redis://host:port/0"
    )
    bus_url: SecretStr | None = Field(
        default=None, description="redis://..., kafka://... or memory://; unset: the same server as the frames"
    )
    bus_partitions: int = Field(default=8, ge=1, le=256, description="a number from 1 to 256, the same everywhere")
    bus_attempts: int = Field(default=5, ge=1, le=100, description="how often an event is tried, from 1 to 100")
    bus_lease_s: float = Field(default=3.0, ge=0.5, le=300, description="seconds from 0.5 to 300")

    grace_s: float = Field(default=8.0, ge=0, le=600, description="seconds that running work has when stopping")
    otlp_endpoint: str | None = Field(
        default=None, description="the base address of an OTLP/HTTP collector of traces; unset: none are recorded"
    )
    otlp_metrics_endpoint: str | None = Field(
        default=None,
        description="the base address of an OTLP/HTTP collector of metrics, which Jaeger is not; unset: none are taken",
    )
    otlp_metrics_interval_s: float = Field(default=10.0, ge=0.1, le=3600, description="seconds from 0.1 to 3600")
    trace_content: bool = Field(default=False, description="1 lets questions and passages into traces")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="debug, info, warning or error"
    )

    @property
    def chosen_embeddings(self) -> Embeddings:
        """The embeddings in force: what was chosen, else the mode's."""
        return self.embeddings or PRESETS[self.mode][0]

    @property
    def chosen_answers(self) -> Answers:
        """The answers in force: what was chosen, else the mode's."""
        return self.answers or PRESETS[self.mode][1]

    @property
    def chosen_voice(self) -> Voice:
        """The voice in force: what was chosen, else the mode's."""
        return self.voice or PRESETS[self.mode][2]

    @property
    def chosen_bus_url(self) -> str:
        """The bus in force: its own address, else the one of the frames."""
        return (self.bus_url or self.redis_url).get_secret_value()

    @property
    def provider_url(self) -> str:
        """The provider's address as anybody may be told it: without a slash at its end, a user or a password."""
        parts = urlsplit(self.openai_base_url or OPENAI_URL)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))

    @field_validator("openai_base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not ADDRESS.fullmatch(value):
            raise ValueError("it is written as https://host/v1")
        return value

    @model_validator(mode="after")
    def _key_is_there(self) -> ServiceSettings:
        chosen: dict[Part, str] = {
            "embeddings": self.chosen_embeddings,
            "answers": self.chosen_answers,
            "voice": self.chosen_voice,
        }
        asking: list[Part] = [part for part in chosen if part in self.parts and chosen[part] in NEEDS_OPENAI]
        if asking and not (self.openai_api_key and self.openai_api_key.get_secret_value().strip()):
            keyless = " and ".join(f"TALKDOWN_{part.upper()}={KEYLESS[part]}" for part in asking)
            without = "TALKDOWN_MODE=local" if self.mode == "live" else keyless
            raise ValueError(
                f"OPENAI_API_KEY is not set, and it is needed for {' and '.join(asking)} (TALKDOWN_MODE={self.mode}): "
                f"set OPENAI_API_KEY to a key of the provider, or {without} to use none."
            )
        return self


def load(kind: type[S]) -> S:
    """Read the settings from the environment; a wrong or missing one is told in one sentence, with exit code 2."""
    try:
        return kind()
    except ValidationError as error:
        stop(sentence(kind, error))


def stop(message: str) -> NoReturn:
    """Say on stderr why the process does not start, and end it."""
    sys.stderr.write(f"talkdown: {message}\n")
    raise SystemExit(EXIT_CODE)


def variable(kind: type[BaseSettings], field: str) -> str:
    """The environment variable that a field is read from."""
    alias = kind.model_fields[field].validation_alias if field in kind.model_fields else None
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    if isinstance(alias, str):
        return alias
    return f"{kind.model_config.get('env_prefix', '')}{field}".upper()


def sentence(kind: type[BaseSettings], error: ValidationError) -> str:
    """The first fault as one sentence that names the variable and what to set; values that may be secret stay out."""
    fault: ErrorDetails = error.errors(include_url=False)[0]
    if not fault["loc"]:
        return fault["msg"].removeprefix("Value error, ")
    field = _field_of(kind, str(fault["loc"][0]))
    name, wanted = variable(kind, field), kind.model_fields[field].description or fault["msg"].lower()
    if fault["type"] == "missing":
        return f"{name} is not set: set it to {wanted}."
    return f"{name} is wrong ({_lower_first(fault['msg'].removeprefix('Value error, '))}): set it to {wanted}."


def _field_of(kind: type[BaseSettings], place: str) -> str:
    for name, field in kind.model_fields.items():
        alias = field.validation_alias
        names = [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [alias]
        if place == name or place in names:
            return name
    return place


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
