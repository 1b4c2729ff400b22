"""Changes to an attempt name fields that exist, of the type that they have."""

import pytest

from pytest_autoweb.agents.attempt.tools import change
from pytest_autoweb.results.records import Attempt


def test_a_change_leaves_the_first_attempt_as_it_was() -> None:
    first = Attempt(code="a")

    second = change(first, code="b", executed=True)

    assert (first.code, first.executed) == ("a", False)
    assert (second.code, second.executed) == ("b", True)


def test_a_misspelt_field_is_refused_by_the_type_checker_and_at_run_time() -> None:
    # The type checker warns of an ignore that is not needed, so these hold what it refuses.
    with pytest.raises(TypeError, match="no field ansewr"):
        change(Attempt(), ansewr="b")  # type: ignore[call-arg]


def test_a_value_of_the_wrong_type_is_refused_by_the_type_checker() -> None:
    change(Attempt(), executed="yes")  # type: ignore[arg-type]
