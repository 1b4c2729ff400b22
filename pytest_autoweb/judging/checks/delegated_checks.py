"""Checks with delegated verdicts: functions in the user's code base, and a judging model.

A function is named as `python: package.module:function`. The judge asks the model whether a rubric
is met.
"""

import copy
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from msgspec import Struct
from playwright.sync_api import Page
from pydantic import Field

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import named_line
from pytest_autoweb.base.field_errors import FieldError
from pytest_autoweb.base.specs import fitting
from pytest_autoweb.base.values.normal_forms import normalise
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.frames import run_script
from pytest_autoweb.judging.checks.check_type import (
    CHECKS,
    Check,
    CheckProbe,
    Evidence,
    JudgeQuery,
    NotEvaluated,
    Verdict,
)
from pytest_autoweb.judging.checks.compared_values import as_text
from pytest_autoweb.judging.checks.page_checks import of_page_and_frames
from pytest_autoweb.judging.evidence.downloads import Download
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.results.records import ToolCall

_ROOT_FILES = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "setup.py")


class FunctionProblem(Exception):
    """Raised when a check's function does not exist or cannot be called as the check asks."""


def find_function(
    reference: str, arguments: Mapping[str, Any], case_path: Path | None
) -> Callable[..., Any]:
    """Find the function of `package.module:function`.

    The module is searched for next to the case file, in the folders above it up to the project's
    root, in the working folder, and then on Python's usual path.

    Args:
        reference: the names of module and function.
        arguments: the call's arguments, apart from the context.
        case_path: the case's file; None for inline cases.

    Raises:
        FunctionProblem: with a reason for the author of the case.
    """
    name, _, attribute = reference.partition(":")
    module = _module(name, _folders(case_path))
    function = getattr(module, attribute, None)
    if not callable(function):
        raise FunctionProblem(f"module {name!r} has no function {attribute!r}")
    if inspect.iscoroutinefunction(function):
        raise FunctionProblem(f"{attribute!r} must not be async")
    try:
        inspect.signature(function).bind(object(), **arguments)
    except (TypeError, ValueError) as error:
        wanted = ", ".join(["context", *(f"{key}=…" for key in arguments)])
        raise FunctionProblem(f"cannot be called as {attribute}({wanted}): {error}") from error
    return function  # type: ignore[no-any-return]


def _folders(case_path: Path | None) -> tuple[Path, ...]:
    here = Path.cwd()
    if case_path is None:
        return (here,)
    found = []
    for folder in case_path.absolute().parents:
        found.append(folder)
        if any((folder / name).is_file() for name in _ROOT_FILES):
            return (*found, here)
    return (found[0], here)


def _module(name: str, folders: tuple[Path, ...]) -> ModuleType:
    inner = Path(*name.split("."))
    for folder in folders:
        for file in (folder / inner.with_suffix(".py"), folder / inner / "__init__.py"):
            if file.is_file():
                return _imported_from(name, file, folder)
    return _imported(name)


def _imported_from(name: str, file: Path, folder: Path) -> ModuleType:
    with _first_on_path(folder):
        module = _imported(name)
    origin = getattr(module, "__file__", None)
    if origin is None or not Path(origin).samefile(file):
        raise FunctionProblem(
            f"another module {name!r} is imported already; give one of them another name"
        )
    return module


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    """Put a module's folder first on the path, also for imports that it makes later."""
    entry = str(folder)
    known = entry in sys.path
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(entry)
        if not known:
            # The module's functions may import their neighbours only when called. At the end of the
            # path the folder allows that without hiding other modules.
            sys.path.append(entry)


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise FunctionProblem(f"there is no module {name!r}") from error
        raise FunctionProblem(f"module {name!r} cannot be imported: {error}") from error
    except Exception as error:
        # The module is user code: importing it may fail in any way.
        reason = f"{type(error).__name__}: {error}"
        raise FunctionProblem(f"module {name!r} cannot be imported: {reason}") from error


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


