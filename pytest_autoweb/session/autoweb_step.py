"""The value of the `autoweb_step` fixture: a model takes a step on the page of an ordinary test."""

import dataclasses
import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page
from pydantic import Field, ValidationError

from pytest_autoweb.agents.attempt.strategy import Strategy
from pytest_autoweb.agents.reading.asked_types import UnreadableType, reply_kind
from pytest_autoweb.agents.reading.read_value import AskedValue
from pytest_autoweb.base.errors import AutowebError, CaseError, SettingsError, listed
from pytest_autoweb.base.specs import Seconds, Spec
from pytest_autoweb.base.values.normal_forms import without_password
from pytest_autoweb.base.waiting.hidden_loop import loop_hidden
from pytest_autoweb.browser.egress.browser_watch import WATCH
from pytest_autoweb.cases.case import SecretSource
from pytest_autoweb.cases.loader import LoadedCase, load_fields
from pytest_autoweb.cell.called_steps import CHECKING, doing, reading_of
from pytest_autoweb.cell.cell_inputs import CalledStep, Cell
from pytest_autoweb.cell.strategies import CODEGEN
from pytest_autoweb.judging.model_judge import JudgeSelection, ModelJudge, judge_id
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.records import CellResult, StepCall
from pytest_autoweb.results.runs.saving import cell_folder, safe_name
from pytest_autoweb.session.axes import path_below, strategy_name
from pytest_autoweb.session.cell_run import tell_end
from pytest_autoweb.session.guarded_run import run_or_break
from pytest_autoweb.session.lent_resources import resources_of
from pytest_autoweb.session.playwright_fixtures import STEP_FIXTURE
from pytest_autoweb.session.pytest_outcome import describe
from pytest_autoweb.session.recordings import is_recorded
from pytest_autoweb.session.refused_sessions import usage_error
from pytest_autoweb.session.run_session import SESSION, RunSession

T = TypeVar("T")

_USED: pytest.StashKey[Counter[str]] = pytest.StashKey()
"""How often each folder was used, because other plugins may run a test again."""
_SLUG_CHARS = 48
_NO_MODEL = (
    "autoweb_step needs a model: name one with --autoweb-models (ini: autoweb_models), or with "
    '@pytest.mark.autoweb_step(model="openai/gpt-5-mini")'
)
_ONLY_CONTROLS = "no model is named besides controls, which cannot follow a sentence"
_DID_NOT_FIT = (
    "the page or the sentence differs from what was recorded; a run with a model and "
    "--autoweb-record-mode=extend asks for what is missing and keeps the rest"
)


class StepSettings(Spec):
    """What `@pytest.mark.autoweb_step(…)` may say."""

    model: str | None = None
    agent: str | None = None
    timeout: Seconds = 120.0
    allowed_origins: tuple[str, ...] = Field(default=())


