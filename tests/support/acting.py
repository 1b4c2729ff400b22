"""Runs one cell of a case on a real page, with a model that follows a script."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cell.cell_inputs import Cell, CellResources
from pytest_autoweb.cell.pipeline import run_cell
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.settings.run_settings import OPTIONS, Settings, Source
from pytest_autoweb.testing import ScriptedClient

Reply = str | Callable[[Request], str]


class NoServers:
    """For cases whose site runs already."""

    def lend(self, case: object) -> nullcontext[None]:
        return nullcontext(None)


def settings(
    folder: Path, *, sources: Mapping[str, Source] | None = None, **changed: Any
) -> Settings:
    values = {option.name: option.parse(option.default) for option in OPTIONS}
    usual: dict[str, Source] = dict.fromkeys(values, "default")
    chosen = {**values, "max_repairs": 0, **changed}
    return Settings(chosen, rootdir=folder, sources=usual if sources is None else sources)


def act(
    browser: Browser,
    folder: Path,
    case: dict[str, Any],
    replies: Sequence[Reply],
    *,
    strategy: StrategyName = "act",
    spec: dict[str, Any] | None = None,
    pages: list[Page] | None = None,
    plan: str = "",
    generate: str = "",
    **changed: Any,
) -> tuple[CellResult, ScriptedClient]:
    """The cell's result, and the client with all that it was asked; its page goes to `pages`."""
    client = ScriptedClient({"decide": list(replies), "plan": plan, "generate": generate})
    result = run_one(
        browser,
        {"user_task": "Do it.", "expect": [{"js": "true"}], **case},
        client,
        settings(folder, **{"check_timeout": 0.5, **changed}),
        strategy=strategy,
        spec=spec or {},
        opened=pages.append if pages is not None else lambda page: None,
    )
    return result, client


def run_one(
    browser: Browser,
    case: dict[str, Any],
    client: ScriptedClient,
    chosen: Settings,
    *,
    strategy: StrategyName,
    spec: dict[str, Any],
    opened: Callable[[Page], object],
    others: Sequence[dict[str, Any]] = (),
    **changes: Any,
) -> CellResult:
    """Runs one cell of a file with `others` in new contexts; `opened` gets each page first."""
    file = chosen.rootdir / "case.yaml"
    file.write_text(json.dumps({"version": 1, "cases": [{"id": "one", **case}, *others]}))
    contexts: list[BrowserContext] = []

    def open_page(args: dict[str, Any]) -> Page:
        contexts.append(browser.new_context(**args))
        page = contexts[-1].new_page()
        opened(page)
        return page

    cell = Cell(
        case=load_case_file(file)[0],
        spec=ModelSpec(**{"name": "fake/model", "codegen": "once", **spec}),
        mode="ARIA_SNAPSHOT",
        repeat=1,
        nodeid="x",
        case_path="case.yaml",
        folder="cells/one",
        strategy=strategy,
    )
    surroundings = CellResources(
        settings=chosen,
        run_folder=chosen.rootdir / "run",
        client=lambda spec, case: client,
        servers=NoServers(),
        open_page=open_page,
        environ={},
        remote=True,
        **changes,
    )
    try:
        return run_cell(cell, surroundings)
    finally:
        for context in contexts:
            context.close()


def on(action: str, reads: str, /, mark: int | None = None, **more: Any) -> Reply:
    """A decision on the element that reads so; its number comes from the list, or is wrong."""

    def reply(request: Request) -> str:
        number = mark if mark is not None else mark_of(request, reads)
        return json.dumps(
            {"action": action, "mark_id": number, "expected_text": reads, "confidence": 0.9, **more}
        )

    return reply


def mark_of(request: Request, text: str) -> int:
    """The number that the list in the prompt gives an element."""
    prompt = request.messages[-1].content
    match = re.search(rf'^\[(\d+)\] \S+ "{re.escape(text)}"', prompt, re.MULTILINE)
    assert match, f"{text!r} is not listed: {prompt!r}"
    return int(match[1])


def do(action: str, **more: Any) -> str:
    """A decision about no element."""
    return json.dumps({"action": action, **more})


def prompt(request: Request) -> str:
    """The user's part of what was asked."""
    return request.messages[-1].content
