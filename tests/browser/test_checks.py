import time
from collections.abc import Iterator
from typing import Any

import pytest
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.cases.source import read_checks
from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult


def judge(
    page: Page, *checks: dict[str, Any], timeout_s: float = 0.5, **answer: Any
) -> tuple[CheckResult, ...]:
    evidence = Evidence(
        page=page,
        answered="answer" in answer,
        answer=answer.get("answer"),
        redact=lambda text: text.replace("hunter2", "<secret:pw>"),
    )
    read = read_checks(list(checks), (), None)
    return judge_checks(read, evidence, timeout_s=timeout_s)


PAGE = """
<title>Account</title><h1>Account</h1><p>Welcome, <b>Ana</b>&nbsp;Lee!</p>
<p style="display:none">hidden words</p><p style="text-transform:uppercase">shipped today</p>
<p style="text-transform:capitalize">next day p<b>ar</b>cel</p>
<p lang=tr style="text-transform:uppercase">istanbul <i style="text-transform:none">to</i> izmir</p>
<style>.first::first-letter { text-transform: uppercase }</style>
<div class=first><p>“your <b>cart</b></p></div>
<label>City <input value="Rome"></label> <input type=checkbox aria-label=Agree checked>
<button disabled>Send</button> <ul><li>a</li><li>b</li><li hidden>c</li></ul>
<button data-testid=pay class=big>Pay now</button>
<label>Pin <input type=password value=hunter2></label>
<div id=host></div><iframe srcdoc="<p>Framed words</p><button>Inner</button>"></iframe>
<script>host.attachShadow({mode: 'open'}).innerHTML = '<p>Shadow words</p>'</script>
"""


@pytest.fixture(scope="module")
def account(browser: Browser) -> Iterator[Page]:
    """One page for all checks: they only read."""
    site = Site()
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.put("/user/account?tab=1", PAGE))
    page.frame_locator("iframe").get_by_role("button").wait_for()
    yield page
    context.close()
    site.close()


@pytest.mark.parametrize(
    "check",
    [
        {"url": "**/account?tab=1"},
        {"url": "**/account**"},
        {"url": {"matches": r"account\?tab=\d$"}},
        {"text": "Welcome, Ana Lee!"},
        {"text": "SHIPPED TODAY"},
        {"text": "shipped today"},
        {"text": "Next Day Parcel"},
        {"text": "İSTANBUL to İZMİR"},
        {"text": "“Your cart"},
        {"text": {"matches": "^SHIPPED"}},
        {"text": "Framed words"},
        {"text": "Shadow words"},
        {"text": {"matches": r"^Welcome, \w+ Lee!$"}},
        {"element": {"role": "heading", "name": "Account"}},
        {"element": {"role": "heading", "name": {"matches": "^Acc"}, "count": 1}},
        {"element": {"label": "City", "value": "Rome"}},
        {"element": {"label": "Agree", "checked": True}},
        {"element": {"role": "button", "name": "Send", "enabled": False}},
        {"element": {"role": "button", "name": "Inner", "visible": True}},
        {"element": {"test_id": "pay", "text": "Pay", "css": ".big"}},
        {"element": {"css": "li", "count": 2}},
        {"element": {"css": "li:nth-child(3)", "visible": False}},
        {"element": {"text": "Welcome, Ana"}},
        {"element": {"role": "dialog", "count": 0}},
        {"js": "() => document.title === 'Account'"},
        {"js": "document.querySelectorAll('li').length"},
        {"js": "async () => (await fetch('/user/account?tab=1')).ok"},
        {"js": "const n = 2; return n > 1"},
    ],
)
def test_a_check_holds(account: Page, check: dict[str, Any]) -> None:
    (result,) = judge(account, check, timeout_s=3)

    assert result.passed is True, result
    assert result.type == next(iter(check))


