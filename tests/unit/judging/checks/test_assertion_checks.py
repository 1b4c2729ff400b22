"""The check `assertion` takes locators, plain values and one assertion, and no other code."""

import pytest
from pydantic import ValidationError

from pytest_autoweb.judging.checks.assertion_checks import AssertionCheck


@pytest.mark.parametrize(
    "code",
    [
        "expect(page).to_have_title('Shop')",
        "expect(page.get_by_role('row').filter(has=page.get_by_text('a')).nth(1)).to_be_hidden()",
        "expect(page.frame_locator('i').get_by_text('a')).to_have_text(re.compile('x', re.I))",
        "expect(page.locator('li')).to_have_text(['a', re.compile('b')])",
        "expect(page.locator('li')).to_have_count(-1)",
        "  expect(page.locator('a').and_(page.get_by_text('b'))).to_have_attribute('href', '/')  ",
    ],
)
def test_one_assertion_is_taken(code: str) -> None:
    assert AssertionCheck(assertion=code).assertion == code


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("page.get_by_role('row')", "write one assertion, such as"),
        ("expect(page).to_have_title('a'), 1", "write one assertion, such as"),
        ("expect(page, 'message').to_have_title('a')", "write one assertion, such as"),
        ("expect(page.locator('a')).to_fly()", "'to_fly' is no assertion of a Locator"),
        ("expect(page.locator('a')).to_have_title('a')", "is no assertion of a Locator"),
        ("expect(page.evaluate('1')).to_be_visible()", "'evaluate' leads to no element"),
        ("expect(page.keyboard).to_be_visible()", "is no assertion of a Keyboard"),
        ("expect(page.locator('a').page).to_have_title('a')", "'page' leads to no element"),
        ("expect(page.locator(__import__('os'))).to_be_visible()", "is no plain value"),
        ("expect(page).to_have_title(f'{page}')", "is no plain value"),
        ("expect(page).to_have_title(**{'a': 1})", "leave `timeout` out"),
        ("expect(page).to_have_title('a', timeout=9)", "leave `timeout` out"),
        ("expect(page).to_have_title(re.compile('(a+)+'))", "can be matched in too many ways"),
        ("expect(page).to_have_title(re.compile('('))", "is no regular expression"),
        ("expect(page).to_have_title(re.compile('a', re.DEBUG))", "re.DEBUG is no flag"),
        ("expect(page.locator('text=/(a+)+/')).to_be_visible()", "can be matched in too many ways"),
        (f"expect(page{'.first' * 9}).to_be_visible()", "'first' leads to no element"),
        (f"expect(page.locator('a'){'.first' * 99}).to_be_visible()", "nested too deeply"),
        ("expect(", "write one assertion, such as"),
    ],
)
def test_anything_else_is_refused_with_the_reason(code: str, why: str) -> None:
    with pytest.raises(ValidationError, match="assertion") as refused:
        AssertionCheck(assertion=code)
    assert why in str(refused.value)
