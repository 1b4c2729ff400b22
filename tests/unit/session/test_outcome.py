"""What attempts come to, and what a cell's outcome then means to pytest."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest

from pytest_autoweb.agents.attempt.strategy import CorrectionArm
from pytest_autoweb.agents.attempt.tools import Clock
from pytest_autoweb.agents.correction.guidance import Guidance
from pytest_autoweb.agents.correction.retry_decision import Rules
from pytest_autoweb.base.values.flag_texts import LeastRate, Until
from pytest_autoweb.cell.cell_outcome import cell_outcome
from pytest_autoweb.cell.corrections import ArmAttempts, arm_run, correct, repairable
from pytest_autoweb.cell.strategies import OFF, PLAIN
from pytest_autoweb.report.gates.case_groups import CaseGroup
from pytest_autoweb.report.gates.gate_policy import GatePolicy
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    CheckResult,
    Classification,
    Failure,
    FailureKind,
    Outcome,
    Usage,
)
from pytest_autoweb.results.records.attempt import StepResult
from pytest_autoweb.session.pytest_outcome import (
    CellBroken,
    CellFailed,
    describe,
    is_lost,
    never_graded,
    no_verdicts,
    policy_of,
    raise_outcome,
)
from pytest_autoweb.settings.run_settings import Settings

INFRASTRUCTURE = {"model", "navigation", "browser", "webserver", "internal", "killed", "agent"}
INFRASTRUCTURE |= {"recording", "fixture"}
NOT_REPAIRED = INFRASTRUCTURE | {"repair", "question", "off_record"}
STEP = Failure(kind="step", message="no such button")


def check(passed: bool | None, **more: Any) -> CheckResult:
    fields = {"index": 0, "type": "text", "expected": "a", "actual": "b", "message": "no page"}
    return CheckResult(**{**fields, **more}, passed=passed)


def attempt(**fields: Any) -> Attempt:
    return Attempt(**fields)


def failed(kind: FailureKind = "step", message: str = "no such button") -> Attempt:
    return Attempt(failure=Failure(kind=kind, message=message))


@pytest.mark.parametrize(
    ("attempts", "outcome"),
    [
        ([attempt(checks_passed=True)], "passed"),
        ([failed(), attempt(checks_passed=True)], "healed"),
        ([failed(), failed(), attempt(checks_passed=True)], "healed"),
    ],
)
def test_checks_that_hold_make_a_cell_pass(attempts: list[Attempt], outcome: str) -> None:
    assert cell_outcome(attempts, has_checks=True) == (outcome, "", None)


def test_checks_decide_even_when_something_else_went_wrong() -> None:
    last = attempt(checks_passed=True, failure=STEP)

    assert cell_outcome([last], has_checks=True) == ("passed", "", None)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([{}], ""),
        (
            [{"plan_question": "which\n one?"}],
            ' (the model asked "which one?" and nobody answered)',
        ),
        (
            [
                {"plan_question": "first?"},
                {"plan_question": "which?", "plan_answer": "the red one"},
            ],
            ' (the model asked "which?" and was answered "the red one")',
        ),
        ([{"plan_question": "which?"}, {}], ' (the model asked "which?" and nobody answered)'),
        (
            [{"plan_question": "q" * 200, "plan_answer": "a" * 201}],
            f' (the model asked "{"q" * 200}" and was answered "{"a" * 200}…")',
        ),
    ],
)
def test_what_a_check_misses_may_be_what_nobody_said(
    asked: list[dict[str, str]], told: str
) -> None:
    attempts = [attempt(failure=STEP, checks_passed=False, **each) for each in asked]

    assert cell_outcome(attempts, has_checks=True)[1] == f"no such button{told}"


@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_only_the_infrastructure_breaks_a_cell(kind: FailureKind) -> None:
    outcome, reason, failure = cell_outcome([failed(kind, "why")], has_checks=True)

    named = {"question": "needs_input", "off_record": "off_record"}
    asked = named.get(kind, "failed")
    assert outcome == ("broken" if kind in INFRASTRUCTURE else asked)
    assert reason == "why"
    assert failure is not None
    assert failure.kind == kind


def test_a_repair_that_broke_leaves_the_verdict_on_the_attempt_before() -> None:
    attempts = [failed(message="first"), failed(message="second"), failed("model", "no reply")]

    outcome, reason, failure = cell_outcome(attempts, has_checks=True)

    assert (outcome, reason) == ("failed", "second (the repair broke: no reply)")
    assert failure == Failure(kind="step", message="second")


def test_a_repair_that_broke_after_an_attempt_without_failure_says_so() -> None:
    attempts = [attempt(checks_passed=False), failed("browser", "it died")]

    outcome, reason, failure = cell_outcome(attempts, has_checks=True)

    assert (outcome, reason, failure) == ("failed", " (the repair broke: it died)", None)


def test_what_left_the_recording_has_no_verdict_whatever_went_before_or_was_seen() -> None:
    left = attempt(checks_passed=True, failure=Failure(kind="off_record", message="GET /a"))

    for attempts in ([left], [failed(), left]):
        assert cell_outcome(attempts, has_checks=True)[:2] == ("off_record", "GET /a")


def test_a_case_without_checks_is_never_more_than_ungraded() -> None:
    done, undone = attempt(executed=True), failed()

    assert cell_outcome([done], has_checks=False) == ("ungraded", "the case has no checks", None)
    assert cell_outcome([undone], has_checks=False) == ("failed", "no such button", STEP)
    assert cell_outcome([attempt()], has_checks=False) == ("failed", "", None)


def test_checks_that_nobody_could_evaluate_leave_a_cell_ungraded() -> None:
    checks = (
        check(True, index=0),
        check(None, index=1, advisory=True, message="only advice"),
        check(None, index=2, type="http", message="no server"),
        check(None, index=3, type="sql", message="no database"),
    )

    outcome, reason, failure = cell_outcome([attempt(checks=checks, failure=STEP)], has_checks=True)

    assert (outcome, reason, failure) == ("ungraded", "check 3 (http): no server", STEP)


def test_checks_that_are_advice_only_leave_a_cell_ungraded() -> None:
    checks = (check(None, advisory=True), check(True, advisory=True))

    outcome, reason, _ = cell_outcome([attempt(checks=checks)], has_checks=True)

    assert outcome == "ungraded"
    assert reason == "all checks are advice only (see --autoweb-judge-labels)"


@pytest.mark.parametrize(
    "last",
    [
        attempt(checks=(check(False),), checks_passed=False, failure=STEP),
        attempt(checks=(), checks_passed=None, failure=STEP),
    ],
)
def test_a_check_that_does_not_hold_or_was_never_reached_fails_a_cell(last: Attempt) -> None:
    assert cell_outcome([last], has_checks=True) == ("failed", "no such button", STEP)


def test_an_attempt_is_repaired_when_the_model_could_do_better() -> None:
    kinds = set(get_args(FailureKind))

    assert {kind for kind in kinds if not repairable(failed(kind))} == NOT_REPAIRED
    assert repairable(attempt(checks_passed=False))
    assert not repairable(attempt(checks_passed=True, failure=STEP))
    assert not repairable(attempt(checks_passed=None))


def cell(outcome: Outcome, model: str = "m", **more: Any) -> CellResult:
    return CellResult(
        case_id="login",
        case_path="cases/shop.yaml",
        entry_url="http://shop.test/",
        user_task="Log in.",
        model=model,
        capture_mode="ARIA",
        outcome=outcome,
        reason="the page said no",
        started=datetime(2026, 11, 22, tzinfo=UTC),
        **more,
    )


# -- the loop that corrects ------------------------------------------------------------


RULES = Rules(3, resettable=True)


class Retries:
    """Makes the attempts it was given, one after the other, and keeps what each was told."""

    def __init__(self, *then: Attempt) -> None:
        self.then = list(then)
        self.slept: list[float] = []
        self.told: list[tuple[str, int, Guidance | None]] = []

    def make(self, last: Attempt, index: int, guidance: Guidance | None) -> Attempt:
        self.told.append((last.failure.message if last.failure else "", index, guidance))
        made = self.then.pop(0)
        correction = guidance.correction if guidance else None
        return made.model_copy(update={"correction": correction})

    def run(self, first: Attempt, arm: CorrectionArm = PLAIN, rules: Rules = RULES) -> ArmAttempts:
        return correct(first, arm, rules, Clock(sleep=self.slept.append), self.make)


BUSY = failed(message="busy").model_copy(
    update={"classification": Classification(type="SERVICE_UNAVAILABLE", by="status")}
)
PASSED = attempt(checks_passed=True, usage={"repair": Usage(calls=2, input_tokens=7)})


def test_retries_follow_each_other_until_one_passes() -> None:
    retries = Retries(failed(message="worse"), PASSED)

    made = retries.run(BUSY)

    first, second, third = made.attempts
    assert (first, made.stopped, retries.slept) == (BUSY, "", [1])
    assert [(last, index) for last, index, _ in retries.told] == [("busy", 2), ("worse", 3)]
    known = [guidance for _, _, guidance in retries.told if guidance]
    assert [each.arm for each in known] == [PLAIN, PLAIN]
    # The second retry knows already that the first one did not help.
    assert [each.correction and each.correction.outcome for each in known[1].attempts] == [
        None,
        "not_solved",
    ]
    assert [each.recovery.max_retries for each in known] == [3, 3]
    assert second.correction is not None
    assert second.correction.waited_s == 1
    assert third.correction is not None
    assert third.correction.outcome == "solved"


def test_an_attempt_that_keeps_no_record_of_its_correction_is_kept_as_it_is() -> None:
    made = correct(BUSY, PLAIN, RULES, Clock(sleep=lambda _: None), lambda *_: PASSED)

    assert made == ArmAttempts((BUSY, PASSED), "")


def test_the_ordinary_repair_is_told_nothing_and_keeps_to_its_number() -> None:
    retries = Retries(failed(message="worse"), failed(message="worst"))

    made = retries.run(BUSY, OFF, Rules(2, resettable=False))

    assert retries.told == [("busy", 2, None), ("worse", 3, None)]
    assert (made.stopped, retries.slept) == ("2 retries are allowed", [])
    assert [each.correction for each in made.attempts] == [None] * 3
    healed = Retries(PASSED)
    assert healed.run(BUSY, OFF).attempts == (BUSY, PASSED)


@pytest.mark.parametrize("arm", [OFF, PLAIN])
@pytest.mark.parametrize(
    ("first", "stopped"),
    [
        (PASSED, ""),
        (attempt(checks_passed=None), "no check could be evaluated"),
        (failed("browser", "it died"), "browser: it died"),
    ],
)
def test_what_no_retry_could_better_is_left_alone(
    first: Attempt, stopped: str, arm: CorrectionArm
) -> None:
    assert Retries().run(first, arm) == ArmAttempts((first,), stopped)


def test_an_arm_beside_the_one_that_decides_keeps_its_retries_and_their_cost() -> None:
    costly = failed().model_copy(update={"usage": {"generate": Usage(calls=50)}})
    retry = failed().model_copy(update={"usage": {"repair": Usage(calls=1, input_tokens=3)}})

    helped = arm_run(ArmAttempts((costly, retry, PASSED), ""), PLAIN)
    stopped = arm_run(ArmAttempts((costly, retry), "2 retries are allowed"), OFF)

    assert (helped.arm, helped.attempts, helped.passed) == ("plain", (retry, PASSED), True)
    assert (helped.usage.calls, helped.usage.input_tokens) == (3, 10)
    assert (stopped.arm, stopped.passed, stopped.stopped) == ("off", False, "2 retries are allowed")
    assert arm_run(ArmAttempts((costly,), "no"), OFF).usage == Usage()


# -- what pytest makes of it -----------------------------------------------------------

LENIENT = GatePolicy(min_pass_rate=80)


def said(result: CellResult, policy: GatePolicy) -> str:
    """What becomes of the test, in pytest's words. A skip raised here must not skip this test."""
    try:
        raise_outcome(result, policy)
    except pytest.skip.Exception as skipped:
        return f"skipped: {skipped}"
    except pytest.xfail.Exception as expected:
        return f"xfailed: {expected}"
    except (CellBroken, CellFailed) as failed:
        return f"{failed.result.case_id} failed: {failed}"
    return "passed"


