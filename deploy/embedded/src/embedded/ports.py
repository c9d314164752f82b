"""Ports of this machine's loopback: which is free, and which is taken."""

from __future__ import annotations

import errno
import socket

from embedded.errors import PortTaken

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A TCP port of the loopback that was free a moment ago; who starts a server on it must be ready to try another."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def listen(host: str, port: int, backlog: int = 2048) -> socket.socket:
    """A listening socket that a child process inherits, so that nobody can take its port between two starts.

    Raises :class:`PortTaken` with the remedy when another program has the port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(backlog)
    except PermissionError:
        listener.close()
        raise PortTaken(
            f"Port {port} may not be used without more rights; choose one above 1023 with --port."
        ) from None
    except OSError as error:
        listener.close()
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise PortTaken(
                f"{host} is no address of this machine ({error.strerror}); leave --host out, or name one that is."
            ) from None
        raise PortTaken(
            f"Port {port} of {host} is taken ({error.strerror}). Stop the program that uses it, or choose another port:"
            f" talkdown up FOLDER --port {port + 1 if port < 65535 else 3000}"
        ) from None
    listener.set_inheritable(True)
    return listener
