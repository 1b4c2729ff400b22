"""The runs that `autoweb run blame` makes between two runs, to tell what changed."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from pytest_autoweb.agents.outside.adapters import ADAPTERS
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cases.loader import LoadedCase, load_case_file
from pytest_autoweb.cell.cell_recording import traffic_path
from pytest_autoweb.models.cassettes import cassette_path, read_cassette
from pytest_autoweb.results.analysis.blaming import ArmName, Factor
from pytest_autoweb.results.analysis.cell_numbers import CaseKey, RunRows, run_rows
from pytest_autoweb.results.analysis.controls import ORACLE
from pytest_autoweb.results.records import CellResult, RunInfo
from pytest_autoweb.results.runs.foreign_run import case_file
from pytest_autoweb.results.runs.run_folder import is_run_folder, read_run
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.settings.agent_command import COMMAND
from pytest_autoweb.settings.rerun_settings import OF_RUNS, TakenSettings, taken_settings
from pytest_autoweb.tools.verify.prove_cases import Start, run_session

_OWN = OF_RUNS | {
    *("capture", "max_repairs", "record_mode", "traffic", "dir", "cassettes", "traffic_files")
}
"""Settings of the later run that the arms set themselves, or that are about a whole run."""
_PREFIX = "--autoweb-"
_MADE_FOR = "made_for.json"
_OVERWRITING = ("all", "new_episodes")

TITLES: Mapping[ArmName, str] = {
    "old": "the earlier run",
    "replies_recorded": "old replies, recorded site",
    "model_recorded": "model live, recorded site",
    "replies_live": "old replies, live site",
    "new": "the later run",
}
"""What each arm is called."""


class Missing(NamedTuple):
    """Something that an arm lacks, for some or all cases."""

    what: str
    """What is missing, in a sentence that says how it is made."""
    cases: tuple[str, ...]
    """The ids of the cases."""


class ArmsOrder(Struct, frozen=True, dict=True):
    """What the arms are to tell apart, and where.

    Args:
        old: the earlier run.
        new: the later run.
        info: the settings of the later run.
        model: the model that both ran.
        rootdir: the folder in which pytest was started.
        run_folder: the folder of the later run.
        output: the folder of the arms.
        more: further arguments of pytest for each of them.
        same: what cannot have changed, by the records of the two runs.
    """

    old: RunRows
    new: RunRows
    info: RunInfo
    model: str
    rootdir: Path
    run_folder: Path
    output: Path
    more: tuple[str, ...] = ()
    same: frozenset[Factor] = frozenset()

    @cached_property
    def cases(self) -> tuple[LoadedCase, ...]:
        """Return the cases that both runs have, as they are now.

        Raises:
            SettingsError: a case file is not there.
        """
        before, after = (
            dict.fromkeys((r.case_path, r.case_id) for r in run.rows if r.model == self.model)
            for run in (self.old, self.new)
        )
        return tuple(self._loaded([key for key in after if key in before]))

    def _loaded(self, keys: Collection[CaseKey]) -> Iterator[LoadedCase]:
        for path in dict.fromkeys(path for path, _ in keys):
            file = case_file(path, self.rootdir, self.run_folder)
            for case in load_case_file(file.resolve()):
                if (path, case.id) in keys:
                    yield case

    @cached_property
    def taken(self) -> TakenSettings:
        """Return the settings of the later run that hold in the arms."""
        return taken_settings(self.info.settings, _OWN)

    def replies(self, case: LoadedCase) -> Path:
        """Return the path of the recorded replies for a case."""
        return cassette_path(self._place("cassettes"), self.model, case.id)

    def traffic(self, case: LoadedCase) -> Path:
        """Return the path of the recorded traffic of a case."""
        folder = self._place("traffic_files")
        return traffic_path(folder, self.rootdir.resolve(), case.path, case.id)

    @property
    def flags(self) -> tuple[str, ...]:
        """Return further arguments of pytest: flags of other plugins, and what was given."""
        others = (flag for flag in self.taken.flags if not flag.startswith(_PREFIX))
        return (*others, *self.more)

    def settings(self, arm: ArmName, models: Sequence[str]) -> dict[str, str]:
        """Return the settings of an arm's session."""
        own = [row for row in self.new.rows if row.model == self.model]
        taken = (flag.partition("=") for flag in self.taken.flags if flag.startswith(_PREFIX))
        return {
            **{name[len(_PREFIX) :].replace("-", "_"): value for name, _, value in taken},
            "models": ",".join(models),
            "capture": ",".join(dict.fromkeys(row.capture_mode for row in own)),
            "repeat": str(max((row.repeat for row in own), default=1)),
            "controls": "false",
            # A retry would be told what failed, which the old replies know nothing of.
            "max_repairs": "0",
            "record_mode": "off" if arm == "model_recorded" else "place",
            "traffic": "off" if arm == "replies_live" else "replay",
            # Cassettes and traffic lie in it, unless the project itself says where they are.
            **({"dir": str(self._place("dir"))} if _value(self.info, "dir") else {}),
        }

    def _place(self, name: str) -> Path:
        setting = self.info.settings.get(name)
        value: Any = setting.get("value") if isinstance(setting, dict) else None
        root = self.rootdir.resolve()
        place = (root / str(value)).resolve()
        if not value or not place.is_relative_to(root):
            raise SettingsError(f"the later run does not say where its {name} are in {root}")
        return place


