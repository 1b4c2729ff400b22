"""Run the script's blocks one after the other in the sandbox."""

from typing import NamedTuple

from pytest_autoweb.attempt.critic import with_findings
from pytest_autoweb.attempt.script import split_blocks
from pytest_autoweb.attempt.tools import Tools, change
from pytest_autoweb.browser.base import ContextWrapper
from pytest_autoweb.browser.frames import best_context
from pytest_autoweb.browser.scene import shot, take_scene
from pytest_autoweb.language import NO_CODE_FOR_STEP, Reason, StepProblem, step_failed
from pytest_autoweb.results import Attempt, Failure, Scene, StepResult, ToolCall
from pytest_autoweb.sandbox.base import Limits, StepOutcome

BOOST_FLOOR_S = 60.0
BOOST_FACTOR = 3.0
RETRY_PAUSE_S = 1.0
LOG_TAIL_LINES = 20
NEVER_TOUCHED = "the script never touched the page and gave no answer"


class _Ran(NamedTuple):
    result: StepResult
    calls: tuple[ToolCall, ...]


def run_steps(attempt: Attempt, tools: Tools) -> Attempt:
    """Every step of the plan, and blocks the plan does not know; a missing block is a failure.

    After a failed step the later ones are `blocked`, unless `--autoweb-on-step-failure=continue`.
    """
    blocks = split_blocks(attempt.code).by_step
    hints = {step.index: step.description for step in attempt.plan_steps}
    blocked_by: int | None = None
    for index in sorted(hints.keys() | blocks.keys()):
        if blocked_by is not None:
            error = f"blocked by the failed step {blocked_by}"
            result = StepResult(step_index=index, ok=False, status="blocked", error=error)
            attempt = change(attempt, step_results=(*attempt.step_results, result))
            continue
        code = blocks[index].code if index in blocks else ""
        attempt = run_block(attempt, tools, index, code, hints.get(index, ""))
        if not attempt.step_results[-1].ok and tools.settings.on_step_failure == "block":
            blocked_by = index
    return finish_execution(attempt, tools)


def run_block(attempt: Attempt, tools: Tools, index: int, code: str, hint: str) -> Attempt:
    """Run one block and record what became of it; the first failure keeps its scene."""
    tools.progress(f"step {index}")
    tools.wire.counting = True
    ran = _run_step(index, code, hint, tools)
    result = ran.result
    attempt = change(
        attempt,
        step_results=(*attempt.step_results, result),
        tool_calls=(*attempt.tool_calls, *ran.calls),
    )
    while tools.after_step:
        attempt = tools.after_step.pop(0)(attempt)
    if result.ok:
        return attempt
    problem = step_failed(index, result.error or "")
    attempt = change(
        attempt,
        problems=(*attempt.problems, problem),
        failure=attempt.failure or result.failure,
    )
    if attempt.scene is None and code.strip():
        attempt = with_findings(attempt, tools)
        scene = take_scene(
            tools.page,
            tools.watch,
            step_index=index,
            mode=tools.mode,
            folder=tools.folder,
            redact=tools.redact,
        )
        attempt = change(attempt, scene=relative_scene(scene, tools))
    return attempt


def finish_execution(attempt: Attempt, tools: Tools) -> Attempt:
    """Settle `executed` and the answer once the last step has run."""
    answered, answer = tools.engine.answer
    results = attempt.step_results
    if results and all(r.ok for r in results) and not attempt.tool_calls and not answered:
        # Code that defines a function and never calls it "runs" without error.
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
        executed=bool(attempt.plan_steps) and bool(results) and _all_ok(attempt),
        answered=answered,
        answer=answer,
    )


def _all_ok(attempt: Attempt) -> bool:
    return all(result.ok for result in attempt.step_results)


