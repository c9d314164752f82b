"""``python -m voice_gateway``: serve until told to stop."""

from __future__ import annotations

from chassis.server import run
from chassis.settings import load, stop
from voice_gateway import opening
from voice_gateway.app import create_app
from voice_gateway.errors import VoiceError
from voice_gateway.orchestrators.orchestra import check
from voice_gateway.settings import Settings


def main() -> None:
    """Read the settings and serve."""
    settings = load(Settings)
    try:
        opening.check(settings)
        check(settings)
    except VoiceError as error:
        stop(error.message)
    run(create_app(settings), settings)


if __name__ == "__main__":
    main()
