from pathlib import Path

from made_up_picture import PICTURE
from made_up_run import CellKey, cell, save_screenshots

from pytest_autoweb.report.write import embed
from pytest_autoweb.results.records import Attempt, CellResult, Outcome, StepResult


def pictured(name: str, outcome: Outcome = "passed", *paths: str) -> CellResult:
    steps = tuple(
        StepResult(step_index=i, ok=True, status="ok", screenshot=path)
        for i, path in enumerate(paths, start=1)
    )
    attempt = Attempt(step_results=steps, final_screenshot="final.png")
    return cell(CellKey(name, "m"), outcome, attempts=(attempt,))


def test_pictures_are_embedded_by_their_path_below_the_run(tmp_path: Path) -> None:
    result = pictured("a", "passed", "1.png")
    save_screenshots(tmp_path, [result])

    pictures = embed(tmp_path, [result])

    assert pictures.keys() == {f"{result.folder}/1.png", f"{result.folder}/final.png"}
    assert all(uri.startswith("data:image/png;base64,iVBOR") for uri in pictures.values())


def test_a_small_budget_goes_to_failed_cells(tmp_path: Path) -> None:
    cells = [pictured("good"), pictured("bad", "failed"), pictured("sick", "broken")]
    save_screenshots(tmp_path, cells)

    pictures = embed(tmp_path, cells, budget=2 * len(PICTURE))

    assert pictures.keys() == {f"{cells[1].folder}/final.png", f"{cells[2].folder}/final.png"}


def test_every_failed_cell_shows_its_last_picture_before_any_shows_its_others(
    tmp_path: Path,
) -> None:
    cells = [pictured("one", "failed", "1.png", "2.png"), pictured("two", "failed", "1.png")]
    save_screenshots(tmp_path, cells)

    pictures = embed(tmp_path, cells, budget=2 * len(PICTURE))

    assert pictures.keys() == {f"{c.folder}/final.png" for c in cells}


def test_only_pictures_of_the_cells_own_folder_are_read(tmp_path: Path) -> None:
    root = tmp_path / "run"
    outside = tmp_path / "outside.png"
    outside.write_bytes(PICTURE)
    result = pictured(
        "a", "failed", "../../../../../outside.png", str(outside), "link.png", "x\x00"
    )
    save_screenshots(root, [pictured("a")])
    (root / result.folder / "link.png").symlink_to(outside)

    assert embed(root, [result]).keys() == {f"{result.folder}/final.png"}


def test_a_file_that_is_no_picture_is_left_out(tmp_path: Path) -> None:
    result = pictured("a")
    target = tmp_path / result.folder / "final.png"
    target.parent.mkdir(parents=True)
    target.write_text("<svg onload=alert(1)>")

    assert embed(tmp_path, [result]) == {}
