"""Data in prompts cannot end its own mark."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.models.prompts import QUOTED_LINES, fence, quote


@given(st.text(alphabet=st.sampled_from("ab|<>\n\r\x0b\x0c\x85\u2028\u2029 "), max_size=80))
def test_each_line_of_quoted_data_begins_with_a_bar(text: str) -> None:
    quoted, lines = quote(text, "log"), text.splitlines()

    if len(lines) > QUOTED_LINES:
        assert quoted == fence(text, "log")
        return
    assert quoted.splitlines() == [f"| {line}" for line in lines]
