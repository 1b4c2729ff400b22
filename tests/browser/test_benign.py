"""Ordinary code does its work at both levels: a sandbox that stops it would be worth nothing.

The levels differ in the lint, which is asked about all code at both, and in the border's answer to
scripts. So `strict` runs everything that has a script, and a third of the rest.
"""

import re
from collections.abc import Callable

import pytest
from benign_corpus import BENIGN
from sandbox_shop import Step, why

from pytest_autoweb.sandbox.levels import Level
from pytest_autoweb.sandbox.lint import lint_code

pytest_plugins = ["sandbox_shop"]

BY_SCRIPT = re.compile(r"\.(evaluate|eval_on_selector|wait_for_function)")
"""What `strict` refuses on purpose."""


def test_there_are_enough_of_them() -> None:
    assert len(BENIGN) >= 80
    assert len({code for code, _ in BENIGN.values()}) == len(BENIGN)


RUNS = [
    pytest.param(level, code, answered, id=f"{name}-{level}")
    for number, (name, (code, answered)) in enumerate(BENIGN.items())
    for level in ("auto", "strict")
    if level == "auto" or BY_SCRIPT.search(code) or number % 3 == 0
]


@pytest.mark.parametrize("level", ["auto", "strict"])
def test_the_lint_lets_ordinary_code_pass(level: Level) -> None:
    for code, _ in BENIGN.values():
        expected = {"AW310"} if level == "strict" and BY_SCRIPT.search(code) else set()
        assert {finding.code for finding in lint_code(code, scripts=level != "strict")} == expected


@pytest.mark.parametrize(("level", "code", "answered"), RUNS)
def test_ordinary_code_does_its_work(
    make_step: Callable[..., Step], level: Level, code: str, answered: object
) -> None:
    step = make_step(level)
    if level == "strict" and BY_SCRIPT.search(code):
        assert why(step(code))[:2] == ("sandbox", "AW510")
        return

    outcome = step(code)

    assert (outcome.failure, step.engine.answer) == (None, (True, answered))
