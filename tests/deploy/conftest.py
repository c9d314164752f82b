"""The product in Docker, for the tests that `make test-deploy` runs.

=============  =======  =====================================================================================
fixture        lives    gives
=============  =======  =====================================================================================
tell           session  says a line at the end of the run
engine         session  :class:`docker_engine.Engine`: a real Docker engine with Compose
images         session  which images are used; every image is there, the services' built from this tree
running_stack  session  :class:`docker_stack.Stack`: ``deploy/compose.yaml`` on a copy of ``handbook/``, up
stack          test     the same one as a test may expect it: without overlays, one replica each, all healthy
=============  =======  =====================================================================================

A test that scales, lays an overlay over it, or breaks something leaves that; the next test's ``stack`` undoes it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from docker_engine import GROUND, Engine
from docker_engine import engine as opened_engine
from docker_images import builds_with_the_machines_network, provide
from docker_stack import SERVICES, Stack, settings_for

from embedded.product import copy_of

TIMEOUT_S = 600
FIRST_S = 2700
"""The first test waits for the engine and the images too, which take minutes on a machine that has none of them."""
HEALTHY_WITHIN_S = 60.0
told: list[str] = []
"""Lines for the end of the run: what was used, and what was measured."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these need Docker, and longer than others."""
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for place, item in enumerate(here):
        item.add_marker(pytest.mark.deploy)
        if item.get_closest_marker("timeout") is None or place == 0:
            item.add_marker(pytest.mark.timeout(FIRST_S if place == 0 else TIMEOUT_S), append=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was measured."""
    if told:
        terminalreporter.section("deploy")
        for line in told:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """A real Docker engine."""
    with opened_engine() as opened:
        yield opened


@pytest.fixture(scope="session")
def tell() -> Callable[[str], None]:
    """Say a line at the end of the run."""
    return told.append


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """A folder for what the session makes, readable for containers."""
    place = Path(tempfile.mkdtemp(prefix="talkdown-deploy-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="session")
def images(engine: Engine, place: Path, handbook: Path) -> Iterator[str]:
    """Every image that the compose files name, and a line for each of ours at the end of the run."""
    used = provide(engine)
    beside = (builds_with_the_machines_network(place),) if used == "stand-ins" else ()
    Stack(engine, "talkdown-images", handbook, settings_for(handbook), beside=beside).build()
    told.append(f"images: {used}")
    ground = size_of(engine, GROUND)
    for name in SERVICES:
        whole = size_of(engine, f"talkdown/{name}:0.1.0")
        told.append(f"image talkdown/{name}: {whole:.0f} MB, {whole - ground:.0f} MB of them on top of {GROUND}")
    yield used
    engine.run("image", "prune", "--force")
    engine.run("builder", "prune", "--force", "--keep-storage", "6GB", bound_s=300)


def size_of(engine: Engine, image: str) -> float:
    """The size of an image in megabytes."""
    return int(engine.run("image", "inspect", "--format", "{{.Size}}", image).stdout) / 1e6


@pytest.fixture(scope="session")
def running_stack(engine: Engine, images: str, place: Path, handbook: Path) -> Iterator[Stack]:
    """The product on a copy of the handbook, as the compose file says, started once a session."""
    folder = copy_of(handbook, place / "notes")
    stack = Stack(engine, "talkdown-test", folder, settings_for(folder))
    stack.down()  # what a run that was killed left
    try:
        stack.up()
        yield stack
    finally:
        stack.down()


@pytest.fixture
def stack(running_stack: Stack, request: pytest.FixtureRequest) -> Iterator[Stack]:
    """The shared one, as it was started."""
    before = dict(running_stack.settings)
    # Compose gives up on a container that is unwell, as one that was cut off is until others know its new address.
    running_stack.until(running_stack.is_healthy, bound_s=HEALTHY_WITHIN_S)
    if not (running_stack.overlays == () and running_stack.replicas == {} and running_stack.is_calm()):
        running_stack.up()
    yield running_stack
    running_stack.settings = before
    report = getattr(request.node, "report", None)
    if report is not None and report.failed:
        logs = running_stack.compose("logs", "--no-color", "--tail", "40", check=False)
        request.node.add_report_section("teardown", "containers", logs[-12_000:])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Let fixtures see how the test went."""
    report = yield
    if report.when == "call":
        item.report = report  # type: ignore[attr-defined]
    return report
