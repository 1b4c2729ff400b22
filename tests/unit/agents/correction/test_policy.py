"""When a failed attempt is tried again, and what a reflection says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.attempt.strategy import CorrectionArm
from pytest_autoweb.agents.attempt.tools import Clock
from pytest_autoweb.agents.correction.advice import alternatives, recover
from pytest_autoweb.agents.correction.failure_types import cause_of
from pytest_autoweb.agents.correction.guidance import Guidance, guidance_for
from pytest_autoweb.agents.correction.reflection import past_reflections, read_reflection
from pytest_autoweb.agents.correction.retry_decision import RetryDecision, Rules, decide_retry
from pytest_autoweb.base.language import NO_CODE_FOR_STEP
from pytest_autoweb.cell.corrections import correct
from pytest_autoweb.cell.strategies import CONSTRAINED, OFF, PLAIN, REFLEXION
from pytest_autoweb.results.records import (
    Attempt,
    CheckResult,
    Classification,
    Correction,
    Failure,
    Finding,
    ToolCall,
)

RULES = Rules(max_retries=3, resettable=True)


def failed(kind: str, **more: object) -> Attempt:
    found = Classification.model_validate({"type": kind, "by": "status"})
    failure = Failure(kind="step", message="it broke")
    return Attempt(failure=failure, classification=found).model_copy(update=more)


@pytest.mark.parametrize(
    ("kind", "waits"),
    [("SERVICE_UNAVAILABLE", [1, 2, 4]), ("RESOURCE_CONFLICT", [1, 2, 4]), ("DATA_NOT_FOUND", [])],
)
def test_three_retries_follow_the_first_attempt_and_only_passing_troubles_are_waited_for(
    kind: str, waits: list[float]
) -> None:
    slept: list[float] = []
    made = correct(
        failed(kind),
        PLAIN,
        RULES,
        Clock(sleep=slept.append),
        lambda last, index, guidance: failed(
            kind, correction=guidance.correction if guidance else None
        ),
    )
    assert (len(made.attempts), slept, made.stopped) == (4, waits, "3 retries were made")
    outcomes = [a.correction.outcome for a in made.attempts if a.correction]
    assert outcomes == ["not_solved"] * 3


@pytest.mark.parametrize(
    "kind", ["SERVICE_UNAVAILABLE", "RESOURCE_CONFLICT", "PERMISSION_ERROR", "UNKNOWN"]
)
@pytest.mark.parametrize("writes", [0, 1])
def test_arms_that_are_compared_wait_and_stop_alike(kind: str, writes: int) -> None:
    def ended(arm: CorrectionArm) -> tuple[int, str, list[float]]:
        slept: list[float] = []
        rules = RULES._replace(compared=True, resettable=False)
        made = correct(
            failed(kind, writes=writes),
            arm,
            rules,
            Clock(sleep=slept.append),
            lambda last, index, guidance: failed(
                kind, writes=writes, correction=guidance.correction if guidance else None
            ),
        )
        waited = [each.correction.waited_s for each in made.attempts if each.correction]
        assert [wait for wait in waited if wait] == slept
        return len(made.attempts), made.stopped, slept

    assert len({str(ended(arm)) for arm in (OFF, PLAIN, REFLEXION, CONSTRAINED)}) == 1


def test_the_ordinary_repair_alone_has_no_rules_but_its_number() -> None:
    made = correct(
        failed("PERMISSION_ERROR", writes=1),
        OFF,
        RULES._replace(resettable=False, max_retries=1),
        Clock(sleep=lambda seconds: None),
        lambda last, index, guidance: failed("PERMISSION_ERROR"),
    )
    assert (len(made.attempts), made.stopped) == (2, "1 retries are allowed")


def test_rights_are_not_retried_but_by_the_login_hook_once() -> None:
    first = failed("PERMISSION_ERROR")
    assert decide_retry([first], RULES).retry is False
    may = RULES._replace(can_relogin=True)
    assert decide_retry([first], may).relogin is True
    again = failed("PERMISSION_ERROR", correction=Correction(arm="plain", retry=1, relogin=True))
    assert decide_retry([first, again], may).retry is False


def test_what_may_have_changed_something_is_not_done_twice_without_a_reset() -> None:
    wrote = failed("DATA_NOT_FOUND", writes=1)
    assert decide_retry([wrote], RULES).retry is True
    assert decide_retry([wrote], RULES._replace(resettable=False)).retry is False
    assert decide_retry([failed("DATA_NOT_FOUND")], RULES._replace(resettable=False)).retry is True


def test_what_hardly_ever_helped_is_not_tried_again() -> None:
    def decision(helped: int, tried: int) -> RetryDecision:
        past = {"DATA_NOT_FOUND": (helped, tried), "UNKNOWN": (0, 100)}
        return decide_retry([failed("DATA_NOT_FOUND")], RULES._replace(past=past))

    assert decision(9, 100) == RetryDecision(
        False, "9 of the last 100 corrections of DATA_NOT_FOUND helped"
    )
    assert decision(10, 100).retry is True
    # Nothing is concluded from a few.
    assert decision(0, 29).retry is True
    assert decision(0, 30).retry is False


@pytest.mark.parametrize(
    ("finding", "kind"),
    [
        (Finding(code="server_status", fact="POST /a", status=409), "RESOURCE_CONFLICT"),
        (Finding(code="server_status", fact="GET /a", status=401), "PERMISSION_ERROR"),
        (Finding(code="field_invalid", fact="the field refuses its value"), "VALIDATION_ERROR"),
        (Finding(code="page_says", fact='the page says "Red is out of stock"'), "BUSINESS_ERROR"),
        (Finding(code="page_says", fact='the page says "该商品库存不足"'), "BUSINESS_ERROR"),
        (Finding(code="no_answer", fact="GET /late: not answered yet"), "SERVICE_UNAVAILABLE"),
        (Finding(code="near", fact="similar: button"), "VALIDATION_ERROR"),
    ],
)
def test_what_page_and_server_say_outweighs_the_symptom(finding: Finding, kind: str) -> None:
    check = Failure(kind="check", message="check 1 (text) does not hold: saw out of stock 401")
    found = cause_of(check, [finding])
    assert found is not None
    assert found.type == kind


def test_a_retry_is_never_told_what_the_checks_expect() -> None:
    check = CheckResult(
        index=0, type="text", passed=False, expected="SECRET", actual="SECRET", hint="look again"
    )
    failure = Failure(kind="check", message="expected SECRET")
    attempt = failed("VALIDATION_ERROR", failure=failure, checks=(check,))
    guidance = guidance_for(REFLEXION, (attempt,), decide_retry([attempt], RULES), 3)
    told = f"{guidance.recovery.user_prompt} {guidance.evidence} {guidance.correction}"
    assert "SECRET" not in told
    assert "look again" in told


REFUSED = failed(
    "PARAMETER_ERROR", failure=Failure(kind="lint", message="it is not offered", rule="AW700")
)


def test_a_refused_retry_takes_away_neither_type_nor_evidence_nor_tool() -> None:
    seen = Finding(code="page_says", fact='the page says "Closed until Monday"')
    click = ToolCall(
        step_index=1, seq=0, target="page.get_by_role('button')", method="click", arguments="",
        acting=True, ok=False, duration_ms=1,
    )  # fmt: skip
    ran = failed("BUSINESS_ERROR", findings=(seen,), tool_calls=(click,))
    guidance = guidance_for(CONSTRAINED, (ran, REFUSED), decide_retry([ran, REFUSED], RULES), 3)

    assert guidance.correction.of is not None
    assert guidance.correction.of.type == "BUSINESS_ERROR"
    assert guidance.recovery.failed_tool == "click"
    assert guidance.evidence == (
        "a retry was refused before it ran: it is not offered",
        "the run ended with: it broke",
        seen.fact,
    )
    assert guidance.correction.error == ("it broke (the last retry was refused: it is not offered)")


def test_evidence_of_earlier_runs_comes_after_that_of_the_latest() -> None:
    older = failed("UNKNOWN", findings=(Finding(code="hidden", fact="Save is hidden"),))
    newer = failed("UNKNOWN", findings=(Finding(code="covered", fact="Save is covered"),))
    guidance = guidance_for(CONSTRAINED, (older, newer), decide_retry([older], RULES), 3)

    assert guidance.evidence == (
        "the run ended with: it broke",
        "Save is covered",
        "an earlier run ended with: it broke",
        "Save is hidden",
    )


def test_a_refused_retry_does_not_open_what_a_lack_of_rights_has_closed() -> None:
    assert decide_retry([failed("PERMISSION_ERROR"), REFUSED], RULES).retry is False
    assert decide_retry([failed("SERVICE_UNAVAILABLE"), REFUSED], RULES).wait_s == 2
    assert decide_retry([REFUSED], RULES).retry is True


def test_advice_names_at_most_three_other_calls_of_the_same_sort() -> None:
    assert len(alternatives("click")) == 3
    assert "click" not in [each.name for each in alternatives("click")]
    assert alternatives("no_such_call") == ()
    found = Classification(type="BUSINESS_ERROR", by="none")
    advice = recover(found, "out of stock", tool="click", retry=3)
    assert (advice.requires_user_confirmation, advice.should_retry) == (True, True)
    assert advice.can_retry is False


@given(st.text())
def test_any_reply_reads_as_some_reflection(reply: str) -> None:
    said = read_reflection(reply)
    assert said.confidence is None or 0 <= said.confidence <= 1


@pytest.mark.parametrize(
    ("reply", "strategy", "confidence"),
    [
        ('Well: {"correctionStrategy": "ABANDON", "confidence": 0.1}', "ABANDON", 0.1),
        ('{"correctionStrategy": "re-query", "confidence": "70%"}', "RE_QUERY", 0.7),
        ('{"修正策略": "放弃", "置信度": 20, "反思": "没有"}', "ABANDON", 0.2),
        ("try the other button", None, None),
    ],
)
def test_a_reflection_is_read_in_the_forms_that_models_write(
    reply: str, strategy: str | None, confidence: float | None
) -> None:
    said = read_reflection(reply)
    assert said.strategy == strategy
    assert said.confidence == pytest.approx(confidence)


def test_the_last_three_reflections_say_whether_they_helped() -> None:
    attempts = [
        failed(
            "UNKNOWN",
            correction=Correction(
                arm="reflexion", retry=n, reflection=f"r{n}", outcome="not_solved"
            ),
        )
        for n in range(1, 5)
    ]
    lines = past_reflections(attempts).splitlines()
    assert [line.split()[-1] for line in lines] == ["r2", "r3", "r4"]
    assert "[did not help]" in lines[0]


FIELD = ("Give a value in the form that the field asks for.", "Read the message beside the field.")


@pytest.mark.parametrize(
    ("finding", "advice"),
    [
        ("CONDITION_IGNORED", "every condition"),
        ("PARTIAL_MATCH", "further pages"),
        ("EMPTY_RESULT", "wider conditions"),
        ("TOO_MANY_RECORDS", "Narrow the search"),
        ("DATA_INCOMPLETE", "further pages"),
        ("", "which part of the task is not done"),
    ],
)
def test_advice_follows_what_a_check_found_and_speaks_of_fields_only_if_one_refused_a_value(
    finding: str, advice: str
) -> None:
    check = CheckResult.model_validate(
        {"index": 0, "type": "answer", "passed": False, "finding": finding}
        | {"expected": "", "actual": ""}
    )
    missed = Failure(kind="check", message="check 1 (answer) does not hold")
    missing = ToolCall(
        step_index=1, seq=0, target="page", method="click", arguments="", acting=True, ok=False,
        duration_ms=1,
    )  # fmt: skip
    went_on = missing.model_copy(update={"seq": 1, "method": "goto", "ok": True})
    refused = Finding(code="field_invalid", fact="the field Mail refuses its value")

    def told(*found: Finding) -> Guidance:
        attempt = Attempt(
            failure=missed,
            checks=(check,),
            classification=cause_of(missed, found),
            tool_calls=(missing, went_on),
        )
        return guidance_for(PLAIN, (attempt,), RetryDecision(True), 3)

    assert advice in "\n".join(told().recovery.suggestions)
    assert not set(FIELD) & set(told().recovery.suggestions)
    assert told().recovery.failed_tool == ""
    assert set(FIELD) <= set(told(refused).recovery.suggestions)
    # What a field refused may be why, and what the check found is said as well.
    assert not finding or advice in "\n".join(told(refused).recovery.suggestions)


def test_advice_after_the_pipelines_own_failures_says_what_was_missing() -> None:
    failure = Failure(kind="step", message=NO_CODE_FOR_STEP)
    attempt = Attempt(failure=failure, classification=cause_of(failure, ()))

    advice = guidance_for(PLAIN, (attempt,), RetryDecision(True), 3).recovery.suggestions

    assert advice == ("Write a block of code for every step of the plan, headed `# Step n`.",)
