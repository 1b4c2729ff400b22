"""Sessions of a Playwright, or an xdist, that has renamed what is private: slower, and said so."""

import json

import pytest
from shop_project import SharedProject

HIDING = """
import sys

from playwright._impl._sync_base import SyncBase

HIDDEN = {"_loop", "_dispatcher_fiber"}
found = SyncBase.__getattribute__


def get(self, name):
    theirs = sys._getframe(1).f_globals["__name__"].startswith("playwright.")
    if name in HIDDEN and not theirs:
        raise AttributeError(name)
    return found(self, name)


SyncBase.__getattribute__ = get
"""
IN_HEADER = "has changed inside, so cells run one at a time and open their pages themselves"


@pytest.fixture
def shop(project: pytest.Pytester) -> SharedProject:
    shop = SharedProject.at(project.path)
    (shop.path / "conftest.py").write_text(HIDING, encoding="utf-8")
    return shop


@pytest.mark.parametrize("concurrency", [1, 4])
def test_cells_pass_one_at_a_time_where_playwright_hides_its_loop(
    shop: SharedProject, concurrency: int
) -> None:
    ran = shop.run(
        "cases", "--autoweb-models=builtin/oracle", "--autoweb-repeat=2",
        f"--autoweb-concurrency={concurrency}",
    )  # fmt: skip

    assert ran.ret == 0, ran.stdout.str()
    assert IN_HEADER in ran.stdout.str()
    assert "cells in flight" not in ran.stdout.str()
    report = json.loads((shop.path / "autoweb-report/report.json").read_text(encoding="utf-8"))
    outcomes = [cell["outcome"] for case in report["cases"] for cell in case["cells"]]
    assert outcomes == ["passed"] * 4
