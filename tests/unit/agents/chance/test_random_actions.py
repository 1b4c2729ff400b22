"""Random actions fit the elements of the page, and the same draw is the same play."""

import ast
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.chance.random_actions import draw_action
from pytest_autoweb.browser.page.frames import RefElement, RefView
from pytest_autoweb.sandbox.lint import lint_code

BUTTON = RefElement("e1", "button", "Save", "", 'page.get_by_role("button")', ("click",))
FIELD = RefElement("e2", "textbox", "Name", "", 'page.get_by_label("Name")', ("fill", "press"))
CITY = RefElement(
    "e3", "combobox", "City", "", 'page.get_by_label("City")', ("select_option",), ("Rome", "Oslo")
)
DEAD = RefElement("e4", "button", "Never", "", "page.locator('i')", ())
PAGE = RefView("", (BUTTON, FIELD, CITY, DEAD))


def drawn(seed: int, words: tuple[str, ...] = ("tea",)) -> str:
    action = draw_action(PAGE, words, Random(seed))
    assert action is not None
    return action.code


def test_each_element_that_takes_actions_is_drawn_and_no_other() -> None:
    codes = {drawn(seed) for seed in range(200)}

    assert 'page.get_by_role("button").click(timeout=2000)' in codes
    assert "page.get_by_label(\"Name\").fill('tea', timeout=2000)" in codes
    assert "page.get_by_label(\"Name\").press('Enter', timeout=2000)" in codes
    for city in ("Rome", "Oslo"):
        assert f"page.get_by_label(\"City\").select_option(label='{city}', timeout=2000)" in codes
    assert not any("locator('i')" in code for code in codes)


def test_the_same_seed_draws_the_same() -> None:
    assert [drawn(seed) for seed in range(20)] == [drawn(seed) for seed in range(20)]


def test_a_page_that_offers_nothing_draws_nothing() -> None:
    assert draw_action(RefView("", (DEAD,)), ("tea",), Random(1)) is None


@given(st.integers(), st.lists(st.text(min_size=1, max_size=40), max_size=5))
def test_whatever_a_page_shows_is_typed_as_data(seed: int, words: list[str]) -> None:
    code = drawn(seed, tuple(words))

    assert isinstance(ast.parse(code).body[0], ast.Expr)
    assert lint_code(f"# Step 1\n{code}\n") == ()
