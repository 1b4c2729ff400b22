"""Sessions within a program that has a page open leave that page usable."""

import asyncio

import greenlet  # type: ignore[import-untyped]
import pytest
from playwright.sync_api import Page

CASE = """
version: 1
cases:
  - {id: one, entry_url: "http://shop.test/", user_task: Look., expect: [{text: Tea}]}
"""


@pytest.mark.long
def test_a_session_within_a_program_leaves_playwrights_loop_as_it_was(
    page: Page, pytester: pytest.Pytester
) -> None:
    page.title()
    marked, traced = asyncio._get_running_loop(), greenlet.gettrace()
    (pytester.mkdir("cases") / "shop.yaml").write_text(CASE)

    # The only cell is skipped by its fixture, so no browser is opened within this one.
    pytester.makeconftest(
        "import pytest\n@pytest.fixture(autouse=True)\ndef closed(): pytest.skip('closed')"
    )
    result = pytester.runpytest_inprocess("cases", "--autoweb-models=builtin/noop")

    result.assert_outcomes(skipped=1)
    assert (asyncio._get_running_loop(), greenlet.gettrace()) == (marked, traced)
    assert marked is not None
    assert page.title() == ""
