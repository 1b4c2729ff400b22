"""Panels of the user's own in report.json and summary.md, and what the documentation lists."""

import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.report.json_report import PanelContent, Report
from pytest_autoweb.report.panels import PANELS, Panel
from pytest_autoweb.report.write import write_report
from pytest_autoweb.session.registration import Registry

DOCS = Path(__file__).parents[3] / "docs"
Build = Callable[[Report], PanelContent | None]
MARKUP = "<img src=x onerror=alert(1)> | @all"


@pytest.fixture
def registry() -> Iterator[Registry]:
    """A session's registry; what was added is forgotten after the test."""
    made = Registry()
    yield made
    made.undo()


def add(registry: Registry, build: Build, name: str = "tasks", **changes: Any) -> None:
    registry.add_report_panel(Panel(name, "My tasks", "what was asked", build, **changes))


def written(folder: Path) -> Report:
    save_run(folder, [cell(CellKey("a", "m")), cell(CellKey("b", "m"), "failed")])
    return write_report(folder, max_chars=8_000_000)


def saved(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))["panels"]


def tasks(report: Report) -> PanelContent:
    return PanelContent(
        note=f"note {MARKUP}",
        facts={"cases": len(report.cases), "limit": None},
        columns=("case", "outcome"),
        rows=tuple((case.id, case.cells[0].outcome) for case in report.cases),
    )


def test_a_panel_is_computed_from_the_report_and_stays_text(
    registry: Registry, tmp_path: Path
) -> None:
    add(registry, tasks, order=250)

    written(tmp_path)

    (panel,) = saved(tmp_path)
    assert panel["facts"] == {"cases": 2, "limit": None}
    assert panel["rows"] == [["a", "passed"], ["b", "failed"]]
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "## My tasks\n\nnote &lt;img" in summary
    assert "- cases: 2\n- limit: –\n" in summary
    assert "| case | outcome |\n| --- | --- |\n| a | passed |\n| b | failed |\n" in summary
    assert "<img" not in summary
    assert "<img" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def refuse(report: Report) -> PanelContent:
    raise LookupError("no such <b>thing</b>")


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (refuse, "LookupError: no such <b>thing</b>"),
        (lambda report: "text", "TypeError: it returned 'text', which is not a PanelContent"),
        (
            lambda report: PanelContent(columns=("a",), rows=((1, 2),)),
            "Value error, row 1 has 2 values, but there are 1 columns",
        ),
        (lambda report: PanelContent(facts={"x": float("nan")}), "facts.x"),
    ],
)
def test_a_panel_that_fails_is_a_note_and_costs_nothing_else(
    registry: Registry, tmp_path: Path, build: Any, problem: str
) -> None:
    add(registry, build)
    add(registry, tasks, "others")

    report = written(tmp_path)

    failed, sound = saved(tmp_path)
    assert failed["error"].startswith(f"panel tasks failed: {problem}")
    assert sound["error"] == ""
    assert len(report.cases) == 2
    assert "panel tasks failed: " in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_a_panel_cannot_change_the_report(registry: Registry, tmp_path: Path) -> None:
    def greedy(report: Report) -> None:
        report.environment.clear()
        report.settings["models"] = "mine"

    add(registry, greedy)

    report = written(tmp_path)

    assert report.environment != {}
    assert report.settings.get("models") != "mine"
    assert report.panels == ()


def test_a_long_table_is_cut_and_says_so(registry: Registry, tmp_path: Path) -> None:
    rows = tuple((number,) for number in range(1200))
    add(registry, lambda report: PanelContent(columns=("n",), rows=rows))

    written(tmp_path)

    (panel,) = saved(tmp_path)
    assert (len(panel["rows"]), panel["rows_left_out"]) == (1000, 200)
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "| 29 |\n\nand 1170 more rows" in summary


def test_a_report_written_anew_without_the_conftest_keeps_its_panels(
    registry: Registry, tmp_path: Path
) -> None:
    add(registry, tasks)
    before = written(tmp_path).panels
    registry.undo()

    assert write_report(tmp_path, max_chars=8_000_000).panels == before


def test_a_panel_needs_a_function_and_a_free_name(registry: Registry) -> None:
    with pytest.raises(ValueError, match="needs `build` or `files`"):
        Panel("mine", "Mine", "of mine")
    with pytest.raises(ValueError, match="'mine' needs `build`"):
        registry.add_report_panel(Panel("mine", "Mine", "of mine", files=("mine.js",)))
    with pytest.raises(ValueError, match="there is already a report panel named 'gates'"):
        add(registry, tasks, "gates")


def test_a_report_of_before_panels_is_read(tmp_path: Path) -> None:
    written(tmp_path)
    older = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    del older["panels"]

    assert Report.model_validate_json(json.dumps(older)).panels == ()


def test_the_documentation_lists_every_built_in_panel() -> None:
    panels = sorted(PANELS.values(), key=lambda panel: panel.order)

    told = "\n".join(f"| {p.title} | `{p.name}` | {p.order} | {p.summary} |" for p in panels)
    source = [(DOCS / "report.md").read_text(encoding="utf-8")]
    runpy.run_path(str(DOCS / "conf.py"))["fill"](None, "report", source)
    assert f"\n{told}\n" in source[0]
