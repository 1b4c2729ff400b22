"""How logs are shortened, and complaints told."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.attempt.outcome_text import complaints, without_middle

LINES = st.lists(st.text(alphabet="ab \n", max_size=300), max_size=40).map("\n".join)


@given(LINES, st.integers(min_value=60, max_value=900))
def test_a_long_text_keeps_its_beginning_and_end_and_is_not_cut_twice(text: str, most: int) -> None:
    cut = without_middle(text, most)

    assert len(cut) <= most
    assert without_middle(cut, most) == cut
    if len(text) <= most:
        assert cut == text
        return
    head, _, rest = cut.rpartition(" characters left out)\n")
    before, _, number = head.rpartition("\n(")
    assert text.startswith(before)
    assert text.endswith(rest)
    assert len(before) + len(rest) + int(number) == len(text)


def test_a_complaint_is_told_once_unless_something_could_not_be_sent() -> None:
    told: set[str] = set()
    console = ("error: no stock", "warning: old", "error: Failed to load resource: 404")
    failed = ("GET http://a/logo.png?t=1: 404", "POST http://a/orders: 500")

    first = list(complaints(console, failed, told))
    later = ("GET http://a/logo.png?t=2: 404", *failed[1:], "GET http://a/new.png: 404")
    second = list(complaints(console, later, told))

    assert first == [
        "console: error: no stock",
        "failed request: GET http://a/logo.png?t=1: 404",
        "failed request: POST http://a/orders: 500",
    ]
    assert second == [
        "failed request: POST http://a/orders: 500",
        "failed request: GET http://a/new.png: 404",
    ]
    assert list(complaints(console, failed)) == first
