"""What the retriever may be told beside what all services may."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from chassis.settings import Part, ServiceSettings


class Settings(ServiceSettings):
    """The retriever's settings: `TALKDOWN_...` in upper case."""

    parts: ClassVar[frozenset[Part]] = frozenset({"embeddings"})

    model_folder: Path | None = Field(
        default=None, description="a folder with model.onnx and tokenizer.json; unset: the model that is shipped"
    )
    model_threads: int = Field(default=1, ge=1, le=64, description="threads of one pass of the local model")
    embedding_model: str = Field(default="text-embedding-3-small", description="the provider's name of a model")
    embedding_dimensions: int = Field(default=1536, ge=1, le=4000, description="the length of that model's vectors")
    provider_timeout_s: float = Field(default=30, gt=0, description="seconds that the provider may take to answer")

    exact_up_to: int = Field(
        default=20_000,
        ge=0,
        description="a number of chunks; up to it vectors are compared one by one, past it by the approximate index",
    )
    candidates: int = Field(default=50, ge=10, le=500, description="hits that each leg may bring, from 10 to 500")
    question_timeout_s: float = Field(
        default=5, gt=0, description="seconds that a question's vector may take before words alone are searched"
    )
    slice_documents: int = Field(
        default=200, ge=1, description="documents that become visible together while the index is first filled"
    )
    embedding_batch: int = Field(default=32, ge=1, le=32, description="texts in one embedding request, from 1 to 32")
    refresh_timeout_s: float = Field(
        default=600, gt=0, description="seconds without news after which an unfinished refresh is given up"
    )
    collect_every_s: float = Field(default=30, gt=0, description="seconds between two rounds of clearing away")
    vectors_kept_s: float = Field(
        default=86_400, ge=7_200, description="seconds, from 7200, that the vector of a text that nobody shows is kept"
    )
    removals_kept_s: float = Field(
        default=3_600, ge=0, description="seconds that a lexical index may lag before it is filled anew"
    )
    history_kept_s: float = Field(default=604_800, ge=0, description="seconds that ended refreshes are remembered")
