"""Ordinary code does its work at both levels: a sandbox that stops it would be worth nothing."""

import re
from collections.abc import Callable

import pytest
from benign_corpus import BENIGN
from sandbox_shop import Step, why

from pytest_autoweb.sandbox.engine import Level
from pytest_autoweb.sandbox.lint import lint_code

pytest_plugins = ["sandbox_shop"]

BY_SCRIPT = re.compile(r"\.(evaluate|eval_on_selector|wait_for_function)")
"""What `strict` refuses on purpose."""


def test_there_are_enough_of_them() -> None:
    assert len(BENIGN) >= 80
    assert len({code for code, _ in BENIGN.values()}) == len(BENIGN)


@pytest.mark.parametrize("level", ["auto", "strict"])
@pytest.mark.parametrize(("code", "answered"), BENIGN.values(), ids=BENIGN.keys())
def test_ordinary_code_does_its_work(
    make_step: Callable[..., Step], level: Level, code: str, answered: object
) -> None:
    step = make_step(level)
    if level == "strict" and BY_SCRIPT.search(code):
        assert {finding.code for finding in lint_code(code, scripts=False)} == {"AW310"}
        assert why(step(code))[:2] == ("sandbox", "AW510")
        return
    assert lint_code(code, scripts=level != "strict") == ()

    outcome = step(code)

    assert (outcome.failure, step.engine.answer) == (None, (True, answered))