@pytest.mark.parametrize("policy", [GatePolicy(), LENIENT])
@pytest.mark.parametrize("outcome", ["passed", "healed"])
@pytest.mark.parametrize("model", ["m", "builtin/oracle"])
def test_a_cell_that_passed_is_a_test_that_passed(
    model: str, outcome: Outcome, policy: GatePolicy
) -> None:
    assert said(cell(outcome, model), policy) == "passed"


@pytest.mark.parametrize("outcome", ["ungraded", "off_record", "skipped"])
@pytest.mark.parametrize("model", ["m", "builtin/noop", "builtin/oracle"])
def test_a_cell_without_a_verdict_is_skipped(outcome: Outcome, model: str) -> None:
    assert said(cell(outcome, model), LENIENT) == f"skipped: {outcome}: the page said no"


@pytest.mark.parametrize(("outcome", "error"), [("failed", CellFailed), ("broken", CellBroken)])
def test_other_plugins_tell_a_broken_cell_from_a_failed_one(
    outcome: Outcome, error: type[Exception]
) -> None:
    with pytest.raises(error) as raised:
        raise_outcome(cell(outcome), GatePolicy())

    assert isinstance(raised.value, AssertionError) is (outcome == "failed")


@pytest.mark.parametrize("outcome", ["failed", "broken"])
def test_a_cell_that_failed_fails_its_test_unless_a_gate_decides(outcome: Outcome) -> None:
    why = f"{outcome}: the page said no"

    assert said(cell(outcome), GatePolicy()) == f"login failed: {why}"
    assert said(cell(outcome), LENIENT) == f"xfailed: the gates decide ({why})"


