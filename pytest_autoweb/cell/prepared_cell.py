"""A cell before it runs, the resources that a test process lends to it, and what it rests on.

What a cell does with its traffic follows from what its case and the run say. Two results may stand
for each other only if the checksums of what they rest on agree.

A cell may be a mutant: its case's oracle with one part left out, or one request suppressed. It must
then fail.
"""

import ast
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from playwright.sync_api import Page
from pydantic import Field, ValidationError

from pytest_autoweb.agents.attempt.script_blocks import split_blocks
from pytest_autoweb.agents.attempt.tools import Clock
from pytest_autoweb.agents.correction.call_cache import Cache
from pytest_autoweb.agents.correction.naming_model import NamingModel
from pytest_autoweb.agents.correction.retry_rules import PastCorrections
from pytest_autoweb.agents.outside.adapters import identity_of
from pytest_autoweb.base.errors import CaseError, SettingsError
from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.base.specs import Spec
from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.browser.egress.guarded_page import ReadyPage
from pytest_autoweb.browser.egress.suppression import SuppressedRequest, Suppression
from pytest_autoweb.browser.traffic.cell_traffic import (
    CellTraffic,
    TrafficFile,
    traffic_mode,
    traffic_path,
)
from pytest_autoweb.browser.traffic.traffic_file import traffic_checksum
from pytest_autoweb.browser.traffic.traffic_rules import TrafficMode
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.cell.strategies import prompts_of, strategy_of
from pytest_autoweb.judging.model_judge import JudgedAttempt, ModelJudge
from pytest_autoweb.judging.verdicts import graded
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.prompts import prompt_checksum
from pytest_autoweb.results.records import Attempt, CaptureModeName, OutsideAgent
from pytest_autoweb.sandbox.host import MakeEngine, worker_engine
from pytest_autoweb.settings.run_settings import Settings

_LOOKS = ("expect", "wait_for", "log")
"""The beginnings of calls that only look or wait, so that leaving them out changes nothing."""

_SHAPING = (
    *("visual_supplement", "max_turns", "max_decisions", "feedback", "locator", "retries"),
    *("correction", "questions", "on_step_failure", "step_timeout", "check_timeout"),
    *("sandbox", "browser_sandbox", "judge_model"),
)
"""The settings of a run that may change how a cell ends."""
_ONLY_OF_CALLS = frozenset(
    (
        *("api_key_env", "max_parallel", "sources", "timeout"),
        *("input_cost_per_mtok", "output_cost_per_mtok", "cached_input_cost_per_mtok"),
    )
)
"""The settings of a model that say how it is called and paid, not what it answers."""


class OraclePart(NamedTuple):
    """A part of an oracle that may be left out."""

    name: str
    """The part in words, such as `step 2: press the button`."""
    lines: frozenset[int]
    """Its lines, from 1."""


class Mutant(Spec):
    """One change of an oracle's run."""

    name: str
    """The change in words, such as `without step 2: press the button`."""
    without: int | None = None
    """The position of the part of the oracle that is left out, from 0."""
    suppressed: SuppressedRequest | None = None
    """The request that reaches no server."""

    def changed(self, case: Case) -> Case:
        """Return the case with the changed oracle.

        Raises:
            CaseError: the oracle has no such part any more.
        """
        if self.without is None:
            return case
        script = case.oracle or ""
        parts = parts_of(script)
        if self.without >= len(parts):
            raise CaseError(f"the oracle of case {case.id!r} has changed since it was played")
        left_out = parts[self.without].lines
        lines = enumerate(script.split("\n"), start=1)
        kept = ["" if number in left_out else line for number, line in lines]
        return case.model_copy(update={"oracle": "\n".join(kept)})

    def suppression(self) -> Suppression | None:
        """Return what recognises the suppressed request in one attempt; None if there is none."""
        return Suppression(self.suppressed) if self.suppressed else None


class MutantsFile(Spec):
    """The mutants of each case, by `PATH::CASE`, and in it by the name of the model they run as."""

    cases: dict[str, dict[str, Mutant]] = Field(default_factory=dict)


Mutants = Mapping[str, Mapping[str, Mutant]]


def read_mutants(path: Path) -> Mutants:
    """Read the file of `--autoweb-mutants`.

    Raises:
        SettingsError: it cannot be read, or is not such a file.
    """
    try:
        return MutantsFile.model_validate_json(path.read_bytes()).cases
    except OSError as error:
        raise SettingsError(f"--autoweb-mutants: {path}: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsError(
            f"--autoweb-mutants: {path} was not written by `autoweb prove`: {first['msg']}"
        ) from None


