"""``python -m agent``: the agent, by its settings from the environment."""

from __future__ import annotations

from agent.app import create_app
from agent.settings import Settings
from chassis.server import run
from chassis.settings import load


def main() -> None:
    """Serve until told to stop."""
    settings = load(Settings)
    run(create_app(settings), settings)


if __name__ == "__main__":
    main()
