from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, realistic_cells

from pytest_autoweb.report.junit_properties import junit_properties
from pytest_autoweb.results.records import CellResult, Usage


def properties(result: CellResult) -> dict[str, str]:
    return dict(junit_properties(result))


def priced(**usage: Any) -> str:
    return properties(cell(CellKey("a", "m"), usage={"plan": Usage(**usage)}))["autoweb.cost_usd"]


def test_every_property_has_the_prefix_and_a_text() -> None:
    for result in realistic_cells():
        for name, value in junit_properties(result):
            assert name.startswith("autoweb.")
            assert isinstance(value, str)


def test_a_failed_cell_says_where_and_why() -> None:
    failed = next(
        c
        for c in realistic_cells()
        if c.outcome == "failed" and "/" in c.model and not c.model.startswith("builtin/")
    )

    found = properties(failed)

    assert found["autoweb.outcome"] == "failed"
    assert found["autoweb.model"] == failed.model
    assert found["autoweb.attempts"] == "2"
    assert found["autoweb.false_success"] == "true"
    assert found["autoweb.checks"] == "1/3"
    assert found["autoweb.failed"] == found["autoweb.reason"]
    assert "autoweb.failed_steps" not in found


def test_an_unknown_cost_is_called_unknown_and_a_partial_one_a_bound() -> None:
    assert priced(calls=1, unpriced_calls=1) == "unknown"
    assert priced(calls=2, unpriced_calls=1, cost_usd=0.25) == ">=0.250000"
    assert priced(calls=1, cost_usd=0.25) == "0.250000"
    assert priced() == "0"


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_values_hold_no_character_that_xml_refuses(text: str) -> None:
    for _, value in junit_properties(cell(CellKey("a", "m"), "failed", reason=text)):
        assert not any(ord(c) < 32 or 0xD800 <= ord(c) <= 0xDFFF for c in value)


def test_cached_and_reasoning_tokens_are_told_beside_the_others() -> None:
    used = Usage(
        calls=1, input_tokens=900, output_tokens=80, cached_tokens=600, reasoning_tokens=70
    )
    result = cell(CellKey("a", "m"), "passed").model_copy(update={"usage": {"generate": used}})

    properties = dict(junit_properties(result))

    assert properties["autoweb.cached_tokens"] == "600"
    assert properties["autoweb.reasoning_tokens"] == "70"
