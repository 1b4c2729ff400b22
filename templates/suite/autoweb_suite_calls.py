"""Writes down what a test calls on Playwright's objects, as lines of Playwright code.

The public methods of pages, locators and assertions are wrapped, in both flavours; each call that
succeeded becomes a line, with the place in the suite that made it.
"""

import asyncio
import contextlib
import functools
import inspect
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urljoin

import playwright.async_api
import playwright.async_api._generated
import playwright.sync_api
import playwright.sync_api._generated

BROWSER = "AUTOWEB_SUITE_BROWSER"
"""The browser of this machine, as JSON, where Playwright has none of its own."""

_EXPRESSION = "_autoweb_expression"
_OWN = str(Path(playwright.__file__).parent)
_STANDARD = frozenset({contextlib.__file__, functools.__file__})
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_TELLING_OF_ASSERTS = ("_pytest.", "pluggy.", "autoweb_suite_")
"""Modules between an assert that holds and what is told of it."""

_FINDING = frozenset(
    {"locator", "frame_locator", "filter", "nth", "and_", "or_", "frame", "query_selector"}
    | {"get_by_alt_text", "get_by_label", "get_by_placeholder", "get_by_role", "get_by_test_id"}
    | {"get_by_text", "get_by_title", "element_handle"}
)
_LINKS = frozenset({"first", "last", "content_frame", "owner", "keyboard", "mouse", "main_frame"})
_LISTS = frozenset({"all", "query_selector_all", "element_handles"})
_TYPING = frozenset({"fill", "type", "press_sequentially", "insert_text"})
_ACTING = _TYPING | frozenset(
    {"blur", "check", "clear", "click", "dblclick", "dispatch_event", "down", "drag_and_drop"}
    | {"drag_to", "focus", "go_back", "go_forward", "goto", "hover", "move", "press", "reload"}
    | {"select_option", "select_text", "set_checked", "set_input_files", "set_viewport_size"}
    | {"tap", "uncheck", "up", "wheel"}
)
_WAITING = frozenset(
    {"wait_for", "wait_for_function", "wait_for_load_state", "wait_for_selector"}
    | {"wait_for_timeout", "wait_for_url"}
)
_READING = frozenset(
    {"all_inner_texts", "all_text_contents", "content", "count", "get_attribute", "inner_html"}
    | {"inner_text", "input_value", "is_checked", "is_disabled", "is_editable", "is_enabled"}
    | {"is_hidden", "is_visible", "text_content", "title"}
)
_SCRIPTS = frozenset({"evaluate", "evaluate_all", "eval_on_selector", "eval_on_selector_all"})
_MANAGERS = frozenset(
    {"expect_download", "expect_navigation", "expect_page", "expect_popup", "expect_request"}
    | {"expect_request_finished", "expect_response", "expect_event", "expect_file_chooser"}
    | {"expect_console_message", "expect_websocket"}
)
_TABS = frozenset({"expect_popup", "expect_page"})
_UNSAID = frozenset(
    {"add_init_script", "add_script_tag", "add_style_tag", "clear_cookies", "emulate_media"}
    | {"expose_binding", "expose_function", "grant_permissions", "route", "route_from_har"}
    | {"route_web_socket", "set_content", "set_extra_http_headers", "set_files"}
    | {"set_geolocation", "set_offline", "install", "set_fixed_time", "set_system_time"}
    | {"fast_forward", "run_for", "pause_at"}
)
_REQUESTING = frozenset({"delete", "fetch", "get", "head", "patch", "post", "put"})
_CLASSES = (
    "Page", "Frame", "Locator", "FrameLocator", "ElementHandle", "Keyboard", "Mouse",
    "BrowserContext", "Clock", "FileChooser", "APIRequestContext",
)  # fmt: skip
_DROPPED = frozenset({"timeout", "no_wait_after"})
_CHANGES = re.compile(
    r"(?<![=!<>])=(?![=>])|\.(?:click|remove|submit|setItem|removeItem|dispatchEvent|scroll\w*|"
    r"focus|blur|append\w*|replace\w*|setAttribute|clear)\("
)
_SECRET_FIELD = r"""element => {
  const named = /(?:^|\s)(current-password|new-password|one-time-code|cc-number|cc-csc)(?:\s|$)/i
    .exec(element.getAttribute('autocomplete') || '');
  if (named) {
    const purpose = named[1].toLowerCase();
    if (purpose === 'one-time-code') return 'code';
    return purpose.startsWith('cc-') ? purpose.replace('-', '_') : 'password';
  }
  return element.type === 'password' ? 'password' : '';
}"""
_EVERYONES = re.compile(
    r"(?:CI|COLUMNS|DISPLAY|EDITOR|HOME|HOSTNAME|LANG\w*|LINES|LOGNAME|OLDPWD|PATH|PWD|PYTEST_\w+|"
    r"SHELL|SHLVL|TERM|TMPDIR|TZ|USER|USERNAME|VIRTUAL_ENV|AUTOWEB_SUITE_\w+)$"
)
"""Variables that are no secrets, whatever they hold."""
_TELLING = re.compile(r"(?i)pass|secret|token|key|user|login|mail|pin|otp|code|credential")


