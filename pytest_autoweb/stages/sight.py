"""What a model that acts by sight is shown, and what it decides on it."""

import base64
import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_autoweb.act.actions import Action, decision_schema, forms_text, validate_action
from pytest_autoweb.act.course import Course
from pytest_autoweb.act.feedback import Problem, section
from pytest_autoweb.act.grammar import Moves, grammar
from pytest_autoweb.act.listing import listing
from pytest_autoweb.act.reading import ReplyProblem, read_object
from pytest_autoweb.act.twins import ambiguous, telling
from pytest_autoweb.browser.injected import run_script
from pytest_autoweb.browser.marks import Mark, MarkedPage, mark_page
from pytest_autoweb.checks.answer_checks import AnswerCheck
from pytest_autoweb.llm.client import Message
from pytest_autoweb.llm.prompts import fence, render
from pytest_autoweb.results import Attempt
from pytest_autoweb.stages.base import Tools, ask
from pytest_autoweb.stages.guided import told

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT_SHARE = 16
"""The page's text may take this part of the model's context."""
CHARS_PER_TOKEN = 3
BRIEF_TOKENS = 200
"""Of a reply in the brief form."""
_TEXT_MS = 3_000.0
_PAST_LINES = 10


@dataclass(frozen=True, slots=True)
class View:
    """One look at the page."""

    page: "Page"
    marked: MarkedPage
    text: str
    """Visible text, redacted."""
    digest: str
    """The same when the page shows the same."""
    url: str
    scroll: tuple[str, ...]
    """Of `down` and `up`, where the page goes on."""

    def read(self, number: int) -> str:
        """What a marked element reads now; of a table's heading, the cell beside it."""
        mark = self.marked.mark(number)
        locator = self.marked.locator(number)
        if mark is not None and mark.tag == "th" and locator is not None:
            cell = locator.locator("xpath=following-sibling::td[1]")
            if cell.count() == 1:
                return str(cell.inner_text())
        return self.marked.text_of(number) or ""

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The numbered elements."""
        return self.marked.marks


class Situation(NamedTuple):
    """All that a prompt is made of beside the picture."""

    course: Course
    problems: tuple[Problem, ...] = ()
    """Of the cycle before."""
    second_look: str = ""
    """The text that several elements have."""
    hint: str = ""
    """About the attempt before."""
    before: View | None = None
    """The look before."""


class Decided(NamedTuple):
    """A reply, read."""

    action: Action | None
    problem: str
    """Why it could not be read."""
    calls: int


def look(page: "Page", tools: Tools, *, failed: tuple[Mark, ...] = ()) -> View:
    """Mark the page as it is now.

    Raises:
        Error: Playwright's, when the page does not answer.
    """
    return _view(page, tools, mark_page(page, failed=failed, hide=tools.hidden))


def look_again(view: View, tools: Tools, candidates: tuple[int, ...]) -> View:
    """Only the candidates marked, with new numbers."""
    only = [mark for mark in view.marks if mark.number in candidates]
    return _view(view.page, tools, mark_page(view.page, only=only, hide=tools.hidden))


def _view(page: "Page", tools: Tools, marked: MarkedPage) -> View:
    from playwright.sync_api import Error

    text, room = "", {"down": True, "up": True}
    try:
        text = tools.redact(str(run_script(page, "visible_text", timeout_ms=_TEXT_MS)))
        room = run_script(page, "scroll_room", timeout_ms=_TEXT_MS)
    except Error as error:
        tools.log.write(f"the page's text could not be read: {error}")
    shown = [(mark.tag, mark.texts, mark.name) for mark in marked.marks]
    state = f"{page.url}\n{shown}\n{text}".encode("utf-8", "surrogatepass")
    scroll = tuple(way for way in ("down", "up") if room[way])
    return View(page, marked, text, hashlib.sha256(state).hexdigest(), page.url, scroll)


def is_brief(tools: Tools) -> bool:
    """Whether the model is small: it gets short prompts and answers in the brief form."""
    return tools.spec.dialect == "refs" and not tools.spec.vision


def wants_data(tools: Tools) -> bool:
    """Whether the case has a check of the answer."""
    return any(isinstance(check, AnswerCheck) for check in tools.case.expect)


def decide(
    attempt: Attempt, tools: Tools, view: View, situation: Situation
) -> tuple[Attempt, Decided]:
    """Ask for one decision; after a reply of the wrong form once more, with what is wrong."""
    problem, calls = "", 0
    for _ in range(2):
        calls += 1
        attempt, reply = _ask(attempt, tools, view, situation, problem)
        if attempt.failure:
            return attempt, Decided(None, "", calls)
        try:
            fields = read_object(reply)
            return attempt, Decided(validate_action(fields), "", calls)
        except ReplyProblem as wrong:
            problem = str(wrong)
            tools.log.write(f"unusable reply: {problem}")
        if not situation.course.feedback.enabled:
            break
    return attempt, Decided(None, problem, calls)


def _ask(
    attempt: Attempt, tools: Tools, view: View, situation: Situation, problem: str
) -> tuple[Attempt, str]:
    course, spec, brief = situation.course, tools.spec, is_brief(tools)
    answers = wants_data(tools)
    course.asked += 1
    marks = _allowed(view.marks, tools)
    numbers = [mark.number for mark in marks]
    near = _near(view, situation)
    return ask(
        attempt,
        tools,
        "decide",
        _messages(tools, view, situation, problem),
        turn=course.asked,
        grammar=grammar(
            marks,
            _moves(view, course, answers),
            banned=course.banned(view.digest),
            alike=near,
            again=bool(situation.second_look),
        )
        if spec.constrained == "gbnf" and brief
        else None,
        json_schema=decision_schema(numbers, brief=brief, answers=answers, near=bool(near))
        if spec.constrained != "none" and not brief
        else None,
        max_tokens=BRIEF_TOKENS if brief else None,
    )


def _near(view: View, situation: Situation) -> dict[int, str]:
    """What tells marks apart that read alike; in a second look all of them do."""
    if situation.second_look:
        return {mark.number: telling(mark, view.marks) for mark in view.marks}
    return ambiguous(view.marks)


def _allowed(marks: tuple[Mark, ...], tools: Tools) -> tuple[Mark, ...]:
    """In an arm that bans them, without the elements on which an action failed before."""
    guidance = tools.guidance
    if guidance is None or not guidance.arm.bans_failed_calls:
        return marks
    failed = {
        (chosen.kind, chosen.actual_text)
        for attempt in guidance.attempts
        for decision in attempt.decisions
        if decision.status == "failed"
        for chosen in decision.chosen
    }
    left = tuple(m for m in marks if not any((m.role or m.tag, t) in failed for t in m.texts))
    return left or marks


def _moves(view: View, course: Course, answers: bool) -> Moves:
    return Moves(
        scroll=view.scroll,
        enter=course.last_action == "type",
        done=bool(course.done) or answers,
        answers=answers,
    )


def _messages(tools: Tools, view: View, situation: Situation, problem: str) -> tuple[Message, ...]:
    brief, vision = is_brief(tools), tools.spec.vision
    near = _near(view, situation)
    listed = not vision or situation.second_look
    variables: dict[str, Any] = {
        "forms": forms_text(brief=brief, answers=wants_data(tools), near=bool(near)),
        "near": bool(near),
        "task": tools.case.user_task,
        "secrets": sorted(tools.case.secrets),
        "answers": wants_data(tools),
        "hint": situation.hint,
        "done": situation.course.history(),
        "feedback": section(situation.problems),
        "second_look": " ".join(situation.second_look.split())[:80],
        "problem": problem,
        "listing": fence(_listing(tools, view, situation, near), "page") if listed else "",
    }
    if brief:
        return render("act_brief", **variables)
    images = (picture_uri(view.marked.picture),) if vision else ()
    return render("act", images=images, url=tools.redact(view.page.url), vision=vision, **variables)


def _listing(tools: Tools, view: View, situation: Situation, near: dict[int, str]) -> str:
    marks = _allowed(view.marks, tools)
    if tools.spec.vision:
        return tools.redact(listing(marks, "", max_chars=0, near=near))
    room = tools.spec.context_tokens // TEXT_SHARE * CHARS_PER_TOKEN
    last = situation.before
    before = last.text if last and last.url == view.url and not situation.second_look else None
    return tools.redact(listing(marks, view.text, max_chars=room, before=before, near=near))


def picture_uri(png: bytes) -> str:
    """A picture as a `data:` URI."""
    return "data:image/png;base64," + base64.b64encode(png).decode()


def with_marks(messages: tuple[Message, ...], tools: Tools) -> tuple[Message, ...]:
    """A prompt for a script with the marked picture, for `--autoweb-visual-supplement`."""
    from playwright.sync_api import Error

    if not (tools.settings.visual_supplement and tools.spec.vision):
        return messages
    try:
        marked = mark_page(tools.page, hide=tools.hidden)
    except Error as error:
        # The picture is a supplement: without it the attempt goes on.
        tools.log.write(f"the page could not be marked: {error}")
        return messages
    listed = fence(tools.redact(listing(marked.marks, "", max_chars=0)), "marks")
    *before, last = messages
    text = f"{last.content}\n\n{render('marks', marks=listed)[1].content}"
    images = (*last.images, picture_uri(marked.picture))
    return (*before, last.model_copy(update={"content": text, "images": images}))


def past_attempt(attempt: Attempt, tools: Tools) -> str:
    """What became of the attempt that this one repairs, in a few honest lines."""
    failed = tools.previous
    if failed is None:
        return ""
    if failed.failure and failed.failure.kind != "check":
        why = failed.failure.message
    else:
        # A repair must reach the task's outcome, so it is not told what the checks expect.
        hints = [c.hint for c in failed.checks if c.passed is False and c.hint and not c.advisory]
        why = " ".join(["the task's outcome was not reached.", *dict.fromkeys(hints)])
    lines = [step.description for step in failed.plan_steps][-_PAST_LINES:]
    return "\n".join(
        [
            f"An earlier attempt, which is undone, failed: {' '.join(why.split())[:300]}",
            "It did, in this order:" if lines else "It did nothing.",
            *(f"- {line}" for line in lines),
            "Do it better this time.",
            *([more] if (more := told(attempt, tools)) else []),
        ]
    )


def on_page(tools: Tools, page: "Page") -> Tools:
    """The tools of a tab that was opened meanwhile."""
    return tools if page is tools.page else replace(tools, page=page)
