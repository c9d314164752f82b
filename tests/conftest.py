"""The whole product, running, for the tests that cross services.

===================  =======  ================================================================================
fixture              lives    gives
===================  =======  ================================================================================
running_product      session  :class:`embedded.product.Product`: ``talkdown up`` on a copy of ``handbook/``, all
                              five processes, mode ``local``; its ``url``, ``token``, ``folder``, ``data``,
                              ``run.traces``, and ``ask``, ``stream``, ``resume``, ``save``, ``search``, ``trace``
product              test     the same one, checked to be wholly ready before the test
===================  =======  ================================================================================

A test that saves documents removes them again, and none stops the shared product: who needs that starts one of its
own with :func:`embedded.product.running`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.product import Product, copy_of, environment_in, running

HANDBOOK = Path(__file__).parents[1] / "handbook"


@pytest.fixture(scope="session")
def handbook() -> Path:
    """The corpus of the demo, as it is in the repository."""
    assert any(HANDBOOK.rglob("*.md")), "the handbook is empty"
    return HANDBOOK


@pytest.fixture(scope="session")
def running_product(handbook: Path) -> Iterator[Product]:
    """The product on a copy of the handbook, started once a session."""
    place = Path(tempfile.mkdtemp(prefix="talkdown-product-"))
    try:
        folder = copy_of(handbook, place / "handbook")
        with running(folder, place / "run", environment_in(place)) as product:
            product.until(lambda: product.manifest().state == "current")
            yield product
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def product(running_product: Product) -> Product:
    """The shared product, with every service ready."""
    running_product.until(lambda: all(service.state == "ready" for service in running_product.corpus().services))
    return running_product