class PlannedArm(Struct, frozen=True):
    """One arm: what it runs, and what it lacks."""

    name: ArmName
    cases: tuple[LoadedCase, ...]
    """The cases that its model can be run on."""
    oracle: tuple[LoadedCase, ...]
    """The cases that its oracle can be run on."""
    missing: tuple[Missing, ...]


def planned_arms(order: ArmsOrder) -> tuple[PlannedArm, ...]:
    """Return the arms that can tell something, each with the cases that it can be run on.

    Raises:
        SettingsError: a case file is not there, or the run names an outside agent.
    """
    _refuse_agents(order)
    replies, no_replies = _split(order, _without_replies)
    recorded, no_traffic = _split(order, _without_traffic)
    playable = tuple(case for case in order.cases if case.has_oracle)
    unplayable = tuple(case.id for case in order.cases if not case.has_oracle)
    no_oracle = [Missing("no oracle: add `oracle:` to the case", unplayable)] if unplayable else []
    on_record = tuple(case for case in recorded if case.has_oracle)
    both = tuple(case for case in replies if case in recorded)
    harness = PlannedArm(
        "replies_recorded", both, on_record, (*no_replies, *no_traffic, *no_oracle)
    )
    if order.same & {"app", "model"}:
        # The later run itself is what the others would be.
        return (harness,)
    return (
        harness,
        PlannedArm("replies_live", replies, playable, (*no_replies, *no_oracle)),
        # The oracle has been played on the recorded site already.
        PlannedArm("model_recorded", recorded, (), no_traffic),
    )


def _refuse_agents(order: ArmsOrder) -> None:
    """Refuse to start an outside agent only because the run names it, as `run rerun` does.

    Raises:
        SettingsError: whoever asks has to name it.
    """
    named = {row.strategy for row in order.new.rows if row.model == order.model}
    outside = {*named, order.model.rpartition("@")[2]} & {*ADAPTERS, COMMAND}
    if outside and not any(flag.startswith("--autoweb-agent") for flag in order.more):
        raise SettingsError(
            f"the run names the outside agent {min(outside)!r}, whose browser nothing here holds "
            f"back; if it is to be started, name it: -- --autoweb-agent={min(outside)}"
        )


def _split(order: ArmsOrder, why_not: Any) -> tuple[tuple[LoadedCase, ...], tuple[Missing, ...]]:
    """Return the cases that have a recording, and the others by what is missing."""
    there: list[LoadedCase] = []
    missing: dict[str, list[str]] = {}
    for case in order.cases:
        if why := why_not(order, case):
            missing.setdefault(why, []).append(case.id)
        else:
            there.append(case)
    return tuple(there), tuple(Missing(why, tuple(ids)) for why, ids in missing.items())


