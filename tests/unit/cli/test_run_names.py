"""How commands name a run, and a cell in it."""

import json
from pathlib import Path

import pytest
from made_up_run import CellKey, cell, run_info, save_run

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.results.analysis.cell_numbers import run_rows
from pytest_autoweb.results.runs import saved_runs
from pytest_autoweb.results.runs.saving import RUN_FILE

CELLS = [
    cell(key, nodeid=f"cases/shop.yaml::{key.case_id}[{key.model}]")
    for key in (CellKey("login", "a/x"), CellKey("login", "b/y"), CellKey("cart", "a/x"))
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run of three cells, of which there is an earlier one of the same cells."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AUTOWEB_DIR", raising=False)
    save_run(tmp_path / "autoweb-report", CELLS)
    save_run(tmp_path / "autoweb-report.20260101_000000_000", CELLS)
    return tmp_path


def about(folder: Path, **facts: object) -> None:
    """Change facts of a run."""
    file = folder / RUN_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | facts))


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert main(list(words)) == code
    said = capsys.readouterr()
    return said.out, said.err


@pytest.mark.parametrize(
    "words",
    [
        ["cart"],
        ["autoweb-report", "cart"],
        ["cart", "--run", "autoweb-report"],
        [f"autoweb-report/{CELLS[2].folder}"],
        ["autoweb-report", f"autoweb-report/{CELLS[2].folder}"],
    ],
    ids=" ".join,
)
def test_a_cell_is_named_alone_or_behind_its_run(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, error = told(capsys, "run", "trace", *words, "--print", code=1)

    assert f"autoweb run rerun autoweb-report {CELLS[2].folder} -- --tracing=on" in error


def test_a_run_in_the_place_of_a_cell_asks_for_the_cell_unless_it_has_one(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, error = told(capsys, "run", "trace", "autoweb-report", code=4)
    assert "autoweb-report is a run; name one of its cells behind it: login[a/x], " in error

    save_run(here / "single", CELLS[:1])
    _, error = told(capsys, "run", "trace", "single", code=1)
    assert f"autoweb run rerun single {CELLS[0].folder} -- --tracing=on" in error


def test_a_run_is_found_by_the_number_and_the_name_under_which_it_was_saved(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = here / "autoweb-report.20260101_000000_000"
    about(earlier, ts="20260101_000000_000")
    info = run_info(CELLS).model_copy(update={"ts": "20260101_000000_000"})
    saved_runs.save_run(run_rows(info, CELLS, name="main"), here / ".autoweb")

    for named in ("1", "main", "0001"):
        out, _ = told(capsys, "run", "show", named, "--no-open")
        assert out.strip() == str(earlier.resolve() / "index.html")

    earlier.rename(here / "gone")
    _, error = told(capsys, "run", "show", "main", "--no-open", code=4)
    assert "the run 'main' was saved with its numbers only" in error


def test_a_part_of_the_cells_is_no_default_of_compare_and_publish(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = here / "autoweb-report"
    about(part, selection="-k login")

    _, error = told(capsys, "run", "compare")
    assert error == (
        "autoweb: autoweb-report holds a part of the cells only (-k login), so this is about "
        "autoweb-report.20260101_000000_000, the last whole run; name a run to take that one\n"
    )
    _, error = told(capsys, "run", "publish", "-o", "site")
    assert "the last whole run" in error
    _, error = told(capsys, "run", "compare", "autoweb-report")
    assert error == ""

    about(here / "autoweb-report.20260101_000000_000", interrupted=True)
    _, error = told(capsys, "run", "compare", code=4)
    assert "there is no whole run beside it; name autoweb-report to take it all the same" in error
