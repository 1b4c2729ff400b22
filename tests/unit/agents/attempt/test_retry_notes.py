"""What a retry is told of the attempt that failed, and what it is never told."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.attempt.new_address import at_new_address
from pytest_autoweb.agents.attempt.outcome_text import complaints, execution_output, step_error
from pytest_autoweb.agents.attempt.retry_notes import repair_hint
from pytest_autoweb.base.language import step_failed
from pytest_autoweb.judging.checks.check_type import CHECKS
from pytest_autoweb.results.records import (
    Attempt,
    CheckResult,
    Failure,
    FailureKind,
    Scene,
    StepResult,
)

SCRIPT = '# Step 1\npage.goto("/rooms")\n# Step 2\npage.get_by_text("Book").click()\n'
CALL = 'Locator.click: Timeout 8000ms exceeded.\nCall log:\n  - waiting for get_by_text("Book")\n'


def failed_step(**more: object) -> StepResult:
    failure = Failure(kind="step", message="late", line=4, evidence={"detail": CALL})
    fields = {
        "step_index": 2,
        "ok": False,
        "status": "failed",
        "error": "TimeoutError: Locator.click: Timeout 8000ms exceeded.",
        "failure": failure,
    }
    return StepResult.model_validate(fields | more)


def check(kind: str, *, expected: str = "42 rooms", hint: str = "", **more: object) -> CheckResult:
    fields = {"index": 0, "type": kind, "passed": False, "expected": expected, "actual": "41 rooms"}
    return CheckResult.model_validate(fields | {"hint": hint} | more)


def test_a_failed_step_is_told_with_its_line_its_error_and_the_log_of_the_call() -> None:
    attempt = Attempt(code=SCRIPT, step_results=(failed_step(),))

    told = execution_output(attempt)

    assert 'page.get_by_text("Book").click()\n' in told
    assert "TimeoutError: Locator.click: Timeout 8000ms exceeded." in told
    assert 'Call log:\n  - waiting for get_by_text("Book")' in told
    assert told.count("exceeded") == 1
    assert "goto" not in told


def test_a_script_is_told_its_own_log_and_answer_and_where_it_ended() -> None:
    done = StepResult(step_index=1, ok=True, status="ok", logged="41 rooms are free")
    attempt = Attempt(
        code=SCRIPT,
        step_results=(done,),
        executed=True,
        answered=True,
        answer={"rooms": "41 间"},
        final_url="http://127.0.0.1:4000/rooms?free",
    )

    told = execution_output(attempt)

    assert "=== log ===\n41 rooms are free" in told
    assert '=== answer ===\n{"rooms": "41 间"}' in told
    assert "=== address at the end ===\nhttp://127.0.0.1:4000/rooms?free" in told


def test_an_error_after_which_turns_went_on_is_told_without_the_log_of_its_call() -> None:
    attempt = Attempt(code=SCRIPT, step_results=(failed_step(status="corrected"),))

    told = execution_output(attempt)

    assert "ended in an error, and you went on" in told
    assert "TimeoutError" in told
    assert "waiting for" not in told


def test_a_statement_that_stands_there_twice_is_told_with_its_line() -> None:
    twice = SCRIPT.replace('page.goto("/rooms")', 'page.get_by_text("Book").click()')
    own = "\n" * 3 + "# Step 2\n" + "page.get_by_text('Go').click()\n" * 2
    failed = Failure(kind="step", message="late", line=6)

    assert 'line 4: page.get_by_text("Book").click()' in step_error(failed_step(), twice)
    assert "line 4: page" not in step_error(failed_step(), SCRIPT)
    # In a turn, the model counts from its own first line.
    told = step_error(failed_step(failure=failed), own, before=4)
    assert told.startswith("line 2: page.get_by_text('Go').click()\n")


def test_an_attempt_without_code_is_told_its_question_and_what_was_not_reached() -> None:
    attempt = Attempt(
        checks=(check("url"),),
        failure=Failure(kind="check", message="check 1 (url) does not hold"),
        plan_question="Which account?",
        final_url="http://127.0.0.1/",
    )

    told = f"{repair_hint(attempt)}\n{execution_output(attempt)}"

    assert told.startswith("No code was written, so nothing was done. The task's outcome was not")
    assert "Not as it should be: the page's address at the end." in told
    assert "=== question ===\nWhich account?\nNobody answered." in told
    for false in ("refused", "formattedErrors", "=== log", "=== steps", "=== errors"):
        assert false not in told
    answered = attempt.model_copy(update={"plan_answer": "the private one"})
    assert "Which account?\nthe private one" in execution_output(answered)
    assert execution_output(Attempt()) == ""


@pytest.mark.parametrize(
    ("kind", "code", "told"),
    [
        ("lint", "", "No code was written"),
        ("lint", SCRIPT, "The script was refused before it ran."),
        ("repair", SCRIPT, "The script was the one that had failed before"),
        ("repair", "", "No code was written"),
        ("plan", "", "No code was written"),
        ("plan", SCRIPT, "It ended before the task was done."),
        ("step", SCRIPT, "The script failed while it ran."),
    ],
)
def test_only_what_was_refused_is_said_to_have_been_refused(
    kind: FailureKind, code: str, told: str
) -> None:
    attempt = Attempt(code=code, failure=Failure(kind=kind, message="x"))

    assert repair_hint(attempt).startswith(told)


@pytest.mark.parametrize("kind", list(CHECKS))
def test_of_a_check_only_what_it_rests_on_is_told(kind: str) -> None:
    attempt = Attempt(code=SCRIPT, executed=True, checks=(check(kind, message="42 it is"),))

    told = f"{repair_hint(attempt)}\n{execution_output(attempt)}"

    assert "Not as it should be: " in told
    assert "42" not in told
    assert "41" not in told


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("url",), "the page's address at the end"),
        (("answer", "answer"), "the answer"),
        (("text", "request"), "what the page shows at the end; the requests that were sent"),
        (("sql",), "what the application holds at the end"),
        (("download",), "the files that were downloaded"),
    ],
)
def test_the_kinds_of_checks_are_told_in_words_and_each_once(
    kinds: tuple[str, ...], words: str
) -> None:
    attempt = Attempt(code=SCRIPT, executed=True, checks=tuple(map(check, kinds)))

    assert f"Not as it should be: {words}. Fix only" in repair_hint(attempt)


def test_advice_does_not_count_and_a_hint_that_a_check_gives_is_told() -> None:
    advice = check("judge", advisory=True, hint="never told")
    hinted = check("request", hint="The filter was not\napplied.")
    attempt = Attempt(code=SCRIPT, executed=True, checks=(advice, hinted))

    told = repair_hint(attempt)

    assert "judged" not in told
    assert "never told" not in told
    assert "The filter was not applied." in told


def test_the_noise_of_the_console_is_left_out() -> None:
    scene = Scene(
        step_index=1,
        url="http://127.0.0.1/",
        title="",
        snapshot="",
        console=(
            "log: ready",
            "info: Download the developer tools",
            "warning: deprecated",
            "error: Failed to load resource: the server responded with a status of 404 ()",
            "error: rooms is not a function",
            "error: it took 12.5 ms, the limit is 5 s",
            "error: it took 13 ms, the limit is 5 s",
            "error: rooms is not a function",
            "uncaught: TypeError: x",
        ),
        failed_requests=(
            "GET http://127.0.0.1/favicon.ico: 404",
            "GET http://127.0.0.1/away: net::ERR_ABORTED",
            "POST http://127.0.0.1/book: 500",
        ),
    )

    assert list(complaints(scene.console, scene.failed_requests)) == [
        "console: error: rooms is not a function",
        "console: error: it took some time, the limit is 5 s",
        "console: uncaught: TypeError: x",
        "failed request: POST http://127.0.0.1/book: 500",
    ]


def test_a_repair_sees_its_script_and_its_page_at_the_port_of_the_new_server() -> None:
    old = "http://127.0.0.1:4111"
    attempt = Attempt(
        code=f'page.goto("{old}/rooms")\npage.goto("{old}9/other")\n',
        entry_url_used=f"{old}/",
        problems=(step_failed(1, f"{old}/rooms did not answer"),),
        step_results=(failed_step(error=f"at {old}/rooms"),),
        answer=[{"link": f"{old}/rooms"}],
        scene=Scene(step_index=1, url=f"{old}/rooms", title="", snapshot=f"/url: {old}/x"),
    )

    moved = at_new_address(attempt, "http://127.0.0.1:5222/")

    text = moved.model_dump_json() + moved.problems[0].en
    assert f"{old}/" not in text
    assert text.count("http://127.0.0.1:5222/") == 7
    assert 'page.goto("http://127.0.0.1:41119/other")' in moved.code


@pytest.mark.parametrize(
    ("used", "entry"),
    [
        ("https://shop.example/", "https://shop.example/"),
        ("https://login.example:8443/", "https://shop.example:8443/"),
        ("http://127.0.0.1:4111/", "http://127.0.0.1:4111/"),
        ("", "http://127.0.0.1:4111/"),
    ],
)
def test_where_no_port_changed_an_attempt_stays_as_it_is(used: str, entry: str) -> None:
    attempt = Attempt(entry_url_used=used, code=f"page.goto('{used}')")

    assert at_new_address(attempt, entry) is attempt


@given(answer=st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner, max_size=3)))
@pytest.mark.long
def test_an_answer_is_told_in_bounds(answer: object) -> None:
    told = execution_output(Attempt(answered=True, answer=answer))

    assert len(told) < 700
    whole = json.dumps(answer, ensure_ascii=False)
    assert whole in told or told.endswith("… (cut)")
