"""Find the element that a decision certainly refers to, or a reason to do nothing."""

from msgspec.structs import replace
from playwright.sync_api import Error

from pytest_autoweb.agents.act.actions import Action, ClickAt, Done, Drag, DragAt, OnElement
from pytest_autoweb.agents.act.decide import decide, fits
from pytest_autoweb.agents.act.memory import ActMemory, Fingerprint
from pytest_autoweb.agents.act.observe import Chosen, Situation, Turn, View, look_again
from pytest_autoweb.agents.act.translate import (
    DRAWN,
    describe_action,
    mark_at,
    may_be_found_by_sight,
)
from pytest_autoweb.agents.choice.disambiguate import (
    NO_TEXT,
    combined,
    is_unsure,
    look_again_at,
    not_confirmed,
    resolve_apart,
)
from pytest_autoweb.agents.choice.feedback import confidence_limit, overruled_line, problem_of
from pytest_autoweb.agents.choice.refusals import CONTRADICTED, refusal_of
from pytest_autoweb.agents.choice.verify_choice import Choice, Resolution
from pytest_autoweb.browser.page.frames import run_script

_LOOK_MS = 3_000.0
_INTO_FIELDS = frozenset({"type", "select", "upload"})
"""Actions on fields, which the text beside a field may name."""
SIGHT_AFTER = 2
"""Number of refusals of one text after which the vision locator, if any, looks for it."""


def resolve(turn: Turn, memory: ActMemory) -> Turn:
    """Return the turn with the element to act on, or settle a decision that must not be performed.

    An action that closes a circle, or whose element is uncertain, is not performed. A model with a
    vision locator may have that look for the element instead.
    """
    action = turn.action
    if action is None or isinstance(action, Done):
        return turn
    turn = _with_choice(turn, action, memory)
    chosen, action = turn.verified, turn.action or action
    memory.refused = None
    if turn.failed:
        return turn
    lost = [found for found in (chosen.resolution, chosen.target) if found and not found.mark]
    # Only a choice that is wrong is refused as the same again. One that may be right, but lacks its
    # text, is told each time what it lacks.
    if lost and not any(refusal_of(found) in CONTRADICTED for found in lost):
        return refuse(turn, action, lost[0], memory)
    if circle := memory.loops.add(_fingerprint(turn, action, chosen)):
        memory.circles += 1
        reason = f"{describe_action(action)}: {circle}; do something else"
        memory.add_problem(turn.index, None, turn.tools.redact(reason))
        return turn.refused("circle", circle)
    if lost:
        return refuse(turn, action, lost[0], memory)
    _log_overruled(turn)
    if isinstance(action, ClickAt | DragAt) and (why := _not_drawn(turn, action)):
        memory.add_problem(turn.index, None, turn.tools.redact(f"{describe_action(action)}: {why}"))
        memory.failures_in_a_row += 1
        return turn.refused("choice", why)
    looked_again = turn.verified.second_look
    return replace(turn, by_sight=not looked_again and _is_doubtful(turn, action, chosen))


def _with_choice(turn: Turn, action: Action, memory: ActMemory) -> Turn:
    """Resolve the intended element; if there are several candidates, show only these again."""
    view = turn.view
    if not isinstance(action, OnElement):
        return replace(turn, chosen=Chosen(view))
    # A text can refer only to elements that support the action.
    number = action.mark_id
    if turn.tools.spec.computer:
        return replace(turn, chosen=_pointed_at(view, action))
    fitting = [m for m in view.marks if m.number == number or fits(action.action, m)]
    choice = Choice(number, action.expected_text, action.near)
    first = resolve_apart(
        choice, fitting, page_text=view.text, into_field=action.action in _INTO_FIELDS
    )
    chosen = Chosen(view, first)
    if isinstance(action, Drag):
        # One second look cannot settle two elements, so both must be clear at once.
        to = Choice(action.to_mark_id, action.to_expected_text, action.to_near)
        target = resolve_apart(to, view.marks, page_text=view.text, into_field=False)
        return replace(turn, chosen=chosen._replace(target=target))
    # The vision locator is the second look of an icon without text.
    kind = (first.mark.role or first.mark.tag) if first.mark else ""
    limit = confidence_limit(kind, memory.often_mistaken())
    again = look_again_at(first, fitting, action.confidence, limit)
    if not again or _is_doubtful(turn, action, chosen):
        return replace(turn, chosen=chosen)
    return _looked_again(turn, action, first, again, memory)


def _pointed_at(view: View, action: OnElement) -> Chosen:
    """Return the elements that a computer tool pointed at, which need no text to identify them."""

    def at(number: int, expected: str) -> Resolution:
        there = [mark for mark in view.marks if mark.number == number]
        return resolve_apart(Choice(number, expected, ""), there)

    chosen = Chosen(view, at(action.mark_id, action.expected_text))
    if isinstance(action, Drag):
        return chosen._replace(target=at(action.to_mark_id, action.to_expected_text))
    return chosen


