"""Calls of `autoweb_step` in the text of a test file, and the plain lines in their place."""

from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from pytest_autoweb.results.records import Attempt, CellResult, CheckResult, StepCall, StepResult
from pytest_autoweb.tools.export.plain_code import NotExportable
from pytest_autoweb.tools.export.step_tests import rewritten, step_test, variables_of


def call(
    line: int,
    code: str = "",
    *,
    kind: Literal["do", "check", "read"] = "do",
    said: str = "",
    test: str = "test_shop",
    answers: str | None = None,
    **changed: Any,
) -> CellResult:
    """A call that passed."""
    check = CheckResult(
        index=0, type="judge", passed=True, expected="", actual=f"pass: so [{said}]"
    )
    attempt = Attempt(
        attempt_index=1,
        code=f"# Step 1\n{code}" if answers is None else answers,
        entry_url_used="http://127.0.0.1:4711/cart",
        step_results=(StepResult(step_index=1, ok=True, status="ok"),),
        checks=(check,) if said else (),
    )
    return CellResult(
        **{
            "case_id": f"{test}.x",
            "case_path": "test_shop.py",
            "entry_url": "http://127.0.0.1:4711/cart",
            "user_task": "do  it",
            "model": "m",
            "capture_mode": "ARIA_SNAPSHOT",
            "nodeid": f"test_shop.py::{test}[chromium]",
            "outcome": "passed",
            "attempts": (attempt,),
            "started": datetime.now(UTC),
            "step_call": StepCall(kind=kind, path="test_shop.py", line=line),
            **changed,
        }
    )


TEXT = '''"""Mine."""

from __future__ import annotations

import os


def test_shop(shop, autoweb_step: AutowebStep, new_page):
    page, other = new_page(), new_page()
    autoweb_step("do it")
    if shop:
        autoweb_step(
            "do it", page=other
        )
        autoweb_step.check("it is done")  # indeed
'''


def test_the_rest_of_the_file_stays_as_it_is() -> None:
    goes = 'page.goto("http://127.0.0.1:4711/a")\npage.get_by_label("Key").fill("<secret:KEY>")'
    cells = [
        call(10, goes, user_task="type <secret:KEY>"),
        call(12, 'page.get_by_text("""a\nb""").click()'),
        call(15, kind="check", said="“Done”; “2 rows”", user_task="it is done"),
    ]
    made = step_test(TEXT, cells)

    assert variables_of(cells) == {"KEY"}
    assert (
        rewritten(TEXT, [made])
        == '''"""Mine."""

from __future__ import annotations
from playwright.sync_api import expect

import os


def test_shop(shop, new_page):
    page, other = new_page(), new_page()
    # type <secret:KEY>
    secret_key = os.environ["KEY"]
    origin = "/".join(page.url.split("/")[:3])
    page.goto(f"{origin}/a")
    page.get_by_label("Key").fill(secret_key)
    if shop:
        # do it
        other.get_by_text("""a
b""").click()
        # it is done
        expect(page.locator("body")).to_contain_text("Done", use_inner_text=True)
        expect(page.locator("body")).to_contain_text("2 rows", use_inner_text=True)
'''
    )
    idle = rewritten(TEXT, [made], idle="test_shop")
    assert idle.count("pass") == 2
    assert "Done" in idle


@pytest.mark.parametrize(
    ("text", "cells", "why"),
    [
        (
            "def test_shop(page, autoweb_step):\n    x = autoweb_step('a')\n",
            [call(2)],
            "of its own",
        ),
        (
            "def test_shop(page, autoweb_step):\n    for _ in 1, 2:\n        autoweb_step('a')\n",
            [call(3, "page.reload()"), call(3, "page.reload()")],
            "in a loop",
        ),
        (
            "def test_shop(page, autoweb_step):\n    autoweb_step('a')\n    autoweb_step('b')\n",
            [call(2, "page.reload()")],
            "line 3 was not carried out",
        ),
        ("def test_gone(page, autoweb_step):\n    pass\n", [call(2)], "no test test_shop any more"),
        (
            "def test_shop(page, autoweb_step):\n    n = autoweb_step.read('a')\n",
            [call(2, kind="read", answers="")],
            "line 2 reads a value that stands in no element",
        ),
        (
            "def test_shop(page, autoweb_step, row):\n    autoweb_step('a')\n    print(row)\n",
            [call(2, "row = page.get_by_role('row')\nrow.click()")],
            "both use the name 'row'",
        ),
        (
            "@use('autoweb_step')\ndef test_shop(page):\n    autoweb_step('a')\n",
            [call(3, "page.reload()")],
            "as an argument of its own",
        ),
    ],
)
def test_what_has_no_like_is_refused_with_the_reason(
    text: str, cells: list[CellResult], why: str
) -> None:
    with pytest.raises(NotExportable, match=why):
        step_test(text, cells)


@pytest.mark.parametrize(
    ("arguments", "became"),
    [
        ("page, autoweb_step", "page"),
        ("autoweb_step, page", "page"),
        ("autoweb_step", "page"),
        ("shop, autoweb_step: AutowebStep, page", "shop, page"),
    ],
)
def test_the_fixture_gives_way_to_the_page(arguments: str, became: str) -> None:
    text = f"def test_shop({arguments}):\n    autoweb_step('a')\n"

    written = rewritten(text, [step_test(text, [call(2, "page.reload()")])])

    assert written == f"def test_shop({became}):\n    # do it\n    page.reload()\n"


def test_a_value_is_read_by_the_locator_that_was_recorded() -> None:
    text = """def test_shop(page, other, autoweb_step):
    assert autoweb_step.read("the total", float) == 20
    n = autoweb_step.read(
        "the number", int, page=other) + 1
"""
    cells = [
        call(2, kind="read", answers='answer(float(page.locator("#t").inner_text()))'),
        call(3, kind="read", answers='answer(int(page.locator("#n").inner_text()))'),
    ]

    assert (
        rewritten(text, [step_test(text, cells)])
        == """import re

def test_shop(page, other):
    assert float(page.locator("#t").inner_text()) == 20
    n = int(other.locator('#n').inner_text()) + 1
"""
    )
