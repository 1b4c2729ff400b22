"""The host's side of a running step: serves the worker's calls and reports events to it."""

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from playwright.sync_api import Error, TimeoutError

from pytest_autoweb.base import waiting
from pytest_autoweb.base.waiting import Countdown
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.results.records import ReadBack
from pytest_autoweb.sandbox.allowed_members import MANAGER_EXIT
from pytest_autoweb.sandbox.border_values import MAX_TARGET, outgoing, redacted, shortened
from pytest_autoweb.sandbox.call_frames import Bound
from pytest_autoweb.sandbox.deadline import BrowserDeadline, Budget, StuckError
from pytest_autoweb.sandbox.engine import Limits, RecalledCall, SandboxBorder, StepCallError
from pytest_autoweb.sandbox.facade import Facade
from pytest_autoweb.sandbox.frame_codec import WireError, to_line
from pytest_autoweb.sandbox.handles import Handles
from pytest_autoweb.sandbox.listeners import Listeners
from pytest_autoweb.sandbox.rules import Refusal
from pytest_autoweb.sandbox.step_record import (
    CallTimer,
    DivergedError,
    OverdueCall,
    Reply,
    StepRecord,
    kept_read_back,
    key_of,
)
from pytest_autoweb.sandbox.worker_process import DeadlineError, WorkerGoneError, WorkerProcess

CALLBACK_S = 2.0
"""Seconds for the code's function to handle an event, during which the page stands still."""

_LISTENING = frozenset(
    {"on", "once", "remove_listener", "add_locator_handler", "remove_locator_handler"}
)
# Enough to find the one that ended the step among later ones that the code caught.
_MAX_OVERDUE = 20
_SPIN_S = 0.005
_OVER = "the step's time is over"


def _unknown() -> RecalledCall | None:
    """Return what is known of a call that nobody looked up."""
    return None