class Unwritable(Exception):
    """Raised for an argument that cannot be written as code, such as a function."""


class Recording:
    """What one test, or one fixture, has done so far."""

    def __init__(self) -> None:
        self.steps: list[dict[str, str]] = []
        self.unsaid: list[dict[str, str]] = []
        self.secrets: dict[str, dict[str, str]] = {}
        self.files: list[str] = []
        self.context: dict[str, Any] = {}
        self.given_state = False
        """Whether the context was given a state, such as cookies, that no page has made."""

    def extend(self, other: "Recording") -> None:
        """Continue with what another recording holds."""
        self.steps += other.steps
        self.unsaid += other.unsaid
        self.secrets |= other.secrets
        self.files += other.files
        self.context |= other.context
        self.given_state |= other.given_state


class Recorder:
    """Writes down calls, each to the test or the fixture that makes it."""

    def __init__(self, rootdir: Path) -> None:
        self.rootdir = rootdir
        self.current: Recording | None = None
        self.reads: list[dict[str, Any]] = []
        self._thread = 0
        self._inside: set[Any] = set()
        self._blocks: list[list[dict[str, str]]] = []
        self._dialogs: list[str] = []
        self._tabs = 0
        self._states: list[Any] = []
        self._main: Any = None

    def begin(self, recording: Recording | None) -> Recording | None:
        """Direct what follows to a recording; return the one before."""
        before, self.current = self.current, recording
        return before

    def begin_test(self) -> None:
        """Forget what belongs to the last test."""
        self.reads, self._blocks, self._dialogs = [], [], []
        self._tabs, self._main = 0, None
        self._thread = threading.get_ident()

    def add(self, kind: str, code: str, where: str | None = None) -> None:
        """Write down a line: an `act`, a `wait`, or what is `expected`."""
        if self.current is None:
            return
        place = where or self.where()
        lines = self._blocks[-1] if self._blocks else self.current.steps
        for dialog in self._dialogs:
            lines.append({"kind": "act", "code": dialog, "where": place})
        self._dialogs = []
        lines.append({"kind": kind, "code": code, "where": place})

    def leave_out(self, what: str) -> None:
        """Note something that no line can repeat."""
        if self.current is not None:
            self.current.unsaid.append({"what": what, "where": self.where()})

    def answer_dialog(self, code: str) -> None:
        """Have a dialog answered before the call that brings it."""
        self._dialogs.append(f"page.once('dialog', lambda dialog: dialog.{code})")

    @contextmanager
    def alone(self, *, awaited: bool = False) -> Iterator[bool]:
        """Provide whether a call is the test's own and not made by another recorded call.

        Args:
            awaited: whether others may be under way at once, each in its own task.
        """
        task = asyncio.current_task() if awaited else None
        own = task not in self._inside
        self._inside.add(task)
        try:
            yield own and self.current is not None
        finally:
            if own:
                self._inside.discard(task)

    @property
    def is_idle(self) -> bool:
        """Tell whether what is called now is not called by a recorded call."""
        return self.current is not None and None not in self._inside

    def read(self, base: str, name: str, value: Any, args: Any = ()) -> None:
        """Note what was read from a page, for the asserts that follow."""
        if self.reads and self.reads[-1].get("told"):
            self.reads = []
        self.reads.append({"base": base, "name": name, "value": value, "args": args})

    def end_reads(self) -> None:
        """Have the next thing read begin anew, now that an assert has told of those before."""
        for one in self.reads:
            one["told"] = True

    def is_asserting(self) -> bool:
        """Tell whether it is the suite that asserts: no library, and no server in a thread."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if not frame.f_globals.get("__name__", "").startswith(_TELLING_OF_ASSERTS):
                break
            frame = frame.f_back
        path = Path(frame.f_code.co_filename) if frame else Path()
        own = path.is_relative_to(self.rootdir) and not _INSTALLED & set(path.parts)
        return own and threading.get_ident() == self._thread

    def where(self) -> str:
        """Return the place that made the call, as `file:line`.

        It is the innermost one below the suite's root, or else the innermost outside Playwright.
        """
        frame: FrameType | None = sys._getframe(1)
        outside = ""
        while frame is not None:
            name = frame.f_code.co_filename
            if not (name.startswith(("<", _OWN)) or name == __file__ or name in _STANDARD):
                path = Path(name)
                if path.is_relative_to(self.rootdir) and not _INSTALLED & set(path.parts):
                    return f"{path.relative_to(self.rootdir).as_posix()}:{frame.f_lineno}"
                outside = outside or f"{path.name}:{frame.f_lineno}"
            frame = frame.f_back
        return outside

    def expression(self, thing: Any) -> str:
        """Return the code of a page or of what was found on one.

        Raises:
            Unwritable: it was reached in a way that has no code here.
        """
        known = thing.__dict__.get(_EXPRESSION)
        if isinstance(known, str):
            return known
        kind = type(thing).__name__
        if kind == "Page":
            return self._named(thing)
        if kind == "BrowserContext":
            return "page.context"
        if kind == "APIRequestContext":
            raise Unwritable("a request outside the browser")
        raise Unwritable(f"a {kind} that the test did not find by a locator")

    def _named(self, page: Any) -> str:
        context = page.context
        first = context.__dict__.get("_autoweb_tabs", 0) == 0
        context._autoweb_tabs = context.__dict__.get("_autoweb_tabs", 0) + 1
        if not first:
            self._tabs += 1
            name = f"tab_{self._tabs}"
            page._autoweb_expression = name
            self.add("act", f"{name} = page.context.new_page()")
            return name
        other = self._main is not None and self._main is not context
        if other and not context.__dict__.get("_autoweb_continues"):
            self.leave_out("a second browser context: a case has one")
        self._main = context
        page._autoweb_expression = "page"
        return "page"

    def name_tab(self, page: Any) -> str:
        """Give a tab that a page opened its name."""
        self._tabs += 1
        page._autoweb_expression = name = f"tab_{self._tabs}"
        page.context._autoweb_tabs = page.context.__dict__.get("_autoweb_tabs", 0) + 1
        return name

    def open_block(self) -> None:
        """Collect what follows as the inside of a `with`."""
        self._blocks.append([])

    def close_block(self, head: str, tail: str = "", *, flat: bool = False) -> None:
        """Write down a `with` and what was inside; without its head if it is `flat`."""
        inside = self._blocks.pop() if self._blocks else []
        if flat or not inside:
            for line in inside:
                self.add(line["kind"], line["code"], line["where"])
            return
        body = "\n".join(f"    {part}" for line in inside for part in line["code"].split("\n"))
        self.add("act", f"with {head}:\n{body}", inside[-1]["where"])
        if tail:
            self.add("act", tail, inside[-1]["where"])

    def take_context(self, options: Mapping[str, Any], context: Any) -> None:
        """Note how the test wants its browser."""
        if self.current is None:
            return
        context._autoweb_base = options.get("base_url") or ""
        state = options.get("storage_state")
        if state is not None:
            made = any(state is one or state == one for one in self._states)
            context._autoweb_continues = made
            self.current.given_state |= not made
        kept = ("viewport", "locale", "timezone_id", "color_scheme", "geolocation", "permissions")
        said = {name: options[name] for name in kept if options.get(name) is not None}
        with suppress(TypeError, ValueError):
            self.current.context |= json.loads(json.dumps(said))

    def take_state(self, state: Any, path: Any) -> None:
        """Remember a state that a page has made, since its recorded steps make it again."""
        self._states += [state, *([path, str(path)] if path else [])]

    def take_secret(self, value: str, kind: str) -> None:
        """Note a text as a secret if its field, or its being in the environment, makes it one."""
        if self.current is None or not value:
            return
        found = [
            name
            for name, known in os.environ.items()
            if known == value and not _EVERYONES.match(name) and len(value) >= _least(name)
        ]
        if kind or found:
            named = re.sub(r"\W", "_", found[0].lower()) if found else ""
            self.current.secrets.setdefault(
                value, {"kind": kind or named, "env": found[0] if found else ""}
            )


def _least(variable: str) -> int:
    """Return how long a variable's value must be to be recognised where it is typed."""
    return 4 if _TELLING.search(variable) else 8