def parts_of(script: str) -> tuple[OraclePart, ...]:
    """Return the parts of an oracle that do something: its steps, or its statements if it has one.

    A script of one part has none to leave out, since that would be doing nothing.
    """
    blocks = split_blocks(script).by_step
    if len(blocks) == 1:
        parts = list(_statements(script))
        return tuple(parts) if len(parts) > 1 else ()
    found = []
    for number, block in blocks.items():
        lines = block.code.split("\n")
        own = frozenset(n for n, line in enumerate(lines, start=1) if line.strip())
        if any(_acts(statement) for statement in _parsed(block.code)):
            found.append(OraclePart(f"step {number}: {_heading(lines)}".rstrip(": "), own))
    return tuple(found)


def _statements(script: str) -> Iterator[OraclePart]:
    lines = script.split("\n")
    for statement in _parsed(script):
        # Without a value that is given a name, all that follows would fail for a trivial reason.
        if _acts(statement) and not isinstance(statement, ast.Assign | ast.FunctionDef):
            own = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            text = lines[statement.lineno - 1].strip()
            yield OraclePart(f"line {statement.lineno}: {text}", frozenset(own))


def _parsed(code: str) -> list[ast.stmt]:
    tree = read_python(code)
    return [] if tree is None else tree.body


def _acts(statement: ast.stmt) -> bool:
    """Tell whether a statement may do more than to look or wait."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return True
    called: ast.expr = statement.value
    names = []
    while isinstance(called, ast.Call | ast.Attribute):
        if isinstance(called, ast.Attribute):
            names.append(called.attr)
            called = called.value
        else:
            called = called.func
    names.append(called.id if isinstance(called, ast.Name) else "")
    return not (names[-1].startswith(_LOOKS) or names[0].startswith(_LOOKS))


def _heading(lines: list[str]) -> str:
    """Return what the heading of a step says, or its first line of code."""
    written = [line.strip() for line in lines if line.strip()]
    said = next((line for line in written if line.startswith("#")), "")
    words = said.partition(":")[2] or said.partition("：")[2]
    return words.strip() or next((line for line in written if not line.startswith("#")), "")


@dataclass(frozen=True, slots=True)
class Cell:
    """Case x model x capture mode x repeat, before it runs."""

    case: LoadedCase
    spec: ModelSpec
    mode: CaptureModeName
    repeat: int
    nodeid: str
    case_path: str
    folder: str
    """The cell's folder, relative to the run folder."""
    strategy: StrategyName
    mutant: Mutant | None = None
    """What is changed in the case's oracle; None for every model and control."""


class ServerLender(Protocol):
    """A lender of the web servers of case files, each in its original state, for one attempt."""

    def lend(self, case: LoadedCase) -> AbstractContextManager[ServerHandle | None]:
        """Lend the running server, or None if the case file names none."""
        ...