def test_no_gate_decides_on_a_control_or_a_pinned_case() -> None:
    why = "login failed: failed: the page said no"

    assert said(cell("failed", "builtin/oracle"), LENIENT) == why
    assert said(cell("failed", must_pass=True), LENIENT) == why


def test_a_group_that_only_reports_decides_on_its_cases() -> None:
    soft = GatePolicy(groups=(CaseGroup(name="new", cases=["login"], soft=True),))

    assert said(cell("failed"), soft).startswith("xfailed: ")


def test_doing_nothing_is_meant_to_fail() -> None:
    holds = "xfailed: the control holds: doing nothing does not pass the checks"
    passes = "the checks pass although nothing was done"

    assert said(cell("failed", "builtin/noop"), GatePolicy()) == holds
    assert said(cell("passed", "builtin/noop"), LENIENT) == f"login failed: passed: {passes}"
    assert said(cell("healed", "builtin/noop"), LENIENT) == f"login failed: healed: {passes}"
    assert said(cell("broken", "builtin/noop"), GatePolicy()).startswith(
        "login failed: broken: the"
    )


@pytest.mark.parametrize("outcome", ["passed", "healed"])
def test_a_changed_solution_is_meant_to_fail(outcome: Outcome) -> None:
    holds = "xfailed: the control holds: doing not everything does not pass the checks"
    why = "the checks pass although not everything was done"

    assert said(cell("failed", "builtin/mutant-1"), GatePolicy()) == holds
    assert said(cell(outcome, "builtin/mutant-1"), LENIENT) == f"login failed: {outcome}: {why}"


