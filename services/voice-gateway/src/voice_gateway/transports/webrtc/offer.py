"""What a client posts to open a call: its SDP offer, and perhaps the session it wishes for.

Either the offer alone (``application/sdp``), or a form with the fields ``sdp`` and ``session`` (JSON), as the
provider's API takes them.
"""

from __future__ import annotations

import email.policy
import ipaddress
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import cast

from aiortc.sdp import MediaDescription, SessionDescription
from pydantic_core import from_json

from contracts.vocabulary import JsonObject
from voice_gateway.errors import BadRequest, OfferRefused, TooLarge
from voice_gateway.transports.webrtc import MAX_SDP_BYTES

MAX_CANDIDATES = 32
DEFAULT_MESSAGE_BYTES = 65_536
"""RFC 8841 section 6.1, where the offer names no size."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An SDP offer that can be answered, and the settings that came with it."""

    sdp: str
    session: JsonObject = field(default_factory=dict[str, object])
    has_channel: bool = True
    max_message_bytes: int = DEFAULT_MESSAGE_BYTES
    """The largest event that the client's data channel takes."""


def read_offer(content_type: str, body: bytes) -> Offer:
    """The offer in a request's body; :class:`~voice_gateway.errors.Refused` says what is wrong with it."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/sdp":
        sdp, session = body, None
    elif kind == "multipart/form-data":
        fields = _form(content_type, body)
        if "sdp" not in fields:
            raise BadRequest("The form has no field `sdp`: put the SDP offer there.")
        sdp, session = fields["sdp"], fields.get("session")
    else:
        raise BadRequest("Post the SDP offer as `application/sdp`, or as the field `sdp` of a `multipart/form-data`.")
    if len(sdp) > MAX_SDP_BYTES:
        raise TooLarge(f"An SDP offer has at most {MAX_SDP_BYTES:,} bytes, and this one has {len(sdp):,}.")
    return _checked(sdp, _session(session))


def _form(content_type: str, body: bytes) -> dict[str, bytes]:
    parser = BytesParser(policy=email.policy.HTTP)
    form = parser.parsebytes(b"Content-Type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n" + body)
    fields: dict[str, bytes] = {}
    for part in form.iter_parts() if form.is_multipart() else ():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            fields[name] = content
    return fields


def _session(given: bytes | None) -> JsonObject:
    if given is None:
        return {}
    try:
        session: object = from_json(given, allow_inf_nan=False)
    except ValueError as error:
        raise BadRequest("The field `session` is JSON, and this is not JSON.") from error
    if not isinstance(session, dict):
        raise BadRequest("The field `session` is one JSON object, and this is another JSON value.")
    return cast(JsonObject, session)


def _checked(given: bytes, session: JsonObject) -> Offer:
    try:
        text = given.decode()
        sdp = "".join(f"{line}\r\n" for line in text.splitlines() if line and _kept(line))
        description = SessionDescription.parse(sdp)
    except Exception as error:
        # It comes from outside, and the parser says of a wrong offer whatever its code stumbles over.
        raise OfferRefused from error
    sound = [media for media in description.media if media.kind == "audio"]
    data = [media for media in description.media if media.kind == "application"]
    if len(sound) != 1 or not any(codec.mimeType.lower() == "audio/opus" for codec in sound[0].rtp.codecs):
        raise OfferRefused("A call has one audio section, and Opus in it; this SDP offer has none.")
    if len(data) > 1 or len(description.media) != len(sound) + len(data):
        raise OfferRefused("A call is sound and one data channel; leave everything else out of the SDP offer.")
    if not all(_can_connect(media) for media in description.media):
        raise OfferRefused("This SDP offer lacks what a connection begins with: ICE credentials and a fingerprint.")
    return Offer(sdp, session, bool(data), _message_bytes(data[0]) if data else DEFAULT_MESSAGE_BYTES)


def _kept(line: str) -> bool:
    """Whether a line goes on to the connection.

    The client's candidates are mostly of no use (it reaches us, and is known from then on), and a name among them
    would be asked for in the local network. Without their end a connection waits for the client, as long as it may.
    """
    if line.startswith("a=end-of-candidates"):
        return False
    if not line.startswith("a=candidate:"):
        return True
    parts = line.split()
    try:
        ipaddress.ip_address(parts[4])
    except (IndexError, ValueError):
        return False
    return parts[2].lower() == "udp"


def _can_connect(media: MediaDescription) -> bool:
    return bool(
        media.ice is not None
        and media.ice.usernameFragment
        and media.ice.password
        and media.dtls is not None
        and media.dtls.fingerprints
        and len(media.ice_candidates) <= MAX_CANDIDATES
        and (media.kind != "audio" or media.rtcp_mux)
    )


def _message_bytes(media: MediaDescription) -> int:
    return media.sctpCapabilities.maxMessageSize if media.sctpCapabilities else DEFAULT_MESSAGE_BYTES
