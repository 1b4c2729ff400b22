"""The check `assertion`, on a page."""

import pytest
from playwright.sync_api import Page

from pytest_autoweb.checks import Evidence
from pytest_autoweb.judging.checks.assertion_checks import AssertionCheck

PAGE = """<title>Shop</title><ul><li>Tea <b>7</b></li><li>Mate</li></ul>
<iframe srcdoc="<button>Note</button>"></iframe>"""
ROW = "page.get_by_role('listitem').filter(has=page.locator('b'))"


@pytest.mark.parametrize(
    ("code", "passed", "seen"),
    [
        ("expect(page).to_have_title('Shop')", True, "it holds"),
        ("expect(page).to_have_title('Bank')", False, "Actual value: Shop"),
        (f"expect({ROW}).to_have_text(re.compile('TEA 7', re.I))", True, "it holds"),
        ("expect(page.get_by_role('listitem')).to_have_text(['Tea 7', 'Coffee'])", False, "Mate"),
        ("expect(page.frame_locator('iframe').get_by_text('Note')).to_be_visible()", True, ""),
        ("expect(page.locator('li')).to_be_visible()", False, "strict mode violation"),
    ],
)
def test_it_holds_as_in_a_test(page: Page, code: str, passed: bool, seen: str) -> None:
    page.set_content(PAGE)
    probe = AssertionCheck(assertion=code).probe(Evidence(page=page, answered=False, answer=None))

    verdict = probe.look(1.0)
    assert verdict.passed is passed
    assert seen in verdict.actual
