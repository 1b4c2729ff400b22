"""Runs the steps of an attempt: the worker's life, retries, and what came of each step."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Frame, Page

from pytest_autoweb.results import Failure, ToolCall
from pytest_autoweb.sandbox.base import Border, JsonValue, Limits, StepOutcome
from pytest_autoweb.sandbox.budget import Budget
from pytest_autoweb.sandbox.deadline import BrowserDeadline
from pytest_autoweb.sandbox.dialogue import Dialogue
from pytest_autoweb.sandbox.facade import Facade
from pytest_autoweb.sandbox.handles import Handles, Refusal
from pytest_autoweb.sandbox.listeners import Listeners
from pytest_autoweb.sandbox.process import DeadlineError, WorkerGoneError
from pytest_autoweb.sandbox.record import Entry, Record
from pytest_autoweb.sandbox.values import redacted, shortened
from pytest_autoweb.sandbox.wire import WireError
from pytest_autoweb.sandbox.workers import Workers, workers_of

_LAST_RESORT_S = 15.0
"""Beyond a step's limit: when a pipe is stuck, a timer in another thread kills the worker."""
_MAX_MESSAGE = 500
_MAX_DETAIL = 4_000


class WorkerEngine:
    """Runs the blocks of one attempt in a worker process; implements `base.StepEngine`.

    The worker was started ahead of need, or starts in the background at once, so that its start is
    hidden behind whatever the caller does before the first step. No other engine uses it, before or
    after. Use the engine in the thread that owns the browser.

    Args:
        border: what the code may use of the outside.
        limits: for the worker's memory and processor time.
        workers: where its worker comes from; left out: the process's own, at level `auto`.
    """

    def __init__(
        self, border: Border, *, limits: Limits | None = None, workers: Workers | None = None
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
        self._talk: Dialogue | None = None
        self._last: tuple[int, str] | None = None
        self._entries: list[Entry] = []
        self._names: tuple[str, ...] = ()
        self._variables: dict[str, Any] = {}
        self._restore = False
        self._answers: list[tuple[bool, JsonValue]] = [(False, None)]
        self._closed = False
        self._worker = self._workers.take(self._limits)

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
    def answer(self) -> tuple[bool, JsonValue]:
        """Whether `answer(...)` was called in this attempt, and with what."""
        return self._answers[-1]

    def close(self) -> None:
        """Stop the worker and take every listener off the page; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._listeners.forget_all()
        self._cancel_waits()
        self._guard.close()
        self._worker.close()

    def run_step(
        self,
        index: int,
        code: str,
        *,
        root: Page | Frame,
        limits: Limits,
        resume: tuple[ToolCall, ...] = (),
    ) -> StepOutcome:
        """Run one block; see `base.StepEngine`.

        The same block run again (same index and code, or with `resume`) starts with the variables
        as they were when it started first.
        """
        began = time.perf_counter()
        rerun = bool(resume) or self._last == (index, code)
        earlier = self._entries_for(resume)
        if earlier is None:
            reason = "the calls to continue from are not those of the last run of this step"
            return StepOutcome(ok=False, failure=_failure(index, "step", reason))
        self._open_step(index, code, rerun=rerun)
        talk = self._new_talk(index, earlier, limits)
        killed, failure = self._converse(talk, index, code, root, rerun=rerun)
        self._entries = talk.record.entries
        self._answers[-1] = talk.answered if talk.answered[0] else self._answers[-1]
        return StepOutcome(
            ok=failure is None,
            failure=failure,
            calls=talk.record.calls,
            log="\n".join(talk.log),
            names=self._names,
            duration_ms=(time.perf_counter() - began) * 1000,
            killed=killed,
        )

    # -- before the step ---------------------------------------------------------------

    def _entries_for(self, resume: tuple[ToolCall, ...]) -> list[Entry] | None:
        by_seq = {entry.call.seq: entry for entry in self._entries}
        chosen: list[Entry] = []
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

    def _new_talk(self, index: int, earlier: list[Entry], limits: Limits) -> Dialogue:
        wanted, has = (limits.memory_mb, limits.cpu_s), (self._limits.memory_mb, self._limits.cpu_s)
        self._limits = limits
        if wanted != has or not self._worker.alive:
            self._replace_worker()
        self._worker = self._workers.ready(self._worker)
        self._talk = Dialogue(
            self._worker,
            self._border,
            self._handles,
            self._guard,
            self._facade,
            self._listeners,
            Record(index, earlier),
            limits,
        )
        return self._talk

    # -- the step ----------------------------------------------------------------------

    def _converse(
        self, talk: Dialogue, index: int, code: str, root: Page | Frame, *, rerun: bool
    ) -> tuple[bool, Failure | None]:
        """Whether the worker had to be replaced, and what went wrong."""
        label = "page" if root is self._border.page else _root_label(root)
        handle = self._handles.add(root, "Page", label)
        functions = sorted(self._border.functions)
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
        if failure.rule == "AW506":
            self._replace_worker()
            return True, failure
        return False, failure

    def _failed(self, talk: Dialogue, index: int, error: dict[str, Any] | None) -> Failure:
        line = error["line"] if error else None
        if talk.refusal is not None:
            return self._refused(talk.refusal, index, talk.line)
        if talk.diverged is not None:
            return _failure(index, "step", str(talk.diverged), line=line)
        assert error is not None
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

    def _failed_early(self, talk: Dialogue, index: int, gone: WorkerGoneError) -> Failure:
        if talk.refusal is not None:
            return self._refused(talk.refusal, index, talk.line)
        line = gone.line or talk.line
        if talk.budget.remaining_s == 0 and gone.rule in {"AW505", "AW506"}:
            return self._out_of_time(talk, index, line)
        reason = self._border.redact(gone.reason)
        return _failure(index, "sandbox", reason, rule=gone.rule, line=line)

    def _out_of_time(self, talk: Dialogue, index: int, line: int | None) -> Failure:
        seconds = f"{self._limits.step_s:g}"
        if talk.refusal is not None:
            return self._refused(talk.refusal, index, talk.line)
        reason = f"TimeoutError: the step computed on after its {seconds} s were over"
        return _failure(index, "timeout", reason, rule="AW509", line=line or talk.line)

    def _refused(self, refusal: Refusal, index: int, line: int | None) -> Failure:
        reason = self._border.redact(refusal.reason)
        return _failure(index, "sandbox", reason, rule=refusal.rule, line=line)

    # -- the worker --------------------------------------------------------------------

    def _replace_worker(self) -> None:
        """A fresh worker, started ahead of need; it gets the last good variables later."""
        self._listeners.forget_all()
        self._worker.close()
        self._worker = self._workers.take(self._limits)
        self._restore = True
        self._names = tuple(self._variables)

    def _cancel_waits(self) -> None:
        try:
            self._facade.cancel_waits()
        except Exception:  # the page may be gone; then nothing waits any more
            self._facade.open_waits.clear()

    # -- called from within the browser's event loop -----------------------------------

    def _answer_dialog(self, callback: int, dialog: Any) -> None:
        talk = self._talk
        try:
            if talk is not None and talk.gone is None:
                talk.tell(callback, dialog)
        except (WorkerGoneError, DeadlineError) as gone:
            if talk is not None:
                talk.fail(gone)
        except (Refusal, WireError) as error:
            self._border.on_log(f"a dialog could not be shown to the code: {error}")
        finally:
            if id(dialog) not in self._facade.handled_dialogs:
                # A dialog that nobody answers blocks the page for ever.
                _dismiss(dialog)

    def _predicate(self, number: int) -> Any:
        asked_by = self._worker

        def predicate(item: Any) -> bool:
            talk = self._talk
            return talk is not None and self._worker is asked_by and talk.ask(number, item)

        return predicate


class _LastResort:
    """Ends the step long after its time, from another thread; what is not counted is added."""

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