@pytest.mark.parametrize(
    ("lost", "ended", "facts"),
    [
        (True, "failed", {}),
        (True, "failed", {"must_pass": False}),
        (False, "passed", {}),
        (False, "skipped", {}),
        (False, "failed", {"must_pass": True}),
        (False, "failed", {"outcome": "broken"}),
        (False, "failed", {"model": "builtin/oracle"}),
        (False, "failed", {"model": "builtin/noop"}),
    ],
)
def test_only_a_compared_model_may_lose_a_case(
    lost: bool, ended: str, facts: dict[str, object]
) -> None:
    known = {"outcome": "failed", "model": "m", **facts}
    report = SimpleNamespace(
        failed=ended == "failed",
        user_properties=[
            *((f"autoweb.{name}", value) for name, value in known.items()),
            # Other plugins put there what they like.
            (("autoweb.outcome",), "failed"),
        ],
    )

    assert is_lost(cast(pytest.TestReport, report)) is lost


def test_a_report_without_facts_of_a_cell_is_not_lost() -> None:
    report = SimpleNamespace(failed=True, user_properties=[])

    assert not is_lost(cast(pytest.TestReport, report))


def test_a_model_without_a_single_verdict_is_named_with_its_first_reason() -> None:
    def ended(model: str, outcome: Outcome, reason: str) -> CellResult:
        return cell(outcome, model).model_copy(update={"reason": reason})

    cells = [
        ended("down", "skipped", "not reached"),
        ended("down", "broken", "no answer"),
        ended("down", "ungraded", "no database"),
        ended("asks", "needs_input", "which one?"),
        ended("good", "broken", "no answer"),
        ended("good", "failed", "wrong"),
        ended("idle", "ungraded", "the case has no checks"),
        ended("late", "skipped", "not reached"),
    ]

    assert never_graded(cells) == {"down": "no answer", "asks": "which one?"}
    assert sorted(no_verdicts(cells)) == [
        "no verdict on asks: none of its cells could be graded (which one?)",
        "no verdict on down: none of its cells could be graded (no answer)",
    ]
    assert never_graded(cells[4:]) == {}


