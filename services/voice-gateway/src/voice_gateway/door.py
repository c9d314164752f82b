"""Who is let in: the origins of pages, and the credential that a client brings.

A client brings its credential as a bearer in ``Authorization``, or, from a browser, which cannot set headers there,
as a subprotocol ``openai-insecure-api-key.ek_...`` beside ``realtime``. Whoever has an Origin is a page, and its origin
has to be named in the settings; whoever has none needs a credential all the same.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.requests import HTTPConnection

from voice_gateway.errors import CredentialMissing, OriginRefused

SUBPROTOCOL = "realtime"
KEY_SUBPROTOCOL = "openai-insecure-api-key."


def check_origin(connection: HTTPConnection, allowed: Collection[str]) -> None:
    """:class:`OriginRefused` for a page that is not ours; who has no Origin is no page."""
    origins = connection.headers.getlist("origin")
    if not origins:
        return
    if len(origins) > 1 or origins[0].strip().rstrip("/").lower() not in allowed:
        raise OriginRefused


def offered(connection: HTTPConnection) -> list[str]:
    """The subprotocols that the client speaks."""
    lines = connection.headers.getlist("sec-websocket-protocol")
    return [name.strip() for line in lines for name in line.split(",") if name.strip()]


def credential(connection: HTTPConnection, *, in_query: bool = False) -> str:
    """The credential that the client brings; :class:`CredentialMissing` without one.

    ``in_query``: where a client can set neither a header nor a subprotocol, ``?token=`` is as good.
    """
    scheme, _, bearer = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and bearer.strip():
        return bearer.strip()
    for name in offered(connection):
        if name.startswith(KEY_SUBPROTOCOL):
            return name.removeprefix(KEY_SUBPROTOCOL)
    if in_query and (token := connection.query_params.get("token")):
        return token
    raise CredentialMissing
