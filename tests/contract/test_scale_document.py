"""docs/scale.md says what docs/scale.json was measured to be, and nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from scale.figures import SITUATIONS, Costs, need
from scale.render import BLOCK, BLOCKS, KEPT, PAGE, rendered


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """The results that the page is computed from."""
    return json.loads(KEPT.read_text())


def test_every_figure_of_the_page_follows_from_the_results(told: dict[str, Any]) -> None:
    page = PAGE.read_text()
    assert {found[2] for found in BLOCK.finditer(page)} == set(BLOCKS)
    assert rendered(page, told) == page, "run `python bench/scale/render.py`"


def test_more_people_take_more_of_everything(told: dict[str, Any]) -> None:
    costs = Costs.of(told)
    person, company, service = (need(one, costs) for one in SITUATIONS)
    assert person.machines == 1
    assert person.agents == person.retrievers == person.webs == person.gateways == 1
    for less, more in ((person, company), (company, service)):
        assert less.agents <= more.agents
        assert less.passages < more.passages
        assert less.disk_gb < more.disk_gb
        assert less.machines <= more.machines
    assert service.loads(costs)[0][1] > 1, "something breaks there"