def _written(value: Any, recorder: Recorder) -> str:
    """Return a value as code.

    Raises:
        Unwritable: it has no code here.
    """
    match value:
        case None | bool() | int() | float() | str() | bytes():
            return repr(value)
        case re.Pattern(pattern=str() as pattern):
            flags = [f"re.{one}" for one in "IMSX" if value.flags & getattr(re, one)]
            return (
                f"re.compile({', '.join([repr(pattern), *([' | '.join(flags)] if flags else [])])})"
            )
        case list() | tuple():
            return f"[{', '.join(_written(one, recorder) for one in value)}]"
        case dict():
            pairs = (f"{key!r}: {_written(one, recorder)}" for key, one in value.items())
            return f"{{{', '.join(pairs)}}}"
        case os.PathLike():
            return repr(os.fspath(value))
        case _ if hasattr(value, "_impl_obj"):
            return recorder.expression(value)
        case _ if isinstance(value, str | int | float):
            return repr(value.value if hasattr(value, "value") else value)
    raise Unwritable(f"a {type(value).__name__} as an argument")


def _call(recorder: Recorder, thing: Any, name: str, args: Any, kwargs: Mapping[str, Any]) -> str:
    given = [_written(one, recorder) for one in args]
    named = {key: one for key, one in kwargs.items() if key not in _DROPPED and one is not None}
    given += [f"{key}={_written(one, recorder)}" for key, one in named.items()]
    return f"{recorder.expression(thing)}.{name}({', '.join(given)})"


