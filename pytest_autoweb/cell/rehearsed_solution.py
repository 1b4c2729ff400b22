"""A case's solution whose words are gone from the page: rehearsed where they are, played anew."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from pytest_autoweb.browser.page.rehearsal import Rehearsal
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cell.attempt_setting import AttemptOrder
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.analysis.controls import proves_change
from pytest_autoweb.results.records import Attempt

Made = tuple[Attempt, Case | None]


def rehearsed_if_lost_for_words(
    spec: ModelSpec,
    make: Callable[[AttemptOrder, Path], Made],
    order: AttemptOrder,
    folder: Path,
) -> Made:
    """Make an attempt; under another language, play a solution that failed once more.

    Before that it is played on unchanged pages, where what it acts on is noted.

    Args:
        spec: of the cell's model.
        make: makes an attempt, with what it leaves in a folder.
        order: the attempt that is to be made.
        folder: its folder; those of the first play and of the rehearsal are kept beside it.
    """
    made = make(order, folder)
    if spec.perturb != "language" or not proves_change(spec.name) or not made[0].failed_steps():
        return made
    order = replace(order, rehearsal=(rehearsal := Rehearsal()))
    rehearsed, _ = make(order, folder.with_name(f"{folder.name}-rehearsal"))
    if not rehearsed.checks_passed:
        return made
    rehearsal.end()
    with suppress(OSError):
        folder.rename(folder.with_name(f"{folder.name}-by-words"))
    return make(order, folder)
