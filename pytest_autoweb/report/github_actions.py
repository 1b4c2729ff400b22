"""A run in GitHub Actions: annotations and the summary of the job."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.plain_stream import without_commands
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.counted_outcomes import GOOD
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.side_files import GateResult

SUMMARY_BYTES = 1024 * 1024
"""The largest summary of a step that GitHub accepts."""
SHOWN = 10
"""The number of annotations of each level that GitHub keeps for a step."""

_CUT = "\n\n*The summary is cut here; the whole one is in the run's report.*\n"


class Pins(Protocol):
    """The part that annotations need of a gate policy, which lies in a layer above the report."""

    def is_pinned(self, member: CellResult) -> bool:
        """Return whether each of the case's cells has to pass."""
        ...


def on_github(environ: Mapping[str, str]) -> bool:
    return environ.get("GITHUB_ACTIONS") == "true"


def neutral(text: str) -> str:
    """Return the text with nothing in it that a CI runner would take for a command."""
    return without_commands(text)


def annotations(
    cells: Iterable[CellResult],
    gates: Sequence[GateResult],
    policy: Pins,
    *,
    prefix: str = "",
) -> Iterator[str]:
    """Yield workflow commands: errors for failed gates and pinned cells, warnings for soft gates.

    Args:
        cells: the cells of the run.
        gates: the gates of the run.
        policy: decides which cells are pinned.
        prefix: the path of the rootdir in the repository with a `/` at its end, or nothing.
    """
    errors = [
        _command("error", f"gate failed: {gate.title}", gate.message)
        for gate in gates
        if gate.failed
    ]
    for cell in cells:
        bad = cell.outcome not in GOOD["after_repair"] and not is_control(cell.model)
        if bad and policy.is_pinned(cell):
            title = f"{cell.case_id} on {cell.model}: {cell.outcome}"
            errors.append(_command("error", title, cell.reason, prefix + cell.case_path, cell.line))
    warnings = [
        _command("warning", f"soft gate failed: {gate.title}", gate.message)
        for gate in gates
        if gate.soft and gate.passed is False
    ]
    yield from errors[:SHOWN]
    yield from warnings[:SHOWN]


def append_summary(environ: Mapping[str, str], markdown: str) -> None:
    """Append the markdown to the job's summary, cut to GitHub's limit.

    Raises:
        OSError: the file cannot be written.
    """
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    path = Path(name)
    used = path.stat().st_size if path.exists() else 0
    text = cut_at_line(markdown.encode(), SUMMARY_BYTES - used)
    with path.open("ab") as file:
        file.write(text)


def cut_at_line(text: bytes, limit: int) -> bytes:
    """Return the text, cut after a whole line and with a note about it if it is too long."""
    if len(text) <= limit:
        return text
    room = limit - len(_CUT.encode())
    return text[: text.rfind(b"\n", 0, room + 1) + 1] + _CUT.encode() if room > 0 else b""


def path_prefix(rootdir: Path, environ: Mapping[str, str]) -> str:
    """Return the path of the rootdir in the repository, which is the prefix of annotated paths."""
    workspace = environ.get("GITHUB_WORKSPACE")
    if not workspace or not rootdir.is_relative_to(workspace):
        return ""
    below = rootdir.relative_to(workspace).as_posix()
    return "" if below == "." else f"{below}/"


def _command(level: str, title: str, message: str, file: str = "", line: int | None = None) -> str:
    properties = {"file": file, "line": str(line or "") if file else "", "title": title}
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{level} {given}::{_data(message)}"


def _data(text: str) -> str:
    return one_line(text, 1000).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
