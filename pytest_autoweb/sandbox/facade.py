"""Performs the worker's calls on the real Playwright objects, within the rules."""

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from playwright.sync_api import Error, Locator, TimeoutError

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.redaction import SECRET_PLACE, unlike_words
from pytest_autoweb.base.waiting import Countdown
from pytest_autoweb.base.waiting.playwright_internals import place_of
from pytest_autoweb.browser.egress.browser_watch import WATCH
from pytest_autoweb.browser.page.same_element import GUARDS, ElementIdentity, register_same_on
from pytest_autoweb.browser.page.unchanged_page import method_as_it_was
from pytest_autoweb.results.records import ReadBack
from pytest_autoweb.sandbox import (
    cell_files,
    own_requests,
    page_addresses,
    size_limits,
    ticks,
    typed_secrets,
)
from pytest_autoweb.sandbox.allowed_members import (
    EVENTS,
    MANAGER_EXIT,
    OF_RECEIVER,
    PREDICATE_ARGUMENTS,
    READ_FILE,
    SCRIPT_METHODS,
    SECRET_METHODS,
    URL_MATCHERS,
    WRITES,
    words,
)
from pytest_autoweb.sandbox.border_values import plain_headers
from pytest_autoweb.sandbox.call_frames import Binder, Bound, Callback
from pytest_autoweb.sandbox.deadline import CLAIM_MS, DEFAULT_MS, BrowserDeadline, Budget
from pytest_autoweb.sandbox.engine import DialogReply, SandboxBorder, SentRequest, StepCallError
from pytest_autoweb.sandbox.handles import Handles, kind_of
from pytest_autoweb.sandbox.measured_readings import measure, reads
from pytest_autoweb.sandbox.own_requests import REPLY_LIMITS, whole_reply
from pytest_autoweb.sandbox.page_scripts import bounded_result
from pytest_autoweb.sandbox.positional_calls import act_on_place, place_of_call
from pytest_autoweb.sandbox.rehearsed_calls import rehearsed
from pytest_autoweb.sandbox.rules import Refusal

# Beyond its limit, a call gets this long to end on its own before the browser is killed.
_LATE_S = 4.0
# An hour, because the step's remaining time limits a reopened wait.
_AGAIN_MS = 3_600_000.0
MAX_PAGES = 20
"""Limit on the open pages of an attempt."""
_SPIN_S = 0.02
_PASSWORDS = "input[type=password]"
_BROKEN_OFF = re.compile(r"aborted|ECONNRESET|socket hang up")
# Methods whose arguments go through Playwright's own serializer, which supports infinity.
_TAKES_ANY_NUMBER = _RESULTS = SCRIPT_METHODS - {"wait_for_function"}


_WITH_ELEMENTS = frozenset({"Frame", "Locator", "Page"})
_FOR_PAGES = words(
    "expect_download expect_event expect_navigation expect_page expect_popup expect_request "
    "expect_request_finished expect_response go_back go_forward goto reload wait_for_event "
    "wait_for_load_state wait_for_url"
)
"""Methods that wait for a page or a server, and not for an element."""
# In Playwright's log of a call, after which it waits only for the page that the call leads to.
_DONE = re.compile(r"^ *- \w+ action done$", re.MULTILINE)
_BEGUN = re.compile(r"^ *- (elementHandle\.press\(|performing \w+ action$)", re.MULTILINE)
_PAUSE_MS = 50.0


def _waits_for_element(bound: Bound) -> bool:
    return bound.method not in _FOR_PAGES and bound.receiver.kind != "APIRequestContext"


def _told_late(method: str, limit: float, *, coming: bool, arrived: bool) -> str:
    """Return what is to be said of a call that was done and yet ran out of time."""
    came = "" if arrived else " and is still not there"
    page = "but the page that it leads to took longer than"
    return f"({method}() was done, {page} {limit:g} s{came})"