class StepServer:
    """The host's side of the conversation of one step.

    The worker speaks first and the host answers: the worker waits for the reply to each `call`
    before its code continues. `run` sends the block, then reads frames until `done`; `log` and
    `answer` need no reply. One object serves one run of a step, and a retry gets a new one.

    A call goes through these stages, in this order:

    1. It is counted, and refused without further ado if the step has failed already (`refusal`,
       `diverged`): nothing more is performed for it.
    2. While the record of an earlier run is being caught up with (`record.catching_up`), it is
       answered from there; another call than the recorded one sets `diverged`. Calls in callbacks
       and calls about listeners are always performed.
    3. If the step's time is over, it gets a timeout error.
    4. Otherwise the facade binds, checks and performs it, and the record keeps call and reply.
    5. Events that the page raised during the call are passed on, then the reply is sent.

    Callbacks make this re-entrant. Playwright calls a handler in the middle of a call; the host
    then sends `cb` and serves the worker until its `cbdone` (`_call_back`). `_open` holds the
    numbers of the callbacks under way. While it is not empty, calls are always performed, their
    timeouts do not count for the call around them, and no fields are read back, since the page may
    stand still. Predicates may only read properties (`_peek`). The reply to the outer call waits
    until its callbacks have finished (`_let_callbacks_end`), because the worker takes frames in the
    order of their arrival.

    Nothing may be raised into Playwright's event loop. What fails there is kept in `gone` (`fail`),
    and raised by `_pump` once that call has returned.

    Attributes:
        begun: whether the worker has begun to run the block.
        refusal: the first refused call; it fails the step even if the code caught the error.
        line: line of the block that made the refused call, or otherwise the last call.
        diverged: why a retried step could not be continued.
        answered: whether `answer(...)` was called, and its argument.
        call_error: the last error raised by a finder or function that the cell offers.
        overdue: the last calls whose time ran out.
        patient_with: the call, by its key, whose timeout is multiplied by the limits' `patience`.
    """

    def __init__(
        self,
        worker: WorkerProcess,
        border: SandboxBorder,
        handles: Handles,
        guard: BrowserDeadline,
        facade: Facade,
        listeners: Listeners,
        record: StepRecord,
        limits: Limits,
    ) -> None:
        self._worker, self._border, self._handles = worker, border, handles
        self._guard, self._facade, self._listeners = guard, facade, listeners
        self.record, self._limits = record, limits
        self.budget = Budget(
            limits.step_s, border.waited, call_s=limits.call_s, nominal_s=limits.nominal_s
        )
        self.refusal: Refusal | None = None
        self.line: int | None = None
        self.diverged: DivergedError | None = None
        self.gone: WorkerGoneError | DeadlineError | None = None
        self.answered: tuple[bool, Any] = (False, None)
        self.call_error: StepCallError | None = None
        self.overdue: list[OverdueCall] = []
        self._field: Callable[[], ReadBack | None] | None = None
        self._written: tuple[int, Callable[[], ReadBack | None]] | None = None
        self.patient_with: str | None = None
        self.log: list[str] = []
        self._log_chars = 0
        self._exchanged_before = worker.exchanged
        self._number = 0
        self._callback_number = 0
        self._open: list[int] = []
        self.begun = self._telling = self._running = False
        self._page = ""

    def run(self, frame: dict[str, Any]) -> dict[str, Any]:
        """Have the worker run a block, and serve its requests until it is done.

        Raises:
            WorkerGoneError: the worker died, or was killed for breaking a rule.
            DeadlineError: the worker did not finish in time.
        """
        self._page = frame["root"][0]
        self._running = True
        try:
            self._worker.send(frame)
            self._pump(
                lambda said: bool(said["op"] == "begun"),
                lambda: self.budget.hard_deadline,
                self._serve,
            )
            self.begun = True
            return self._pump(
                lambda said: bool(said["op"] == "done"),
                lambda: self.budget.hard_deadline,
                self._serve,
            )
        finally:
            self._running = False

    def _pump(
        self,
        over: Callable[[dict[str, Any]], bool],
        deadline: Callable[[], float],
        serve: Callable[[dict[str, Any]], None],
    ) -> dict[str, Any]:
        """Serve the worker until a frame arrives that ends this part of the conversation."""
        while True:
            if self.gone is not None:
                raise self.gone
            said = self._received(deadline)
            self._check_traffic()
            if over(said):
                return said
            match said["op"]:
                case "log":
                    self.line = said["line"] or self.line
                    self._take_log(said["text"])
                case "answer":
                    self._take_answer(said)
                case "call":
                    serve(said)
                case other:
                    raise self._ended("AW507", f"the worker said {other!r} out of turn")

    def _received(self, deadline: Callable[[], float]) -> dict[str, Any]:
        """Return the worker's next frame; the deadline may move during the wait."""
        while True:
            until = deadline()
            try:
                return self._worker.receive(until, patient=self._patient)
            except DeadlineError:
                if deadline() <= max(until, time.monotonic()):
                    raise

    @property
    def _patient(self) -> bool:
        """Tell whether other cells in flight may continue while the worker computes.

        The browser's events then also reach this cell while its worker is not listening: it could
        answer no dialog and evaluate no predicate of a `with` block.
        """
        return not (self._listeners.urgent or self._facade.open_waits)

    def _check_traffic(self) -> None:
        limit = self._limits.exchanged_mb
        if self._worker.exchanged - self._exchanged_before > limit * 1_000_000:
            raise self._ended("AW505", f"the step exchanged more than {limit} MB with its page")

    def _ended(self, rule: str, reason: str) -> WorkerGoneError:
        """Stop the worker and return the error to raise."""
        return WorkerGoneError(rule, reason, self._worker.stop())

    # -- calls -------------------------------------------------------------------------

    def _serve(self, frame: dict[str, Any]) -> None:
        value, error = self._answer_call(frame)
        if not self._open and not self.record.catching_up:
            self._pass_on_events()
        self._reply(frame["id"], value, error)
        if self.budget.remaining_s == 0:
            self.budget.allow_grace()

    def _reply(self, number: int, value: Any, error: tuple[str, str] | None) -> None:
        frame = {"op": "reply", "id": number, "value": value, "error": error}
        try:
            # A result that does not fit must become an error of this call, not end the step.
            to_line(frame)
        except WireError as problem:
            frame = {**frame, "value": None, "error": ("Error", str(problem))}
        self._worker.send(frame)

    def _answer_call(self, frame: dict[str, Any]) -> Reply:
        number = self._count_call()
        nested = bool(self._open)
        # The step has failed already, so nothing more is performed for it.
        if self.refusal is not None or self.diverged is not None:
            return None, ("Refused", "the step is over")
        self.line = frame["line"]
        key = key_of(frame, self._page)
        # A retry registers its listeners again, because those of the first run were removed.
        listening = frame["method"] in _LISTENING
        if self.record.catching_up and not nested and not listening:
            try:
                return self.record.replay(key, number)
            except DivergedError as diverged:
                self.diverged = diverged
                return None, ("Refused", "the step is over")
        if self.budget.remaining_s == 0:
            self.budget.spent = True
            return None, ("TimeoutError", _OVER)
        live, began = nested or listening, time.monotonic()
        granted = self.budget.granted_ms
        reply = self._perform(frame, key, CallTimer(self.record, number, live=live))
        if live:
            # The call that is still running around this one is judged by its own timeout.
            self.budget.granted_ms = granted
        else:
            self._note_overdue(number, key, reply, (time.monotonic() - began) * 1000)
        return reply

    def _note_overdue(self, number: int, key: str, reply: Reply, took_ms: float) -> None:
        """Remember the call if its time ran out; assertions signal this with an AssertionError."""
        error = reply[1]
        if error is None or error[0] not in {"TimeoutError", "AssertionError"}:
            return
        # Claims that can never hold, e.g. of an ambiguous locator, fail without waiting.
        if error[0] == "TimeoutError" or took_ms >= 0.9 * self.budget.granted_ms > 0:
            self.overdue = [*self.overdue, OverdueCall(number, key, error)][-_MAX_OVERDUE:]

    def _perform(self, frame: dict[str, Any], key: str, timed: CallTimer) -> Reply:
        bound: Bound | None = None
        reply: Reply
        depth = len(self._open)
        recalled = _unknown
        read: ReadBack | None = None
        try:
            bound = self._bind(frame)
            recalled = self._recalled(bound, key)
            # A pause cannot be late: it takes exactly as long as the code asks for.
            waits = bound.member.timeout or bound.method == MANAGER_EXIT
            patient = waits and key == self.patient_with
            self.budget.patience = self._limits.patience if patient else 1.0
            self.budget.granted_ms = 0.0
            result, read = self._result_of(bound, recalled)
            reply = outgoing(result, self._handles, self._border.redact), None
        except Refusal as refusal:
            self.refusal = self.refusal or refusal
            reply = None, ("Refused", refusal.reason)
        except WorkerGoneError:
            raise
        except Exception as error:  # whatever a browser call raises is passed to the generated code
            reply = None, self._as_error(error)
        known = recalled()
        self._let_callbacks_end(depth)
        target = bound.receiver.text if bound else "page"
        timed.file(
            key,
            reply,
            target=shortened(self._border.redact(target), MAX_TARGET),
            method=frame["method"][:60],
            arguments=bound.arguments if bound else "",
            acting=bool(bound and bound.member.acting),
            line=frame["line"],
            duplicate=bool(known and known.duplicate),
            cached=bool(known and known.answered),
            read_back=kept_read_back(read, self._border.redact),
            element=self._border.redact(self._facade.take_element()),
        )
        if bound and bound.member.acting and not self._open:
            self._look_back(timed.number, read)
        return reply

    def _look_back(self, number: int, read: ReadBack | None) -> None:
        """Correct what the field before held, if it refused its text when it was left."""
        written, reader = self._written or (number, None)
        if (late := reader() if reader else None) is not None:
            self.record.correct(written, kept_read_back(late, self._border.redact))
            self._written = None
        if self._field is not None:
            self._written = (number, self._field) if read and read.same else None
            self._field = None

    def _recalled(self, bound: Bound, key: str) -> Callable[[], RecalledCall | None]:
        """Look up the call among earlier ones; not in a callback, where the page may be blocked.

        Returns:
            A function that waits for the result. The page gets the look before the call.
        """
        recall, on_page = self._border.recall, bound.receiver.kind in {"Page", "Frame", "Locator"}
        if recall is None or self._open or not on_page:
            return _unknown
        acting = bound.member.acting
        ask = partial(recall.ask, bound.page, bound.method, key, acting=acting)
        # What acts is made in any case, so nothing has to wait for the look.
        told = waiting.start_call(bound.page, ask) if acting else ask

        @cache
        def recalled() -> RecalledCall | None:
            try:
                return told()
            except Error:
                # The call itself says what has become of the browser.
                return None

        return recalled

    def _result_of(
        self, bound: Bound, recalled: Callable[[], RecalledCall | None]
    ) -> tuple[Any, ReadBack | None]:
        acting = bound.member.acting
        if not acting and (known := recalled()) is not None and known.answered:
            return known.value, None
        # Within a callback the page may stand still.
        field = None if self._open else self._facade.field_of(bound)
        result = self._facade.perform(bound, self.budget)
        held = field() if field else None
        self._field = field
        if told := self._facade.take_note():
            self._take_log(told)
        if (known := recalled()) is not None:
            known.done(None if acting else redacted(result, self._border.redact))
        return result, held

    def _bind(self, frame: dict[str, Any]) -> Bound:
        try:
            return self._facade.bind(frame)
        except WireError as error:
            reason = f"the worker broke the protocol: {error}"
            raise self._ended("AW507", reason) from None

    def _as_error(self, error: Exception) -> tuple[str, str]:
        message = self._border.redact(whole_text(str(error)))[:20_000]
        if isinstance(error, StepCallError):
            self.call_error = error
            return "Error", message
        if isinstance(error, StuckError):
            self.budget.spent = True
            return "TimeoutError", message
        if isinstance(error, TimeoutError | AssertionError):
            self.budget.spent = self.budget.spent or self.budget.cut
            late = isinstance(error, TimeoutError)
            told = self.budget.with_limits(message)
            return "TimeoutError" if late else "AssertionError", told
        if isinstance(error, Error):
            return "Error", message
        if isinstance(error, TypeError | ValueError):
            return "TypeError" if isinstance(error, TypeError) else "ValueError", message
        return "Error", f"{type(error).__name__}: {message}"

    def _count_call(self) -> int:
        number = self._number
        self._number += 1
        # An endless loop of calls would otherwise flood the record before the deadline.
        if self._number > self._limits.calls:
            raise self._ended("AW505", f"the step made more than {self._limits.calls} calls")
        return number

    # -- output ------------------------------------------------------------------------

    def _take_log(self, text: str) -> None:
        self._log_chars += len(text) + 1
        if self._log_chars > self._limits.output_chars:
            limit = self._limits.output_chars
            raise self._ended("AW505", f"the step wrote more than {limit} characters")
        clean = self._border.redact(text)
        self.log.append(clean)
        for line in clean.splitlines():
            self._border.on_log(line)

    def _take_answer(self, said: dict[str, Any]) -> None:
        timed = CallTimer(self.record, self._count_call(), live=True)
        value = redacted(said["value"], self._border.redact)
        self.answered, self.line = (True, value), said["line"]
        timed.file(
            "answer",
            (None, None),
            target="step",
            method="answer",
            arguments=shortened(repr(value), 200),
            acting=False,
            line=said["line"],
        )

    # -- callbacks ---------------------------------------------------------------------

    # Playwright runs handlers and predicates on its event loop, in the middle of another call.

    def tell(self, callback: int, item: Any) -> str:
        """Call a function in the worker with an event's object, and serve it until it returns.

        Returns:
            The function's error; empty if it raised none.
        """
        # An event between two steps belongs to no step's time budget.
        if not self._running:
            self.budget = Budget(CALLBACK_S)
        args = [outgoing(item, self._handles, self._border.redact)]
        _, failed = self._call_back(callback, args, predicate=False)
        return failed

    def ask(self, callback: int, item: Any) -> bool:
        """Evaluate a predicate in the worker; it may only read properties.

        The browser is in the middle of a call, so nothing may be raised here. A worker that fails
        is noticed when that call returns.
        """
        if self.gone is not None:
            return False
        try:
            args = [outgoing(item, self._handles, self._border.redact)]
            return bool(self._call_back(callback, args, predicate=True)[0])
        except (WorkerGoneError, DeadlineError) as gone:
            self.fail(gone)
        except (Refusal, WireError) as error:
            self.log.append(f"a predicate failed: {error}")
        return False

    def _call_back(self, callback: int, args: list[Any], *, predicate: bool) -> tuple[Any, str]:
        """Have the worker call a function; return its result, and its error or an empty text."""
        self._callback_number += 1
        number = self._callback_number
        self._open.append(number)
        countdown = Countdown(CALLBACK_S, time.monotonic, self._border.waited)
        frame = {"op": "cb", "id": number, "callback": callback, "args": args}
        try:
            self._worker.send({**frame, "predicate": predicate})
            done = self._pump(
                lambda said: bool(said["op"] == "cbdone" and said["id"] == number),
                lambda: countdown.ends_at,
                self._peek if predicate else self._serve,
            )
        finally:
            self._open.remove(number)
        refused = done["error"] == "Refused"
        failed = "" if refused else self._border.redact(done["error"] or "")
        if failed:
            self._take_log(f"a callback failed: {failed}")
        return done["value"], failed

    def _peek(self, frame: dict[str, Any]) -> None:
        self._count_call()
        reply: Reply
        try:
            value = self._facade.peek(self._bind(frame))
            reply = outgoing(value, self._handles, self._border.redact), None
        except WorkerGoneError:
            raise
        except Exception as error:  # an error raised here would end up in Playwright's event loop
            reply = None, ("Error", self._border.redact(whole_text(str(error)))[:20_000])
        self._reply(frame["id"], *reply)

    def _pass_on_events(self) -> None:
        """Pass on the events that occurred during the call that was just performed."""
        if self._telling:
            return
        self._telling = True
        try:
            while self._listeners.waiting:
                self.tell(*self._listeners.waiting.pop(0))
        finally:
            self._telling = False

    def _let_callbacks_end(self, depth: int) -> None:
        """Wait until the callbacks that began during a call have finished.

        The worker answers requests in the order in which they reach it. Without the wait, the reply
        to the outer call would overtake the calls that a dialog's handler still makes.
        """
        countdown = Countdown(2 * CALLBACK_S, time.monotonic, self._border.waited)
        while len(self._open) > depth and self.gone is None:
            self._guard.spin(self._border.page, _SPIN_S)
            if countdown.left_s < 0:
                self.fail(DeadlineError())

    def fail(self, gone: WorkerGoneError | DeadlineError) -> None:
        """End the conversation from within a browser call, where nothing may be raised."""
        self.gone = self.gone or gone
        self._worker.kill()
