"""``python -m embedded``: the same as ``talkdown``."""

from embedded.cli import main

if __name__ == "__main__":
    main()