class _Taken:
    """A call on its way: what is known before it is made, and written down after it."""

    def __init__(self, recorder: Recorder, thing: Any, name: str, args: Any, kwargs: Any) -> None:
        self._recorder, self._thing, self._name = recorder, thing, name
        self._args, self._kwargs = args, kwargs
        self.code, self.problem = "", ""
        if name == "goto":
            args = (self._address(args, kwargs), *args[1:])
            kwargs = {key: one for key, one in kwargs.items() if key != "url"}
        try:
            self.code = _call(recorder, thing, name, args, kwargs)
        except Unwritable as why:
            self.problem = str(why)

    def _address(self, args: Any, kwargs: Any) -> str:
        page = self._thing if type(self._thing).__name__ == "Page" else self._thing.page
        base = page.context.__dict__.get("_autoweb_base", "")
        url = str(args[0] if args else kwargs.get("url", ""))
        return urljoin(base, url) if base else url

    def typed(self) -> str | None:
        """Return the text that the call types, if it does."""
        if self._name not in _TYPING:
            return None
        own = type(self._thing).__name__ in ("Locator", "ElementHandle", "Keyboard")
        named = self._kwargs.get("value", self._kwargs.get("text"))
        found = self._args[0 if own else 1] if len(self._args) > (0 if own else 1) else named
        return found if isinstance(found, str) else None

    def field(self) -> Any:
        """Return the field that is typed into, as something with `evaluate`."""
        kind = type(self._thing).__name__
        if kind in ("Locator", "ElementHandle"):
            return self._thing
        if kind == "Keyboard":
            return None
        return self._thing.locator(self._args[0] if self._args else self._kwargs["selector"]).first

    def done(self, result: Any) -> None:
        """Write the call down."""
        recorder, name = self._recorder, self._name
        requesting = type(self._thing).__name__ == "APIRequestContext"
        if name in _UNSAID or requesting:
            if requesting:
                recorder.leave_out(f"a request through the API ({name})")
            else:
                recorder.leave_out(f"{type(self._thing).__name__}.{name}")
        elif self.problem:
            if name not in _READING:
                recorder.leave_out(f"{name}: {self.problem}")
        elif name == "goto" and "'about:" in self.code:
            return
        elif name in _ACTING:
            self._act()
        elif name in _WAITING:
            recorder.add("wait", self.code)
        elif name in _SCRIPTS:
            if any(_CHANGES.search(one) for one in self._args if isinstance(one, str)):
                recorder.add("act", self.code)
        elif name in _READING:
            self._read(result)
        if name in _LISTS and isinstance(result, list):
            self._list(result)
        finds = name in _FINDING or name == "wait_for_selector"
        if finds and result is not None and not self.problem:
            setattr(result, _EXPRESSION, self.code)

    def _act(self) -> None:
        if self._name == "set_input_files":
            given = [*self._args, *self._kwargs.values()]
            flat = [one for part in given for one in (part if isinstance(part, list) else [part])]
            if self._recorder.current is not None:
                own = type(self._thing).__name__ in ("Locator", "ElementHandle")
                files = flat if own else flat[1:]
                self._recorder.current.files += [
                    os.fspath(one) for one in files if isinstance(one, str | os.PathLike)
                ]
        self._recorder.add("act", self.code)

    def _list(self, found: list[Any]) -> None:
        if self.problem:
            return
        own = self._recorder.expression(self._thing)
        if self._name in ("all", "element_handles"):
            base = own
        else:
            base = self.code.replace(".query_selector_all(", ".locator(")
        for number, one in enumerate(found):
            setattr(one, _EXPRESSION, f"{base}.nth({number})")
        self._recorder.read(base, "count", len(found))

    def _read(self, value: Any) -> None:
        kind = type(self._thing).__name__
        base, rest = self._recorder.expression(self._thing), self._args
        if kind in ("Page", "Frame") and self._name not in ("title", "content"):
            selector = _written(
                self._args[0] if self._args else self._kwargs["selector"], self._recorder
            )
            base, rest = f"{base}.locator({selector}).first", self._args[1:]
        self._recorder.read(base, self._name, value, rest)


