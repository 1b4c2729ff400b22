"""Checks by functions of the user's own code base (`python: package.module:function`)."""

import copy
import inspect
import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from pytest_autoweb.browser.downloads import Download
from pytest_autoweb.browser.injected import run_script
from pytest_autoweb.browser.wire import WireEntry
from pytest_autoweb.checks.attempt_evidence import Evidence, NotEvaluated, Probe, Verdict
from pytest_autoweb.checks.check_type import CHECKS, Check
from pytest_autoweb.checks.functions import FunctionProblem, find_function
from pytest_autoweb.checks.json_matching import as_text
from pytest_autoweb.checks.page_checks import of_page_and_frames
from pytest_autoweb.results import ToolCall
from pytest_autoweb.specs import FieldError, fitting
from pytest_autoweb.values.text import normalise

if TYPE_CHECKING:
    from playwright.sync_api import Page

_REFERENCE = fitting(
    r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$", "must be written package.module:function"
)
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


@CHECKS.add
class PythonCheck(Check):
    """A function of the user's own code base."""

    name = "python"
    data_fields = (("with",),)

    python: Annotated[str, _REFERENCE]
    """`package.module:function`; see `pytest_autoweb.checks`."""
    arguments: dict[str, Any] = Field(default_factory=dict, alias="with")
    """Keyword arguments for the function."""

    def refuse_unusable(self, case_path: Path | None) -> None:
        """Refuse a function that is not there or cannot be called with these arguments."""
        try:
            find_function(self.python, self.arguments, case_path)
        except FunctionProblem as problem:
            raise FieldError(("python",), str(problem)) from problem

    @classmethod
    def code_behind(cls, entry: Mapping[str, Any], case_path: Path | None) -> dict[str, str]:
        """Return the source of the function that the entry names; empty when it has none."""
        function = find_function(entry["python"], entry.get("with") or {}, case_path)
        try:
            return {"code": inspect.getsource(function)}
        except (OSError, TypeError):
            return {}

    def probe(self, evidence: Evidence) -> Probe:
        """Let the function look at the end of the attempt and say whether it is as wanted."""
        try:
            function = find_function(self.python, self.arguments, evidence.case_path)
        except FunctionProblem as problem:
            raise NotEvaluated(str(problem)) from problem

        def look(seconds: float) -> Verdict:
            arguments = copy.deepcopy(self.arguments)
            try:
                found = function(_context(evidence), **arguments)
            except (Exception, SystemExit) as error:
                raise NotEvaluated(_told(error, self.python)) from error
            return _verdict(found, self.python)

        shown = f" with {as_text(self.arguments)}" if self.arguments else ""
        return Probe(f"{self.python}{shown}", look)


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
