"""The settings of the voice gateway, from ``TALKDOWN_*`` environment variables."""

from __future__ import annotations

import ipaddress
from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field, SecretStr, StringConstraints, field_validator, model_validator
from pydantic_settings import NoDecode

from chassis.settings import Part, ServiceSettings
from contracts.voice import CREDENTIAL_LIFETIME_S


class Settings(ServiceSettings):
    """Where the agent is, who may connect, and the bounds of what is held."""

    parts: ClassVar[frozenset[Part]] = frozenset({"voice"})

    port: int = 3013
    agent_url: str = "http://127.0.0.1:3010"
    retriever_url: str = "http://127.0.0.1:3011"
    max_words: Annotated[int, Field(ge=1, le=5000)] = Field(
        default=1000, description="of the notes that the ears listen for"
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("http://127.0.0.1:3000", "http://localhost:3000"),
        description="origins of pages that may connect, comma-separated",
    )
    credential_s: Annotated[int, Field(ge=1, le=CREDENTIAL_LIFETIME_S)] = CREDENTIAL_LIFETIME_S
    max_credentials: Annotated[int, Field(ge=1)] = Field(default=1000, description="that wait to be used")
    max_sessions: Annotated[int, Field(ge=1)] = Field(default=100, description="of this process")
    ears: Literal["local", "scripted"] = Field(
        default="local", description="local, or scripted to hear what `TALKDOWN_SCRIPT` says"
    )
    mouth: Literal["local", "scripted"] = Field(default="local", description="local, or scripted to speak in tones")
    script: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="what scripted ears hear, an utterance behind the other, separated by `|`"
    )
    script_delay_s: Annotated[float, Field(ge=0)] = Field(default=0.0, description="before a scripted mouth speaks")
    max_voices: Annotated[int, Field(ge=1)] = Field(
        default=4, description="people that are listened to and spoken with at once; more are refused"
    )
    voice_name: str | None = Field(default=None, description="the name of a voice; unset: the usual one")
    voice_speed: Annotated[float, Field(ge=0.25, le=1.5)] = Field(default=1.0, description="from 0.25 to 1.5")
    voice_language: Annotated[str, StringConstraints(pattern="^[a-z]{2}$")] | None = Field(
        default=None, description="the language that is spoken to the provider, as en; unset: it finds out"
    )
    realtime_model: str = Field(default="gpt-realtime-2.1", description="the provider's model that speaks")
    transcription_model: str = Field(default="gpt-transcribe", description="the provider's model that transcribes")
    realtime: bool = Field(
        default=False, description="1: the server at `OPENAI_BASE_URL` has the Realtime API, too, and may hold sessions"
    )
    gemini_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("GEMINI_API_KEY", "gemini_api_key"),
        description="a key of Google's, for sessions that Gemini holds",
    )
    gemini_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("GEMINI_BASE_URL", "gemini_base_url"),
        description="the address of a compatible server; unset: Google's own",
    )
    gemini_model: str | None = Field(default=None, description="Gemini's model that speaks; unset: the usual one")
    scenario: str | None = Field(
        default=None,
        description="the agents of a session: the name of a shipped scenario, or a .yaml file;"
        " unset: talkdown.yaml in the folder of notes, else notes",
    )
    folder: str | None = Field(default=None, description="the folder of notes, where it can be read from here")
    tools: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Python files or modules whose functions agents may call, comma-separated"
    )
    mcp: str | None = Field(default=None, description="a JSON file that names MCP servers, whose tools agents may call")
    cascade_answers: Literal["ours", "responses", "chat"] = Field(
        default="ours", description="who answers in a cascade: ours, or a model behind responses or chat"
    )
    cascade_model: str = Field(default="gpt-4.1-mini", min_length=1, description="the model of responses and chat")
    cascade_timeout_s: Annotated[float, Field(gt=0)] = Field(
        default=20.0, description="seconds to wait for each part of that model's answer"
    )
    keep_transcripts: bool = Field(default=True, description="0: lines of live sessions are not kept with the chat")
    memory_write: bool = Field(default=True, description="0: no turn is remembered for later sessions")
    memory_recall: bool = Field(default=True, description="0: nothing is recalled when a session opens")
    memory_s: Annotated[float, Field(gt=0, le=10)] = Field(
        default=1.0, description="seconds that memory may hold up the opening of a session"
    )
    provider_s: Annotated[float, Field(gt=0)] = Field(
        default=10.0, description="seconds that the provider may take for a credential"
    )
    idle_s: Annotated[float, Field(gt=0)] = Field(default=600.0, description="a silent session is closed after it")
    max_message_bytes: Annotated[int, Field(ge=1024)] = Field(default=65_536, description="of a client's event")
    max_sound_message_bytes: Annotated[int, Field(ge=1024)] = Field(
        default=4_194_304, description="of a client's event with sound in it"
    )
    max_unread_bytes: Annotated[int, Field(ge=65_536)] = Field(
        default=4_194_304, description="of events that a client leaves unread before its session is closed"
    )
    max_items: Annotated[int, Field(ge=2)] = Field(default=500, description="of a session; the oldest leave first")
    answer_s: Annotated[float, Field(gt=0)] = Field(default=35.0, description="a little over the agent's own 30 s")
    silent_s: Annotated[float, Field(gt=0)] = Field(default=2.0, description="a turn so long silent is looked up")
    lost_s: Annotated[float, Field(gt=0)] = Field(default=4.0, description="an older heartbeat is a lost worker's")
    ice_addresses: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("127.0.0.1",),
        description="addresses on which calls take UDP, comma-separated, or `all` of this machine",
    )
    ice_ports: Annotated[tuple[int, int] | None, NoDecode] = Field(
        default=None, description="the UDP ports of calls, as `50000-50100`; unset: any"
    )
    ice_announced: str | None = Field(
        default=None,
        description="the address under which clients reach those ports, as 192.0.2.7; unset: where they are bound",
    )
    call_connect_s: Annotated[float, Field(gt=0)] = Field(default=15.0, description="a call not connected by then ends")
    call_lost_s: Annotated[float, Field(gt=0)] = Field(default=20.0, description="a call without a sign of life ends")
    stop_s: Annotated[float, Field(ge=0)] = Field(default=7.0, description="answers in work may take so long at a stop")

    @property
    def speaks_realtime(self) -> bool:
        """Whether the provider is known to speak: of a compatible server's interfaces this is the rare one."""
        return self.realtime or self.openai_base_url is None or self.chosen_voice == "openai"

    @field_validator("allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip().rstrip("/").lower() for part in value.split(",") if part.strip())
        return value

    @field_validator("tools", mode="before")
    @classmethod
    def _places(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("script", mode="before")
    @classmethod
    def _lines(cls, value: object) -> object:
        return tuple(line.strip() for line in value.split("|")) if isinstance(value, str) else value

    @field_validator("ice_addresses", mode="before")
    @classmethod
    def _addresses(cls, value: object) -> object:
        named = value.replace(" ", "").split(",") if isinstance(value, str) else value
        for address in named if isinstance(named, (list, tuple)) else ():
            if address != "all":
                ipaddress.ip_address(str(address))
        return named

    @field_validator("ice_announced")
    @classmethod
    def _announced(cls, value: str | None) -> str | None:
        return value and str(ipaddress.ip_address(value))

    @field_validator("ice_ports", mode="before")
    @classmethod
    def _ports(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        first, _, last = value.partition("-")
        if not (first.strip().isdigit() and (last or first).strip().isdigit()):
            raise ValueError("Ports are written as 50000-50100.")
        ports = int(first), int(last or first)
        if not 1024 <= ports[0] <= ports[1] <= 65_535:
            raise ValueError("Ports are from 1024 to 65535, the first not above the last.")
        return ports

    @model_validator(mode="after")
    def _announced_ports_are_known(self) -> Settings:
        if self.ice_announced and self.ice_ports is None:
            raise ValueError(
                "TALKDOWN_ICE_ANNOUNCED needs the ports that are published there:"
                " set TALKDOWN_ICE_PORTS to them, as 50000-50019."
            )
        return self

    @model_validator(mode="after")
    def _models_have_a_key(self) -> Settings:
        if self.cascade_answers != "ours" and not self.openai_api_key:
            raise ValueError(
                f"TALKDOWN_CASCADE_ANSWERS={self.cascade_answers} asks a model: set OPENAI_API_KEY (any word for a"
                " compatible server that asks for none), or TALKDOWN_CASCADE_ANSWERS=ours."
            )
        return self

    @model_validator(mode="after")
    def _voice_is_here(self) -> Settings:
        if self.chosen_voice not in ("simulated", "local", "openai"):
            raise ValueError(
                f"TALKDOWN_VOICE={self.chosen_voice} is not served by this version:"
                " set TALKDOWN_VOICE to local, to openai, or to simulated."
            )
        return self
