"""What can go wrong in web, each with the sentence that a person reads.

::

    Refuse (chassis)
    └── WebError
        ├── BadRequest         400  the body, the cursor or the path is not what it must be
        ├── UnknownTurn        404  no such turn
        ├── UnknownLetter      404  no such dead letter
        ├── BusGone            503  the bus does not answer
        ├── GatewayGone        503  the voice gateway of a call or a credential is not there any more
        └── NotThere           503  a service behind web does not answer
"""

from __future__ import annotations

from chassis.refusals import Refuse


class WebError(Refuse):
    """Something that web refuses or cannot do."""


class BadRequest(WebError):
    """The request is not one that can be served; the sentence says what it must be."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "invalid_request", message)


class UnknownTurn(WebError):
    """No turn has this id."""

    def __init__(self) -> None:
        super().__init__(
            404, "not_found", "There is no such answer. It may belong to data that was deleted; ask the question again."
        )


class UnknownLetter(WebError):
    """No dead letter has this id."""

    def __init__(self) -> None:
        super().__init__(
            404, "not_found", "There is no such dead letter. It was probably tried again already; list them anew."
        )


class BusGone(WebError):
    """The bus does not answer."""

    def __init__(self) -> None:
        super().__init__(503, "unavailable", "The bus does not answer just now. Try again in a moment.", retry_after=1)


class GatewayGone(WebError):
    """The voice gateway that a credential or a call belongs to is not there any more."""

    def __init__(self) -> None:
        super().__init__(
            503, "unavailable", "The voice gateway of this call is gone. Ask for a new credential, and call again."
        )


class NotThere(WebError):
    """A service behind web does not answer."""

    def __init__(self, service: str) -> None:
        super().__init__(
            503,
            "unavailable",
            f"The {service} does not answer just now. It is started again by itself; try again in a moment,"
            " and look at `talkdown status` if this goes on.",
            retry_after=1,
        )
