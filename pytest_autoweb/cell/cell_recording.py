"""What a cell does with its traffic, and the recording of its case."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from pytest_autoweb.browser.traffic.traffic_rules import TrafficMode, traffic_mode
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.settings.run_settings import Settings

if TYPE_CHECKING:
    from pytest_autoweb.browser.traffic.cell_traffic import CellTraffic

TrafficStatus = Literal["", "recorded", "replayed"]
"""What the result of a cell says about its traffic."""

_STATUS: dict[TrafficMode, TrafficStatus] = {
    "off": "",
    "record": "recorded",
    "extend": "recorded",
    "replay": "replayed",
}


def describe_traffic(settings: Settings) -> str:
    """Return the value for a report header; empty where each case says what it does."""
    folder = settings.traffic_files.as_posix()
    told = {
        "record": f"recorded in {folder}, without secrets, each case anew",
        "extend": f"recorded in {folder}, without secrets, beside what is there",
        "replay": f"replayed from {folder}: no site is asked",
    }
    return told.get(settings.traffic, "")


class CellRecording(Struct, frozen=True):
    """The recording of a cell's case, and what the cell does with it."""

    mode: TrafficMode
    path: Path

    @property
    def status(self) -> TrafficStatus:
        """Return what the result of the cell says about its traffic."""
        return _STATUS[self.mode]

    @property
    def checksum(self) -> str:
        """Return the checksum of the recording that the cell replays; empty if it replays none."""
        if self.mode != "replay":
            return ""
        # Late, because few sessions have a recording.
        from pytest_autoweb.browser.traffic.traffic_file import traffic_checksum

        return traffic_checksum(self.path) or "none"

    def traffic(
        self,
        case: Case,
        secrets: Mapping[str, str],
        note: Callable[[str], None],
        *,
        title: str,
        run_id: str,
    ) -> "CellTraffic | None":
        """Return what records, replays or holds back the requests of an attempt.

        Args:
            case: the cell's case, with its final texts.
            secrets: the values of its secrets, by name.
            note: receives sentences for the attempt's log.
            title: the name of the attempt in the recording.
            run_id: the run for which recorded traffic is kept together.

        Returns:
            None if nothing does.

        Raises:
            TrafficError: there is no recording to replay, or it is damaged.
        """
        if self.mode == "off" and not case.traffic.hold:
            return None
        # Late, as above.
        from pytest_autoweb.browser.traffic.cell_traffic import CellTraffic, TrafficFile

        extends = self.mode == "extend"
        origins = (case.entry_url, *case.allowed_origins)
        file = TrafficFile(
            path=self.path,
            case_id=case.id,
            run=run_id,
            extends=extends,
            title=title,
            encrypted=any(origin.startswith("https:") for origin in origins),
        )
        return CellTraffic("record" if extends else self.mode, case.traffic, file, secrets, note)


def recording_of(cell: Cell, settings: Settings) -> CellRecording:
    """Return what a cell does with its traffic, by its case and the settings of the run."""
    case, folder = cell.case, settings.rootdir / settings.traffic_files
    mode = traffic_mode(case.traffic, settings.traffic, own_server=case.webserver is not None)
    return CellRecording(
        # What a test's own page asks for passes nothing that could record it.
        "off" if cell.called else mode,
        traffic_path(folder, settings.rootdir, case.path, case.id),
    )


def traffic_path(folder: Path, rootdir: Path, case_path: Path | None, case_id: str) -> Path:
    """Return the path of the recording of a case.

    Args:
        folder: the folder of recordings.
        rootdir: pytest's; case files elsewhere count by their name alone.
        case_path: the case's file; None for inline cases.
        case_id: the id of the case.
    """
    if case_path is None:
        return folder / "inline" / f"{case_id}.har"
    base = folder.parent if case_path.is_relative_to(folder.parent) else rootdir
    inside = case_path.relative_to(base) if case_path.is_relative_to(base) else case_path.name
    return folder / Path(inside).with_suffix("") / f"{case_id}.har"
