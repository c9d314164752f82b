"""The table of providers says what the tests show."""

from __future__ import annotations

import pytest
from provider_table import PAGE, Cell, missing, page


def test_the_page_is_made_of_its_data() -> None:
    assert PAGE.read_text() == page(), "run python tests/provider_table.py"


def test_every_measured_cell_names_a_test_that_exists() -> None:
    assert missing() == []


def test_a_cell_without_a_source_is_refused() -> None:
    assert Cell.read("yes | https://example.com").link == "https://example.com"
    assert Cell.read("yes | measured: a.py::test_a").test == "a.py::test_a"
    with pytest.raises(ValueError, match="a test or a link"):
        Cell.read("yes, trust me")
