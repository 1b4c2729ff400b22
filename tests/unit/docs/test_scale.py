"""`docs/scale.md`: its tables are what its figures amount to, and the preview uses the same."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_autoweb.session import preview
from pytest_autoweb.session.preview import Capacity, Demand, need_lines, needs_of

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "recompute" / "scale_tables.py"
PARTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import scale_tables as page
f = page.figures(page.PAGE.read_text(encoding="utf-8"))
parts = [(s, c, page.parts(f, c, s)) for s in page.SETUPS if s[1] == 1 for c in page.SIZES]
print(json.dumps([f, parts]))
"""

pytestmark = pytest.mark.skipif(
    not SCRIPT.is_file(), reason="the tests of the wheel run without it"
)


def test_the_page_says_what_its_figures_amount_to_and_the_preview_counts_with_them() -> None:
    ran = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout

    told = subprocess.run(
        [sys.executable, "-c", PARTS, str(SCRIPT.parent)],
        capture_output=True,
        text=True,
        check=True,
    )
    figures, parts = json.loads(told.stdout)
    constants = {name: getattr(preview, name.upper()) for name in figures if _is_used(name)}
    assert constants == {name: figures[name] for name in constants}
    assert len(constants) == 8
    for (_, _, processes, flight, calls), cells, (work, wait) in parts:
        asked = {"m": Demand(cells * figures["calls"] * figures["call_s"], calls)}
        needs = needs_of(cells, asked, Capacity(processes, flight, int(figures["cores"])))
        assert needs.working_s == pytest.approx(work)
        assert needs.waiting_s == pytest.approx(wait)
        assert needs.stored_mb == pytest.approx(cells * figures["cell_kb"] / 1000)


def _is_used(name: str) -> bool:
    return hasattr(preview, name.upper())


@pytest.mark.parametrize(
    ("asked", "machine", "said"),
    [
        ({}, Capacity(1, 1, 2), "mostly processor"),
        ({"m": Demand(4000, 8)}, Capacity(1, 1, 2), "mostly waiting with 1 at once"),
        ({"m": Demand(4000, 8), "n": Demand(9, 0)}, Capacity(2, 16, 2), "mostly waiting for m"),
    ],
)
def test_what_would_make_a_run_shorter_is_said(
    asked: dict[str, Demand], machine: Capacity, said: str
) -> None:
    assert said in need_lines(needs_of(200, asked, machine), machine, 200)[1]


def test_memory_is_that_of_the_cells_or_of_the_report() -> None:
    small = needs_of(100, {}, Capacity(1, 16, 2))
    large = needs_of(100_000, {}, Capacity(1, 16, 2))

    assert (small.memory_mb, small.for_report) == (350 + 16 * 29, False)
    assert large.memory_mb == pytest.approx(107 + 6340)
    assert large.for_report
