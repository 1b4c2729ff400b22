"""What REST says about itself is true, whatever is sent to it."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from dashboard_server import BEARER, dashboard
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection

from pytest_autoweb.store.database import Store

OPERATIONS = {
    "POST /api/calibration/analyze",
    "GET /api/calibration/dashboard",
    "GET /api/calibration/tool/{name}/stats",
    "POST /api/calibration/verify",
    "GET /api/runs",
    "GET /api/runs/{run_id}",
    "GET /api/cells/{cell_id}",
    "GET /api/trends",
}

_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""What no header can carry: the server's HTTP parser refuses it before REST is asked."""


@pytest.fixture(scope="module")
def address(full: Store) -> Iterator[str]:
    with dashboard(full) as address:
        yield address


@pytest.mark.long
def test_answers_keep_to_the_schema_for_good_and_bad_requests(address: str) -> None:
    schema = schemathesis.openapi.from_url(f"{address}/api/openapi.json", headers=BEARER)
    every: list[Any] = list(schema.get_all_operations())
    found = {one.ok().label: one.ok() for one in every}

    assert set(found) == OPERATIONS
    for operation in found.values():
        good, bad = (
            operation.as_strategy(generation_mode=mode)
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        )

        # Bad query parameters are not looked at: the generator makes some that no URL can carry.
        @settings(
            max_examples=10,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=st.one_of(good, bad))
        def holds(case: Any) -> None:
            assume(not _UNSENDABLE.search("".join((case.headers or {}).values())))
            excluded = [] if case.method == "POST" else [negative_data_rejection]
            case.call_and_validate(headers=BEARER, excluded_checks=excluded)

        holds()


@pytest.mark.parametrize("body", ['{"errorMessage": "\\ud800"}', "[" * 100_000, "\0", ""])
def test_a_body_that_no_program_sends_is_refused_with_a_reason(address: str, body: str) -> None:
    answer = httpx.post(
        f"{address}/api/calibration/analyze",
        content=body,
        headers={**BEARER, "content-type": "application/json"},
    )

    assert answer.status_code in (400, 422)
    assert answer.json()["detail"]
