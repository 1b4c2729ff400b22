"""Runs the steps of an attempt: the worker's life, retries, and what came of each step."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Frame, Page

from pytest_autoweb.results.records import Failure, ToolCall
from pytest_autoweb.sandbox.allowed_members import FUNCTIONS
from pytest_autoweb.sandbox.border_values import redacted, shortened
from pytest_autoweb.sandbox.deadline import BrowserDeadline, Budget
from pytest_autoweb.sandbox.engine import (
    DialogReply,
    JsonValue,
    Limits,
    SandboxBorder,
    StepEngine,
    StepOutcome,
)
from pytest_autoweb.sandbox.facade import Facade
from pytest_autoweb.sandbox.frame_codec import WireError
from pytest_autoweb.sandbox.handles import Handles, kind_of
from pytest_autoweb.sandbox.levels import Level
from pytest_autoweb.sandbox.listeners import Listeners
from pytest_autoweb.sandbox.rules import Refusal
from pytest_autoweb.sandbox.step_record import AnsweredCall, OverdueCall, StepRecord
from pytest_autoweb.sandbox.step_server import StepServer
from pytest_autoweb.sandbox.worker_process import (
    DeadlineError,
    WorkerGoneError,
    WorkerProcess,
    Workers,
    workers_of,
)

# Time beyond a step's limit after which a timer thread kills a worker with a stuck pipe.
_LAST_RESORT_S = 15.0
_MAX_MESSAGE = 500
_MAX_DETAIL = 4_000


class WorkerEngine:
    """The built-in `StepEngine`: runs the blocks of one attempt in a worker process.

    The worker is taken at the first step, since many engines may wait for their models at the same
    time. It was started in advance, so its start is hidden behind whatever the caller does before.
    No other engine uses it, before or after. Use the engine in the thread that owns the browser.

    Each step is served by a `StepServer` of its own. The engine keeps what outlives a step:

    - `_handles`: the objects that the code has been given; they stay valid when the worker is
      replaced.
    - `_listeners`: a step that is run again first loses the ones it registered.
    - `_variables`: the plain values that existed after the last good step. When a worker was
      replaced, `_restore` is set, and the next step begins by sending them.
    - `_entries` and `_overdue`: the recorded calls of the last run, from which `resume` is
      answered, and the one at which it ran out of time.
    - `_answers`: the answer before the last step and after it, so that a step that is run again
      starts from the former.

    A worker that was killed, died or used up its memory is replaced before `run_step` returns. If
    it ended before the block had begun, the step is tried once more, as the code cannot be the
    cause.

    Args:
        border: the resources that the code may use.
        limits: the worker's limits of memory and processor time.
        workers: the source of its worker; defaults to this process's own at level `auto`.
    """

    def __init__(
        self, border: SandboxBorder, *, limits: Limits | None = None, workers: Workers | None = None
    ) -> None:
        self._border = border
        self._workers = workers or workers_of("auto")
        self._limits = limits or Limits()
        self._handles = Handles()
        self._guard = BrowserDeadline()
        self._facade = Facade(border, self._handles, self._guard)
        self._listeners = Listeners(self._answer_dialog)
        self._facade.listen = self._listeners.change
        self._facade.predicate = self._predicate
        self._talk: StepServer | None = None
        self._last: tuple[int, str] | None = None
        self._entries: list[AnsweredCall] = []
        self._overdue: OverdueCall | None = None
        self._timed_out = False
        self._names: tuple[str, ...] = ()
        self._variables: dict[str, Any] = {}
        self._restore = False
        self._answers: list[tuple[bool, JsonValue]] = [(False, None)]
        self._closed = False
        self._taken: WorkerProcess | None = None
        self._workers.prepare(self._limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _worker(self) -> WorkerProcess:
        if self._taken is None:
            self._taken = self._workers.take(self._limits)
        return self._taken

    @property
    def answer(self) -> tuple[bool, JsonValue]:
        """Return whether `answer(...)` was called in this attempt, and its value."""
        return self._answers[-1]

    def close(self) -> None:
        """Stop the worker and remove every listener from the page; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._listeners.forget_all()
        self._cancel_waits()
        if self._taken is not None:
            self._taken.close()

    def run_step(
        self,
        index: int,
        code: str,
        *,
        root: Page | Frame,
        limits: Limits,
        resume: tuple[ToolCall, ...] = (),
    ) -> StepOutcome:
        """Run one block; see `StepEngine`.

        A block that is run again (same index and code, or with `resume`) starts with the variables
        that existed when it was first started.
        """
        began = time.perf_counter()
        rerun = bool(resume) or self._last == (index, code)
        earlier = self._entries_for(resume)
        if earlier is None:
            reason = "the calls to continue from are not those of the last run of this step"
            return StepOutcome(ok=False, failure=_failure(index, "step", reason))
        self._open_step(index, code, rerun=rerun)
        patient_with = self._overdue.key if rerun and self._overdue else None
        self._overdue, self._timed_out = None, False
        for _ in range(2):
            talk = self._new_talk(index, earlier, limits, patient_with)
            killed, failure = self._converse(talk, index, code, root, rerun=rerun)
            # Otherwise something else ended the worker before it ran any of the block.
            if talk.begun or not killed:
                break
        self._entries = talk.record.entries
        self._answers[-1] = talk.answered if talk.answered[0] else self._answers[-1]
        timed_out = failure is not None and (self._timed_out or failure.kind == "timeout")
        if timed_out and not killed:
            self._facade.reopen_waits()
        return StepOutcome(
            ok=failure is None,
            failure=failure,
            calls=talk.record.calls,
            log="\n".join(talk.log),
            names=self._names,
            duration_ms=(time.perf_counter() - began) * 1000,
            timed_out=timed_out,
            overdue=self._overdue_call(talk.record.calls),
            killed=killed,
        )

    def _overdue_call(self, calls: tuple[ToolCall, ...]) -> ToolCall | None:
        if self._overdue is None:
            return None
        number = self._overdue.number
        return next((call for call in calls if call.seq == number), None)

    # -- before the step ---------------------------------------------------------------

    def _entries_for(self, resume: tuple[ToolCall, ...]) -> list[AnsweredCall] | None:
        by_seq = {entry.call.seq: entry for entry in self._entries}
        chosen: list[AnsweredCall] = []
        for call in resume:
            entry = by_seq.get(call.seq)
            if entry is None or (entry.call.target, entry.call.method) != (
                call.target,
                call.method,
            ):
                return None
            chosen.append(entry)
        return chosen

    def _open_step(self, index: int, code: str, *, rerun: bool) -> None:
        if rerun:
            self._answers.pop()
        else:
            self._cancel_waits()
        self._answers = [*self._answers[-1:], self._answers[-1] if self._answers else (False, None)]
        if rerun:
            self._listeners.forget_step(index)
        self._listeners.step = index
        self._last = (index, code)

    def _new_talk(
        self, index: int, earlier: list[AnsweredCall], limits: Limits, patient_with: str | None
    ) -> StepServer:
        wanted, has = (limits.memory_mb, limits.cpu_s), (self._limits.memory_mb, self._limits.cpu_s)
        self._limits = limits
        # A worker sets its limits once, at its start.
        if self._taken is not None and (wanted != has or not self._taken.alive):
            self._replace_worker()
        self._taken = self._workers.ready(self._worker)
        self._talk = StepServer(
            self._worker,
            self._border,
            self._handles,
            self._guard,
            self._facade,
            self._listeners,
            StepRecord(index, earlier),
            limits,
        )
        self._talk.patient_with = patient_with
        return self._talk

    # -- the step ----------------------------------------------------------------------

    def _converse(
        self, talk: StepServer, index: int, code: str, root: Page | Frame, *, rerun: bool
    ) -> tuple[bool, Failure | None]:
        """Run the block; return whether the worker had to be replaced, and what went wrong."""
        label = "page" if root is self._border.page else _root_label(root)
        handle = self._handles.add(root, "Page", label)
        functions = sorted(self._border.functions.keys() & FUNCTIONS.keys())
        frame = {"op": "run", "index": index, "code": code, "root": [handle, "Page"]}
        frame |= {"functions": functions}
        last_resort = _LastResort(talk.budget, self._worker.kill)
        try:
            if self._restore:
                self._worker.send({"op": "restore", "vars": self._variables})
                self._restore = False
            done = talk.run({**frame, "rerun": rerun})
        except WorkerGoneError as gone:
            self._replace_worker()
            return True, self._failed_early(talk, index, gone)
        except DeadlineError:
            line = self._worker.stop()
            self._replace_worker()
            return True, self._out_of_time(talk, index, line)
        finally:
            last_resort.cancel()
        self._names = tuple(done["names"])
        if done["ok"] and talk.refusal is None and talk.diverged is None:
            self._variables = done["vars"] or {}
            return False, None
        failure = self._failed(talk, index, done["error"])
        # Its variables may still fill the memory, so the next step needs a fresh worker.
        if failure.rule == "AW506":
            self._replace_worker()
            return True, failure
        return False, failure

    def _failed(self, talk: StepServer, index: int, error: dict[str, Any] | None) -> Failure:
        line = error["line"] if error else None
        if talk.refusal is not None:
            return self._refused(talk.refusal, index, talk.line)
        if talk.diverged is not None:
            return _failure(index, "step", str(talk.diverged), line=line)
        assert error is not None
        self._note_timeout(talk, error)
        if error["type"] == "MemoryError":
            reason = f"the code used more than {self._limits.memory_mb} MB of memory"
            return _failure(index, "sandbox", reason, rule="AW506", line=line)
        text = self._border.redact(error["message"])
        first, *_ = text.strip().splitlines() or [""]
        kind = shortened(error["type"], 100)
        evidence: dict[str, Any] = {"error_type": kind, "detail": shortened(text, _MAX_DETAIL)}
        if self._guard.page_lost:
            evidence["page_lost"] = True
        cause = talk.call_error
        # The code may have caught that error and failed later for another reason.
        if cause is not None and self._border.redact(str(cause)) == text:
            evidence |= redacted(cause.evidence, self._border.redact)
        message = shortened(f"{kind}: {first}" if first else kind, _MAX_MESSAGE)
        return Failure(
            kind="timeout" if talk.budget.spent else "step",
            message=message,
            step_index=index,
            line=line,
            evidence=evidence,
        )

    def _note_timeout(self, talk: StepServer, error: dict[str, Any]) -> None:
        """Decide by the classes of the error and of its causes whether the block ran out of time.

        The innermost one is looked at first, as code may act, and fail again, while it handles one.
        """
        chain = [(error["type"], error["message"]), *map(tuple, error["causes"])]
        self._timed_out = any(kind == "TimeoutError" for kind, _ in chain)
        for kind, message in reversed(chain):
            text = self._border.redact(message)
            for call in reversed(talk.overdue):
                if (kind, text) == call.error:
                    self._overdue, self._timed_out = call, True
                    return

    def _failed_early(self, talk: StepServer, index: int, gone: WorkerGoneError) -> Failure:
        if talk.refusal is not None:
            return self._refused(talk.refusal, index, talk.line)
        line = gone.line or talk.line
        if talk.budget.remaining_s == 0 and gone.rule in {"AW505", "AW506"}:
            return self._out_of_time(talk, index, line)
        reason = self._border.redact(gone.reason)
        return _failure(index, "sandbox", reason, rule=gone.rule, line=line)

    def _out_of_time(self, talk: StepServer, index: int, line: int | None) -> Failure:
        if talk.refusal is not None:
            return self._refused(talk.refusal, index, talk.line)
        limits = self._limits
        over = f"its {limits.step_s:g} s were over"
        over = over if limits.nominal_s is None else "the attempt's time was over"
        reason = f"TimeoutError: the step was still computing when {over}"
        return _failure(index, "timeout", reason, rule="AW509", line=line or talk.line)

    def _refused(self, refusal: Refusal, index: int, line: int | None) -> Failure:
        reason = self._border.redact(refusal.reason)
        return _failure(index, "sandbox", reason, rule=refusal.rule, line=line)

    # -- the worker --------------------------------------------------------------------

    def _replace_worker(self) -> None:
        """Replace the worker by a fresh one, which later gets the last good variables."""
        self._listeners.forget_all()
        if self._taken is not None:
            self._taken.close()
            self._taken = None
        self._restore = True
        self._names = tuple(self._variables)

    def _cancel_waits(self) -> None:
        try:
            self._facade.cancel_waits()
        except Exception:  # if the page is gone, nothing waits any more
            self._facade.open_waits.clear()

    # -- called from within the browser's event loop -----------------------------------

    def _answer_dialog(self, callback: int, dialog: Any) -> None:
        talk, failed = self._talk, ""
        try:
            if talk is not None and talk.gone is None:
                failed = talk.tell(callback, dialog)
        except (WorkerGoneError, DeadlineError) as gone:
            if talk is not None:
                talk.fail(gone)
        except (Refusal, WireError) as error:
            self._border.on_log(f"a dialog could not be passed to the code: {error}")
        finally:
            if kind_of(dialog) == "Dialog":
                self._settle(dialog, failed)

    def _settle(self, dialog: Any, failed: str) -> None:
        """Dismiss a dialog that the code did not answer, and report that, and why."""
        answered = id(dialog) in self._facade.handled_dialogs
        if not answered:
            # A dialog that remains unanswered blocks the page for ever.
            _dismiss(dialog)
        if failed or not answered:
            self._border.on_dialog(DialogReply(dialog, error=failed))

    def _predicate(self, number: int) -> Any:
        asked_by = self._taken

        def predicate(item: Any) -> bool:
            talk = self._talk
            # A worker that was replaced has taken its functions with it.
            return talk is not None and self._taken is asked_by and talk.ask(number, item)

        return predicate