class CheckVerdict(Struct, frozen=True):
    """What a check of your own found, when there is more to say than true or false."""

    passed: bool | None
    """Whether the check holds; None if that cannot be decided, which `reason` explains."""
    actual: str = ""
    """What was seen, for the report."""
    where: str = ""
    """Where it was seen."""
    finding: str = ""
    """A name for the finding, by which reports count it."""
    hint: str = ""
    """What a repair may be told; it goes into the model's prompt."""
    credit: float | None = None
    """Partial credit from 0 to 1; None means all or nothing."""
    reason: str = ""
    """Why the check cannot be decided."""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a check of your own may look at: the end of an attempt. Everything is for reading."""

    case_id: str
    entry_url: str
    user_task: str
    answered: bool
    """Whether the code called `answer(...)`."""
    answer: Any
    """What the code passed to `answer(...)`, as a JSON value."""
    requests: Sequence[WireEntry]
    """The requests that the page sent, with their replies, oldest first."""
    downloads: Sequence[Download]
    """Files that the page handed out."""
    actions: Sequence[ToolCall]
    """What the code did to the page."""
    _page: Page = field(repr=False)

    @property
    def url(self) -> str:
        """Return the page's URL at the end."""
        return self._page.url

    def text(self) -> str:
        """Return the text that is visible in the page and its frames, as lines."""
        with waiting.loop_hidden_again():
            looks = list(
                of_page_and_frames(
                    self._page,
                    lambda frame, ms: str(run_script(frame, "visible_text", timeout_ms=ms)),
                    _EVALUATE_MS / 1000,
                )
            )
        lines = (line for _, text in looks for line in map(normalise, text.splitlines()))
        return "\n".join(filter(None, lines))

    def evaluate(self, javascript: str) -> Any:
        """Evaluate a JavaScript function or expression in the page for at most ten seconds.

        Raises:
            playwright.sync_api.Error: the code threw, or took too long.
        """
        code = _EVALUATE.replace("USER_CODE", javascript)
        with waiting.loop_hidden_again():
            said = call_within(self._page, _EVALUATE_MS, lambda: self._page.evaluate(code))
        return read_json(said)["value"]


@CHECKS.add
class PythonCheck(Check):
    """A function of the user's own code base."""

    name = "python"
    data_fields = (("with",),)

    python: Annotated[str, _REFERENCE]
    """The function, as `package.module:function`; see `pytest_autoweb.checks`."""
    arguments: dict[str, Any] = Field(default_factory=dict, alias="with")
    """Keyword arguments for the function."""

    def refuse_unusable(self, case_path: Path | None) -> None:
        """Reject a function that does not exist or cannot be called with these arguments."""
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

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Let the function inspect the end of the attempt and return its verdict."""
        try:
            function = find_function(self.python, self.arguments, evidence.case_path)
        except FunctionProblem as problem:
            raise NotEvaluated(str(problem)) from problem

        def look(seconds: float) -> Verdict:
            # The function is called repeatedly, and its changes must not reach the next call.
            arguments = copy.deepcopy(self.arguments)
            try:
                with waiting.loop_hidden():
                    found = function(_context(evidence), **arguments)
            # Even `sys.exit` in the user's code must not end the session.
            except (Exception, SystemExit) as error:
                raise NotEvaluated(_described_error(error, self.python)) from error
            return _verdict(found, self.python)

        shown = f" with {as_text(self.arguments)}" if self.arguments else ""
        return CheckProbe(f"{self.python}{shown}", look)


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


def _described_error(error: BaseException, reference: str) -> str:
    """Describe the exception and the line of the user's code that raised it."""
    reason = named_line(error)
    module = reference.partition(":")[0].rpartition(".")[2]
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).stem in (module, "__init__")]
    at = (own or frames)[-1]
    return f"{reason} ({Path(at.filename).name}, line {at.lineno})"


@CHECKS.add
class JudgeCheck(Check):
    """A model's opinion; it decides nothing unless it was calibrated with human labels."""

    name = "judge"
    rests_on = "opinion"

    judge: JudgeQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Ask for a model's opinion on the rubric, once."""
        judge = evidence.rubric_judge
        if judge is None:
            raise NotEvaluated("there is no judge; name a model with --autoweb-judge-model")

        def look(seconds: float) -> Verdict:
            finding = judge(self.judge, evidence)
            passed = {"pass": True, "fail": False}.get(finding.verdict)
            shown = "; ".join(f"“{quote}”" for quote in finding.quotes)
            said = f"{finding.verdict}: {finding.reason}"
            return Verdict(
                passed,
                f"{said} [{shown}]" if shown else said,
                where=finding.judge,
                finding=finding.verdict,
                reason="" if passed is not None else said,
                advisory=finding.advisory,
                usage=finding.usage,
                votes=finding.votes,
            )

        # Each question costs a call, and the same evidence would give the same answer.
        return CheckProbe(f"rubric: {self.judge.rubric}", look, retry=False)
