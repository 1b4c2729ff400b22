import hashlib
import json
from pathlib import Path

import pytest
from made_up_run import CellKey, cell, realistic_cells, save_run, save_screenshots

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.report.json_report import Analysis, Report
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.runs.saving import compact_json, plain

FILES = {"report.json", "index.html", "summary.md", "report.full.sha256"}


def test_all_reports_are_written_beside_the_cells(tmp_path: Path) -> None:
    cells = realistic_cells()
    save_screenshots(save_run(tmp_path, cells), cells)

    report = write_report(tmp_path, max_chars=8_000_000)

    assert {path.name for path in tmp_path.iterdir()} >= FILES
    assert Report.model_validate_json((tmp_path / "report.json").read_bytes()) == report
    assert "data:image/png;base64," in (tmp_path / "index.html").read_text()


def test_the_side_file_holds_the_checksum_of_the_whole_report(tmp_path: Path) -> None:
    save_run(tmp_path, realistic_cells())

    report = write_report(tmp_path, max_chars=100_000)

    digest = hashlib.sha256(compact_json(plain(report)).encode()).hexdigest()
    assert (tmp_path / "report.full.sha256").read_text().startswith(digest)
    assert len((tmp_path / "report.json").read_text()) <= 100_000


def test_the_page_shows_what_the_shortened_json_holds(tmp_path: Path) -> None:
    save_run(tmp_path, realistic_cells())
    write_report(tmp_path, max_chars=100_000)

    page = (tmp_path / "index.html").read_text()
    data = page.split('id="data">', 1)[1].split("</script>", 1)[0]

    assert json.loads(data)["report"] == json.loads((tmp_path / "report.json").read_text())


def test_an_analysis_is_in_the_second_report_and_in_every_later_one(tmp_path: Path) -> None:
    save_run(tmp_path, [cell(CellKey("a", "m"))])
    write_report(tmp_path, max_chars=8_000_000)

    write_report(
        tmp_path, max_chars=8_000_000, analysis=Analysis(prompt="p", model="q", text="said")
    )

    write_report(tmp_path, max_chars=8_000_000)

    assert json.loads((tmp_path / "report.json").read_text())["local_analysis"] == "said"
    assert "said" in (tmp_path / "summary.md").read_text()


def test_an_empty_folder_gives_an_empty_report(tmp_path: Path) -> None:
    report = write_report(tmp_path, max_chars=8_000_000)

    assert report.cases == ()
    assert (tmp_path / "index.html").is_file()


def test_a_report_that_cannot_be_written_is_one_clear_error_and_the_cells_stay(
    tmp_path: Path,
) -> None:
    result = cell(CellKey("a", "m"))
    save_run(tmp_path, [result])
    (tmp_path / "report.json" / "in the way").mkdir(parents=True)
    before = (tmp_path / result.folder / "cell.json").read_bytes()

    with pytest.raises(AutowebError, match=r"report\.json cannot be written"):
        write_report(tmp_path, max_chars=8_000_000)

    assert (tmp_path / result.folder / "cell.json").read_bytes() == before
    assert not list(tmp_path.glob(".*.tmp"))