@dataclass(frozen=True, slots=True)
class CellResources:
    """The resources that a test process lends to the cells it runs."""

    settings: Settings
    run_folder: Path
    client: Callable[[ModelSpec, Case], Client]
    servers: ServerLender
    open_page: Callable[[dict[str, Any]], Page]
    """Opens a page in a fresh context that is created with these arguments."""
    environ: Mapping[str, str]
    ready_page: Callable[[], ReadyPage | None] = lambda: None
    """Returns a page that was opened in advance with `PLAIN_CONTEXT`, if there is one."""
    remote: bool = False
    """Whether the browser was connected to rather than launched here."""
    worker: str = "main"
    run_id: str = ""
    """The id of the run, for which recorded traffic is kept together."""
    progress: Callable[[str], None] = lambda text: None
    stream: Callable[[str], None] = lambda line: None
    clock: Clock = field(default_factory=Clock)
    engine: MakeEngine = worker_engine
    cache: Cache | None = None
    """A cache shared with other processes; None if each attempt has its own, in memory."""
    relogin: Callable[[Case, Page], object] | None = None
    """The user's hook that logs in again; None if there is none."""
    past: PastCorrections = field(default_factory=dict)
    """How often the cell's way of correcting has helped its model, according to the store."""
    mistaken: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each kind of element, the wrong choices and all choices of the model, by the store."""
    judge: Callable[[JudgedAttempt], ModelJudge] | None = None
    """Makes the judge of an attempt; None if `judge` checks cannot be evaluated."""
    naming: NamingModel | None = None
    """Names the types of failures that no rule recognises; None if no model is to be asked."""
    pause: Callable[[Attempt, Page], None] | None = None
    """Lets a person look at the page of a failed attempt; None if the run just goes on."""


def describe_traffic(settings: Settings) -> str:
    """Return the value for a report header; empty where each case says what it does."""
    folder = settings.traffic_files.as_posix()
    told = {
        "record": f"recorded in {folder}, without secrets, each case anew",
        "extend": f"recorded in {folder}, without secrets, beside what is there",
        "replay": f"replayed from {folder}: no site is asked",
    }
    return told.get(settings.traffic, "")


def mode_of(cell: Cell, settings: Settings) -> TrafficMode:
    """Return whether the traffic of a cell is recorded or replayed."""
    own_server = cell.case.webserver is not None
    return traffic_mode(cell.case.traffic, settings.traffic, own_server=own_server)


def told_traffic(cell: Cell, settings: Settings) -> Literal["", "recorded", "replayed"]:
    """Return what the result of a cell says about its traffic."""
    told: dict[TrafficMode, Literal["", "recorded", "replayed"]] = {
        "off": "",
        "record": "recorded",
        "extend": "recorded",
        "replay": "replayed",
    }
    return told[mode_of(cell, settings)]


def recording_path(cell: Cell, settings: Settings) -> Path:
    """Return the path of the recording of a cell's case."""
    folder = settings.rootdir / settings.traffic_files
    return traffic_path(folder, settings.rootdir, cell.case.path, cell.case.id)


def recording_checksum(cell: Cell, settings: Settings) -> str:
    """Return the checksum of the recording that a cell replays; empty if it replays none."""
    if mode_of(cell, settings) != "replay":
        return ""
    return traffic_checksum(recording_path(cell, settings)) or "none"


def traffic_of(
    cell: Cell,
    case: Case,
    resources: CellResources,
    secrets: Mapping[str, str],
    attempt: str,
    note: Callable[[str], None],
) -> CellTraffic | None:
    """Return what records, replays or holds back the requests of an attempt; None if nothing does.

    Raises:
        TrafficError: there is no recording to replay, or it is damaged.
    """
    mode = mode_of(cell, resources.settings)
    if mode == "off" and not case.traffic.hold:
        return None
    origins = (case.entry_url, *case.allowed_origins)
    file = TrafficFile(
        path=recording_path(cell, resources.settings),
        case_id=case.id,
        run=resources.run_id,
        extends=mode == "extend",
        title=f"{cell.nodeid.partition('::')[2] or cell.nodeid}, {attempt}",
        encrypted=any(origin.startswith("https:") for origin in origins),
    )
    return CellTraffic("record" if mode == "extend" else mode, case.traffic, file, secrets, note)


def checksums_of(cell: Cell, settings: Settings) -> dict[str, str]:
    """Return a sum for each thing that the result of a cell rests on.

    `case`, `checks`, `prompts`, `model`, `settings` and, if there is one, `agent` are SHA-256 sums;
    `capture` and `versions` are short enough to stand there themselves. `traffic` is the sum of the
    recording, of cells that are replayed only.
    """
    replayed = recording_checksum(cell, settings)
    prompts = prompts_of(cell.strategy, cell.spec, settings.correction)
    agent = agent_of(cell, settings)
    return {
        "case": cell.case.checksum,
        "checks": graded(cell.case.checks_checksum),
        "prompts": prompt_checksum(*prompts),
        "capture": f"{cell.mode}/{cell.spec.context_tokens}",
        "model": _of_model(cell.spec),
        "settings": _sum({name: getattr(settings, name) for name in _SHAPING}),
        "versions": _versions(),
        **({"agent": agent.checksum} if agent else {}),
        **({"traffic": replayed} if replayed else {}),
    }


def agent_of(cell: Cell, settings: Settings) -> OutsideAgent | None:
    """Return the outside agent that drives the cell's browser, or None for a built-in one."""
    outside = strategy_of(cell.strategy, cell.spec).outside
    if outside is None:
        return None
    return identity_of(cell.strategy, outside, cell.spec, cell.case.command, settings.rootdir)


def _of_model(spec: ModelSpec) -> str:
    return _sum(spec.model_dump(mode="json", exclude=set(_ONLY_OF_CALLS)))


def _sum(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@cache
def _versions() -> str:
    names = ("pytest-autoweb", "playwright")
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)