class _LastResort:
    """A timer in another thread that ends a step far beyond its limit.

    Time that is not counted, such as waits for a model, extends the limit.
    """

    def __init__(self, budget: Budget, end: Callable[[], None]) -> None:
        self._budget, self._end, self._cancelled = budget, end, False
        self._arm()

    def _arm(self) -> None:
        left = self._budget.hard_deadline - time.monotonic() + _LAST_RESORT_S
        self._timer = threading.Timer(left, self._fire)
        self._timer.daemon = True
        self._timer.start()

    def _fire(self) -> None:
        if self._cancelled:
            return
        if self._budget.hard_deadline + _LAST_RESORT_S > time.monotonic():
            self._arm()
        else:
            self._end()

    def cancel(self) -> None:
        self._cancelled = True
        self._timer.cancel()


def _dismiss(dialog: Any) -> None:
    try:
        dialog.dismiss()
    except Exception:  # answered already, or its page is gone
        return


def _root_label(root: Page | Frame) -> str:
    if isinstance(root, Frame):
        return f"frame({root.name or root.url!r:.60})" if not root.name else f"frame({root.name!r})"
    return "popup"


def _failure(
    index: int, kind: Any, message: str, *, rule: str | None = None, line: int | None = None
) -> Failure:
    text = shortened(message, _MAX_MESSAGE)
    return Failure(kind=kind, message=text, rule=rule, step_index=index, line=line)


MakeEngine = Callable[[SandboxBorder, Level], StepEngine]
"""Function that makes the engine of one attempt, given the resources its code may use."""


def worker_engine(border: SandboxBorder, level: Level) -> StepEngine:
    """Return an engine that runs code in its own worker process."""
    return WorkerEngine(border, workers=workers_of(level))
