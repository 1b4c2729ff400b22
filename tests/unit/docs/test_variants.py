"""Every registered variant is described on the page of its kind."""

from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.base.variants import Variants
from pytest_autoweb.browser.page.capture import CAPTURE_MODES
from pytest_autoweb.cell.strategies import ARMS, STRATEGIES

DOCS = Path(__file__).parents[3] / "docs"
PAGES: dict[str, Variants[Any]] = {
    "flow.md": STRATEGIES,
    "capture.md": CAPTURE_MODES,
    "calibration.md": ARMS,
}


def described(page: str) -> dict[str, str]:
    """The second column of the page's tables by the name in the first."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    rows = [line.split("|") for line in lines if line.startswith("| `")]
    return {row[1].split("`")[1]: row[2].strip() for row in rows}


@pytest.mark.parametrize("page", PAGES)
def test_each_variant_has_a_row_that_begins_with_its_summary(page: str) -> None:
    rows = described(page)

    missing = [
        variant.name
        for variant in PAGES[page].values()
        if not rows.get(variant.name, "").startswith(variant.summary)
    ]
    assert missing == []
