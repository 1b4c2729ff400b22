"""Functions of the user's own judge the end of an attempt; results say where things were seen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.checks.delegated_checks import PythonCheck
from pytest_autoweb.judging.checks.page_checks import ElementCheck, JsCheck, TextCheck, UrlCheck
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult


def test_a_function_holds_or_does_not(order: Page, case_path: Path) -> None:
    held = judge(order, case_path, own("is_paid", total=8.5))
    failed = judge(order, case_path, own("is_paid", total=9))

    assert (held.passed, held.type, held.checksum) == (True, "python", "abc")
    assert (failed.passed, failed.actual) == (False, "it returned False")
    assert failed.expected == 'order_checks:is_paid with {"total": 9}'


def test_a_function_sees_the_attempt_and_says_what_it_found(order: Page, case_path: Path) -> None:
    result = judge(order, case_path, own("sees_everything"))

    assert (result.passed, result.where, result.finding, result.credit) == (
        False,
        "shop",
        "ODD",
        0.25,
    )
    assert result.hint == "<secret:pw>"
    assert result.actual.startswith("['order-tea', 'http://shop.test/', 'Order tea.', True, ['tea'")
    assert r"'Order\nPaid'" in result.actual


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("undecided", "the bank is closed"),
        ("silent", "order_checks:silent returned NoneType, not bool or CheckVerdict"),
        ("generous", "gave 7 as credit, which is not from 0 to 1"),
        ("wrong", "KeyError: 'state' (order_checks.py, line 28)"),
        ("leaves", "SystemExit: enough (order_checks.py, line 31)"),
        ("throws", "missing is not defined (order_checks.py, line 34)"),
        ("nothing", "module 'order_checks' has no function 'nothing'"),
    ],
)
def test_a_function_that_fails_leaves_the_check_without_a_verdict(
    order: Page, case_path: Path, function: str, reason: str
) -> None:
    result = judge(order, case_path, own(function))

    assert result.passed is None
    assert reason in result.message


def test_a_function_is_called_again_until_it_holds(order: Page, case_path: Path) -> None:
    assert judge(order, case_path, own("third_time"), timeout_s=3).passed is True


@pytest.mark.parametrize(
    ("check", "where"),
    [
        (UrlCheck(url="**/order"), "page"),
        (TextCheck(text="Order"), "{url}"),
        (TextCheck(text="Paid"), "{url} frame 1 about:srcdoc"),
        (TextCheck(text="Missing"), "{url}"),
        (JsCheck(js="() => false"), "{url}"),
        (
            ElementCheck.model_validate({"element": {"css": "p"}}),
            "{url} frame 1 about:srcdoc element with css 'p'",
        ),
    ],
)
def test_a_result_says_where_it_looked(
    order: Page, case_path: Path, check: Any, where: str
) -> None:
    assert judge(order, case_path, check).where == where.format(url=order.url)


PAGE = """<h1>Order</h1><iframe srcdoc="<p>Paid</p><b hidden>x</b>"></iframe>
<script>window.shop = {state: 'paid', total: 8.5}</script>"""

CHECKS = """\
from pytest_autoweb.checks import CheckContext, CheckVerdict

def is_paid(context: CheckContext, total: float) -> bool:
    shop = context.evaluate("() => window.shop")
    return shop == {"state": "paid", "total": total} and context.url.endswith("/order")

def sees_everything(context: CheckContext) -> CheckVerdict:
    context.answer.append("changed by the check")
    seen = [context.case_id, context.entry_url, context.user_task, context.answered, context.answer]
    assert list(context.requests) == list(context.downloads) == list(context.actions) == []
    return CheckVerdict(
        False, f"{seen} {context.text()!r}", "shop", "ODD", hint="hunter2", credit=0.25
    )

def undecided(context):
    return CheckVerdict(None, reason="the bank is closed")

def silent(context):
    pass

def generous(context):
    return CheckVerdict(True, credit=7)

def wrong(context):
    return helper({})

def helper(order):
    return order["state"]

def leaves(context):
    raise SystemExit("enough")

def throws(context):
    return context.evaluate("() => missing.thing")

def third_time(context, calls=[]):
    calls.append(1)
    return len(calls) == 3
"""


@pytest.fixture(scope="module")
def order(browser: Browser) -> Iterator[Page]:
    """One page for all checks: they only read."""
    site = Site()
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.put("/order", PAGE))
    page.frame_locator("iframe").get_by_text("Paid").wait_for()
    yield page
    context.close()
    site.close()


@pytest.fixture(scope="module")
def case_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cases")
        (folder / "order_checks.py").write_text(CHECKS)
        patch.syspath_prepend(folder)
        yield folder / "shop.yaml"


def judge(page: Page, case_path: Path, check: Any, timeout_s: float = 0.2) -> CheckResult:
    evidence = Evidence(
        page=page,
        answered=True,
        answer=["tea"],
        redact=lambda text: text.replace("hunter2", "<secret:pw>"),
        case_path=case_path,
        case_id="order-tea",
        entry_url="http://shop.test/",
        user_task="Order tea.",
    )
    (result,) = judge_checks([check], evidence, timeout_s=timeout_s, checksums=["abc"])
    assert evidence.answer == ["tea"]
    return result


def own(function: str, **arguments: Any) -> PythonCheck:
    return PythonCheck.model_validate({"python": f"order_checks:{function}", "with": arguments})