def _run_step(index: int, code: str, hint: str, tools: Tools) -> _Ran:
    if not code.strip():
        failure = Failure(kind="step", message=NO_CODE_FOR_STEP, step_index=index)
        return _Ran(
            StepResult(
                step_index=index, ok=False, status="failed", error=failure.message, failure=failure
            ),
            (),
        )
    base = tools.settings.step_timeout
    context, outcome = _run_once(index, code, hint, tools, limit=base, resume=())
    calls, retried = outcome.calls, False
    if outcome.failure and outcome.failure.kind == "timeout" and not outcome.killed:
        boosted = max(BOOST_FLOOR_S, BOOST_FACTOR * base)
        if tools.budget.left > RETRY_PAUSE_S:
            tools.log.write(f"step {index} ran out of time; continued with {boosted:.0f} s")
            tools.clock.sleep(RETRY_PAUSE_S)
            # A step that changed the page is continued after its last completed call (W11);
            # one that only looked is run again from its start.
            before = outcome.calls[:-1]
            resume = before if any(call.acting and call.ok for call in before) else ()
            context, outcome = _run_once(index, code, hint, tools, limit=boosted, resume=resume)
            calls, retried = (*calls, *(c for c in outcome.calls if not c.replayed)), True
    return _Ran(_result(index, outcome, context, tools, retried=retried), calls)


def _run_once(
    index: int, code: str, hint: str, tools: Tools, *, limit: float, resume: tuple[ToolCall, ...]
) -> tuple[ContextWrapper, StepOutcome]:
    # Code that names frames itself, every line of the refs dialect and every act on a marked
    # picture starts at the page.
    from_page = "frame" in code or tools.spec.dialect == "refs" or tools.marks.held
    context = ContextWrapper(tools.page, "page") if from_page else best_context(tools.page, hint)
    left = tools.budget.left
    if left <= 0:
        failure = Failure(
            kind="timeout", message=f"the attempt's {tools.case.timeout:g} s are over"
        )
        return context, StepOutcome(ok=False, failure=failure, killed=True)
    began, waited = tools.clock.now(), tools.budget.waited()
    outcome = tools.engine.run_step(
        index, code, root=context.context, limits=Limits(step_s=min(limit, left)), resume=resume
    )
    tools.budget.left -= tools.clock.now() - began - (tools.budget.waited() - waited)
    tools.log.write(f"step {index} [{context.name}]: {'ok' if outcome.ok else 'failed'}")
    if outcome.log:
        tools.log.write(outcome.log)
    return context, outcome


def _result(
    index: int, outcome: StepOutcome, context: ContextWrapper, tools: Tools, *, retried: bool
) -> StepResult:
    error = None
    if outcome.failure:
        error = outcome.failure.message
        if error.startswith("NameError"):
            error += f"; variables that exist: {', '.join(outcome.names) or 'none'}"
        # Written before the tail is taken, so that the tail shows it (W10).
        tools.log.write(f"step {index} error: {error}")
    picture = tools.folder / f"step-{index}.jpg"
    return StepResult(
        step_index=index,
        ok=outcome.ok,
        status="ok" if outcome.ok else "failed",
        duration_ms=outcome.duration_ms,
        error=error,
        log_tail="\n".join(tools.log.lines[-LOG_TAIL_LINES:]),
        retried=retried,
        context=context.name,
        failure=outcome.failure,
        screenshot=relative(picture, tools) if shot(tools.page, picture, tools.hidden) else None,
    )


def relative(path: object, tools: Tools) -> str:
    """A path below the cell's folder, with `/`."""
    return str(path).removeprefix(str(tools.cell_folder)).lstrip("/\\").replace("\\", "/")


def relative_scene(scene: Scene, tools: Tools) -> Scene:
    """The scene with its screenshot named relative to the cell's folder."""
    if scene.screenshot is None:
        return scene
    path = scene.screenshot
    absolute = path if path.startswith(str(tools.cell_folder)) else str(tools.folder / path)
    return scene.model_copy(update={"screenshot": relative(absolute, tools)})
