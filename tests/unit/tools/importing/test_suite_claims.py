"""Plain asserts of a suite as Playwright's assertions."""

import runpy
from collections.abc import Callable
from typing import Any

import pytest

from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.judging.checks.assertion_checks import AssertionCheck

claims_of: Callable[[str, list[dict[str, Any]]], list[str]] = runpy.run_path(
    str(asset_dir("templates") / "suite" / "autoweb_suite_claims.py")
)["claims_of"]

H1 = "page.locator('h1')"


def read(name: str, value: object, base: str = H1, *args: str) -> dict[str, Any]:
    return {"base": base, "name": name, "value": value, "args": args}


@pytest.mark.parametrize(
    ("statement", "seen", "said"),
    [
        ("page.title() == 'Shop'", read("title", "Shop", "page"), "to_have_title('Shop')"),
        (
            "page.url == home",
            read("url", "http://a.test/", "page"),
            "to_have_url('http://a.test/')",
        ),
        (
            "'a+b' in page.url",
            read("url", "http://a.test/a+b", "page"),
            "to_have_url(re.compile('a\\\\+b'))",
        ),
        ("text == 'Done'", read("inner_text", "Done"), "to_have_text('Done', use_inner_text=True)"),
        ("'Do' in h.text_content()", read("text_content", "Done"), "to_contain_text('Do')"),
        ("'no' not in h.text_content()", read("text_content", "Done"), "not_to_contain_text('no')"),
        ("len(rows.all()) == 2", read("count", 2), "to_have_count(2)"),
        ("rows.count() == 2", read("count", 2), "to_have_count(2)"),
        ("rows.count() > 0", read("count", 2), "not_to_have_count(0)"),
        ("len(found) >= 1", read("count", 2), "not_to_have_count(0)"),
        ("await rows.count() != 0", read("count", 2), "not_to_have_count(0)"),
        ("await page.title() == 'Shop'", read("title", "Shop", "page"), "to_have_title('Shop')"),
        ("not await h.is_visible()", read("is_visible", False), "not_to_be_visible()"),
        ("h.is_visible()", read("is_visible", True), "to_be_visible()"),
        ("home.heading", read("text_content", "Hello"), "not_to_be_empty()"),
        ("await rows.count()", read("count", 2), "not_to_have_count(0)"),
        ("not h.is_visible()", read("is_visible", False), "not_to_be_visible()"),
        (
            "h.get_attribute('id') == 'x'",
            read("get_attribute", "x", H1, "id"),
            "to_have_attribute('id', 'x')",
        ),
        ("h.input_value() == ''", read("input_value", ""), "to_have_value('')"),
    ],
)
def test_an_assert_on_what_was_read_becomes_an_assertion_that_a_case_can_hold(
    statement: str, seen: dict[str, Any], said: str
) -> None:
    claim = f"expect({seen['base']}).{said}"
    assert claims_of(statement, [seen]) == [claim]
    assert AssertionCheck(assertion=claim).assertion == claim


@pytest.mark.parametrize(
    ("statement", "seen"),
    [
        ("rows.count() > 2", [read("count", 3)]),
        ("'x' in names", [read("inner_text", "y")]),
        ("h.is_visible() or page.url == 'x'", [read("is_visible", True), read("url", "y")]),
        ("answer.status == 200", []),
        ("mine == yours", [read("title", "Shop", "page")]),
        ("count == 3", [read("count", 2)]),
        ("rows.count() >= 0", [read("count", 2)]),
        ("0 < rows.count() < 3", [read("count", 2)]),
        ("len(text) > 0", [read("inner_text", "y")]),
        ("ready", [read("title", "Shop", "page")]),
        ("not valid", []),
        ("response.ok", [read("inner_text", "y") | {"told": True}]),
        ("form.state == ''", [read("input_value", ""), read("inner_text", "y")]),
    ],
)
def test_what_an_assert_says_is_not_guessed(statement: str, seen: list[dict[str, Any]]) -> None:
    assert claims_of(statement, seen) == []


def test_a_page_object_reads_several_things_for_one_assert() -> None:
    seen = [read("inner_text", "Enter a name"), read("input_value", "", "page.locator('#name')")]
    assert claims_of("form.error == 'Enter a name' and form.value == ''", seen) == [
        "expect(page.locator('h1')).to_have_text('Enter a name', use_inner_text=True)",
        "expect(page.locator('#name')).to_have_value('')",
    ]
    assert claims_of("'a name' in form.error", seen)


def test_both_parts_of_an_and_are_said() -> None:
    seen = [read("title", "Shop", "page"), read("count", 1)]
    assert claims_of("page.title() == 'Shop' and rows.count() == 1", seen) == [
        "expect(page).to_have_title('Shop')",
        "expect(page.locator('h1')).to_have_count(1)",
    ]
