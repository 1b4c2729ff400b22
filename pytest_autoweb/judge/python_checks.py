"""Checks by functions of the user's own code base (`python: package.module:function`)."""

import copy
import json
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_autoweb.browser.downloads import Download
from pytest_autoweb.browser.injected import run_script
from pytest_autoweb.browser.wire import WireEntry
from pytest_autoweb.cases.check_specs import PythonCheck
from pytest_autoweb.cases.functions import FunctionProblem, find_function
from pytest_autoweb.judge.evidence import Evidence, NotEvaluated, Probe, Verdict
from pytest_autoweb.judge.matching import as_text
from pytest_autoweb.judge.page_checks import of_page_and_frames
from pytest_autoweb.results import ToolCall
from pytest_autoweb.values.text import normalise

if TYPE_CHECKING:
    from playwright.sync_api import Page

_EVALUATE_MS = 10_000.0
_EVALUATE = """async () => {
  const given = (USER_CODE
  );
  const result = typeof given === 'function' ? await given() : await given;
  return JSON.stringify({ value: result === undefined ? null : result });
}"""


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """What a check of your own found, when there is more to say than true or false."""

    passed: bool | None
    """None: it cannot be decided; say why in `reason`."""
    actual: str = ""
    """What was seen, for the report."""
    where: str = ""
    """Where it was seen."""
    finding: str = ""
    """A name for it, to count by."""
    hint: str = ""
    """What a repair may be told; it goes into the model's prompt."""
    credit: float | None = None
    """Partial credit from 0 to 1; None: all or nothing."""
    reason: str = ""
    """Why it cannot be decided."""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a check of your own may look at: the end of an attempt. Everything is for reading."""

    case_id: str
    entry_url: str
    user_task: str
    answered: bool
    """Whether the code called `answer(...)`."""
    answer: Any
    """What it passed, a JSON value."""
    requests: Sequence[WireEntry]
    """What went over the wire, oldest first."""
    downloads: Sequence[Download]
    """Files that the page handed out."""
    actions: Sequence[ToolCall]
    """What the code did to the page."""
    _page: "Page" = field(repr=False)

    @property
    def url(self) -> str:
        """The page's URL at the end."""
        return self._page.url

    def text(self) -> str:
        """The text that is visible in the page and its frames, as lines."""
        looks = of_page_and_frames(
            self._page,
            lambda frame, ms: str(run_script(frame, "visible_text", timeout_ms=ms)),
            _EVALUATE_MS / 1000,
        )
        lines = (line for _, text in looks for line in map(normalise, text.splitlines()))
        return "\n".join(filter(None, lines))

    def evaluate(self, javascript: str) -> Any:
        """The JSON value of a JavaScript function or expression in the page; ten seconds at most.

        Raises:
            playwright.sync_api.Error: the code threw, or took too long.
        """
        code = _EVALUATE.replace("USER_CODE", javascript)
        handle = self._page.wait_for_function(code, timeout=_EVALUATE_MS)
        return json.loads(handle.json_value())["value"]


def python_probe(check: PythonCheck, evidence: Evidence) -> Probe:
    """A function that looks at the end of an attempt and says whether it is as wanted."""
    try:
        function = find_function(check.python, check.arguments, evidence.case_path)
    except FunctionProblem as problem:
        raise NotEvaluated(str(problem)) from problem

    def look(seconds: float) -> Verdict:
        arguments = copy.deepcopy(check.arguments)
        try:
            found = function(_context(evidence), **arguments)
        except (Exception, SystemExit) as error:
            raise NotEvaluated(_told(error, check.python)) from error
        return _verdict(found, check.python)

    shown = f" with {as_text(check.arguments)}" if check.arguments else ""
    return Probe(f"{check.python}{shown}", look)


def _context(evidence: Evidence) -> CheckContext:
    return CheckContext(
        case_id=evidence.case_id,
        entry_url=evidence.entry_url,
        user_task=evidence.user_task,
        answered=evidence.answered,
        answer=copy.deepcopy(evidence.answer),
        requests=tuple(evidence.wire),
        downloads=tuple(evidence.downloads),
        actions=tuple(evidence.actions),
        _page=evidence.page,
    )


def _verdict(found: Any, reference: str) -> Verdict:
    if isinstance(found, bool):
        return Verdict(found, f"it returned {found}", where=reference)
    if not isinstance(found, CheckVerdict):
        kind = type(found).__name__
        raise NotEvaluated(f"{reference} returned {kind}, not bool or CheckVerdict")
    if found.credit is not None and not 0 <= found.credit <= 1:
        raise NotEvaluated(f"{reference} gave {found.credit} as credit, which is not from 0 to 1")
    return Verdict(
        found.passed,
        found.actual or f"it returned {found.passed}",
        found.where or reference,
        found.finding,
        found.hint,
        found.credit,
        found.reason or ("no reason given" if found.passed is None else ""),
    )


def _told(error: BaseException, reference: str) -> str:
    """What was raised and at which line of the user's code."""
    first = str(error).strip().partition("\n")[0]
    reason = f"{type(error).__name__}: {first}" if first else type(error).__name__
    module = reference.partition(":")[0].rpartition(".")[2]
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).stem in (module, "__init__")]
    at = (own or frames)[-1]
    return f"{reason} ({Path(at.filename).name}, line {at.lineno})"
