"""Asking another service over HTTP: typed answers, one trace, and plain sentences when it goes wrong.

::

    async with open_client(settings.retriever_url, "retriever") as retriever:
        result = await retriever.post("/search", SearchResult, SearchRequest(query=...))

Errors::

    CallFailed
    ├── Unreachable   no connection, or no answer in time: it may work in a moment
    ├── Refused       the service answered 4xx or 5xx with its reason
    └── Nonsense      the answer is not what the contract says
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from chassis import conventions
from chassis.telemetry import CLIENT, fail, span, traceparent_of
from contracts.turns import Refusal

if TYPE_CHECKING:
    import httpx2

    from chassis.replicas import Replicas

M = TypeVar("M", bound=BaseModel)

CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 30.0


class CallFailed(Exception):
    """Another service could not be asked."""


class Unreachable(CallFailed):
    """The service does not answer."""

    def __init__(self, service: str, why: str) -> None:
        super().__init__(f"The {service} does not answer ({why}).")
        self.service = service


class Refused(CallFailed):
    """The service refused, and said why: ``status``, ``code``, ``message``, ``retry_after`` in seconds."""

    def __init__(self, service: str, status: int, code: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.service, self.status, self.code, self.message = service, status, code, message
        self.retry_after = retry_after


class Nonsense(CallFailed):
    """The service answered with something that the contract does not know."""

    def __init__(self, service: str) -> None:
        super().__init__(f"The {service} gave an answer that does not fit its contract; are both of the same version?")
        self.service = service


class ServiceClient:
    """One other service, on connections that are kept; ``replicas`` where its address may stand for several.

    Requests that are ``near`` the same key go to the same replica for as long as it is there.
    """

    def __init__(self, client: httpx2.AsyncClient, service: str, replicas: Replicas | None = None) -> None:
        self.raw = client
        self.service = service
        self.replicas = replicas
        address = urlsplit(str(client.base_url))
        self._where: dict[str, str | int] = {conventions.SERVER_ADDRESS: address.hostname or ""}
        if address.port:
            self._where[conventions.SERVER_PORT] = address.port

    async def get(
        self,
        path: str,
        answer: type[M],
        *,
        params: Mapping[str, str] | None = None,
        timeout: float | None = None,
        near: str | None = None,
    ) -> M:
        """``GET path``, read as ``answer``; ``timeout`` in seconds."""
        return self.read(await self.call("GET", path, params=params, timeout=timeout, near=near), answer)

    async def post(
        self,
        path: str,
        answer: type[M],
        body: BaseModel | None = None,
        *,
        params: Mapping[str, str] | None = None,
        timeout: float | None = None,
        near: str | None = None,
    ) -> M:
        """``POST path`` with a JSON body, read as ``answer``; ``timeout`` in seconds."""
        return self.read(await self.call("POST", path, body, params=params, timeout=timeout, near=near), answer)

    async def call(
        self,
        method: str,
        path: str,
        body: BaseModel | None = None,
        *,
        params: Mapping[str, str] | None = None,
        timeout: float | None = None,
        near: str | None = None,
    ) -> httpx2.Response:
        """One request in a client span; an answer of 400 or more is raised as :class:`Refused`."""
        import httpx2

        attributes = {conventions.HTTP_METHOD: method, conventions.URL_PATH: path, **self._where}
        with span(f"{method} {self.service}", attributes, kind=CLIENT) as current:
            headers = {"content-type": "application/json"} if body is not None else {}
            if traceparent := traceparent_of(current):
                headers["traceparent"] = traceparent
            try:
                response = await self.raw.request(
                    method,
                    path,
                    content=body.model_dump_json().encode() if body is not None else None,
                    params=dict(params) if params else None,
                    headers=headers,
                    timeout=timeout if timeout is not None else httpx2.USE_CLIENT_DEFAULT,
                    extensions={"near": near} if near is not None else None,
                )
            except httpx2.TimeoutException as error:
                raise Unreachable(self.service, "no answer in time") from error
            except httpx2.HTTPError as error:
                raise Unreachable(self.service, "no connection") from error
            current.set_attribute(conventions.HTTP_STATUS, response.status_code)
            if response.status_code >= 400:
                fail(current, str(response.status_code))
                raise refused(self.service, response)
            return response

    def read(self, response: httpx2.Response, answer: type[M]) -> M:
        """The body as ``answer``; :class:`Nonsense` when it is none."""
        try:
            return answer.model_validate_json(response.content)
        except ValidationError as error:
            raise Nonsense(self.service) from error


def refused(service: str, response: httpx2.Response) -> Refused:
    """A refusal as the exception that carries it; a body that is no :class:`Refusal` gets a sentence of ours."""
    try:
        body = Refusal.model_validate_json(response.content)
    except ValidationError:
        body = Refusal(code="refused", message=f"The {service} answered {response.status_code}.")
    wait = response.headers.get("retry-after", "")
    retry_after = float(wait) if wait.isdigit() else None
    return Refused(service, response.status_code, body.code, body.message, retry_after)


@asynccontextmanager
async def open_client(
    base_url: str, service: str, *, timeout: float = ANSWER_TIMEOUT_S, connections: int = 100
) -> AsyncGenerator[ServiceClient]:
    """A client of one service; ``timeout`` is for an answer, in seconds. No proxy of the environment is asked.

    ``base_url`` may be several, separated by commas, and a name in it may stand for several replicas.
    """
    import httpx2

    from chassis.balancing import Balanced
    from chassis.replicas import Replicas, stand_for_several

    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=30)
    timeouts = httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT_S)
    wire: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport(limits=limits, trust_env=False)
    replicas = Replicas(base_url) if stand_for_several(base_url) else None
    if replicas is not None:
        wire = Balanced(wire, replicas)
    first = base_url.split(",")[0].strip()
    async with httpx2.AsyncClient(base_url=first, timeout=timeouts, transport=wire, trust_env=False) as client:
        yield ServiceClient(client, service, replicas)
