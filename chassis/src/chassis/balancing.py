"""A transport that sends each request to one of the replicas of a service."""

from __future__ import annotations

import httpx2

from chassis.replicas import HEADER, Replica, Replicas


class Balanced(httpx2.AsyncBaseTransport):
    """Sends each request to one of the replicas over ``transport``."""

    def __init__(self, transport: httpx2.AsyncBaseTransport, replicas: Replicas) -> None:
        self._transport, self._replicas = transport, replicas

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it to the replica that its extensions ``near`` or ``replica`` ask for, else to any."""
        failed: httpx2.TransportError = httpx2.ConnectError("no replica is there", request=request)
        url = request.url
        for replica in await self._chosen(request):
            request.url = url.copy_with(host=replica.host, port=replica.port)
            request.headers[HEADER] = replica.name
            replica.open += 1
            try:
                return await self._transport.handle_async_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                self._replicas.rest(replica)
                failed = error
            finally:
                replica.open -= 1
        raise failed

    async def aclose(self) -> None:
        """Close every connection."""
        await self._replicas.close()
        await self._transport.aclose()

    async def _chosen(self, request: httpx2.Request) -> list[Replica]:
        try:
            if (name := request.extensions.get("replica")) is not None:
                one = await self._replicas.named(name)
                return [one] if one is not None else []
            return await self._replicas.ordered(request.extensions.get("near"))
        except OSError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
