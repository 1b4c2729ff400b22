from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.browser.page.locator_expressions import Call, Expression
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.browser.page.ref_list import LONG, ListedItem, ref_view


def text(words: str) -> ListedItem:
    return ListedItem({"k": "t", "text": words})


def element(role: str, name: str = "", **more: Any) -> ListedItem:
    entry: dict[str, Any] = {
        "k": "e", "tag": "input", "role": role, "name": name, "type": "", "states": [],
        "value": "", "filled": False, "range": ["", "", ""], "rich": False, "options": [],
        "chosen": [], "handle": "",
    }  # fmt: skip
    return ListedItem({**entry, **more}, "page.x()")


def lines(*found: ListedItem) -> list[str]:
    return ref_view(found, budget_tokens=1_000).text.splitlines()


def test_a_short_text_before_a_nameless_field_becomes_its_hint() -> None:
    assert lines(text("Username"), element("textbox")) == ['e1 textbox after "Username"']


def test_a_sentence_is_no_label() -> None:
    assert lines(text("Fill in the form."), element("textbox")) == [
        't "Fill in the form."',
        "e1 textbox",
    ]


def test_nameless_fields_of_one_kind_are_numbered() -> None:
    assert lines(element("textbox"), element("textbox")) == [
        "e1 textbox number 1",
        "e2 textbox number 2",
    ]


def test_text_that_repeats_a_name_is_dropped() -> None:
    assert lines(text("City:"), element("textbox", "City")) == ['e1 textbox "City"']


def test_formats_states_values_and_options_are_told() -> None:
    shown = lines(
        element("textbox", "Born", type="date", value="2020-01-02", states=["required"]),
        element("combobox", "Size", tag="select", options=["S", "M"], chosen=["M"]),
        element("spinbutton", "Qty", type="number", range=["1", "5", ""]),
    )

    assert shown == [
        'e1 textbox "Born" (date, YYYY-MM-DD, required) value "2020-01-02"',
        'e2 combobox "Size" options "S", "M"; selected "M"',
        'e3 spinbutton "Qty" (1 to 5)',
    ]


def test_what_is_disabled_offers_no_action() -> None:
    view = ref_view([element("button", "Go", states=["disabled"])], budget_tokens=100)

    assert view.elements[0].actions == ()


def test_text_gives_way_to_elements_when_room_is_short() -> None:
    found = [text("long story " * 15), *(element("button", f"B{n}") for n in range(5))]

    view = ref_view(found, budget_tokens=50)

    assert [e.name for e in view.elements] == ["B0", "B1", "B2", "B3", "B4"]
    assert view.truncated


def test_capable_models_are_told_that_a_page_has_more_than_was_examined() -> None:
    found = [text("Buttons:"), *(element("button", f"B{n}") for n in range(3))]

    view = ref_view(found, budget_tokens=500, complete=False, lengths=LONG)

    assert view.text.startswith('t "Buttons:"\ne1 button "B0"')
    assert view.text.endswith("elements than are examined; those after these are not listed)")
    assert (len(view.elements), view.truncated) == (3, True)
    assert "long story" not in view.text


@given(st.lists(st.text(max_size=30), max_size=40), st.integers(min_value=20, max_value=200))
def test_the_list_keeps_its_budget_and_shows_what_it_offers(names: list[str], budget: int) -> None:
    view = ref_view([element("button", name) for name in names], budget_tokens=budget)

    shown = [line.split(" ")[0] for line in view.text.splitlines() if line.startswith("e")]
    assert estimate_tokens(view.text) <= budget
    assert shown == [e.ref for e in view.elements]


@given(st.text(max_size=60))
def test_an_expression_is_python_that_holds_the_very_name(name: str) -> None:
    class Page:
        def get_by_role(self, role: str, *, name: str, exact: bool) -> tuple[str, str, bool]:
            return role, name, exact

    expression = Expression((Call("get_by_role", "button", name=name, exact=True),))

    assert eval(str(expression), {"page": Page()}) == ("button", name, True)
