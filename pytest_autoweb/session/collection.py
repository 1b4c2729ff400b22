"""Case files as pytest collectors, which make an item of each cell."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.cases.loader import LoadedCase, load_case_file, load_inline
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.results.runs.saving import cell_folder
from pytest_autoweb.session.axes import (
    Axes,
    axes_of,
    cell_name,
    deployment_of,
    mutant_of,
    path_below,
    strategy_name,
)
from pytest_autoweb.session.cell_run import run_item
from pytest_autoweb.session.guarded_run import is_outside
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.playwright_fixtures import CELL
from pytest_autoweb.session.pytest_internals import fixture_info
from pytest_autoweb.session.run_session import SESSION, RunSession

BAD_CASES = "bad case file"
"""The text in the report of an unreadable case file, which makes the run exit with code 4."""
_FIRST_PATH: pytest.StashKey[dict[str, str]] = pytest.StashKey()
"""The first file of the session in which each case id was found."""
_MARKS: pytest.StashKey[dict[tuple[str, ...], list[pytest.MarkDecorator]]] = pytest.StashKey()
"""The marks of cells with the same tags."""


class CaseFile(pytest.File):
    """A case file: one item per case, model, capture mode and repeat."""

    fixtureinfo: Any = None
    """pytest's list of the fixtures that its cells use, once there is a cell."""

    @classmethod
    def at(cls, path: Path, parent: pytest.Collector) -> "CaseFile":
        """Return the collector of a file, whose id can be written down whatever its name is."""
        name = path_below(path, parent.config.rootpath)
        own: Any = {} if whole_text(name) == name else {"nodeid": whole_text(name)}
        file: CaseFile = cls.from_parent(parent, path=path, **own)
        return file

    def collect(self) -> Iterator[CellItem]:
        name = path_below(self.path, self.config.rootpath)
        if whole_text(name) != name:
            # Such a name would stand in every record of its cells, and in what workers send.
            raise self.CollectError(
                f"{BAD_CASES}\n{whole_text(name)}: its path is not valid UTF-8: rename it"
            )
        try:
            cases = self.load()
            for case in cases:
                self.config.stash[SESSION].check_judges(case)
        except CaseError as error:
            raise self.CollectError(f"{BAD_CASES}\n{error}") from None
        yield from _cells(self, cases)

    def load(self) -> tuple[LoadedCase, ...]:
        return load_case_file(self.path, deployment_of(self.config.stash[SESSION].settings))


class InlineCases(CaseFile):
    """The cases of `--autoweb-cases`."""

    def load(self) -> tuple[LoadedCase, ...]:
        return load_inline(self.config.stash[SESSION].settings.cases)


def _cells(parent: CaseFile, cases: tuple[LoadedCase, ...]) -> Iterator[CellItem]:
    session = parent.config.stash[SESSION]
    for position, case in enumerate(cases):
        for axes in axes_of(session, case, position):
            yield _item(parent, session, case, axes)


def _item(parent: CaseFile, session: RunSession, case: LoadedCase, axes: Axes) -> CellItem:
    settings = session.settings
    item: CellItem = CellItem.from_parent(
        parent,
        name=cell_name(case.id, *axes, settings),
        callobj=_test_function(case),
        fixtureinfo=parent.fixtureinfo,
    )
    # All cells of a file use the same fixtures, so pytest has to find them only once.
    parent.fixtureinfo = fixture_info(item)
    if (structured := getattr(item, "id", None)) is not None:
        # Since 9.2 pytest compares ids in parts; `--lf` reads them from text, where `[` begins one.
        item._id = type(structured).parse(item.nodeid)
    case_path = path_below(case.path, settings.rootdir)
    spec = session.spec_for(axes.model, case.way)
    item.stash[CELL] = Cell(
        case=case,
        spec=spec,
        mode=axes.mode,
        repeat=axes.repeat,
        nodeid=item.nodeid,
        case_path=case_path,
        folder=cell_folder(_folder_name(parent.config, case.id, case_path), *axes),
        strategy=strategy_name(case, spec, settings),
        mutant=mutant_of(session, case, spec),
    )
    item.outside = is_outside(item.cell)
    for mark in _marks(parent.config, case.tags):
        item.add_marker(mark)
    return item


def _marks(config: pytest.Config, tags: tuple[str, ...]) -> list[pytest.MarkDecorator]:
    """Return the marks of a cell, for `-m`: its tags, also in the spelling before version 0.2."""
    known = config.stash.setdefault(_MARKS, {})
    if tags not in known:
        words = [word for tag in tags for word in (tag, tag.replace("-", "_").replace(".", "_"))]
        for name in words:
            # Declared first, because `--strict-markers` refuses undeclared marks.
            declaration = f"{name}: tag of autoweb cases"
            if declaration not in config.getini("markers"):
                config.addinivalue_line("markers", declaration)
        known[tags] = [getattr(pytest.mark, name) for name in dict.fromkeys(("autoweb", *words))]
    return known[tags]


def _folder_name(config: pytest.Config, case_id: str, case_path: str) -> str:
    """Return the case's id, with its path when another file of the session has the same id."""
    first = config.stash.setdefault(_FIRST_PATH, {}).setdefault(case_id, case_path)
    return case_id if first == case_path else f"{case_id}@{case_path}"


def _test_function(case: LoadedCase) -> Callable[[pytest.FixtureRequest], None]:
    """Return the test function of an item; other plugins show its docstring as a description."""

    def run_cell_of_item(request: pytest.FixtureRequest) -> None:
        run_item(request)

    run_cell_of_item.__doc__ = case.user_task_template
    return run_cell_of_item
