"""A saved run in Python: values, rows, data frames."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from made_up_run import realistic_cells, save_run

from pytest_autoweb import AutowebError, Run, load_run
from pytest_autoweb.cli.command_line import main


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(save_run(tmp_path_factory.mktemp("run"), realistic_cells()))


def test_a_run_has_its_cells_as_values(run: Run) -> None:
    assert run.cells == tuple(realistic_cells())
    assert run.info.models == tuple(dict.fromkeys(cell.model for cell in run.cells))


def test_there_is_a_row_for_each_cell_attempt_and_check(run: Run) -> None:
    cells, attempts, checks = (run.rows(of) for of in ("cells", "attempts", "checks"))
    assert [row["outcome"] for row in cells] == [cell.outcome for cell in run.cells]
    assert len(attempts) == sum(len(cell.attempts) for cell in run.cells)
    assert len(checks) == sum(len(c.attempts[-1].checks) for c in run.cells if c.attempts)
    for table in (cells, attempts, checks):
        assert len({tuple(row) for row in table}) == 1
    spent = sum(row["input_tokens"] for row in attempts)
    assert spent == sum(row["input_tokens"] for row in cells) > 0


def test_a_data_frame_of_pandas_has_the_same_rows(run: Run) -> None:
    frame = run.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    rates = frame[frame.outcome.isin(["passed", "failed"])].groupby("model").size()
    assert rates.to_dict().keys() <= set(run.info.models)
    assert len(frame) == len(run.cells)


def test_polars_gets_the_rows_with_types_from_all_of_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def data_frame(rows: object, infer_schema_length: object) -> object:
        return rows, infer_schema_length

    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(DataFrame=data_frame))
    assert run.to_polars("checks") == (run.rows("checks"), None)


def test_what_cannot_be_had_is_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AutowebError, match="is not a run folder"):
        load_run(tmp_path)
    with pytest.raises(AutowebError, match=r"no table 'steps'.*cells, attempts, checks"):
        run.rows("steps")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(AutowebError, match="polars is needed"):
        run.to_polars()


READING = (
    "run analyze",
    "run gate --comment",
    "run gate",
    "run labels --labels=x",
    "run show --no-open",
)


@pytest.mark.parametrize("command", READING)
def test_commands_refuse_a_folder_without_a_run_and_leave_it_alone(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), str(tmp_path)]) == 4
    assert f"{tmp_path} is not a run folder" in capsys.readouterr().err
    assert main([*command.split(), str(tmp_path / "typo")]) == 4
    assert "there is no such folder; `pytest --autoweb-models=NAME`" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
