"""Performing a decision as a step of the attempt's script."""

from dataclasses import replace

from pytest_autoweb.act.actions import Action, Done, Extract, OnElement, Retry, SwitchTab
from pytest_autoweb.act.decide import wants_data
from pytest_autoweb.act.memory import ActMemory
from pytest_autoweb.act.resolve import refuse
from pytest_autoweb.act.step_code import Details, code_by_sight, code_of, describe_action
from pytest_autoweb.act.turn import Turn, View
from pytest_autoweb.attempt.execute import run_block
from pytest_autoweb.attempt.tools import change
from pytest_autoweb.results import ChosenMark, Location, PlanStep, StepResult

_WHY_CHARS = 300


def perform(turn: Turn, memory: ActMemory) -> Turn:
    """Return the turn with the result of its decision; a settled turn is returned unchanged."""
    if turn.status:
        return turn
    if turn.action is None:
        memory.add_problem(turn.index, None, turn.tools.redact(turn.problem))
        memory.failures_in_a_row += 1
        return turn.ended("invalid", turn.problem)
    if isinstance(turn.action, Done):
        return _take_answer(turn, turn.action, memory)
    if turn.by_sight:
        return _by_sight(turn, turn.action, memory)
    return _act(turn, turn.action, memory)


def _act(turn: Turn, action: Action, memory: ActMemory) -> Turn:
    chosen, tools = turn.verified, turn.tools
    number = chosen.mark.number if chosen.mark else None
    if chosen.resolution:
        known = chosen.resolution.chosen
        memory.note_tried(turn.view.digest, action.action, known.taken or known.mark)
    line = describe_action(action)
    code = code_of(action, number, _details(turn))
    if code:
        turn, result = _run(turn, code, chosen.view, line)
        if not result.ok:
            return _failed(turn, action, result, memory)
    if isinstance(action, Extract) and number is not None:
        read = tools.redact(chosen.view.read(number))
        memory.extracted.append(read)
        line = f"{line}: {read!r:.300}"
    if isinstance(action, Retry):
        memory.failures_in_a_row += 1
    else:
        memory.note_success(tools.redact(line))
    if isinstance(action, SwitchTab):
        memory.tab = turn.view.page.context.pages[action.tab - 1]
    memory.last_action = action.action
    return _performed(turn, action)


def _details(turn: Turn) -> Details:
    chosen, marked = turn.verified, turn.view.marked
    target = chosen.target.mark if chosen.target else None
    return Details(
        target=target.number if target else None,
        viewport=marked.viewport,
        scale=marked.scale,
        file_field=chosen.mark is not None and chosen.mark.attributes.get("type") == "file",
    )


def _by_sight(turn: Turn, action: Action, memory: ActMemory) -> Turn:
    """Let the vision locator find an element that is in doubt or was refused repeatedly."""
    assert isinstance(action, OnElement)
    before, view, line = len(turn.attempt.locations), turn.verified.view, describe_action(action)
    memory.refusals.clear()
    turn, result = _run(turn, code_by_sight(action), view, line)
    click = result.failure.evidence.get("click") if result.failure else None
    if click and action.action == "click":
        # What is drawn on a canvas has a position, but no element to click.
        turn, result = _run(turn, str(click), view, line)
    # A step may fail before the locator was asked at all.
    if len(turn.attempt.locations) > before:
        turn = _with_search(replace(turn, location=before), turn.attempt.locations[before])
    if result.ok:
        if turn.doubt:
            memory.withdraw(turn.doubt, turn.view.digest, action.action)
        memory.note_success(turn.tools.redact(line))
        return _performed(turn, action)
    reason = why_failed(result)
    if turn.doubt is None:
        memory.add_problem(turn.index, None, turn.tools.redact(f"{line}: {reason}"))
    memory.failures_in_a_row += 1
    return turn.refused("gave_up", reason)


