"""The cells that a run of `--autoweb-watch` is for: those of the case files that were touched."""

import os
from pathlib import Path

import pytest

TOUCHED = "_AUTOWEB_TOUCHED"
"""The variable by which the watching process tells a run which case files were touched."""


class TouchedSelection:
    """The plugin of a run that gets the list of touched case files."""

    def __init__(self, touched: str) -> None:
        self._paths = {Path(path) for path in touched.split(os.pathsep)}

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect everything except the cells of these files."""
        left = [item for item in items if item.path not in self._paths]
        items[:] = [item for item in items if item.path in self._paths]
        if left:
            config.hook.pytest_deselected(items=left)
