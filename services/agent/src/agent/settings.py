"""What the agent may be told; every field is an environment variable ``TALKDOWN_...``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from chassis.settings import Part, ServiceSettings

_PRICE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s*")


class Settings(ServiceSettings):
    """The agent's own settings, beside those that all services share."""

    parts: ClassVar[frozenset[Part]] = frozenset({"answers"})

    retriever_url: str = Field(default="http://127.0.0.1:3011", description="the address of the retriever")

    turns_in_chat: int = Field(default=4, ge=1, description="how many turns may wait or run in one chat")
    active_chats: int = Field(default=100, ge=1, description="how many chats may have turns at once")
    turns_at_once: int = Field(default=128, ge=1, le=1000, description="how many turns one process runs at once")
    deadline_s: float = Field(default=30.0, gt=0, le=600, description="seconds a turn has, its wait included")

    heartbeat_s: float = Field(default=1.0, gt=0, le=60, description="seconds between two heartbeats of a worker")
    lost_after_s: float = Field(
        default=4.0, gt=0, le=600, description="seconds without a heartbeat after which a turn counts as lost"
    )
    sweep_s: float = Field(default=0.4, gt=0, le=60, description="seconds between two looks for lost or waiting turns")

    history_turns: int = Field(default=20, ge=0, le=100, description="how many earlier turns a model is told")
    history_characters: int = Field(default=40_000, ge=0, description="how many characters of them")

    hits: int = Field(default=5, ge=1, le=50, description="how many passages are searched for, neighbours not counted")
    context_characters: int = Field(
        default=6000, ge=200, le=100_000, description="how many characters of passages an answer may use"
    )
    search_timeout_s: float = Field(default=10.0, gt=0, description="seconds that one search may take")
    prefetch_s: float = Field(default=5.0, gt=0, le=60, description="seconds that a prepared answer is kept")

    answer_model: str = Field(default="gpt-4.1-mini", min_length=1, description="the model that writes answers")
    answer_tokens: int | None = Field(
        default=None, ge=16, description="the most tokens of an answer; unset: the model's own bound"
    )
    answer_reasoning: bool | None = Field(
        default=None, description="1 or 0: whether the model gives reasoning items; unset: by its name"
    )
    answer_timeout_s: float = Field(default=20.0, gt=0, description="seconds to wait for each part of a model's answer")

    prices: Annotated[Mapping[str, tuple[float, float]], NoDecode] = Field(
        default_factory=dict[str, tuple[float, float]],
        description="what a million input and output tokens of models cost, as gpt-4.1-mini=0.4/1.6,other=1/2",
    )

    scripted_sentences: int = Field(default=3, ge=1, le=50, description="how many sentences a scripted answer has")
    scripted_pace: float | None = Field(
        default=None, gt=0, le=1000, description="deltas a second of a scripted answer; unset: without waiting"
    )

    @field_validator("prices", mode="before")
    @classmethod
    def _priced(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        prices: dict[str, tuple[float, float]] = {}
        for entry in filter(None, (part.strip() for part in value.split(","))):
            model, _, price = entry.rpartition("=")
            numbers = _PRICE.fullmatch(price)
            if not model.strip() or numbers is None:
                raise ValueError("it is written as model=input/output, separated by commas")
            prices[model.strip()] = float(numbers[1]), float(numbers[2])
        return prices
