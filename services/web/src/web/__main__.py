"""``python -m web``."""

from __future__ import annotations

from chassis.server import run
from chassis.settings import load
from web.app import create_app
from web.settings import Settings


def main() -> None:
    """Serve the page until the process is told to stop."""
    settings = load(Settings)
    run(create_app(settings), settings)


if __name__ == "__main__":
    main()