class EventWait(NamedTuple):
    """A `with page.expect_…()` block that has been entered."""

    manager: Any
    info: Any
    again: Callable[[], Any]
    """Makes another manager that waits for the same event, practically without a timeout."""
    timeout: Any
    """The timeout that the code asked for."""
    default_ms: float
    for_element: bool = True
    """Whether it waits for something that the page itself does at once."""
    reopened: bool = False
    """Whether the wait was opened again, so that leaving it has to keep the timeout."""


class Facade:
    """The gate to the real Playwright objects: checks each bound call and performs it.

    `bind` comes first: it turns a frame into a `Bound` call on a real object, and accepts only what
    `allowed_members` lists. `perform` then checks what depends on the call's values, puts real
    addresses, paths and secrets in place of what the code wrote, and makes the call within the
    step's budget. `peek` is for predicates, which run while Playwright waits, and only reads.

    It outlives steps and workers of its attempt. `predicate` and `listen` are set once by the
    engine, since they lead back to the worker's functions. A wait that the code entered by `with`
    is in `open_waits` until the code leaves it; after a timeout, `reopen_waits` opens it again for
    the retry of the step.

    Attributes:
        bind: decodes a frame into a bound call.
        predicate: returns a function that asks the worker's function of a given number.
        listen: registers the worker's function as a listener.
        open_waits: `with page.expect_…()` blocks that have been entered and not left, by the id
            of their info.
        handled_dialogs: ids of the dialogs that the code answered.
    """

    def __init__(self, border: SandboxBorder, handles: Handles, guard: BrowserDeadline) -> None:
        self._border, self._handles, self._guard = border, handles, guard
        register_same_on(border.page)
        self.bind = Binder(border, handles).bind
        self._default_ms, self._navigation_ms = DEFAULT_MS, DEFAULT_MS
        self.open_waits: dict[int, EventWait] = {}
        self.handled_dialogs: set[int] = set()
        self._note = self._element = ""
        self.predicate: Callable[[int], Callable[[Any], bool]] = lambda _number: lambda _item: False
        self.listen: Callable[[Any, str, Any, int], None] = lambda *_: None

    # -- performing --------------------------------------------------------------------

    def perform(self, bound: Bound, budget: Budget) -> Any:
        """Make the call and return its raw result.

        Raises:
            Refusal: a rule about the arguments forbids the call.
            StuckError: the browser did not answer, and the call was ended.
        """
        budget.cut = False
        # Playwright's own timeout gives the better error message, so it must come first.
        margin = 0.5 if bound.member.timeout or bound.method == MANAGER_EXIT else 0.0
        seconds = budget.remaining_s + margin
        # Ending a call in time needs Playwright's event loop, which may itself be stuck.
        try:
            with WATCH.limit(seconds + _LATE_S):
                return self._guard.run(
                    bound.page,
                    seconds,
                    lambda: self._with_its_page(self._meant(bound, budget), budget),
                    waited=self._border.waited,
                )
        finally:
            if self._guard.page_lost:
                WATCH.trust(again=False)

    def take_note(self) -> str:
        """Return what the code's author is to know about the last call, once."""
        note, self._note = self._note, ""
        return note

    def take_element(self) -> str:
        """Return what the last call acted on, if that was found by its place, once."""
        element, self._element = self._element, ""
        return element

    def _meant(self, bound: Bound, budget: Budget) -> Bound:
        return rehearsed(bound, self._border.rehearsal, budget.remaining_s * 1000)

    def _with_its_page(self, bound: Bound, budget: Budget) -> Any:
        """Make the call; a page that it leads to, or that is coming already, may take longer.

        The limit of a call is that of its element. What was done is done, however long the next
        page takes: as an error it would be done again.
        """
        began = time.monotonic()
        try:
            return self._prepared(bound, budget)()
        except TimeoutError as error:
            if bound.receiver.kind not in _WITH_ELEMENTS or not _waits_for_element(bound):
                raise
            limit = budget.limit_s
            done = self._was_done(bound, str(error), began)
            coming = self._border.leaving(bound.page, began if done else None)
            named = bound.kwargs.get("timeout") is not None
            if not done and (named or not coming):
                raise
            arrived = self._await_page(bound, budget, began if done else None)
            if not done and not arrived:
                raise
            if done:
                self._note = _told_late(bound.method, limit, coming=coming, arrived=arrived)
                return None
        return self._prepared(bound, budget)()

    def _was_done(self, bound: Bound, told: str, began: float) -> bool:
        """Tell by the log of a call that ran out of time whether only its page was missing."""
        if _DONE.search(told):
            return True
        # A key, and a click within a frame, have no such line, but a page asked for since then.
        return _BEGUN.search(told) is not None and self._border.leaving(bound.page, began)

    def _await_page(self, bound: Bound, budget: Budget, since: float | None) -> bool:
        """Wait for a page that was asked for; return whether it came before the step is over."""
        while self._border.leaving(bound.page, since):
            if budget.remaining_s < _PAUSE_MS / 1000:
                return False
            bound.page.wait_for_timeout(_PAUSE_MS)
        return True

    def field_of(self, bound: Bound) -> Callable[[], ReadBack | None] | None:
        """Find the field that the call is about to write to; the result reads it afterwards."""
        args, kwargs, item = list(bound.args), dict(bound.kwargs), bound.receiver.object
        by_selector = bound.receiver.kind in {"Page", "Frame"}
        look = self._border.read_back
        secret = any(map(typed_secrets.holds_secret, [*args, *kwargs.values()]))
        if look is None or secret or bound.method not in WRITES:
            return None
        if by_selector:
            selector = args.pop(0) if args else kwargs.pop("selector", None)
            item = item.locator(selector) if isinstance(selector, str) else None
        return look(item, bound.method, args, kwargs) if item is not None else None

    def peek(self, bound: Bound) -> Any:
        """Read a property for a predicate, without letting the event loop run.

        Raises:
            Refusal: the call would need the browser.
        """
        if bound.member.kind != "get":
            raise Refusal("AW504", f"{bound.method} is not available inside a predicate")
        return _read(bound)

    def _prepared(self, bound: Bound, budget: Budget) -> Callable[[], Any]:
        receiver, method, args, kwargs = bound.receiver, bound.method, bound.args, bound.kwargs
        item = receiver.object
        if bound.member.kind == "get":
            return lambda: _read(bound)
        if bound.member.kind == "listen":
            return lambda: self._listen(bound)
        if bound.member.kind == "find":
            return lambda: self._find(bound)
        if bound.member.kind == "function":
            function = _offered(self._border.functions, method)
            if method in OF_RECEIVER:
                function = partial(function, item)
            return lambda: function(*args, **kwargs)
        if method == MANAGER_EXIT:
            return lambda: self._leave(bound, budget, failed=bool(args and args[0]))
        if method == READ_FILE:
            return lambda: cell_files.read_saved(args[0] if args else None, self._border)
        if method == "path":
            return lambda: cell_files.kept_download(item, self._border)
        if method == "wait_for_timeout":
            wanted = args[0] if args else kwargs.get("timeout")
            return _pause(item, budget.grant_ms(wanted, DEFAULT_MS), cut=budget.cut)
        if method in {"set_default_timeout", "set_default_navigation_timeout"}:
            return self._set_default(method, args[0] if args else kwargs.get("timeout"))
        self._check(bound)
        if receiver.kind == "Locator" and method in GUARDS:
            self._check_there(bound)
        args, kwargs = self._rewritten(bound, budget)
        wanted = kwargs.get("timeout")
        if bound.member.timeout:
            kwargs["timeout"] = budget.grant_ms(
                wanted, self._default_of(bound), for_element=_waits_for_element(bound)
            )
        function = method_as_it_was(item, method, self._border.undo)
        if method == "wait_for_function":
            # Its result is a handle into the page, which may not cross; only the waiting matters.
            return lambda: _discard(function(*args, **kwargs))
        if bound.member.kind == "manage":
            make = partial(function, *args, **kwargs)
            return lambda: self._enter(bound, make, wanted)
        if receiver.kind == "Dialog":
            return lambda: self._answer(bound, partial(function, *args, **kwargs))
        if receiver.kind == "APIRequestContext":
            return lambda: self._send(bound, function, kwargs)
        if method == "save_as":
            return lambda: cell_files.keep_saved(function(**kwargs), kwargs["path"], self._border)
        if reads(receiver.kind, method):
            return lambda: _measured(bound, function, args, kwargs)
        shown = self._border.shown(receiver.text)
        if (place := place_of_call(bound, shown)) is not None:
            return lambda: self._act_on_place(bound, place, args, kwargs, shown)
        if method in _RESULTS:
            return lambda: bounded_result(receiver.kind, method, item, args, kwargs)
        if method in ticks.METHODS:
            return lambda: self._noted(ticks.tick_in(item, method, args, kwargs))
        return lambda: function(*args, **kwargs)

    def _act_on_place(
        self,
        bound: Bound,
        place: Locator,
        args: list[Any],
        kwargs: dict[str, Any],
        shown: ElementIdentity | None,
    ) -> Any:
        acted = act_on_place(bound, place, args, kwargs, shown)
        self._element = acted.element
        return self._noted(acted.result) if bound.method in ticks.METHODS else acted.result

    def _noted(self, said: str | None) -> None:
        """Keep what is to be said of a call that has no result."""
        self._note = said or ""

    def _answer(self, bound: Bound, answer: Callable[[], None]) -> None:
        """Answer a dialog, and report it; a dialog that was answered before raises an error."""
        answer()
        dialog = bound.receiver.object
        self.handled_dialogs.add(id(dialog))
        given = [*bound.args, *bound.kwargs.values()][:1]
        text = f' "{self._border.redact(str(given[0]))}"' if given and given[0] else ""
        self._border.on_dialog(DialogReply(dialog, bound.method + text))

    def _check_there(self, bound: Bound) -> None:
        if why := self._border.lacks(bound.receiver.object, bound.receiver.text):
            raise StepCallError(why)

    def _check(self, bound: Bound) -> None:
        """Refuse the call if one of the rules that change nothing forbids it."""
        method, args = bound.method, bound.args
        if method in SCRIPT_METHODS and not self._border.scripts:
            raise Refusal("AW510", f"{method}() runs a script in the page, which `strict` refuses")
        if method not in _TAKES_ANY_NUMBER:
            # A timeout may be infinite, because `grant_ms` limits it.
            size_limits.check_finite(
                [*args, *(v for k, v in bound.kwargs.items() if k != "timeout")]
            )
        if method == "close" and bound.receiver.object is self._border.page:
            raise Refusal("AW504", "the page under test stays open; close popups only")
        if method in {"expect_event", "wait_for_event"}:
            event = args[0] if args else bound.kwargs.get("event")
            _known_event(event)
        if method == "new_page" and len(bound.receiver.object.pages) >= MAX_PAGES:
            raise Refusal("AW505", f"the attempt has {MAX_PAGES} pages open; close some")
        if method == "set_viewport_size":
            size_limits.check_viewport(args[0] if args else bound.kwargs.get("viewport_size"))

    def _rewritten(self, bound: Bound, budget: Budget) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments with absolute addresses, real paths and real secrets."""
        kind, method = bound.receiver.kind, bound.method
        args, kwargs = self._with_predicates(bound)
        if (parameter := URL_MATCHERS.get((kind, method))) is not None:
            args[:1] = [page_addresses.url_matcher(value, bound.page.url) for value in args[:1]]
            if parameter in kwargs:
                kwargs[parameter] = page_addresses.url_matcher(kwargs[parameter], bound.page.url)
        elif kind == "APIRequestContext":
            args, kwargs = [], own_requests.own_request(bound, args, kwargs, self._border)
        elif method == "goto":
            url, args, kwargs = _without_argument(args, kwargs, 0, "url")
            url = typed_secrets.with_link(url, self._border)
            kwargs["url"] = page_addresses.allowed_url(url, bound.page.url, self._border)
        elif method == "screenshot":
            # A screenshot may reach a model or a report, so fields that hold secrets are masked.
            covered = [bound.page.locator(_PASSWORDS), *self._border.covers(bound.page)]
            kwargs["mask"] = [*(kwargs.get("mask") or []), *covered]
            if kwargs.get("path") is not None:
                kwargs["path"] = cell_files.artifact_path(kwargs["path"], self._border)
        elif method == "save_as":
            name, args, kwargs = _without_argument(args, kwargs, 0, "path")
            kwargs["path"] = cell_files.artifact_path(name, self._border)
        elif method in {"set_input_files", "set_files"}:
            place = 0 if kind in {"Locator", "FileChooser"} else 1
            files, args, kwargs = _without_argument(args, kwargs, place, "files")
            kwargs["files"] = cell_files.allowed_uploads(files, self._border)
        elif method in SECRET_METHODS:
            args = [self._typed(bound, budget, i, value) for i, value in enumerate(args)]
            kwargs = {k: self._typed(bound, budget, k, value) for k, value in kwargs.items()}
        return args, kwargs

    def _with_predicates(self, bound: Bound) -> tuple[list[Any], dict[str, Any]]:
        args = [self._called(value) for value in bound.args]
        kwargs = {}
        for name, value in bound.kwargs.items():
            if isinstance(value, Callback) and name not in PREDICATE_ARGUMENTS:
                raise TypeError(f"{name[:60]!r} takes no function")
            kwargs[name] = self._called(value)
        return args, kwargs

    def _called(self, value: Any) -> Any:
        return self.predicate(value.number) if isinstance(value, Callback) else value

    def _typed(self, bound: Bound, budget: Budget, where: int | str, value: Any) -> Any:
        """Return the text to type, with its secrets filled in if they may be typed here."""
        by_selector = bound.receiver.kind in {"Page", "Frame"}
        selector = where == "selector" or (where == 0 and by_selector)
        if selector or not typed_secrets.holds_secret(value):
            place = bound.receiver.text + (str(bound.args[:1]) if by_selector else "")
            typed = value if isinstance(value, str) and not selector else ""
            if unlike_words(typed) and (SECRET_PLACE.search(place) or _is_password_field(bound)):
                self._border.on_password(typed)
            return value
        urls = [bound.page.url]
        if bound.receiver.kind == "Keyboard":
            # Which frame has the focus is unknown, so all of them must be trusted.
            urls += [frame.url for frame in bound.page.frames if frame.url != "about:blank"]
        else:
            urls.append(self._owner_url(bound, budget))
        return typed_secrets.with_secrets(value, urls, self._border)

    def _owner_url(self, bound: Bound, budget: Budget) -> str:
        """Return the address of the frame that holds the element, however the element was found."""
        locator = bound.receiver.object
        if bound.receiver.kind in {"Page", "Frame"}:
            selector = bound.args[0] if bound.args else bound.kwargs.get("selector")
            locator = locator.locator(selector).first
        timeout = budget.grant_ms(bound.kwargs.get("timeout"), self._default_ms)
        place = place_of(locator)
        if place is not None and place.stays_in_frame:
            # The page may still be on its way to the one that has the element.
            locator.wait_for(state="attached", timeout=timeout)
            return str(place.frame.url)
        owner = locator.element_handle(timeout=timeout).owner_frame()
        return str(owner.url) if owner is not None else ""

    def _default_of(self, bound: Bound) -> float:
        if bound.receiver.kind.endswith("Assertions"):
            return CLAIM_MS
        if bound.method in {"goto", "reload", "go_back", "go_forward", "expect_navigation"}:
            return self._navigation_ms
        return self._default_ms

    def _set_default(self, method: str, requested: Any) -> Callable[[], None]:
        if isinstance(requested, bool) or not isinstance(requested, int | float):
            raise TypeError("the default timeout is a number of milliseconds")
        # Zero means "no limit" to Playwright, which no step may have.
        wanted = float(requested) if requested > 0 else DEFAULT_MS
        # Kept here instead of on the page: each call is made with a timeout of its own anyway, and
        # the checks of the case use the same page.
        self._navigation_ms = wanted
        if method == "set_default_timeout":
            self._default_ms = wanted
        return lambda: None

    def _listen(self, bound: Bound) -> None:
        event, callback = (*bound.args, None, None)[:2]
        if bound.method.endswith("_locator_handler"):
            self._handle_overlay(bound, event, callback)
            return
        _known_event(event)
        if not isinstance(callback, Callback):
            raise TypeError(f"{bound.method}() takes an event and a function")
        self.listen(bound.receiver.object, bound.method, event, callback.number)

    def _handle_overlay(self, bound: Bound, locator: Any, callback: Any) -> None:
        """Add or remove the code's handler for an overlay."""
        if kind_of(locator) != "Locator":
            raise TypeError(f"{bound.method}() takes a locator")
        if bound.method == "remove_locator_handler":
            self.listen(bound.receiver.object, bound.method, locator, 0)
            return
        if not isinstance(callback, Callback) or bound.kwargs.keys() - {"no_wait_after", "times"}:
            raise TypeError(
                "add_locator_handler() takes a locator, a function, no_wait_after, times"
            )
        add = partial(bound.receiver.object.add_locator_handler, locator, **bound.kwargs)
        self.listen(bound.receiver.object, bound.method, (locator, add), callback.number)

    def _find(self, bound: Bound) -> Any:
        """Return a finder's locator; a report shows it as the call that found it."""
        finder = _offered(self._border.finders, bound.method)
        found = finder(bound.receiver.object, *bound.args, **bound.kwargs)
        if kind_of(found) != "Locator":
            raise TypeError(
                f"{bound.method}() found a {type(found).__name__}, which is not a locator"
            )
        self._handles.add(
            found, "Locator", f"{bound.receiver.text}.{bound.method}({bound.arguments})"
        )
        return found

    def _send(self, bound: Bound, function: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        """Send the code's own request through the attempt's proxy, and report it."""
        # `fetch` without a method is a GET.
        method = str(kwargs.get("method", bound.method)).upper().replace("FETCH", "GET")
        url, body = own_requests.as_sent(kwargs)
        sent = partial(SentRequest, method, url, body)
        try:
            response = function(**kwargs)
        except Exception as error:
            told = first_line(error)[:200]
            self._border.sent(sent(None, told, bound.page.url))
            if isinstance(error, Error) and _BROKEN_OFF.search(told):
                raise Error(f"{told}: {REPLY_LIMITS}") from None
            raise
        self._border.sent(sent(response.status, "", bound.page.url))
        return whole_reply(response)

    # -- waiting for events ------------------------------------------------------------

    def _enter(self, bound: Bound, make: Callable[..., Any], timeout: Any) -> Any:
        manager = make()
        info = manager.__enter__()
        again = partial(make, timeout=_AGAIN_MS)
        self.open_waits[id(info)] = EventWait(
            manager,
            info,
            again,
            timeout,
            self._default_of(bound),
            for_element=_waits_for_element(bound),
        )
        return info

    def _leave(self, bound: Bound, budget: Budget, *, failed: bool) -> None:
        """Leave the `with` block; after an error the wait stays open, as a retry may need it."""
        wait = self.open_waits.get(id(bound.receiver.object))
        if wait is None or failed:
            return
        if wait.reopened:
            self._await(wait, bound, budget)
        else:
            # Playwright's wait was set earlier; this notes whose limit it is.
            budget.grant_ms(wait.timeout, wait.default_ms, for_element=wait.for_element)
        wait.manager.__exit__(None, None, None)
        # A failed wait is kept; a retry of the step would otherwise take it for a success.
        del self.open_waits[id(wait.info)]

    def _await(self, wait: EventWait, bound: Bound, budget: Budget) -> None:
        """Wait for the event of a block that a continued step has returned to."""
        granted = budget.grant_ms(wait.timeout, wait.default_ms, for_element=wait.for_element)
        countdown = Countdown(granted / 1000, time.monotonic, self._border.waited)
        while not wait.info.is_done():
            if countdown.left_s < 0:
                raise TimeoutError(f"Timeout {granted:g}ms exceeded while waiting for the event")
            self._guard.spin(bound.page, _SPIN_S)

    def reopen_waits(self) -> None:
        """Wait again for each event that has not occurred, for a step that may be continued.

        This happens at once, so that the event is not missed if it occurs before the step
        continues. The step's info object for the event then refers to the new wait.
        """
        for number, wait in list(self.open_waits.items()):
            try:
                if wait.info.is_done() and not _in_vain(wait):
                    continue
                manager = wait.again()
                info = manager.__enter__()
            except Exception:  # the page is gone, and with it the event
                continue
            _abandon(wait)
            del self.open_waits[number]
            self.open_waits[id(info)] = wait._replace(manager=manager, info=info, reopened=True)
            self._handles.replace(wait.info, info)

    def cancel_waits(self) -> None:
        """Cancel every wait whose `with` block was never left."""
        for wait in self.open_waits.values():
            _abandon(wait)
        self.open_waits.clear()


def _abandon(wait: EventWait) -> None:
    # Leaving with an error makes Playwright abandon the wait; otherwise it would block.
    error = RuntimeError("the step is over")
    wait.manager.__exit__(RuntimeError, error, None)


def _in_vain(wait: EventWait) -> bool:
    """Tell whether a finished wait ended without its event."""
    try:
        return wait.info.value is None
    except Exception:  # Playwright raises the wait's own error
        return True


def _read(bound: Bound) -> Any:
    value = getattr(bound.receiver.object, bound.method)
    return plain_headers(value) if bound.method == "headers" else value


def _measured(
    bound: Bound, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> Any:
    measure(bound, args, kwargs)
    return function(*args, **kwargs)


def _is_password_field(bound: Bound) -> bool:
    """Tell whether a call writes to a field of the type password, whatever it was found by."""
    item, kind = bound.receiver.object, bound.receiver.kind
    if kind == "Keyboard":
        item = bound.page.locator(":focus")
    elif kind in {"Page", "Frame"}:
        item = item.locator(bound.args[0] if bound.args else bound.kwargs.get("selector"))
    elif kind != "Locator":
        return False
    try:
        # Of several, which the call itself would refuse, any one counts. A script of elements would
        # have Playwright load its helpers once more, among the page's own scripts.
        return bool(item.locator("css=input:scope[type=password i]").count() > 0)
    except Error:
        # No such element, or the query is wrong: the call itself will report it.
        return False


def _offered(offers: Mapping[str, Callable[..., Any]], name: str) -> Callable[..., Any]:
    if name not in offers:
        raise Refusal("AW504", f"{name} is not available in this cell")
    return offers[name]


def _discard(_value: object) -> None:
    """Discard a result."""


def _known_event(event: object) -> None:
    if not isinstance(event, str) or event not in EVENTS:
        known = ", ".join(sorted(EVENTS))
        raise ValueError(f"the event {event!r:.60} is not available ({known})")


def _pause(item: Any, milliseconds: float, *, cut: bool) -> Callable[[], None]:
    def pause() -> None:
        item.wait_for_timeout(milliseconds)
        if cut:
            raise TimeoutError("the wait is longer than the time left for the step")

    return pause


def _without_argument(
    args: list[Any], kwargs: dict[str, Any], place: int, name: str
) -> tuple[Any, list[Any], dict[str, Any]]:
    """Remove one argument and return it with the remaining ones.

    The caller puts its replacement back by name, so the original must not remain.
    """
    if len(args) > place:
        if len(args) > place + 1:
            raise TypeError("too many positional arguments")
        return args[place], args[:place], dict(kwargs)
    rest = dict(kwargs)
    return rest.pop(name, None), args, rest
