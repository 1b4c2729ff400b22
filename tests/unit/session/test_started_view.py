"""In CI nobody looks at a page, so none is started."""

from pathlib import Path

import pytest

from pytest_autoweb.session.shared_run import share_run
from pytest_autoweb.session.started_view import OFF_IN_CI, StartedView


def test_in_ci_the_view_is_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CI", "true")

    assert StartedView(share_run(tmp_path / "run")).told() == f"autoweb: {OFF_IN_CI}"