class AutowebStep:
    """The value of the `autoweb_step` fixture."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._config = request.config
        self._secrets: dict[str, dict[str, str]] = {}
        self._said: Counter[tuple[str, str]] = Counter()

    def __call__(self, task: str, *, page: Page | None = None) -> None:
        """Carry out a task on the test's page, which is left as it then is.

        Args:
            task: what to do, in words.
            page: the page; by default that of pytest-playwright's fixture `page`.

        Raises:
            AssertionError: it was not carried out.
            AutowebError: the model, the browser or a recording failed.
        """
        __tracebackhide__ = True
        model = self._model()

        def strategy(case: LoadedCase, spec: ModelSpec) -> Strategy:
            return doing(strategy_name(case, spec, self._session.settings), spec)

        result = self._carried_out("do", task, page, model, strategy)
        if not result.passed:
            raise self._failure(f"autoweb_step({task!r})", result)

    def check(self, claim: str, *, page: Page | None = None) -> None:
        """Let a model judge whether a sentence holds of the page; it has to quote the page.

        Args:
            claim: the sentence.
            page: the page; by default that of pytest-playwright's fixture `page`.

        Raises:
            AssertionError: it does not hold, or the page shows neither.
        """
        __tracebackhide__ = True
        model = self._session.settings.judge_model or self._model()
        result = self._carried_out("check", claim, page, model, lambda case, spec: CHECKING)
        if not result.passed:
            raise self._failure(f"autoweb_step.check({claim!r})", result)

    def read(
        self,
        what: str,
        kind: type[T] = str,  # type: ignore[assignment]  # T is str then
        *,
        page: Page | None = None,
    ) -> T:
        """Return a value that the page shows.

        Args:
            what: which value, in words.
            kind: its type: str, int, float, Decimal, bool, date, datetime, Literal, a list of
                these, or a pydantic model.
            page: the page; by default that of pytest-playwright's fixture `page`.

        Raises:
            AssertionError: the page does not show it.
            TypeError: values of this type cannot be read.
        """
        __tracebackhide__ = True
        try:
            reply_kind(kind)
        except UnreadableType as error:
            raise TypeError(f"autoweb_step.{error}") from None
        reading = AskedValue(kind)
        result = self._carried_out(
            "read", what, page, self._model(), lambda case, spec: reading_of(reading)
        )
        if not result.passed:
            name = getattr(kind, "__name__", str(kind))
            raise self._failure(f"autoweb_step.read({what!r}, {name})", result)
        return cast(T, reading.value)

    def secret(self, variable: str) -> str:
        """Return what stands for an environment variable's value in a task: no model sees it.

        Raises:
            pytest.UsageError: the variable is not set.
        """
        __tracebackhide__ = True
        if not self._session.environ.get(variable):
            raise usage_error(
                f"autoweb_step.secret({variable!r}): the environment variable is not set"
            )
        self._secrets[variable] = SecretSource(env=variable).model_dump(exclude_none=True)
        return f"<secret:{variable}>"

    @property
    def _session(self) -> RunSession:
        return self._config.stash[SESSION]

    @cached_property
    def _settings(self) -> StepSettings:
        """What the nearest marks of the test say.

        Raises:
            pytest.UsageError: a mark says what no mark may say.
        """
        __tracebackhide__ = True
        said: dict[str, Any] = {}
        for mark in self._request.node.iter_markers(STEP_FIXTURE):
            if mark.args:
                raise usage_error(f"@pytest.mark.{STEP_FIXTURE} takes only named arguments")
            said = {**mark.kwargs, **said}
        try:
            return StepSettings.model_validate(said)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            raise usage_error(
                f"@pytest.mark.{STEP_FIXTURE}: {name}: {first['msg']} (allowed: "
                f"{listed(StepSettings.model_fields)})"
            ) from None

    def _model(self) -> str:
        """Return the model of this test: of its parameter, its mark, or the session.

        Raises:
            pytest.UsageError: none is named.
        """
        __tracebackhide__ = True
        if given := getattr(self._request, "param", None) or self._settings.model:
            return str(given)
        models = self._session.settings.models
        if not models:
            raise usage_error(_NO_MODEL)
        chosen = next((name for name in models if not is_control(name)), "")
        if not chosen:
            pytest.skip(_ONLY_CONTROLS)
        return chosen

    def _carried_out(
        self,
        kind: Any,
        text: str,
        page: Page | None,
        model: str,
        strategy: Callable[[LoadedCase, ModelSpec], Strategy],
    ) -> CellResult:
        __tracebackhide__ = True
        place = _place_of_call(self._session.settings.rootdir)
        page = self._request.getfixturevalue("page") if page is None else page
        refuse_page(page)
        call = StepCall(kind=kind, path=place[0], line=place[1])
        try:
            cell = self._cell(call, text, page, model, strategy)
        except (CaseError, SettingsError, ValueError) as error:
            raise usage_error(f"autoweb_step({text!r}): {error}") from None
        result = self._run(cell)
        if result.passed:
            # What a later line fails of may be what this step did.
            told = one_line(f"{kind}: {text}: passed on {result.model}: {result.folder}", 300)
            self._request.node.add_report_section("call", "autoweb", told)
        return result

    def _cell(
        self,
        call: StepCall,
        text: str,
        page: Page,
        model: str,
        strategy: Callable[[LoadedCase, ModelSpec], Strategy],
    ) -> Cell:
        session, said = self._session, self._settings
        if not text.strip():
            raise ValueError("the sentence is empty")
        case = load_fields(
            {
                "id": self._id(call.kind, text),
                "entry_url": without_password(page.url),
                "user_task": text,
                "timeout": said.timeout,
                "allowed_origins": list(said.allowed_origins),
                "secrets": self._secrets,
                **({"agent": said.agent} if said.agent else {}),
                **({"expect": [{"judge": {"rubric": text}}]} if call.kind == "check" else {}),
            }
        )
        spec = session.spec_for(model, case.way)
        mode = session.settings.capture_modes[0]
        case = dataclasses.replace(case, line=call.line)
        driver = strategy_name(case, spec, session.settings)
        return Cell(
            case=case,
            spec=spec,
            mode=mode,
            repeat=1,
            nodeid=self._request.node.nodeid,
            case_path=call.path,
            folder=self._fresh(cell_folder(case.id, model, mode, 1)),
            strategy=driver if call.kind == "do" else CODEGEN.name,
            called=CalledStep(call, strategy(case, spec), page),
        )

    def _id(self, kind: str, text: str) -> str:
        """Return the id of a call, by which its recording is found.

        It depends on the test and the sentence, so that other steps may come and go around it.
        """
        self._said[kind, text] += 1
        node = without_parameter(self._request.node.nodeid, getattr(self._request, "param", ""))
        number = self._said[kind, text]
        whole = f"{node} {kind} {text}" + (f" {number}" if number > 1 else "")
        test = node.rpartition("::")[2].partition("[")[0]
        slug = safe_name(f"{test}.{text}".replace(" ", "-"))[:_SLUG_CHARS].strip("-._")
        return f"{slug}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"

    def _fresh(self, folder: str) -> str:
        used = self._config.stash.setdefault(_USED, Counter())
        used[folder] += 1
        return folder if used[folder] == 1 else f"{folder}-again-{used[folder] - 1}"

    def _run(self, cell: Cell) -> CellResult:
        session, config = self._session, self._config
        assert cell.called is not None
        browser = cell.called.page.context.browser
        remote = bool(self._request.getfixturevalue("connect_options"))
        session.see_browser(browser, remote=remote or session.browsers is not None)
        lent = resources_of(cell, session, config, _opens_nothing, remote=remote)
        # The test asks for this verdict, so it counts, whether or not its judge was measured.
        judges = JudgeSelection(
            session.spec,
            session.model,
            default=cell.spec.name,
            calibrated={judge_id(cell.spec)},
        )
        resources = replace(lent, judge=partial(ModelJudge, judges))
        with WATCH.on():
            result = run_or_break(cell, resources)
        session.deliver(cell.folder, keep=is_recorded(config))
        tell_end(session, cell, result)
        with loop_hidden():
            config.hook.pytest_autoweb_cell_finished(result=result)
        return result

    def _failure(self, call: str, result: CellResult) -> Exception:
        """Return the error of a call that failed, in a few lines."""
        folder = self._session.run_folder / result.folder
        lines = [f"{call} on {result.model}: {_why(result)}"]
        lines += describe(result)[1:-1]
        attempt = result.attempts[-1] if result.attempts else None
        if attempt and attempt.blocked_origins:
            lines.append(
                f"  blocked: {', '.join(attempt.blocked_origins)} (allowed by "
                f"@pytest.mark.{STEP_FIXTURE}(allowed_origins=[…]))"
            )
        if attempt and attempt.final_screenshot:
            lines.append(f"  picture: {folder / attempt.final_screenshot}")
        lines.append(f"  folder: {folder}")
        # What failed beside the page says nothing about it.
        return (AutowebError if result.outcome == "broken" else AssertionError)("\n".join(lines))


def refuse_page(page: object) -> None:
    """Refuse what is no page of Playwright's sync API, and one that has opened nothing yet.

    Raises:
        pytest.UsageError: it cannot be worked on.
    """
    __tracebackhide__ = True
    if not isinstance(page, Page):
        raise usage_error(
            "autoweb_step works on pages of Playwright's sync API, as pytest-playwright's fixture "
            f"`page` is; {type(page).__module__}.{type(page).__name__} is none, and "
            "pytest-playwright-asyncio is not supported"
        )
    if page.is_closed():
        raise usage_error("autoweb_step: the page is closed")
    if urlsplit(page.url).scheme not in ("http", "https"):
        raise usage_error(
            f"autoweb_step: the page is at {page.url}, and a step begins on a page of http(s): "
            "call page.goto(…) first"
        )


def without_parameter(nodeid: str, parameter: str) -> str:
    """Return a test's id as it is without one of its parameters, which is the name of a model."""
    if not parameter:
        return nodeid
    before, bracket, inside = nodeid.partition("[")
    parts = f"-{inside.removesuffix(']')}-".replace(f"-{parameter}-", "-", 1).strip("-")
    return f"{before}[{parts}]" if bracket and parts else before


def _why(result: CellResult) -> str:
    if result.outcome == "failed" or result.failure is None:
        return result.reason
    missing = result.failure.kind == "model" and "cassette" in result.reason
    return f"{result.outcome}: {result.reason}" + (f"\n  {_DID_NOT_FIT}" if missing else "")


def _place_of_call(rootdir: Path) -> tuple[str, int]:
    """Return the file, relative to the rootdir, and the line that called a public method here."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return path_below(Path(frame.f_code.co_filename), rootdir), frame.f_lineno


def _opens_nothing(context_args: Mapping[str, Any]) -> Page:
    raise AssertionError("a step works on the page that its test has opened")
