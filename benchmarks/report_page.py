"""How long a report of many cells takes to write and to open; the cells are made up.

    python benchmarks/report_page.py

Prints one line a size: models x cases x repeats, seconds to build the report, to shorten it to its
size limit, to render the page, to open it in Chromium until every cell is drawn, and to choose
another pair of models.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from pytest_autoweb.egress.chromium import launch_args
from pytest_autoweb.report.html_report import render_html
from pytest_autoweb.report.json_report import build_report
from pytest_autoweb.report.shortening import shorten
from pytest_autoweb.results import CellResult
from pytest_autoweb.runs.run_folder import RecordedRun
from pytest_autoweb.runs.saving import plain

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import itertools

from made_up_run import CellKey, realistic_cells, run_info

SIZES = ((3, 12, 1), (10, 200, 1), (12, 60, 3))
LIMIT = 8_000_000


def main() -> None:
    """Measure every size."""
    print("models x cases x repeats   build  shorten  render    open  choose")
    with sync_playwright() as playwright:
        kind = playwright.chromium
        browser = kind.launch(**launch_args({}, playwright_executable=kind.executable_path))
        for size in SIZES:
            times = measure(browser, made_up(*size))
            name = " x ".join(map(str, size))
            print(f"{name:24}" + "".join(f"{seconds:7.2f}s" for seconds in times))
        browser.close()


def made_up(models: int, cases: int, repeats: int) -> list[CellResult]:
    """Return random cells with everything that a real one holds."""
    chance = random.Random(3)
    samples = [cell for cell in realistic_cells() if not cell.model.startswith("builtin/")]
    keys = [
        CellKey(f"case-{case}", f"vendor/model-{model}", repeat=repeat)
        for case in range(cases)
        for model in range(models)
        for repeat in range(1, repeats + 1)
    ]
    return [
        chance.choice(samples).model_copy(
            update={
                "case_id": key.case_id,
                "model": key.model,
                "repeat": key.repeat,
                "folder": key.folder,
            }
        )
        for key in keys
    ]


def measure(browser: Browser, cells: list[CellResult]) -> list[float]:
    """Measure the seconds of each stage."""
    marks = [time.perf_counter()]
    report = build_report(RecordedRun(Path(), run_info(cells), tuple(cells)))
    marks.append(time.perf_counter())
    short = shorten(plain(report), LIMIT)
    marks.append(time.perf_counter())
    content = render_html(short, {})
    marks.append(time.perf_counter())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index.html"
        file.write_text(content, encoding="utf-8")
        page = browser.new_page()
        marks.append(time.perf_counter())
        page.goto(file.as_uri())
        page.locator(".matrix button.cell").nth(len(cells) - 1).wait_for(state="attached")
        marks.append(time.perf_counter())
        page.get_by_label("with").select_option(index=2)
        page.locator(".verdict-line").wait_for()
        marks.append(time.perf_counter())
        page.close()
    spans = [after - before for before, after in itertools.pairwise(marks)]
    return [*spans[:3], *spans[4:]]


if __name__ == "__main__":
    main()
