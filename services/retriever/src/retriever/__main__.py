"""``python -m retriever``: the service, with its settings from the environment."""

from __future__ import annotations

from chassis.server import run
from chassis.settings import load
from retriever.settings import Settings


def main() -> None:
    """Serve until told to stop; wrong settings end the process with one sentence."""
    settings = load(Settings)
    from retriever.app import create_app

    run(create_app(settings), settings)


if __name__ == "__main__":
    main()
