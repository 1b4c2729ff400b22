"""Run the blocks of a script, and record what each one did."""

import ast
import difflib
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace
from playwright.sync_api import Error

from pytest_autoweb.agents.attempt.diagnosis import with_findings
from pytest_autoweb.agents.attempt.outcome_text import own_log
from pytest_autoweb.agents.attempt.pictures import begin_picture, pictured, relative_scene
from pytest_autoweb.agents.attempt.script_blocks import split_blocks
from pytest_autoweb.agents.attempt.tools import Tools, change, is_listed_briefly
from pytest_autoweb.base.language import (
    NEVER_TOUCHED,
    NO_CODE_FOR_STEP,
    Reason,
    StepProblem,
    step_failed,
)
from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.browser.egress.browser_watch import LOST_S, WATCH
from pytest_autoweb.browser.page.frames import ContextWrapper, best_context
from pytest_autoweb.browser.page.quiet import wait_until_arrived
from pytest_autoweb.judging.evidence.scene import take_scene
from pytest_autoweb.results.analysis.controls import RANDOM, must_fail
from pytest_autoweb.results.records import (
    Attempt,
    Failure,
    StepResult,
    ToolCall,
)
from pytest_autoweb.sandbox.engine import Limits, StepOutcome


def unified_diff(before: str, after: str, attempt: int) -> str:
    """Return what a repair changed, as a unified diff."""
    return "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            fromfile=f"attempt {attempt - 1}",
            tofile=f"attempt {attempt}",
        )
    )


# A step that ran out of time gets this much for its second try, whichever is more. The call at
# which it ended may take as many times its own timeout.
BOOST_FLOOR_S = 60.0
BOOST_FACTOR = 3.0
RETRY_PAUSE_S = 1.0
# A wrong guess must not cost a whole turn of a model that is told and can guess again.
TOLD_CALL_S = 8.0
LOG_TAIL_LINES = 20


class _StepRun(NamedTuple):
    """The result of one step with all calls that it made, over both tries."""

    result: StepResult
    calls: tuple[ToolCall, ...]


def run_steps(attempt: Attempt, tools: Tools) -> Attempt:
    """Run every step of the plan, if there is one, and any other block; one without code fails.

    After a failed step the later ones are `blocked`, unless `--autoweb-on-step-failure=continue`. A
    case's own solution begins once more where something has gone wrong on purpose.
    """
    done = _run_each(attempt, tools)
    hurdle = tools.change.hurdle if tools.change else None
    if hurdle is not None and hurdle.struck and not _all_ok(done):
        tools.log.write("the solution begins again, as a person would")
        tools.newest.settle()
        with suppress(Error):
            tools.page.goto(tools.case.entry_url)
        done = _run_each(attempt, tools)
    return finish_execution(done, tools)


def _run_each(attempt: Attempt, tools: Tools) -> Attempt:
    blocks = split_blocks(attempt.code).by_step
    plan = {step.index: step.description for step in attempt.plan_steps}
    blocked_by: int | None = None
    for index in sorted(plan.keys() | blocks.keys()):
        if blocked_by is not None:
            error = f"blocked by the failed step {blocked_by}"
            result = StepResult(step_index=index, ok=False, status="blocked", error=error)
            attempt = change(attempt, step_results=(*attempt.step_results, result))
            continue
        code = blocks[index].code if index in blocks else ""
        hint = plan.get(index, "") if plan else tools.case.user_task
        attempt = run_block(attempt, tools, index, code, hint)
        if not attempt.step_results[-1].ok and tools.settings.on_step_failure == "block":
            blocked_by = index
    return attempt


def run_block(
    attempt: Attempt,
    tools: Tools,
    index: int,
    code: str,
    hint: str,
    *,
    told: bool = False,
    description: str = "",
) -> Attempt:
    """Run one block and record its result; only the first failure of an attempt gets a scene.

    Args:
        attempt: the attempt so far.
        tools: its tools.
        index: the number of the step.
        code: its code, with the line numbers that it has in the whole script.
        hint: what the step is about, to find the frame that it is meant for.
        told: the model is told when it runs out of time, and decides; otherwise it is continued.
        description: what the step is to do, if no plan says it.
    """
    tools.progress(f"step {index}")
    tools.code_begins()
    tools.appearances.step_begins(index)
    ran = _run_step(index, code, hint, tools, told=told)
    tools.appearances.step_ends()
    result = ran.result.model_copy(update={"description": tools.redact(description)})
    attempt = change(
        attempt,
        step_results=(*attempt.step_results, result),
        tool_calls=(*attempt.tool_calls, *ran.calls),
    )
    # What finders and functions found during the step could not be added while it ran.
    while tools.after_step:
        attempt = tools.after_step.pop(0)(attempt)
    tools.follow(attempt)
    if result.ok:
        return attempt
    problem = step_failed(index, result.error or "")
    attempt = change(
        attempt,
        problems=(*attempt.problems, problem),
        failure=attempt.failure or result.failure,
    )
    # Later failures often follow from the first one, so a scene of them would explain little. What
    # random actions did not get done needs no explanation.
    if attempt.scene is None and code.strip() and tools.spec.name != RANDOM:
        attempt = with_findings(attempt, tools)
        scene = take_scene(
            tools.page,
            tools.watch,
            step_index=index,
            mode=tools.mode,
            folder=tools.folder,
            redact=tools.redact,
            pictured=tools.newest.path if result.screenshot else None,
            brief=is_listed_briefly(attempt, tools),
        )
        attempt = change(attempt, scene=relative_scene(scene, tools))
    return attempt


