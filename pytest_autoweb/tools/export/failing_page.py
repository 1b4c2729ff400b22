"""Records a plain test's failure: its line, its error, its page. Runs inside pytest.

A plugin that `autoweb heal` adds to the session; it only observes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from playwright.sync_api import Error, Page
from pydantic import BaseModel

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.browser.page.capture import capture_snapshot

_ERROR_CHARS = 6_000


class FailureLook(BaseModel):
    """What was seen when a test failed."""

    line: int = 0
    """The line of the test that failed, from 1; 0 if it failed elsewhere, such as in a fixture."""
    error: str = ""
    """The error, with Playwright's log of the call."""
    url: str = ""
    """The address of the page; empty if there was none."""
    page: str = ""
    """The page as an outline."""


class FailingPage:
    """A pytest plugin that writes a record of each failing test.

    Args:
        folder: the folder in which it writes `NAME.json` for each test.
        budget: the token limit of a page.
    """

    def __init__(self, folder: Path, budget: int) -> None:
        self._folder, self._budget = folder, budget

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Function, call: "pytest.CallInfo[None]"
    ) -> Iterator[None]:
        """Record the page of a failing test before its fixtures close it."""
        yield
        if call.excinfo is None or call.when == "teardown":
            return
        found = _Place(item, call.excinfo.tb)
        look = FailureLook(line=found.line, error=str(call.excinfo.value)[:_ERROR_CHARS])
        if call.when == "call" and found.page is not None:
            look = look.model_copy(update=self._seen(found.page))
        name = getattr(item, "originalname", None) or item.name
        # If a test has several parameter sets, its first failure is the one to fix.
        if not (file := self._folder / f"{name}.json").exists():
            file.write_text(look.model_dump_json(), encoding="utf-8")

    def _seen(self, page: Page) -> dict[str, str]:
        try:
            shown = capture_snapshot(
                page,
                "ARIA",
                url=page.url,
                entry_action="",
                step_indexes=(),
                budget_tokens=self._budget,
            )
        except Error as error:
            return {"page": f"(it cannot be shown: {first_line(error)[:200]})"}
        return {"url": page.url, "page": shown.text}


class _Place:
    """The place in its own function where a test failed, and its page at that point."""

    def __init__(self, item: pytest.Function, trace: TracebackType | None) -> None:
        self.line = 0
        page: Any = item.funcargs.get("page") if hasattr(item, "funcargs") else None
        code = getattr(item.function, "__code__", None)
        while trace is not None:
            if trace.tb_frame.f_code is code:
                self.line = trace.tb_lineno
                # A test may have opened its own page under the usual name.
                page = trace.tb_frame.f_locals.get("page", page)
            trace = trace.tb_next
        self.page = page if isinstance(page, Page) and not page.is_closed() else None


def read_looks(folder: Path) -> dict[str, FailureLook]:
    """Return the records written to a folder, by test name."""
    files = sorted(folder.glob("*.json"))
    return {
        file.stem: FailureLook.model_validate(json.loads(file.read_text(encoding="utf-8")))
        for file in files
    }
