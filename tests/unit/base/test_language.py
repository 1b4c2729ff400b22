"""The lines in which people and models are told what went wrong."""

import pytest

from pytest_autoweb.base.language import (
    NO_CODE_FOR_STEP,
    NO_STEPS,
    PLAN_ASKS,
    StepProblem,
    step_failed,
)


@pytest.mark.parametrize(
    ("problem", "english", "chinese"),
    [
        (
            StepProblem.of("(plan)", NO_STEPS),
            "Step (plan): no steps in the reply",
            "步骤: (plan), 出错信息: 未解析到任何步骤 (no steps in the reply)",
        ),
        (
            StepProblem.of("(plan)", PLAN_ASKS, "Which shop?"),
            "Step (plan): the plan needs input: Which shop?",
            "步骤: (plan), 出错信息: 计划需要输入 (Which shop?)",
        ),
        (
            StepProblem.quoted("2", "TimeoutError: 5 s"),
            "Step 2: TimeoutError: 5 s",
            "步骤: 2, 出错信息: TimeoutError: 5 s",
        ),
        (
            step_failed(3, NO_CODE_FOR_STEP),
            "Step 3: no code found for this step",
            "步骤: 3, 出错信息: 未找到步骤代码 (no code for this step)",
        ),
    ],
)
def test_a_problem_has_a_line_in_each_language(
    problem: StepProblem, english: str, chinese: str
) -> None:
    assert problem.line("en") == english
    assert problem.line("zh") == chinese