def finish_execution(attempt: Attempt, tools: Tools) -> Attempt:
    """Settle `executed` and the answer once the last step has run."""
    answered, answer = tools.engine.answer
    results = attempt.step_results
    if results and all(r.ok for r in results) and not attempt.tool_calls and not answered:
        # Code that defines a function without calling it runs without an error and does nothing.
        failure = Failure(kind="step", message=NEVER_TOUCHED, step_index=results[-1].step_index)
        last = results[-1].model_copy(
            update={"ok": False, "status": "failed", "error": NEVER_TOUCHED, "failure": failure}
        )
        problem = StepProblem.of(str(last.step_index), Reason(NEVER_TOUCHED, "脚本没有操作页面"))
        attempt = change(
            attempt,
            step_results=(*results[:-1], last),
            problems=(*attempt.problems, problem),
            failure=attempt.failure or failure,
        )
    return change(
        attempt,
        executed=bool(results) and _all_ok(attempt),
        answered=answered,
        answer=answer,
    )


def finish_turns(attempt: Attempt, tools: Tools) -> Attempt:
    """Settle an attempt by turns, with what differs from the script that it repairs."""
    failed = tools.previous
    if failed is not None:
        diff = unified_diff(failed.code, attempt.code, attempt.attempt_index)
        attempt = change(attempt, code_diff=diff)
    return finish_execution(attempt, tools)


def _all_ok(attempt: Attempt) -> bool:
    return all(result.ok or result.status == "corrected" for result in attempt.step_results)


def _run_step(index: int, code: str, hint: str, tools: Tools, *, told: bool) -> _StepRun:
    if not code.strip():
        failure = Failure(kind="step", message=NO_CODE_FOR_STEP, step_index=index)
        return _StepRun(
            StepResult(
                step_index=index, ok=False, status="failed", error=failure.message, failure=failure
            ),
            (),
        )
    base, began = tools.settings.step_timeout, tools.clock.now()
    first = Limits(step_s=base, call_s=TOLD_CALL_S) if told else Limits(step_s=base)
    context, outcome = _run_once(index, code, hint, tools, first)
    calls, retried = outcome.calls, False
    # A step whose worker was killed has lost its state, so it cannot continue.
    # One of a changed oracle waits for what it did not do, and never gets it.
    begins_again = tools.change is not None and tools.change.is_played_again
    hopeless = told or must_fail(tools.spec.name) or begins_again
    if _ran_out_of_time(outcome, tools) and not outcome.killed and not hopeless:
        boosted = max(BOOST_FLOOR_S, BOOST_FACTOR * base)
        if tools.budget.left > RETRY_PAUSE_S:
            tools.log.write(f"step {index} ran out of time; continued with {boosted:.0f} s")
            tools.clock.sleep(RETRY_PAUSE_S)
            # A step that changed the page continues after its last completed call, because doing
            # the same twice could change the outcome. One that only looked starts again.
            before = _calls_before_the_end(outcome)
            resume = before if any(call.acting and call.ok for call in before) else ()
            limits = Limits(step_s=boosted, patience=BOOST_FACTOR)
            _end_frozen_browser(tools)
            # The step continues where its last call led to.
            wait_until_arrived(tools.page)
            context, outcome = _run_once(index, code, hint, tools, limits, resume)
            calls, retried = (*calls, *_made_again(outcome.calls, len(calls))), True
    took_ms = (tools.clock.now() - began) * 1000
    if outcome.failure and outcome.failure.evidence.get("page_lost"):
        # Nothing is to wait for it any more.
        tools.log.write(f"step {index}: the page stopped answering")
        WATCH.end_page()
    result = _result(index, outcome, context, tools, retried=retried, meanwhile=not told)
    if retried:
        # Both tries and the pause between them; the engine times only the second one.
        result = result.model_copy(update={"duration_ms": took_ms})
    return _StepRun(result, calls)


def _made_again(calls: tuple[ToolCall, ...], tried: int) -> Iterator[ToolCall]:
    """Yield the calls of a second try that were performed.

    The first ones, as many as the first try made, are repeated by the retry and not by the code.
    """
    for place, call in enumerate(calls):
        if not call.replayed:
            yield call.model_copy(update={"duplicate": call.duplicate and place >= tried})


