"""Strategy `act`: observe, decide, verify, perform, until nothing is left to do."""

from typing import TYPE_CHECKING

from pytest_autoweb.act.actions import Action, Done, Extract, OnElement, Retry
from pytest_autoweb.act.course import MAX_CIRCLES, MAX_IN_VAIN, Course
from pytest_autoweb.act.feedback import Feedback, Problem
from pytest_autoweb.act.loops import Fingerprint
from pytest_autoweb.act.perform import by_sight, code_of, told
from pytest_autoweb.act.verify import Resolution
from pytest_autoweb.browser.marks import Mark
from pytest_autoweb.browser.navigation import settle
from pytest_autoweb.language import StepProblem
from pytest_autoweb.results import (
    Attempt,
    ChosenMark,
    Decision,
    DecisionStatus,
    Failure,
    FailureKind,
    PlanStep,
    StepResult,
)
from pytest_autoweb.stages.base import Tools, change, fail
from pytest_autoweb.stages.choosing import Chosen, verified
from pytest_autoweb.stages.decision_texts import why_failed, without_secrets
from pytest_autoweb.stages.dialogs import dialogs_answered
from pytest_autoweb.stages.execute import relative, run_block
from pytest_autoweb.stages.sight import (
    Situation,
    View,
    decide,
    look,
    on_page,
    past_attempt,
    wants_data,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

SETTLE_MS = 300
"""Quiet time before a new look."""
LOW_CONFIDENCE = 0.5
"""Below it an icon without text is looked for by sight, where there is a locator."""
SIGHT_AFTER = 2
"""Refusals of one text after which the vision locator looks for it, where there is one."""


def act_on_page(attempt: Attempt, tools: Tools) -> Attempt:
    """Decide and act until the model says done, or a limit is reached.

    On a mismatch nothing is performed. What was wrong is told in the next prompt only, unless
    `--autoweb-feedback=false` makes this the control arm.
    """
    acting = _Acting(attempt, tools)
    with dialogs_answered(tools, acting.course.done.append):
        for index in range(1, tools.settings.max_decisions + 1):
            acting.turn(index)
            if acting.over:
                break
        else:
            acting.stop("limit", f"{tools.settings.max_decisions} decisions were not enough")
    tools.marks.hold(None)
    return acting.finished()


class _Acting:
    """The loop of one attempt; each `turn` is one decision and leaves one record."""

    def __init__(self, attempt: Attempt, tools: Tools) -> None:
        self.attempt, self._all_tools, self._tools = attempt, tools, tools
        self.course = Course(Feedback(enabled=tools.settings.feedback))
        self.over = False
        self._done = False
        self._page = tools.page
        self._before: View | None = None

    def turn(self, index: int) -> None:
        """One decision, performed if it holds."""
        self._tools.progress(f"decision {index}")
        if self._tools.budget.left <= 0:
            self.stop("timeout", f"the attempt's {self._tools.case.timeout:g} s are over")
            return
        self._observe(index)
        hint = past_attempt(self.attempt, self._all_tools)
        situation = Situation(self.course, self._problems, hint=hint, before=self._before)
        self._before = self._view
        action = self._decide(self._view, situation)
        if self.attempt.failure:
            self.over = True
        elif action is None:
            self._note(None, self._problem)
            self._record(None, "invalid", self._problem)
            self._in_vain()
        elif isinstance(action, Done):
            self._end(action)
        else:
            self._verify_and_perform(action)

    def stop(self, kind: FailureKind, message: str) -> None:
        """End without having done the task."""
        self.over = True
        problem = StepProblem.told("(act)", message)
        self.attempt = fail(self.attempt, Failure(kind=kind, message=message), problem)

    def finished(self) -> Attempt:
        """The attempt, its answer and whether it was carried out."""
        answered, answer = self._tools.engine.answer
        acted = any(decision.status == "performed" for decision in self.attempt.decisions)
        return change(
            self.attempt,
            executed=self._done and (acted or answered),
            answered=answered,
            answer=answer,
        )

    # -- observing and deciding --------------------------------------------------------

    def _observe(self, index: int) -> None:
        self._index, self._calls, self._began = index, 0, self._all_tools.clock.now()
        waited = self._all_tools.budget.waited()
        self._page = _front_page(self._page, self._all_tools)
        self._tools = on_page(self._all_tools, self._page)
        if index > 1:
            settle(self._page, quiet_ms=SETTLE_MS)
        told = self.course.feedback.enabled
        self._view = look(self._page, self._tools, failed=self.course.failed if told else ())
        self._failed_numbers = tuple(mark.number for mark in self._view.marks if mark.failed)
        self.course.failed = ()
        self._problems = self.course.feedback.begin_cycle()
        self._picture = self._tools.folder / f"decision-{index}.png"
        self._picture.write_bytes(self._view.marked.picture)
        # Looking is not waiting for the model: it counts.
        spent = self._tools.clock.now() - self._began
        self._tools.budget.left -= spent - (self._tools.budget.waited() - waited)

    def _decide(self, view: View, situation: Situation) -> Action | None:
        self.attempt, decided = decide(self.attempt, self._tools, view, situation)
        self._calls += decided.calls
        self._problem = decided.problem
        return decided.action

    def _ask_again(self, view: View, text: str) -> Action | None:
        return self._decide(view, Situation(self.course, self._problems, second_look=text))

    # -- verifying ---------------------------------------------------------------------

    def _verify_and_perform(self, action: Action) -> None:
        chosen = verified(action, self._view, self._tools, self._ask_again)
        if self.attempt.failure:
            self.over = True
        elif circle := self.course.loops.add(self._fingerprint(action, chosen)):
            self._break_circle(action, chosen, circle)
        elif chosen.resolution is not None and chosen.mark is None:
            self._refuse(action, chosen, chosen.resolution)
        elif self._is_doubtful(action, chosen):
            self._look_for(action, chosen)
        else:
            self._perform(action, chosen)

    def _is_doubtful(self, action: Action, chosen: Chosen) -> bool:
        """An icon that nothing speaks for but a number of which the model is not sure."""
        if chosen.resolution is None or chosen.resolution.status != "number_only":
            return False
        unsure = action.confidence is not None and action.confidence < LOW_CONFIDENCE
        described = isinstance(action, OnElement) and bool(action.expected_text.strip())
        return unsure and described and "get_by_sight" in self._tools.offered

    def _fingerprint(self, action: Action, chosen: Chosen) -> Fingerprint:
        mark = chosen.mark.number if chosen.mark else getattr(action, "mark_id", None)
        return Fingerprint.of(
            action.action, self._view.page.url, mark, told(action), self._view.digest
        )

    def _break_circle(self, action: Action, chosen: Chosen, circle: str) -> None:
        """The same again is not performed, but told; the next circle ends the attempt."""
        self.course.circles += 1
        self._note(None, f"{told(action)}: {circle}; do something else")
        self._record(action, "refused", circle, chosen)
        if self.course.circles >= MAX_CIRCLES:
            self.stop("limit", f"the model goes in circles: {circle}")

    def _refuse(self, action: Action, chosen: Chosen, resolution: Resolution) -> None:
        """Nothing is performed; the next prompt says why."""
        found = resolution.chosen
        wrong = chosen.view.marked.mark(found.mark) if found.mark is not None else None
        if wrong and chosen.told_apart:
            self.course.failed = (wrong,)
            self.course.try_once(self._view.digest, action.action, wrong.number)
        problem = Problem(
            "act",
            self._index,
            found.mark,
            found.expected_text,
            found.actual_text,
            found.verdict,
            found.reason,
            kind=(wrong.role or wrong.tag) if wrong else "",
            xpath=wrong.xpaths[0] if wrong and wrong.xpaths else "",
            note="" if chosen.told_apart else found.reason,
        )
        self.course.feedback.add(problem)
        self._tools.log.write(f"decision {self._index}: {problem.line}")
        times = self.course.refused(found.expected_text)
        described = chosen.told_apart or (isinstance(action, OnElement) and action.near)
        if described and times >= SIGHT_AFTER and "get_by_sight" in self._tools.offered:
            self._look_for(action, chosen)
            return
        self._record(action, "refused", problem.line, chosen)
        self._in_vain()

    def _look_for(self, action: Action, chosen: Chosen) -> None:
        """Let the vision locator find what was refused again and again."""
        assert isinstance(action, OnElement)
        before = len(self.attempt.locations)
        self.course.refusals.clear()
        result = self._run(by_sight(action), chosen.view, told(action))
        click = result.failure.evidence.get("click") if result.failure else None
        if click and action.action == "click":
            # It is drawn on a canvas: there is a place, but no element.
            result = self._run(str(click), chosen.view, told(action))
        found = before if len(self.attempt.locations) > before else None
        if result.ok:
            self._went_well(told(action))
            self._record(action, "performed", "", chosen, location=found)
        else:
            self._record(action, "refused", why_failed(result), chosen, location=found)
            self._in_vain()

    # -- performing --------------------------------------------------------------------

    def _perform(self, action: Action, chosen: Chosen) -> None:
        number = chosen.mark.number if chosen.mark else None
        if chosen.resolution:
            known = chosen.resolution.chosen
            self.course.try_once(self._view.digest, action.action, known.taken or known.mark)
        line = told(action)
        code = code_of(action, number, viewport=self._view.marked.viewport)
        if code:
            result = self._run(code, chosen.view, line)
            if not result.ok:
                self._failed(action, chosen, result)
                return
        if isinstance(action, Extract) and number is not None:
            read = self._tools.redact(chosen.view.read(number))
            self.course.extracted.append(read)
            line = f"{line}: {read!r:.300}"
        if isinstance(action, Retry):
            self._in_vain()
        else:
            self._went_well(line)
        self.course.last_action = action.action
        self._record(action, "performed", "", chosen)

    def _run(self, code: str, view: View, line: str) -> StepResult:
        """Run the code as a step of the script; a step that fails does not fail the attempt."""
        self._tools.marks.hold(view.marked)
        redact = self._tools.redact
        block = f"# Step {self._index}\n{code}\n"
        first_line = len(self.attempt.code.splitlines()) + 1
        step = PlanStep(
            index=self._index,
            description=redact(line),
            entry_action="Direct URL",
            status="CONFIRMED",
        )
        known = self.attempt.plan_steps if self.attempt.step_results else ()
        self.attempt = change(
            self.attempt, code=self.attempt.code + redact(block), plan_steps=(*known, step)
        )
        placed = "\n" * (first_line - 1) + block
        self.attempt = run_block(self.attempt, self._tools, self._index, placed, line)
        self.attempt = change(self.attempt, failure=None)
        return self.attempt.step_results[-1]

    def _failed(self, action: Action, chosen: Chosen, result: StepResult) -> None:
        """The browser could not do it, or the element reads something else by now."""
        evidence = result.failure.evidence if result.failure else {}
        if "chosen" in evidence and chosen.resolution:
            late = ChosenMark.model_validate(evidence["chosen"])
            stopped = chosen.resolution._replace(chosen=late, mark=None)
            self._refuse(action, chosen._replace(resolution=stopped), stopped)
            return
        reason = why_failed(result)
        self.course.try_once(self._view.digest, action.action, getattr(action, "mark_id", None))
        self._note(chosen.mark, f"{told(action)}: {reason}")
        self._record(action, "failed", reason, chosen)
        self._in_vain()
        if evidence.get("page_lost"):
            self.over = True
            self.attempt = change(self.attempt, failure=result.failure)

    def _end(self, action: Done) -> None:
        """The model says done; data that was only extracted is the answer."""
        read = self.course.extracted
        if action.answer in (None, "") and read and wants_data(self._tools):
            action = action.model_copy(update={"answer": read[0] if len(read) == 1 else read})
        if code := code_of(action):
            result = self._run(code, self._view, told(action))
            if not result.ok:
                self._failed(action, Chosen(self._view), result)
                return
        self._record(action, "performed", "")
        self.over = self._done = True

    # -- keeping -----------------------------------------------------------------------

    def _note(self, mark: Mark | None, reason: str) -> None:
        number = mark.number if mark else None
        problem = Problem("act", self._index, number, "", "", None, self._tools.redact(reason))
        self.course.feedback.add(problem)

    def _went_well(self, line: str) -> None:
        self.course.in_vain = 0
        self.course.refusals.clear()
        self.course.done.append(self._tools.redact(line))

    def _in_vain(self) -> None:
        self.course.in_vain += 1
        if self.course.in_vain >= MAX_IN_VAIN and not self.over:
            history = self.course.feedback.history
            last = f": {history[-1].line}" if history else ""
            self.stop("limit", f"{MAX_IN_VAIN} decisions in a row came to nothing{last}")

    def _record(
        self,
        action: Action | None,
        status: DecisionStatus,
        error: str,
        chosen: Chosen | None = None,
        *,
        location: int | None = None,
    ) -> None:
        view = self._view
        width, height = view.marked.viewport
        decision = Decision(
            index=self._index,
            url=view.page.url,
            picture=relative(self._picture, self._tools),
            viewport=(round(width), round(height)),
            marks=len(view.marks),
            failed_marks=self._failed_numbers,
            feedback=tuple(problem.line for problem in self._problems),
            action=action.model_dump(mode="json") if action else None,
            thinking=action.thinking if action else "",
            confidence=action.confidence if action else None,
            chosen=(chosen.resolution.chosen,) if chosen and chosen.resolution else (),
            second_look=bool(chosen and chosen.second_look),
            status=status,
            error=error,
            location=location,
            calls=self._calls,
            duration_ms=(self._tools.clock.now() - self._began) * 1000,
        )
        clean = without_secrets(decision, self._tools.redact)
        self.attempt = change(self.attempt, decisions=(*self.attempt.decisions, clean))


def _front_page(page: "Page", tools: Tools) -> "Page":
    """The tab in front: the one opened last, or what is left when it was closed."""
    tabs = [tab for tab in tools.page.context.pages if not tab.is_closed()]
    return tabs[-1] if tabs else page
