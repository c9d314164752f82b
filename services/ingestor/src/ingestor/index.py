"""The index as the ingestor asks about it, over HTTP."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from chassis.http import Refused, ServiceClient
from contracts.refreshes import Manifest
from contracts.search import RefreshState

__all__ = ["Index", "RetrieverIndex"]


class Index(Protocol):
    """What the index holds, and how far a refresh has come. Both raise :class:`chassis.http.CallFailed`."""

    async def manifest(self) -> Manifest:
        """Every visible document."""
        ...

    async def refresh(self, refresh_id: UUID) -> RefreshState | None:
        """A refresh; nothing when the index has not heard of it."""
        ...


class RetrieverIndex:
    """The retriever's answers."""

    def __init__(self, client: ServiceClient) -> None:
        self._client = client

    async def manifest(self) -> Manifest:
        """``GET /manifest``."""
        return await self._client.get("/manifest", Manifest)

    async def refresh(self, refresh_id: UUID) -> RefreshState | None:
        """``GET /refreshes/{refresh_id}``."""
        try:
            return await self._client.get(f"/refreshes/{refresh_id}", RefreshState)
        except Refused as error:
            if error.status == 404:
                return None
            raise