def _end_frozen_browser(tools: Tools) -> None:
    """End a browser that does not answer, before it is granted much time."""
    # The answer comes from the browser's own process, whatever the page is busy with.
    with WATCH.limit(LOST_S), suppress(Error):
        tools.page.context.cookies()


def _ran_out_of_time(outcome: StepOutcome, tools: Tools) -> bool:
    """Decide by the class of the error whether more time may help."""
    if outcome.failure is None:
        return False
    # An action on a marked picture has a short timeout on purpose: its model is told and decides.
    by_class = outcome.timed_out and not tools.marks.held
    return by_class or outcome.failure.kind == "timeout"


def _calls_before_the_end(outcome: StepOutcome) -> tuple[ToolCall, ...]:
    """Return the calls before the late one; what the code did on its error is not kept."""
    late = outcome.overdue
    if late is None:
        # A call that time did not allow is not recorded, and the last one that is was done.
        last = outcome.calls[-1:]
        return outcome.calls if last and last[0].ok else outcome.calls[:-1]
    return tuple(call for call in outcome.calls if call.seq < late.seq)


_FRAMES = frozenset(
    {"frame", "frames", "frame_locator", "main_frame", "content_frame", "child_frames"}
)


def names_frames(code: str) -> bool:
    """Tell whether code uses a member that leads to frames; letters in a text do not count.

    Code that cannot be parsed uses none.
    """
    tree = read_python(code)
    if tree is None:
        return False
    return any(isinstance(node, ast.Attribute) and node.attr in _FRAMES for node in ast.walk(tree))


def _run_once(
    index: int,
    code: str,
    hint: str,
    tools: Tools,
    limits: Limits,
    resume: tuple[ToolCall, ...] = (),
) -> tuple[ContextWrapper, StepOutcome]:
    # Code that names frames itself, the refs dialect and actions on a marked picture always start
    # at the page; any other code is given the frame that its step is about.
    from_page = names_frames(code) or tools.spec.dialect == "refs" or tools.marks.held
    if from_page:
        context = ContextWrapper(tools.page, "page")
    else:
        context = best_context(tools.page, hint, frameless=tools.newest.shows_no_frame(tools.page))
    left = tools.budget.left
    if left <= 0:
        failure = Failure(
            kind="timeout", message=f"the attempt's {tools.case.timeout:g} s are over"
        )
        return context, StepOutcome(ok=False, failure=failure, killed=True)
    tools.newest.settle()
    began, waited = tools.clock.now(), tools.budget.waited()
    outcome = tools.engine.run_step(
        index,
        code,
        root=context.context,
        limits=replace(limits, step_s=left, nominal_s=limits.step_s)
        if left < limits.step_s
        else limits,
        resume=resume,
    )
    # Time in which the step waited for a model, e.g. in `get_by_sight`, is not charged.
    tools.budget.left -= tools.clock.now() - began - (tools.budget.waited() - waited)
    tools.log.write(f"step {index} [{context.name}]: {'ok' if outcome.ok else 'failed'}")
    if outcome.log:
        tools.log.write(outcome.log)
    return context, outcome


def _result(
    index: int,
    outcome: StepOutcome,
    context: ContextWrapper,
    tools: Tools,
    *,
    retried: bool,
    meanwhile: bool,
) -> StepResult:
    error = None
    if outcome.failure:
        error = outcome.failure.message
        if error.startswith("NameError"):
            error += f"; variables that exist: {', '.join(outcome.names) or 'none'}"
        # Logged before the tail is taken, so that the tail includes it.
        tools.log.write(f"step {index} error: {error}")
    return StepResult(
        step_index=index,
        ok=outcome.ok,
        status="ok" if outcome.ok else "failed",
        duration_ms=outcome.duration_ms,
        error=error,
        log_tail="\n".join(tools.log.lines[-LOG_TAIL_LINES:]),
        logged=own_log((tools.log.redact(outcome.log),)),
        retried=retried,
        context=context.name,
        failure=outcome.failure,
        screenshot=_picture_of(index, tools, outcome, meanwhile=meanwhile and outcome.ok),
    )


def _picture_of(index: int, tools: Tools, outcome: StepOutcome, *, meanwhile: bool) -> str | None:
    # Nobody follows random actions one by one; how they ended is pictured beside the checks.
    if tools.spec.name == RANDOM:
        return None
    take = begin_picture if meanwhile else pictured
    return take(f"step-{index}", tools, "step", index, acted=_may_have_acted(outcome))


def _may_have_acted(outcome: StepOutcome) -> bool:
    """Tell whether a step may have done anything to the page."""
    # A call that time did not allow is not recorded. What `wait_for_function` waits for is code,
    # which may do anything.
    acting = (call.acting or call.method == "wait_for_function" for call in outcome.calls)
    return not outcome.ok or any(acting)
