from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.browser.page.accessibility import HIDDEN
from pytest_autoweb.browser.page.frames import RefView
from pytest_autoweb.browser.page.locator_expressions import Call, Expression
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.browser.page.page_tree import KeptElement, ListedOption, Node, PageTree
from pytest_autoweb.browser.page.small_list import small_list

PLACE = KeptElement(None, 1, 0)  # type: ignore[arg-type]


def text(words: str) -> Node:
    return Node("text", value=words)


def element(role: str, name: str = "", **more: Any) -> Node:
    return Node(role, name, place=PLACE, **more)


def view(*found: Node, budget: int = 1_000, complete: bool = True) -> RefView:
    return small_list(PageTree(found, complete=complete), budget_tokens=budget)


def lines(*found: Node) -> list[str]:
    return view(*found).text.splitlines()


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
    sizes = tuple(ListedOption(name, name, name == "M", False, "") for name in "SM")

    shown = lines(
        element("textbox", "Born", kind="date", value="2020-01-02", states=["required"]),
        element("combobox", "Size", kind="select", options=sizes),
        element("spinbutton", "Qty", kind="number", limits=("1", "5", "")),
        element("textbox", "Key", kind="password", value=HIDDEN, filled=True),
    )

    assert shown == [
        'e1 textbox "Born" (date, YYYY-MM-DD, required) value "2020-01-02"',
        'e2 combobox "Size" options "S", "M"; selected "M"',
        'e3 spinbutton "Qty" (1 to 5)',
        'e4 textbox "Key" (password, filled)',
    ]


def test_what_is_disabled_offers_no_action() -> None:
    assert view(element("button", "Go", states=["disabled"])).elements[0].actions == ()


def test_a_text_that_an_element_elsewhere_is_named_by_stays() -> None:
    assert lines(text("City"), element("button", "Go"), element("textbox", "City")) == [
        't "City"',
        'e1 button "Go"',
        'e2 textbox "City"',
    ]


def test_a_status_beside_a_button_of_that_name_stays() -> None:
    assert lines(text("Open"), element("button", "Open")) == ['t "Open"', 'e1 button "Open"']


def test_text_gives_way_to_elements_when_room_is_short() -> None:
    found = [text("long story " * 15), *(element("button", f"B{n}") for n in range(5))]

    shown = view(*found, budget=50)

    assert [e.name for e in shown.elements] == ["B0", "B1", "B2", "B3", "B4"]
    assert shown.truncated


def test_a_page_that_was_not_read_to_its_end_is_said_to_be_cut() -> None:
    shown = view(element("button", "Go"), complete=False)

    assert shown.truncated
    assert shown.text.startswith('e1 button "Go"\n')


@given(st.lists(st.text(max_size=30), max_size=40), st.integers(min_value=20, max_value=200))
def test_the_list_keeps_its_budget_and_shows_what_it_offers(names: list[str], budget: int) -> None:
    listed = view(*(element("button", name) for name in names), budget=budget)

    shown = [line.split(" ")[0] for line in listed.text.splitlines() if line.startswith("e")]
    assert estimate_tokens(listed.text) <= budget
    assert shown == [e.ref for e in listed.elements]


@given(st.text(max_size=60))
def test_an_expression_is_python_that_holds_the_very_name(name: str) -> None:
    class Page:
        def get_by_role(self, role: str, *, name: str, exact: bool) -> tuple[str, str, bool]:
            return role, name, exact

    expression = Expression((Call("get_by_role", "button", name=name, exact=True),))

    assert eval(str(expression), {"page": Page()}) == ("button", name, True)
