"""What the ingestor may be told."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from chassis.settings import ServiceSettings
from ingestor.chunking import CHUNK_LENGTH
from ingestor.reading import FILE_LIMIT

__all__ = ["Settings"]


class Settings(ServiceSettings):
    """The folder, its limits, and how it is watched. Sizes are in bytes, times in seconds."""

    folder: Path = Field(description="the folder of your Markdown files")
    retriever_url: str = Field(default="http://127.0.0.1:8001", description="the address of the retriever")
    file_limit: int = Field(default=FILE_LIMIT, ge=1, le=16 * 1024 * 1024, description="bytes, 16 MiB at most")
    corpus_limit: int | None = Field(default=None, ge=1, description="bytes of all files together; unset: no bound")
    chunk_length: int = Field(default=CHUNK_LENGTH, ge=100, le=1500, description="characters from 100 to 1500")
    watching: Literal["auto", "events", "polling"] = Field(default="auto", description="auto, events or polling")
    poll_every_s: float = Field(default=0.5, ge=0.05, le=3600, description="seconds from 0.05 to 3600")
    reconcile_every_s: float = Field(default=60.0, ge=0.1, le=86_400, description="seconds from 0.1 to 86400")
    stalled_after_s: float = Field(default=30.0, ge=0.1, le=3600, description="seconds from 0.1 to 3600")
    documents_ahead: int = Field(default=500, ge=1, le=100_000, description="a number from 1 to 100000")
