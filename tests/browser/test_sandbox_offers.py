"""Names of the step language that only some cells offer, on a real page."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator
from sandbox_shop import LIMITS, Step, why

from pytest_autoweb.sandbox.engine import Limits, StepCallError
from pytest_autoweb.sandbox.lint import lint_code

pytest_plugins = ["sandbox_shop"]


def by_mark(found_on: Any, number: int, expected_text: str = "") -> Locator:
    if number == 0:
        raise StepCallError("mark 0 does not exist", marks=9)
    return found_on.locator("button", has_text=expected_text).first  # type: ignore[no-any-return]


def collect_urls(*sections: str, limit: int = 2) -> list[dict[str, object]]:
    return [{"url": f"/{name}", "limit": limit} for name in sections]


@pytest.fixture
def offering(make_step: Callable[..., Step]) -> Step:
    return make_step(finders={"get_by_mark": by_mark}, functions={"collect_urls": collect_urls})


def test_what_a_cell_offers_is_found_acted_on_and_recorded(offering: Step) -> None:
    outcome = offering(
        "sign_in = page.get_by_mark(3, expected_text='Sign in')\npage.fill('#user', 'ana')\n"
        "sign_in.click()\nexpect(page.locator('#done')).to_have_text('Welcome, ana')\n"
        "inner = page.frame('inner').get_by_mark(1, expected_text='Inside').inner_text()\n"
        "answer([inner, collect_urls('news', 'jobs', limit=1)])",
        lint=False,
    )

    assert outcome.ok, outcome.failure
    assert offering.engine.answer[1] == [
        "Inside",
        [{"url": "/news", "limit": 1}, {"url": "/jobs", "limit": 1}],
    ]
    shown = {call.method: f"{call.target} {call.arguments}" for call in outcome.calls}
    assert shown["get_by_mark"].endswith("1, expected_text='Inside'")
    assert shown["click"].startswith("page.get_by_mark(3, expected_text='Sign in')")
    assert shown["collect_urls"] == "step 'news', 'jobs', limit=1"
    assert outcome.names == ("sign_in", "inner")


def test_what_it_cannot_do_is_an_ordinary_failure_with_its_evidence(offering: Step) -> None:
    caught = offering(
        "try:\n    page.get_by_mark(0)\nexcept Error as e:\n    answer(str(e))", lint=False
    )
    outcome = offering("page.get_by_mark(0).click()", lint=False)

    assert caught.ok
    assert offering.engine.answer[1] == "mark 0 does not exist"
    assert why(outcome) == ("step", None, "Error: mark 0 does not exist")
    assert outcome.failure is not None
    assert outcome.failure.evidence["marks"] == 9


def test_the_border_refuses_what_the_cell_does_not_offer(step: Step, offering: Step) -> None:
    for code in ("page.get_by_mark(1)", "page.main_frame.get_by_mark(1)"):
        assert why(step(code, lint=False))[:2] == ("sandbox", "AW504")
    assert why(step("collect_urls()", lint=False))[2].startswith("NameError")
    assert why(offering("page.get_by_sight('x')", lint=False))[:2] == ("sandbox", "AW504")


def test_waiting_for_a_model_is_not_charged_to_the_step(make_step: Callable[..., Step]) -> None:
    waits: list[float] = []

    def slow(found_on: Any, description: str) -> Locator:
        time.sleep(1.2)
        waits.append(1.2)
        return found_on.get_by_text(description).first  # type: ignore[no-any-return]

    step = make_step(finders={"get_by_sight": slow}, waited=lambda: sum(waits))
    code = "page.get_by_sight('Hover me').hover()\nanswer(page.inner_text('#done'))"
    limits = Limits(step_s=1, cpu_s=LIMITS.cpu_s)

    assert step(code, lint=False, limits=limits).ok
    assert step.engine.answer[1] == "hovered"
    step.border.waited = lambda: 0.0
    assert why(step(code, lint=False, limits=limits))[0] == "timeout"


OFFERED = frozenset({"get_by_mark", "collect_urls", "show_more"})


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("page.get_by_mark(1).click()", None),
        ("page.get_by_mark(1).get_text()", "AW304"),
        ("urls = collect_urls(page.get_by_mark(2))", None),
        ("page.show_more(2, 40)", None),
        ("page.locator('a').show_more(2)", "AW304"),
        ("show_more(2)", "AW309"),
        ("page.get_by_sight('x')", "AW309"),
        ("page.keyboard.get_by_mark(1)", "AW304"),
        ("collect_urls = 1", "AW303"),
        ("page.collect_urls()", "AW304"),
    ],
)
def test_the_lint_accepts_exactly_what_is_offered(code: str, rule: str | None) -> None:
    assert [finding.code for finding in lint_code(code, offered=OFFERED)] == (
        [rule] if rule else []
    )
    if rule is None:
        assert {finding.code for finding in lint_code(code)} == {"AW309"}
