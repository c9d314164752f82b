"""Where a call's sockets are: on the addresses and ports that the settings name, and on no others.

aioice binds a random port on every address of the machine but loopback; here a connection is given the way to bind.
No server is asked for anything (STUN, TURN), and no name is looked up.

Where another address publishes our ports, as with a container, it is announced in the place of our own; the ports have
the same numbers on both sides.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import random
import socket
from typing import Protocol

from aioice import Candidate, Connection
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import StunProtocol, get_host_addresses
from aiortc import RTCIceTransport, RTCPeerConnection

from voice_gateway.errors import NoWay

log = logging.getLogger(__name__)

EVERY_ADDRESS = "all"
LOOPBACK = "127.0.0.1"
TRIES = 50
RECEIVE_BUFFER_BYTES = 262_144


class Ports(Protocol):
    """The settings that say where."""

    @property
    def ice_addresses(self) -> tuple[str, ...]:
        """Addresses, or ``all``."""
        ...

    @property
    def ice_ports(self) -> tuple[int, int] | None:
        """The first and the last port; None: any."""
        ...

    @property
    def ice_announced(self) -> str | None:
        """The address under which clients reach the ports; None: where they are bound."""
        ...


def bind_as_told(pc: RTCPeerConnection, where: Ports) -> None:
    """Make the connection's transports gather where the settings say; before its local description is set."""
    for transport in _transports(pc):
        connection = transport.iceGatherer._connection  # pyright: ignore[reportPrivateUsage]

        async def gather(
            component: int, addresses: list[str], timeout: int = 5, connection: Connection = connection
        ) -> list[Candidate]:
            del addresses, timeout
            return await _candidates(connection, component, where)

        connection.get_component_candidates = gather


def _transports(pc: RTCPeerConnection) -> set[RTCIceTransport]:
    found = {transceiver.receiver.transport.transport for transceiver in pc.getTransceivers()}
    if pc.sctp is not None:
        found.add(pc.sctp.transport.transport)
    return found


async def _candidates(connection: Connection, component: int, where: Ports) -> list[Candidate]:
    candidates: list[Candidate] = []
    for address in _addresses(where):
        try:
            bound = _socket(address, where.ice_ports)
        except OSError as error:
            log.warning("a call cannot use an address", extra={"address": address, "error": type(error).__name__})
            continue
        candidates.append(await _listen(connection, component, bound, where.ice_announced))
    if not candidates:
        raise NoWay
    return candidates


def _addresses(where: Ports) -> list[str]:
    if EVERY_ADDRESS not in where.ice_addresses:
        return list(where.ice_addresses)
    if where.ice_announced:
        # One socket on all of them: whoever comes by the announced address reaches it, on whichever they arrive.
        return ["::" if ipaddress.ip_address(where.ice_announced).version == 6 else "0.0.0.0"]  # noqa: S104
    return [LOOPBACK, *get_host_addresses(use_ipv4=True, use_ipv6=True)]


async def _listen(connection: Connection, component: int, bound: socket.socket, announced: str | None) -> Candidate:
    try:
        _, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: StunProtocol(connection), sock=bound
        )
    except BaseException:
        bound.close()
        raise
    host, port = bound.getsockname()[:2]
    host = announced or host
    protocol.local_candidate = Candidate(
        foundation=candidate_foundation("host", "udp", host),
        component=component,
        transport="udp",
        priority=candidate_priority(component, "host"),
        host=host,
        port=port,
        type="host",
    )
    connection._protocols.append(protocol)  # pyright: ignore[reportPrivateUsage]
    return protocol.local_candidate


def _socket(address: str, ports: tuple[int, int] | None) -> socket.socket:
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    choices = [0] if ports is None else random.sample(range(ports[0], ports[1] + 1), ports[1] - ports[0] + 1)[:TRIES]
    for last, port in zip([*[False] * (len(choices) - 1), True], choices, strict=True):
        bound = socket.socket(family, socket.SOCK_DGRAM)
        try:
            bound.setblocking(False)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            bound.bind((address, port))
        except OSError:
            bound.close()
            if last:
                raise
        else:
            return bound
    raise AssertionError("there is always a last port")