def _not_drawn(turn: Turn, action: ClickAt | DragAt) -> str:
    """Return why a place that holds elements must not be acted on; empty if it may be."""
    if turn.tools.spec.computer:
        # Its actions become actions on the marks at their places, so there is no mark here.
        return ""
    scale = turn.view.marked.scale
    points = [(action.x / scale, action.y / scale)]
    if isinstance(action, DragAt):
        points.append((action.to_x / scale, action.to_y / scale))
    try:
        drawn = run_script(turn.view.page, "drawn_at", points, timeout_ms=_LOOK_MS)
    except Error:
        return "the page does not answer"
    for (x, y), kind in zip(points, drawn, strict=True):
        inner = mark_at(turn.view.marks, x, y)
        if inner and kind != "canvas" and inner.tag not in DRAWN:
            return f"the element [{inner.number}] is there: choose it by its number and text"
        if not kind:
            return f"nothing is drawn at {x:.0f}, {y:.0f}: choose elements by their numbers"
    return ""


def _looked_again(
    turn: Turn, action: OnElement, first: Resolution, numbers: tuple[int, ...], memory: ActMemory
) -> Turn:
    """Ask once more, on a picture of these elements only.

    If several elements fit, the text stays fixed and the model gives only number and `near`. An
    unsure model decides afresh.
    """
    view, unsure = turn.view, not first.candidates
    closer = look_again(view, turn.tools, numbers)
    second = turn.picture.with_name(f"{turn.picture.stem}-again.png")
    second.write_bytes(closer.marked.picture)
    turn = replace(turn, second_picture=second)
    meant = action.expected_text.strip() or NO_TEXT
    situation = Situation(closer, turn.situation.problems, second_look=meant, unsure=unsure)
    asked = decide(replace(turn, situation=situation), memory)
    turn = replace(turn, attempt=asked.attempt, calls=asked.calls)
    again = asked.action
    if not isinstance(again, OnElement) or (unsure and type(again) is not type(action)):
        stopped = not_confirmed(first, action.confidence)
        return replace(turn, chosen=Chosen(view, stopped, second_look=True, given_up=True))
    expected = again.expected_text if unsure else action.expected_text
    choice = Choice(again.mark_id, expected, again.near or action.near)
    found = resolve_apart(choice, closer.marks, again=True)
    both = combined(first, found, view.marks)
    if unsure:
        turn = replace(turn, action=again)
    return replace(turn, chosen=Chosen(closer if both.mark else view, both, second_look=True))


def refuse(turn: Turn, action: Action, resolution: Resolution, memory: ActMemory) -> Turn:
    """Settle the turn as refused, or leave the element to the vision locator."""
    chosen = turn.verified
    found = resolution.chosen
    problem = problem_of(
        resolution,
        turn.view.marks,
        phase="act",
        step=turn.index,
        english=memory.feedback.english,
        used=memory.used_of_reply,
        of=memory.of_reply,
    )
    wrong = turn.view.marked.mark(found.mark) if found.mark is not None else None
    # An element that may be the right one is not crossed out.
    if wrong and problem.contradicted:
        memory.failed = (wrong,)
        memory.refused = (turn.view.digest, action.action, wrong.number)
    memory.feedback.add(problem)
    turn.tools.log.write(f"decision {turn.index}: {problem.line}")
    times = memory.count_refusal(found.expected_text)
    described = chosen.told_apart or (isinstance(action, OnElement) and action.near)
    described = described and may_be_found_by_sight(action) and not turn.tools.spec.computer
    if described and times >= SIGHT_AFTER and "get_by_sight" in turn.tools.offered:
        return replace(turn, by_sight=True, doubt=problem)
    memory.failures_in_a_row += 1
    return turn.refused("gave_up" if chosen.given_up else "choice", problem.line)


def _log_overruled(turn: Turn) -> None:
    """Log each number that gave way to its text, since the step itself only logs that it ran."""
    for found in (turn.verified.resolution, turn.verified.target):
        if found and (line := overruled_line(found)):
            turn.tools.log.write(f"decision {turn.index}: {line}")


def _is_doubtful(turn: Turn, action: Action, chosen: Chosen) -> bool:
    """Return whether only an uncertain number points to this icon."""
    if turn.tools.spec.computer or chosen.resolution is None:
        return False
    if chosen.resolution.status != "number_only":
        return False
    if not may_be_found_by_sight(action):
        return False
    described = isinstance(action, OnElement) and bool(action.expected_text.strip())
    return is_unsure(action.confidence) and described and "get_by_sight" in turn.tools.offered


def _fingerprint(turn: Turn, action: Action, chosen: Chosen) -> Fingerprint:
    mark = chosen.mark.number if chosen.mark else getattr(action, "mark_id", None)
    url = turn.view.page.url
    return Fingerprint.of(action.action, url, mark, describe_action(action), turn.view.digest)