def _performed(turn: Turn, action: Action) -> Turn:
    """Settle the turn as performed, and end the task if the model says that nothing is left."""
    # Data that the task asks for is still to be given.
    return replace(turn.ended("performed"), done=action.last and not wants_data(turn.tools))


def _with_search(turn: Turn, location: Location) -> Turn:
    """Return the turn whose record says what the search found and how its text compares."""
    chosen = turn.verified
    if chosen.resolution is None or location.verdict is None:
        return turn
    found = ChosenMark(
        mark=chosen.resolution.chosen.mark,
        expected_text=location.expected_text,
        actual_text=location.actual_text,
        verdict=location.verdict,
        reason=f"found by sight: {location.compared}",
        kind=chosen.resolution.chosen.kind,
        box=location.box,
    )
    return replace(
        turn, chosen=chosen._replace(resolution=chosen.resolution._replace(chosen=found))
    )


def _take_answer(turn: Turn, action: Done, memory: ActMemory) -> Turn:
    """End the task with the model's answer, or with what it extracted if it gives none."""
    read = memory.extracted
    if action.answer in (None, "") and read and wants_data(turn.tools):
        action = action.model_copy(update={"answer": read[0] if len(read) == 1 else read})
        turn = replace(turn, action=action)
    if code := code_of(action):
        turn, result = _run(turn, code, turn.view, describe_action(action))
        if not result.ok:
            return _failed(turn, action, result, memory)
    return replace(turn.ended("performed"), done=True)


def _failed(turn: Turn, action: Action, result: StepResult, memory: ActMemory) -> Turn:
    """Settle an action that the browser could not do, or refuse an element whose text changed."""
    evidence = result.failure.evidence if result.failure else {}
    chosen = turn.verified
    if "chosen" in evidence and chosen.resolution:
        late = ChosenMark.model_validate(evidence["chosen"])
        stopped = chosen.resolution._replace(chosen=late, mark=None)
        turn = replace(turn, chosen=chosen._replace(resolution=stopped))
        turn = refuse(turn, action, stopped, memory)
        return _by_sight(turn, action, memory) if turn.by_sight else turn
    reason = why_failed(result)
    memory.note_tried(turn.view.digest, action.action, getattr(action, "mark_id", None))
    memory.add_problem(
        turn.index, chosen.mark, turn.tools.redact(f"{describe_action(action)}: {reason}")
    )
    memory.failures_in_a_row += 1
    lost = result.failure if evidence.get("page_lost") else None
    return replace(turn.ended("failed", reason), lost=lost)


def _run(turn: Turn, code: str, view: View, line: str) -> tuple[Turn, StepResult]:
    """Run the code as a step of the script; its failure does not fail the attempt."""
    attempt, tools = turn.attempt, turn.tools
    tools.marks.hold(view.marked)
    block = f"# Step {turn.index}\n{code}\n"
    first_line = len(attempt.code.splitlines()) + 1
    step = PlanStep(
        index=turn.index,
        description=tools.redact(line),
        entry_action="Direct URL",
        status="CONFIRMED",
    )
    known = attempt.plan_steps if attempt.step_results else ()
    attempt = change(attempt, code=attempt.code + tools.redact(block), plan_steps=(*known, step))
    # Blank lines keep the line numbers of errors those of the whole script.
    placed = "\n" * (first_line - 1) + block
    attempt = change(run_block(attempt, tools, turn.index, placed, line), failure=None)
    return turn.with_attempt(attempt), attempt.step_results[-1]


def why_failed(result: StepResult) -> str:
    """Return the first line of the error, and what stood in the way of a click."""
    detail = str(result.failure.evidence.get("detail", "")) if result.failure else ""
    covered = next((line for line in detail.splitlines() if "intercepts pointer" in line), "")
    first = (result.error or "it failed").splitlines()[0]
    return " ".join(f"{first} {covered.strip(' -')}".split())[:_WHY_CHARS]