@pytest.mark.parametrize(
    ("check", "actual"),
    [
        ({"url": "**/cart"}, "/user/account?tab=1"),
        ({"url": "http://127.0.0.1/"}, "/user/account"),
        ({"text": "hidden words"}, "page text: "),
        ({"text": "welcome, ana lee!"}, "Welcome, Ana Lee!"),
        ({"text": "Shipped today"}, "shipped today"),
        ({"text": {"matches": "^Ana"}}, "Welcome, Ana Lee!"),
        ({"element": {"role": "heading", "name": "account"}}, "no such element"),
        ({"element": {"label": "City", "value": "Paris"}}, "value 'Rome'"),
        ({"element": {"label": "Agree", "checked": False}}, "checked True"),
        ({"element": {"role": "button", "name": "Send", "enabled": True}}, "enabled False"),
        ({"element": {"css": "li", "count": 3}}, "3 found, 2 visible"),
        ({"element": {"css": "li", "visible": False}}, "2 of them visible"),
        ({"element": {"css": "h1", "count": 0}}, "1 found, 1 visible"),
        ({"element": {"label": "Pin", "value": "other"}}, "value '<hidden>'"),
        ({"js": "() => 0"}, "0"),
        ({"js": "() => null"}, "null"),
        ({"js": "() => missing.thing"}, "it threw: missing is not defined"),
    ],
)
def test_a_check_that_does_not_hold_says_what_was_seen(
    account: Page, check: dict[str, Any], actual: str
) -> None:
    (result,) = judge(account, check, timeout_s=0.2)

    assert result.passed is False
    assert actual in result.actual


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ({"element": {"css": "[[["}}, "Error"),
        ({"element": {"css": "h1", "name": "x"}}, "`name` needs `role`"),
        ({"js": "function ("}, "SyntaxError"),
        ({"js": "() => new Promise(() => {})"}, "Timeout"),
        ({"answer": {"schema": {"type": "nonsense"}}}, "the schema is not valid"),
        ({"answer": {"schema": {"$ref": "http://127.0.0.1:9/x"}}}, "Unresolvable"),
    ],
)
def test_a_check_that_cannot_be_evaluated_is_neither_passed_nor_failed(
    account: Page, check: dict[str, Any], reason: str
) -> None:
    (result,) = judge(account, {**check, "message": "why"}, timeout_s=0.2, answer="x")

    assert result.passed is None
    assert result.message.startswith("why; could not be evaluated: ")
    assert reason in result.message


def test_checks_wait_for_what_comes_late(page: Page) -> None:
    page.set_content("<p>Saving</p>")
    page.evaluate(
        "() => setTimeout(() => { document.querySelector('p').textContent = 'Saved';"
        "location.hash = 'done' }, 700)"
    )

    results = judge(
        page,
        {"text": "Saved"},
        {"element": {"text": "Saved", "count": 1}},
        {"js": "() => location.hash === '#done'"},
        timeout_s=5,
    )

    assert [result.passed for result in results] == [True, True, True]


@pytest.mark.long
def test_all_failing_checks_wait_together(account: Page) -> None:
    started = time.monotonic()

    results = judge(account, *[{"text": f"missing {n}"} for n in range(10)], timeout_s=1.5)

    assert not any(result.passed for result in results)
    # One after the other they would take 15 s.
    assert time.monotonic() - started < 12


@pytest.mark.long
def test_an_endless_loop_in_a_check_ends_and_server_checks_still_count(
    page: Page, site: Site
) -> None:
    page.goto(site.put("/a", "x"))
    url = site.put("/api", '{"paid": true}')
    started = time.monotonic()

    hung, late, http = judge(
        page,
        {"js": "() => { while (true); }"},
        {"text": "x"},
        {"http": {"url": url, "json": {"paid": True}}},
        timeout_s=2,
    )

    assert (hung.passed, late.passed, http.passed) == (None, None, True)
    assert time.monotonic() - started < 10


def test_secrets_and_long_texts_do_not_reach_results(page: Page) -> None:
    page.set_content(f"<p>hunter2</p><p>{'long ' * 500}</p>")

    (result,) = judge(page, {"text": "hunter2 missing"}, timeout_s=0.1)

    assert "hunter2" not in result.model_dump_json()
    assert len(result.actual) <= 500


@pytest.mark.parametrize(
    ("spec", "answer", "passed"),
    [
        ({"equals": 42}, "42", True),
        ({"equals": [1, "b"]}, ["1", "b"], True),
        ({"equals": 42}, 43, False),
        ({"contains": "Ana"}, "Ana and Bob", True),
        ({"contains": 3}, [1, 2], False),
        ({"matches": r"^\d+ EUR$"}, "85 EUR", True),
        ({"matches": "7"}, {"total": 78}, True),
        ({"schema": {"type": "array", "minItems": 1}}, ["x"], True),
        ({"schema": {"type": "array", "minItems": 1}}, [], False),
        ({"equals": None}, None, True),
    ],
)
def test_answers_are_compared(blank: Page, spec: dict[str, Any], answer: Any, passed: bool) -> None:
    (result,) = judge(blank, {"answer": spec}, answer=answer)

    assert result.passed is passed


def test_no_answer_fails_even_where_null_is_wanted(blank: Page) -> None:
    (result,) = judge(blank, {"answer": {"equals": None}})

    assert (result.passed, result.actual) == (False, "(no answer given)")


def test_a_closed_page_leaves_its_checks_open(page: Page) -> None:
    page.close()

    results = judge(page, {"text": "x"}, {"url": "**/x"}, {"answer": {"equals": 1}}, answer=1)

    assert [result.passed for result in results] == [None, None, True]
