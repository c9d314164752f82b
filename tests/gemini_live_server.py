"""A provider of Gemini's Live API, as a server of its own with TLS, that answers as a test wrote down.

::

    async with gemini_live(tmp_path, monkeypatch, GeminiScript(answers=[(Say("Good day."),)])) as provider:
        client = genai.Client(api_key=provider.key, http_options=HttpOptions(base_url=provider.url))

Its certificate is made for the test, and trusted through ``SSL_CERT_FILE``. What it is sent is read by the package's
own types, and what it sends is made of them; what was wrong is in ``provider.wrong``.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import http
import ipaddress
import re
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from gemini_live_session import GeminiSession
from google.genai import types
from openai_live_session import Answer
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

KEY = "AI-of-the-fake"
PATH = re.compile(r"/ws/google\.ai\.generativelanguage\.v1(beta)?\.GenerativeService\.BidiGenerateContent$")


@dataclass
class GeminiScript:
    """What the provider does: ``heard`` are the transcripts of utterances, ``answers`` the next turns in order.

    ``refuse`` are the HTTP statuses, or from 1000 on the closing codes, with which the next connections are refused.
    ``handles``: after each turn it gives a handle by which the session can be resumed.
    """

    answers: list[Answer] = field(default_factory=list[Answer])
    heard: list[str] = field(default_factory=list[str])
    refuse: list[int | None] = field(default_factory=list[int | None])
    handles: bool = True
    pace_s: float = 0.0


@dataclass
class GeminiProvider:
    """The provider that runs; ``sessions`` are its connections, ``kept`` what its handles stand for."""

    url: str
    script: GeminiScript
    key: str = KEY
    sessions: list[GeminiSession] = field(default_factory=list[GeminiSession])
    kept: dict[str, list[types.Content]] = field(default_factory=dict[str, list[types.Content]])
    wrong: list[str] = field(default_factory=list[str])
    refused: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def session(self) -> GeminiSession:
        """The newest connection."""
        return self.sessions[-1]

    async def until(self, done: Callable[[], bool], timeout_s: float = 10.0) -> None:
        """Wait until there is a session, and a condition holds that what was received can fulfil."""
        async with asyncio.timeout(timeout_s):
            while not (self.sessions and done()):
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def gemini_live(
    folder: Path, monkeypatch: pytest.MonkeyPatch, script: GeminiScript | None = None
) -> AsyncGenerator[GeminiProvider]:
    """The provider on a free port, until the end of the block; its certificate is written into ``folder``."""
    certificate = _certificate(folder)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    provider = GeminiProvider("", script or GeminiScript())
    codes: list[int] = []

    def gate(connection: ServerConnection, request: Request) -> Response | None:
        status = provider.script.refuse.pop(0) if provider.script.refuse else None
        if not PATH.match(request.path):
            status = 404
        elif request.headers.get("x-goog-api-key") != provider.key:
            status = 1008
        if status is None:
            return None
        provider.refused += 1
        if status >= 1000:
            codes.append(status)
            return None
        return connection.respond(http.HTTPStatus(status), "no")

    async def hold(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            if codes:
                await connection.close(codes.pop(), "The fake says no.")
                return
            session = GeminiSession(connection, provider.script, provider.kept, provider.wrong, provider.news)
            provider.sessions.append(session)
            await session.run()
        if not codes and provider.sessions:
            await provider.session.stop()

    async with serve(hold, "127.0.0.1", 0, process_request=gate, ssl=context, close_timeout=0.5) as server:
        provider.url = f"https://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        yield provider


def _certificate(folder: Path) -> Path:
    """A certificate for this machine, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    place = folder / "provider.pem"
    place.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return place
