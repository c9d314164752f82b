"""The web API against its own description: whatever is asked of it, it answers as described, or with one sentence.

Schemathesis makes up requests, good and bad, from ``contracts/openapi/web.json``; the product that answers is running.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error  # pyright: ignore[reportUnknownVariableType]
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,  # pyright: ignore[reportUnknownVariableType]
    status_code_conformance,  # pyright: ignore[reportUnknownVariableType]
)

from contracts.turns import Refusal
from embedded.product import Product

WEB = Path(__file__).parents[2] / "contracts" / "openapi" / "web.json"
EXAMPLES = int(os.environ.get("TALKDOWN_TEST_EXAMPLES", "12"))
"""Requests for each operation; raise it to look for longer."""

api = schemathesis.openapi.from_path(WEB)


@pytest.fixture(scope="module", autouse=True)
def nothing_waits_afterwards(running_product: Product) -> Generator[None]:
    """Questions that were made up here end before another test asks its own."""
    yield
    running_product.until(lambda: running_product.ask("What is the amber valve recovery code?").error is None)


@pytest.mark.behaviour("T1", "T11")
@api.parametrize()  # pyright: ignore[reportUntypedFunctionDecorator]
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
)
def test_whatever_is_asked_is_answered_as_described(case: Any, running_product: Product) -> None:
    headers = {"origin": running_product.url}
    response: Any = case.call(base_url=running_product.url, headers=headers, timeout=60)
    case.validate_response(response, checks=[not_a_server_error, status_code_conformance, response_schema_conformance])
    if response.status_code >= 400:
        refusal = Refusal.model_validate_json(response.content)
        assert refusal.message.endswith("."), "a refusal is a sentence"
        assert response.status_code < 500 or response.headers["retry-after"]
    if response.status_code == 200 and "x-ndjson" in response.headers["content-type"]:
        last = response.content.splitlines()[-1]
        assert b'"type":"done"' in last or b'"type":"error"' in last
