"""Which names are alike, whatever they hold."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.correction.page_critic import likeness, nearest
from pytest_autoweb.browser.page.frames import RefElement


@given(st.text(), st.text())
def test_likeness_is_a_share_and_the_same_both_ways(one: str, other: str) -> None:
    assert 0 <= likeness(one, other) <= 1
    assert likeness(one, other) == likeness(other, one)


@given(st.text(st.characters(categories=["L", "Nd"]), min_size=1))
def test_a_name_is_most_like_itself(name: str) -> None:
    assert likeness(name, name) == 1


def test_the_renamed_button_comes_first_and_what_cannot_be_done_last() -> None:
    def element(role: str, name: str, *actions: str) -> RefElement:
        return RefElement("e1", role, name, "", f"page.get_by_text({name!r})", actions)

    elements = [
        element("button", "Cancel", "click"),
        element("textbox", "Save as", "fill"),
        element("button", "Save changes", "click"),
    ]
    found = nearest(elements, words="save", role="button", method="click")
    assert found[0].element.name == "Save changes"
    assert "Cancel" not in [near.element.name for near in found]
    fields = nearest(elements, words="Save", role="", method="fill")
    assert fields[0].element.name == "Save as"
