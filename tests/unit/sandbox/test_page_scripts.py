"""Scripts that run in the page: what is sent, and what may come back; the page is made up here."""

import json
from typing import Any

import pytest
from playwright.sync_api import Error

from pytest_autoweb.sandbox import size_limits
from pytest_autoweb.sandbox.page_scripts import bounded_result
from pytest_autoweb.sandbox.rules import Refusal


class FakePage:
    """Answers each call in turn, or raises what stands there; keeps the arguments."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.calls: list[tuple[Any, ...]] = []
        self.named: list[dict[str, Any]] = []

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append(args)
        self.named.append(kwargs)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    eval_on_selector = evaluate


def run(page: FakePage, *args: Any, method: str = "evaluate", kind: str = "Page", **kw: Any) -> Any:
    return bounded_result(kind, method, page, list(args), kw)


def test_the_script_is_bounded_and_its_argument_passed_on() -> None:
    page = FakePage(["value", 7])

    assert run(page, "x => x", {"a": 1}) == 7
    assert page.calls == [
        (size_limits.bounded_script("x => x", of_elements=False), {"a": 1}),
    ]


def test_a_script_of_elements_comes_after_their_selector_and_is_bounded_as_one() -> None:
    page = FakePage(["value"])

    assert run(page, "#id", "e => {}", 5, method="eval_on_selector") is None
    assert page.calls == [("#id", size_limits.bounded_script("e => {}", of_elements=True), 5)]


def test_a_script_by_name_stays_by_name() -> None:
    page = FakePage(["value", "a"])

    assert run(page, expression="1 + 1") == "a"
    assert page.calls == [()]
    assert page.named == [{"expression": size_limits.bounded_script("1 + 1", of_elements=False)}]


def test_what_is_no_text_or_too_long_is_not_sent() -> None:
    page = FakePage()

    with pytest.raises(TypeError, match=r"evaluate\(\) takes a script as text"):
        run(page, 5)
    with pytest.raises(Refusal, match="a script has at most 100,000 characters"):
        run(page, "1" * (size_limits.MAX_SCRIPT + 1))
    assert page.calls == []
    assert run(FakePage(["value", 1]), "1" * size_limits.MAX_SCRIPT) == 1


def test_an_error_of_the_script_is_told_with_its_method() -> None:
    with pytest.raises(Error, match=r"Page\.evaluate: no such thing"):
        run(FakePage(["error", "no such thing"]), "boom()")


def test_a_result_that_is_too_large_is_refused() -> None:
    with pytest.raises(Refusal, match=r"evaluate\(\) may return at most 2,000,000 characters"):
        run(FakePage(["large"]), "x()")


def test_several_statements_are_run_as_such() -> None:
    script = "const a = 1; a"
    page = FakePage(Error("SyntaxError: Unexpected token"), ["value", 1])

    assert run(page, script, 5) == 1
    statements = f"(0, eval)({json.dumps(script)})"
    assert page.calls[1] == (size_limits.bounded_script(statements, of_elements=False), 5)


def test_several_statements_by_name_stay_by_name() -> None:
    page = FakePage(Error("SyntaxError: Unexpected token"), ["value", 1])

    assert run(page, expression="let a; a") == 1
    bounded = size_limits.bounded_script('(0, eval)("let a; a")', of_elements=False)
    assert page.named[1] == {"expression": bounded}


def test_where_the_page_forbids_eval_playwright_runs_the_statements_itself() -> None:
    page = FakePage(Error("SyntaxError"), ["error", "EvalError: unsafe-eval"], "from Playwright")

    assert run(page, "let a; a") == "from Playwright"
    assert page.calls[2] == ("let a; a",)


@pytest.mark.parametrize(
    ("error", "kind"), [("Target closed", "Page"), ("SyntaxError: unexpected", "Locator")]
)
def test_other_errors_are_those_of_the_call(error: str, kind: str) -> None:
    page = FakePage(Error(error))

    with pytest.raises(Error, match=error):
        run(page, "x()", kind=kind)
    assert len(page.calls) == 1
