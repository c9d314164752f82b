"""``python -m ingestor``."""

from __future__ import annotations

from chassis.server import run
from chassis.settings import load
from ingestor.app import create_app
from ingestor.settings import Settings

__all__ = ["main"]


def main() -> None:
    """Serve until told to stop."""
    settings = load(Settings)
    run(create_app(settings), settings)


if __name__ == "__main__":
    main()
