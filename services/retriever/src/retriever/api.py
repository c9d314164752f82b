"""The retriever over HTTP: search, manifest, documents, vocabulary, refreshes."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypedDict, cast
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from chassis.refusals import Refuse
from contracts.refreshes import Manifest
from contracts.search import RefreshState, SearchRequest, SearchResult, SourceText, Vocabulary
from retriever.errors import UnknownDocument, UnknownRefresh
from retriever.reading import Corpus
from retriever.search import Search
from retriever.texts import clean
from retriever.vocabulary import MOST_WORDS, Vocabularies

LARGEST_SEARCH_BYTES = 65_536
"""2,000 characters of a question, each written as a JSON escape, and a filter."""

router = APIRouter()


class State(TypedDict):
    """What a request finds in ``request.state``."""

    search: Search
    corpus: Corpus
    vocabularies: Vocabularies


IfNoneMatch = Annotated[str | None, Header(description='"{corpus_version}": 304 when it is still the one')]

_BODY = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": SearchRequest.model_json_schema()}}}
}


@router.post("/search", response_model=SearchResult, openapi_extra=_BODY)
async def search(request: Request) -> Response:
    """Find the passages for a question."""
    # Read by hand: the parsers below refuse what a person may well type or paste, such as half of a surrogate pair.
    try:
        body = _cleaned(json.loads(await request.body()))
    except (ValueError, RecursionError):
        raise Refuse(400, "invalid_request", "The body is not valid JSON.") from None
    try:
        asked = SearchRequest.model_validate(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None
    find: Search = request.state.search
    result = await find(asked)
    return Response(result.model_dump_json(), media_type="application/json")


@router.get("/manifest", response_model=Manifest)
async def manifest(request: Request, if_none_match: IfNoneMatch = None) -> Response:
    """Every visible document, and the state of the corpus."""
    corpus: Corpus = request.state.corpus
    if if_none_match is not None and if_none_match == f'"{(await corpus.standing()).version}"':
        return Response(status_code=304)
    return Response(await corpus.manifest(), media_type="application/json")


@router.get("/vocabulary", response_model=Vocabulary)
async def vocabulary(
    request: Request, most: Annotated[int, Query(ge=1, le=MOST_WORDS)] = 1000, if_none_match: IfNoneMatch = None
) -> Response:
    """The words that only these notes say, the most telling first."""
    vocabularies: Vocabularies = request.state.vocabularies
    known = await vocabularies(most)
    tag = f'"{known.corpus_version}"'
    if if_none_match == tag:
        return Response(status_code=304)
    return Response(known.model_dump_json(), media_type="application/json", headers={"etag": tag})


@router.get("/documents/{path:path}", response_model=SourceText)
async def document(request: Request, path: str, version: Annotated[str | None, Query()] = None) -> Response:
    """The visible text of a document."""
    corpus: Corpus = request.state.corpus
    try:
        text = await corpus.document(path, version)
    except UnknownDocument as error:
        raise Refuse(404, "not_found", str(error)) from None
    return Response(text.model_dump_json(), media_type="application/json")


@router.get("/refreshes/{refresh_id}", response_model=RefreshState)
async def refresh(request: Request, refresh_id: UUID) -> Response:
    """How far a refresh has come."""
    corpus: Corpus = request.state.corpus
    try:
        state = await corpus.refresh(refresh_id)
    except UnknownRefresh as error:
        raise Refuse(404, "not_found", str(error)) from None
    return Response(state.model_dump_json(), media_type="application/json")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in cast(list[Any], value)]
    if isinstance(value, dict):
        return {clean(name): _cleaned(each) for name, each in cast(dict[str, Any], value).items()}
    return value
