"""What is told of an attempt before it has ended, to whoever watches the run."""

from pathlib import Path

from pytest_autoweb.agents.attempt.tools import LOG_LINES, Tools
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.results.runs.watched import SoFar, is_watched, save_so_far, steps_so_far


def tell_so_far(tools: Tools, run: Path, attempt: Attempt) -> None:
    """Write what an attempt has done until now, if somebody watches the run.

    Args:
        tools: its tools.
        run: the run folder.
        attempt: the attempt so far.
    """
    if not is_watched(run):
        return
    so_far = SoFar(
        attempt=tools.folder.name,
        steps=steps_so_far(attempt),
        code=attempt.code,
        log="\n".join(tools.log.lines[-LOG_LINES:]),
        # Where a case wants no pictures, those of an attempt are deleted at its end.
        film=tuple(tools.film.frames) if tools.case.pictures else (),
    )
    save_so_far(tools.cell_folder, so_far)
