"""The folder and its documents: ``/api/corpus``, ``/api/documents``."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter, ValidationError

from contracts.corpus import Corpus
from contracts.refreshes import RefreshReport, RefreshRequested
from contracts.search import SourceText
from contracts.vocabulary import DocumentPath
from web.bodies import takes
from web.errors import BadRequest
from web.state import the

routes = APIRouter()
document_path: TypeAdapter[str] = TypeAdapter(DocumentPath)


@routes.get("/api/corpus", response_model=Corpus)
async def corpus(request: Request) -> Response:
    """The ledger, with counts, freshness, mode, and what leaves the machine."""
    return Response(await the(request).ledger.corpus(), media_type="application/json")


@routes.post("/api/corpus/refresh", openapi_extra=takes(RefreshRequested, required=False))
async def refresh(request: Request) -> RefreshReport:
    """Compare the folder with the index now; answered by the report when it is done (C16)."""
    try:
        asked = RefreshRequested.model_validate_json(await request.body() or b"{}")
    except ValidationError as error:
        raise BadRequest('The body must be empty, or JSON such as {"rebuild": true}.') from error
    return await the(request).behind.ingestor.refresh(asked)


@routes.get("/api/documents/{path:path}")
async def document(request: Request, path: str, version: str | None = None) -> SourceText:
    """The visible text of a document; it says ``changed`` when another version was asked for."""
    try:
        document_path.validate_python(path)
    except ValidationError as error:
        raise BadRequest("A document's path is relative to the folder, such as notes/valves.md.") from error
    return await the(request).behind.retriever.document(path, version)
