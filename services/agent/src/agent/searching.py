"""Asking the retriever."""

from __future__ import annotations

from typing import Protocol

from agent.errors import SearchFailed
from chassis.http import CallFailed, Refused, ServiceClient, Unreachable
from contracts.refreshes import Manifest
from contracts.search import Filter, SearchRequest, SearchResult


class Search(Protocol):
    """Finds passages; raises :class:`agent.errors.SearchFailed`."""

    async def find(self, query: str, filter: Filter) -> SearchResult:  # noqa: A002 - the contract's own word
        """Search for a text among the documents that the filter lets through."""
        ...

    async def is_current(self, corpus_version: int) -> bool:
        """Say whether the corpus is still the one of this version."""
        ...


class RetrieverSearch:
    """The retriever over HTTP; ``hits`` before neighbours, ``budget`` in characters, ``timeout_s`` in seconds."""

    def __init__(self, client: ServiceClient, *, hits: int, budget: int, timeout_s: float) -> None:
        self._client = client
        self._hits = hits
        self._budget = budget
        self._timeout_s = timeout_s

    async def find(self, query: str, filter: Filter) -> SearchResult:  # noqa: A002
        """Ask ``POST /search`` once."""
        request = SearchRequest(query=query, hits=self._hits, budget=self._budget, filter=filter)
        try:
            return await self._client.post("/search", SearchResult, request, timeout=self._timeout_s)
        except Unreachable:
            raise SearchFailed from None
        except Refused as refusal:
            # The retriever's own sentence says what to do ("the index is being built"); a fault of its own does not.
            raise SearchFailed(refusal.message if refusal.status in (400, 503) else None) from None
        except CallFailed as failure:
            raise SearchFailed(str(failure)) from None

    async def is_current(self, corpus_version: int) -> bool:
        """Ask ``GET /manifest`` on condition, so that an unchanged corpus costs one line; doubt means no."""
        try:
            response = await self._client.raw.get("/manifest", headers={"if-none-match": f'"{corpus_version}"'})
            if response.status_code == 304:
                return True
            return response.is_success and Manifest.model_validate_json(response.content).version == corpus_version
        except Exception:
            return False
