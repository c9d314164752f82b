"""How long ``talkdown up handbook/`` takes until a question can be asked: with no data yet, and with it.

Prints one line a start and the medians; what is measured is from the start of the process to its run file saying
``ready``, which is when the page's address is printed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from embedded.product import copy_of, environment_in, running

HANDBOOK = Path(__file__).parents[2] / "handbook"


def seconds(folder: Path, data: Path, environment: dict[str, str]) -> float:
    """Start the product, and stop it once it is ready and has indexed everything; how long until it was ready."""
    began = time.monotonic()
    with running(folder, data, environment) as product:
        took = time.monotonic() - began
        product.until(lambda: product.manifest().state == "current")
    return took


def main() -> None:
    """Start it cold and warm, several times each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=5)
    times = options.parse_args().times
    cold: list[float] = []
    warm: list[float] = []
    with tempfile.TemporaryDirectory(prefix="talkdown-startup-") as place:
        folder = copy_of(HANDBOOK, Path(place) / "handbook")
        environment = environment_in(Path(place))
        for number in range(times):
            data = Path(place) / f"data{number}"
            for took, kind in ((cold, "cold"), (warm, "warm")):
                took.append(seconds(folder, data, environment))
                print(f"{kind} {took[-1]:.2f} s", flush=True)
    print(f"median of {times}: cold {statistics.median(cold):.2f} s, warm {statistics.median(warm):.2f} s")


if __name__ == "__main__":
    main()