def _wrap(recorder: Recorder, original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a method that is written down, if the test itself calls it."""
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def awaited(self: Any, *args: Any, **kwargs: Any) -> Any:
            with recorder.alone(awaited=True) as own:
                if not own:
                    return await original(self, *args, **kwargs)
                taken = _Taken(recorder, self, name, args, kwargs)
                if (text := taken.typed()) is not None:
                    kind = ""
                    with suppress(Exception):
                        field = taken.field()
                        kind = await field.evaluate(_SECRET_FIELD) if field else ""
                    recorder.take_secret(text, kind)
                result = await original(self, *args, **kwargs)
                taken.done(result)
                return result

        return awaited

    @functools.wraps(original)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        with recorder.alone() as own:
            if not own:
                return original(self, *args, **kwargs)
            taken = _Taken(recorder, self, name, args, kwargs)
            if (text := taken.typed()) is not None:
                kind = ""
                with suppress(Exception):
                    field = taken.field()
                    kind = field.evaluate(_SECRET_FIELD) if field else ""
                recorder.take_secret(text, kind)
            result = original(self, *args, **kwargs)
            taken.done(result)
            return result

    return called


def _link(recorder: Recorder, original: property, name: str) -> property:
    """Return a property whose result knows its code."""

    def read(self: Any) -> Any:
        found = original.fget(self) if original.fget else None
        if found is not None and recorder.current is not None:
            with suppress(Unwritable):
                code = f"{recorder.expression(self)}.{name}"
                setattr(found, _EXPRESSION, code)
        return found

    return property(read)


def _address(recorder: Recorder, original: property) -> property:
    def read(self: Any) -> Any:
        found = original.fget(self) if original.fget else ""
        if recorder.is_idle:
            with suppress(Unwritable):
                recorder.read(recorder.expression(self), "url", found)
        return found

    return property(read)


class _Awaiting:
    """A `with page.expect_…()` that is written down when it ends."""

    def __init__(self, recorder: Recorder, manager: Any, name: str, code: str) -> None:
        self._recorder, self._manager = recorder, manager
        self._name, self._code = name, code
        self._info: Any = None

    def __enter__(self) -> Any:
        self._recorder.open_block()
        self._info = self._manager.__enter__()
        return self._info

    def __exit__(self, *error: object) -> Any:
        result = self._manager.__exit__(*error)
        self._close(self._info.value if self._name in _TABS and not error[0] else None)
        return result

    async def __aenter__(self) -> Any:
        self._recorder.open_block()
        self._info = await self._manager.__aenter__()
        return self._info

    async def __aexit__(self, *error: object) -> Any:
        result = await self._manager.__aexit__(*error)
        opened = await self._info.value if self._name in _TABS and not error[0] else None
        self._close(opened)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def _close(self, tab: Any) -> None:
        if tab is None:
            self._recorder.close_block(self._code, flat=not self._code)
            return
        name = self._recorder.name_tab(tab)
        head = self._code or "page.expect_popup()"
        self._recorder.close_block(f"{head} as {name}_info", f"{name} = {name}_info.value")


def _manage(recorder: Recorder, original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def opened(self: Any, *args: Any, **kwargs: Any) -> Any:
        manager = original(self, *args, **kwargs)
        if not recorder.is_idle:
            return manager
        code = ""
        # What waits for something that only a function of the test recognises is not repeated.
        with suppress(Unwritable):
            if name == "expect_page":
                code = "page.expect_popup()"
            elif name not in ("expect_event", "expect_websocket"):
                code = _call(recorder, self, name, args, kwargs)
        return _Awaiting(recorder, manager, name, code)

    return opened


def _claim(recorder: Recorder, original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return an assertion that is written down when it holds."""

    def noted(self: Any, args: Any, kwargs: Any) -> None:
        if recorder.current is None:
            return
        try:
            code = _call(recorder, self, name, args, kwargs)
        except Unwritable as why:
            recorder.leave_out(f"expect(…).{name}: {why}")
            return
        recorder.add("expect", code)

    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def awaited(self: Any, *args: Any, **kwargs: Any) -> Any:
            with recorder.alone(awaited=True) as own:
                result = await original(self, *args, **kwargs)
                if own:
                    noted(self, args, kwargs)
                return result

        return awaited

    @functools.wraps(original)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        with recorder.alone() as own:
            result = original(self, *args, **kwargs)
            if own:
                noted(self, args, kwargs)
            return result

    return called


def _expecting(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def expecting(self: Any, actual: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(self, actual, *args, **kwargs)
        with suppress(Unwritable, AttributeError):
            setattr(found, _EXPRESSION, f"expect({recorder.expression(actual)})")
        return found

    return expecting


def _patch_flavour(recorder: Recorder, public: Any, generated: Any) -> None:
    for kind in _CLASSES:
        cls = getattr(generated, kind, None)
        if cls is None:
            continue
        for name, member in list(vars(cls).items()):
            if isinstance(member, property):
                if name in _LINKS:
                    setattr(cls, name, _link(recorder, member, name))
                elif name == "url" and kind in ("Page", "Frame"):
                    setattr(cls, name, _address(recorder, member))
            elif name in _MANAGERS:
                setattr(cls, name, _manage(recorder, member, name))
            elif _is_recorded(kind, name):
                setattr(cls, name, _wrap(recorder, member, name))
    for kind in ("LocatorAssertions", "PageAssertions"):
        cls = getattr(generated, kind)
        for name, member in list(vars(cls).items()):
            if name.startswith(("to_", "not_to_")):
                setattr(cls, name, _claim(recorder, member, name))
    expect = type(public.expect)
    for name in ("__call__", "soft"):
        if hasattr(expect, name):
            setattr(expect, name, _expecting(recorder, getattr(expect, name)))
    _patch_browser(recorder, generated)


def _is_recorded(kind: str, name: str) -> bool:
    if kind == "APIRequestContext":
        return name in _REQUESTING
    if kind == "BrowserContext":
        return name in _UNSAID
    if kind == "Clock":
        return name in _UNSAID
    known = _FINDING | _LISTS | _ACTING | _WAITING | _READING | _SCRIPTS | _UNSAID
    return name in known and name != "install"


def _patch_browser(recorder: Recorder, generated: Any) -> None:
    """Note how contexts and dialogs are made and answered, and start a browser that is there."""
    for cls, name in ((generated.Browser, "new_context"), (generated.Browser, "new_page")):
        setattr(cls, name, _after(getattr(cls, name), functools.partial(_opened, recorder)))
    context = generated.BrowserContext
    context.storage_state = _after(
        context.storage_state,
        lambda _self, args, kwargs, state: recorder.take_state(
            state, kwargs.get("path", args[0] if args else None)
        ),
    )
    context.add_cookies = _after(context.add_cookies, lambda *_: _given_cookies(recorder))
    for name in ("accept", "dismiss"):
        setattr(
            generated.Dialog, name,
            _after(
                getattr(generated.Dialog, name), functools.partial(_answered, recorder, name),
                first=True,
            ),
        )  # fmt: skip
    there = json.loads(os.environ.get(BROWSER) or "{}")
    for name in ("launch", "launch_persistent_context"):
        method = getattr(generated.BrowserType, name)
        setattr(generated.BrowserType, name, _before(method, there))


def _opened(recorder: Recorder, _self: Any, _args: Any, kwargs: Any, found: Any) -> None:
    recorder.take_context(kwargs, found.context if type(found).__name__ == "Page" else found)


def _given_cookies(recorder: Recorder) -> None:
    if recorder.current is not None:
        recorder.current.given_state = True


def _answered(
    recorder: Recorder, name: str, _self: Any, args: Any, kwargs: Any, _found: Any
) -> None:
    with suppress(Unwritable):
        text = kwargs.get("prompt_text", args[0] if args else None)
        recorder.answer_dialog(f"{name}({_written(text, recorder) if text is not None else ''})")


def _after(
    original: Callable[..., Any], note: Callable[..., None], *, first: bool = False
) -> Callable[..., Any]:
    """Return a method that tells of its arguments and result."""
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def awaited(self: Any, *args: Any, **kwargs: Any) -> Any:
            if first:
                note(self, args, kwargs, None)
            result = await original(self, *args, **kwargs)
            if not first:
                note(self, args, kwargs, result)
            return result

        return awaited

    @functools.wraps(original)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if first:
            note(self, args, kwargs, None)
        result = original(self, *args, **kwargs)
        if not first:
            note(self, args, kwargs, result)
        return result

    return called


def _before(original: Callable[..., Any], there: Mapping[str, Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def launched(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("headless") is False and not _has_screen():
            kwargs["headless"] = True
        chosen = kwargs.get("executable_path") or kwargs.get("channel")
        missing = self.name == "chromium" and not Path(self.executable_path).exists()
        if there and missing and not chosen:
            flags = [*(kwargs.get("args") or ()), *there.get("args", ())]
            kwargs |= {**there, "args": flags}
        return original(self, *args, **kwargs)

    return launched


def _has_screen() -> bool:
    named = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(named) or sys.platform != "linux"


def wrap_playwright(recorder: Recorder) -> None:
    """Have both flavours of Playwright tell the recorder what is called."""
    _patch_flavour(recorder, playwright.sync_api, playwright.sync_api._generated)
    _patch_flavour(recorder, playwright.async_api, playwright.async_api._generated)
