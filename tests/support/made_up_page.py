"""A made-up page and its frames, and what checks say of it."""

import asyncio
import json
import re
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult

URL = "http://shop.test/cart"


class RecordingLoop(asyncio.BaseEventLoop):
    """In place of Playwright's event loop: it keeps for how long each call may wait."""

    def __init__(self) -> None:
        super().__init__()
        self.timeouts: list[float] = []

    def call_later(  # type: ignore[override]
        self, delay: float, callback: object, *args: Any, context: Any = None
    ) -> Any:
        self.timeouts.append(round(delay * 1000))
        return SimpleNamespace(cancel=lambda: None)


class Elements:
    """A locator that knows how it came about."""

    def __init__(self, how: str, states: Sequence[dict[str, Any]]) -> None:
        self.how, self.states = how, states

    def and_(self, other: "Elements") -> "Elements":
        return Elements(f"{self.how} and {other.how}", self.states)

    def filter(self, *, has_text: re.Pattern[str]) -> "Elements":
        return Elements(f"{self.how} with {has_text.pattern}", self.states)

    def evaluate_all(self, script: str, arg: Any) -> str:
        ASKED.append(self.how)
        return json.dumps(list(self.states))


ASKED: list[str] = []


class Frame:
    """A frame with a text, elements, and what its scripts give."""

    def __init__(
        self,
        url: str = URL,
        *,
        text: str = "",
        drawn: str | None = None,
        elements: Sequence[dict[str, Any]] = (),
        js: Sequence[dict[str, Any]] = ({"truthy": True, "shown": "true", "error": ""},),
        visible: bool = True,
        fails: bool = False,
    ) -> None:
        self.url, self.text, self.elements, self.visible = url, text, elements, visible
        self.drawn = text if drawn is None else drawn
        self.js, self.fails = list(js), fails
        self._loop = RecordingLoop()
        self._dispatcher_fiber = SimpleNamespace(dead=False)
        self.timeouts = self._loop.timeouts
        self.codes: list[str] = []

    def evaluate(self, code: str, arg: Any = None) -> str:
        self.codes.append(code)
        if self.fails:
            raise PlaywrightError("the frame is gone")
        if "return dom.stringify(await made)" in code:
            return json.dumps(self.drawn if arg else self.text)
        return json.dumps(self.js.pop(0) if len(self.js) > 1 else self.js[0])

    def frame_element(self) -> "Frame":
        return self

    def is_visible(self) -> bool:
        return self.visible

    def get_by_role(
        self, role: str, *, name: Any, exact: bool | None, include_hidden: bool
    ) -> Elements:
        shown = name.pattern if isinstance(name, re.Pattern) else name
        return Elements(f"{role} {shown} {exact} {include_hidden}", self.elements)

    def get_by_label(self, label: str, *, exact: bool) -> Elements:
        return Elements(f"label {label} {exact}", self.elements)

    def get_by_test_id(self, name: str) -> Elements:
        return Elements(f"id {name}", self.elements)

    def locator(self, selector: str) -> Elements:
        return Elements(selector, self.elements)

    def get_by_text(self, text: re.Pattern[str]) -> Elements:
        return Elements(f"text {text.pattern}", self.elements)


class Page(Frame):
    """A page with frames; waiting for its URL fits one pattern only."""

    def __init__(self, *frames: Frame, at: object = None, **fields: Any) -> None:
        super().__init__(**fields)
        self.main_frame = self
        self.frames = [self, *frames]
        self.at = at
        self.waited: list[Any] = []
        self.closed = False

    def wait_for_url(self, pattern: Any, *, timeout: float, wait_until: str) -> None:
        self.waited.append((pattern, timeout, wait_until))
        if not (pattern(self.url) if callable(pattern) else pattern == self.at):
            raise PlaywrightTimeout("no such URL")

    def wait_for_timeout(self, milliseconds: float) -> None:
        self.waited.append(milliseconds)
        if self.closed:
            raise PlaywrightError("the page is closed")
        time.sleep(milliseconds / 1000)


def judge(page: Page, *checks: Any, timeout_s: float = 0, **more: Any) -> list[CheckResult]:
    checksums = more.pop("checksums", ())
    answer = more.pop("answer", None)
    evidence = Evidence(page=cast(Any, page), answered=answer is not None, answer=answer, **more)
    return list(judge_checks(checks, evidence, timeout_s=timeout_s, checksums=checksums))


def one(page: Page, check: Any, **more: Any) -> CheckResult:
    (result,) = judge(page, check, **more)
    return result


def summed(result: CheckResult) -> tuple[bool | None, str, str]:
    return result.passed, result.actual, result.where