def test_the_gates_are_read_once_a_process(tmp_path: Path) -> None:
    settings = SimpleNamespace(
        rootdir=tmp_path,
        min_pass_rate=LeastRate(70.0),
        min_score=None,
        compare="",
        compare_fail="cost:20%",
        baseline_days=7,
        max_cost=1.5,
        until=Until(),
        allow_unpriced=True,
    )
    config = cast(pytest.Config, SimpleNamespace(stash=pytest.Stash()))

    first = policy_of(config, cast(Settings, settings))
    settings.min_pass_rate = LeastRate(10.0)

    assert first == GatePolicy(
        min_pass_rate=70.0,
        limits={"cost": 20.0},
        compare="latest",
        baseline_days=7,
        max_cost=1.5,
        allow_unpriced=True,
    )
    assert policy_of(config, cast(Settings, settings)) is first


CALL_LOG = """Locator.click: Timeout 900ms exceeded.
Call log:
  - waiting for get_by_text("Buy")
    - element is not visible
  - retrying click action
    - waiting 500ms
"""


LATE = Failure(kind="step", message="late", line=2, evidence={"detail": CALL_LOG})
LATER = Failure(kind="step", message="later", line=3)


def test_a_failed_cell_is_told_in_a_few_lines(tmp_path: Path) -> None:
    attempts = (
        attempt(
            formatted_errors=tuple(f"error {n}" for n in range(7)),
            code="# Step 1\npage.get_by_text('Buy').click()\n",
            failure=LATE,
        ),
        attempt(
            attempt_index=2,
            step_results=(
                StepResult(step_index=1, ok=True, status="ok"),
                StepResult(step_index=2, ok=False, status="failed", failure=LATE),
                StepResult(step_index=3, ok=False, status="failed", failure=LATER),
            ),
            code="# Step 1\npage.get_by_text('Buy').click()\npage.get_by_text('Pay').click()\n",
            checks=(
                check(True, index=0),
                check(False, index=1, expected="'paid'", actual="'open'"),
                check(None, index=2, type="http", expected="200", actual="", message="no answer"),
            ),
        ),
    )

    lines = describe(cell("failed", attempts=attempts, folder=str(tmp_path)))

    assert lines == [
        "login on m: FAILED - the page said no",
        "  attempt 1: steps none",
        *[f"    error {n}" for n in range(5)],
        "      line 2: page.get_by_text('Buy').click()",
        "      call log: element is not visible",
        "  attempt 2: steps 1:ok 2:failed 3:failed",
        "      line 2: page.get_by_text('Buy').click()",
        "      call log: element is not visible",
        "      line 3: page.get_by_text('Pay').click()",
        "    check 2 text: expected 'paid', saw 'open'",
        "    check 3 http: expected 200: no answer",
        f"  details: {tmp_path}",
    ]


def test_a_cell_whose_address_answers_nothing_is_told_in_one_line() -> None:
    gone = Failure(kind="navigation", message="no", evidence={"unreachable": "http://shop.test"})

    lines = describe(cell("broken", attempts=(attempt(failure=gone),), failure=gone))

    assert lines == ["login on m: BROKEN - the page said no"]


def test_of_many_steps_that_failed_the_first_are_told_and_long_lines_are_cut() -> None:
    def failing(index: int, line: int) -> StepResult:
        failure = Failure(kind="step", message="no", line=line)
        return StepResult(step_index=index, ok=False, status="failed", failure=failure)

    made = attempt(
        code="\n".join(f"step({n})" for n in range(1, 10)) + "\n" + "x" * 300,
        # The first one has no line, as when the sandbox ends a step.
        step_results=tuple(failing(n, line) for n, line in enumerate((0, 10, 2, 11, 4, 5, 6), 1)),
        checks=(check(False, actual="", message=""),),
        turns=2,
    )

    lines = describe(cell("failed", attempts=(made,)))

    assert lines[1].startswith("  attempt 1: 2 turns, steps 1:failed 2:failed")
    start = next(at for at, line in enumerate(lines) if "line 10" in line)
    cut, *others = lines[start:-1]
    assert cut.startswith("      line 10: xxx")
    assert len(cut.strip()) == 200
    assert others == [
        "      line 2: step(2)",
        "      line 4: step(4)",
        "    check 1 text: expected a",
    ]