def _without_replies(order: ArmsOrder, case: LoadedCase) -> str:
    """Return why there are no replies of the earlier run for a case; empty if there are."""
    if _value(order.info, "record_mode") in _OVERWRITING:
        return "the later run recorded its own replies over the earlier ones"
    cassette = read_cassette(order.replies(case))
    if cassette is None:
        return (
            "no recorded replies: let the run that later ones are compared with record them "
            "(--autoweb-record-mode=record)"
        )
    # The date of a recording has no time of day.
    if cassette.recorded > order.new.started.date().isoformat():
        return f"the replies were recorded on {cassette.recorded}, after the later run"
    return ""


def _without_traffic(order: ArmsOrder, case: LoadedCase) -> str:
    if case.webserver is not None:
        return (
            "its file starts its own web server, which is not recorded: run the cases against the "
            "earlier version of the app"
        )
    new = [row for row in order.new.rows if (row.model, row.case_id) == (order.model, case.id)]
    if _value(order.info, "traffic") in ("record", "extend"):
        return "the later run recorded the site as it is now over the earlier recording"
    if not new or not order.traffic(case).is_file():
        return (
            "no recorded site: let the run that later ones are compared with record it "
            "(--autoweb-traffic=record)"
        )
    return ""


def _value(info: RunInfo, name: str) -> Any:
    setting = info.settings.get(name)
    return setting.get("value") if isinstance(setting, dict) else None


def run_arm(order: ArmsOrder, arm: PlannedArm, start: Start) -> RunRows | None:
    """Run an arm, or read it if it was run for the same two runs, and return its cells.

    Args:
        order: the two runs.
        arm: the arm.
        start: runs a session of pytest.

    Returns:
        None if there is nothing to run.

    Raises:
        AutowebError: pytest could not run the cases.
    """
    if not arm.cases and not arm.oracle:
        return None
    folder = order.output.resolve() / arm.name
    models = [ORACLE] * bool(arm.oracle) + [order.model] * bool(arm.cases)
    settings = order.settings(arm.name, models)
    targets = dict.fromkeys(f"{case.path}::{case.id}" for case in (*arm.oracle, *arm.cases))
    made_for = json.dumps(
        [order.old.ts, order.new.ts, arm.name, settings, [*targets], order.flags], indent=1
    )
    if not _is_made(folder, made_for):
        run_session(targets, folder, order.rootdir, settings, start, order.flags)
        write_text_atomic(folder / _MADE_FOR, made_for)
    run = read_run(folder)
    return run_rows(run.info, _counted(run.cells, arm))


def _is_made(folder: Path, made_for: str) -> bool:
    file = folder / _MADE_FOR
    return is_run_folder(folder) and file.is_file() and file.read_text("utf-8") == made_for


def _counted(cells: Sequence[CellResult], arm: PlannedArm) -> Iterator[CellResult]:
    """Yield the cells that are what the arm is about, with what old replies did not solve failed.

    Replies that end before the case is solved have failed on the page as it is; only the replay
    takes it for an outage of the model.
    """
    wanted = {(ORACLE, case.id) for case in arm.oracle}
    replayed = {case.id for case in arm.cases}
    for cell in cells:
        if arm.name != "replies_live" and cell.traffic != "replayed":
            continue
        if (cell.model, cell.case_id) in wanted:
            yield cell
        elif cell.case_id not in replayed or cell.model == ORACLE:
            continue
        elif arm.name == "model_recorded" or not _ended(cell):
            yield cell
        elif cell.total_usage.replayed_calls:
            yield cell.model_copy(update={"outcome": "failed"})


def _ended(cell: CellResult) -> bool:
    kind = cell.failure.kind if cell.failure else ""
    return cell.outcome == "broken" and kind == "model"
