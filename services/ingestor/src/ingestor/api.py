"""The ingestor over HTTP: a refresh on command, and what it saw."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from fastapi import APIRouter, Request, Response

from chassis.refusals import Refuse
from contracts.refreshes import Files, RefreshReport, RefreshRequested
from ingestor.errors import FolderUnavailable
from ingestor.keeping import Keeping
from ingestor.ledger import Ledger
from ingestor.refreshing import Refreshing
from ingestor.scanning import shown
from ingestor.watching import Watcher

__all__ = ["State", "router"]

router = APIRouter()


class State(TypedDict):
    """What a request finds in ``request.state``."""

    folder: Path
    ledger: Ledger
    refreshing: Refreshing
    watcher: Watcher
    keeping: Keeping


@router.post("/refresh")
async def refresh(request: Request, asked: RefreshRequested | None = None) -> RefreshReport:
    """Compare the folder with the index now, and report what that did (C16)."""
    refreshing: Refreshing = request.state.refreshing
    try:
        return await refreshing.refresh_tree(rebuild=bool(asked and asked.rebuild))
    except FolderUnavailable as error:
        raise Refuse(503, "folder_unavailable", str(error), retry_after=5) from None


@router.get("/files", response_model=Files)
async def files(request: Request) -> Response:
    """Every file that was seen, why some were refused, and how the folder is watched."""
    ledger: Ledger = request.state.ledger
    refreshing: Refreshing = request.state.refreshing
    watcher: Watcher = request.state.watcher
    keeping: Keeping = request.state.keeping
    seen = Files(
        folder=shown(str(request.state.folder)),
        watching=watcher.state.by,
        notice=" ".join(filter(None, (watcher.state.notice, keeping.trouble))) or None,
        reconciled_at=refreshing.reconciled_at,
        files=ledger.files(),
    )
    return Response(seen.model_dump_json(), media_type="application/json")
