from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_autoweb.cases.loader import LoadedCase, load_case_file

Load = Callable[..., tuple[LoadedCase, ...]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Writes a text to a case file and loads it."""

    def write_and_load(text: str, name: str = "shop.yaml") -> tuple[LoadedCase, ...]:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return load_case_file(path)

    return write_and_load
