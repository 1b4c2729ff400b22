"""What code may leave in the folder of its cell."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.sandbox import cell_files
from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.rules import Refusal

if TYPE_CHECKING:
    from playwright.sync_api import Page

NO_PAGE = cast("Page", object())
"""For what does not touch the page."""


@pytest.fixture
def border(tmp_path: Path) -> SandboxBorder:
    redact = Redactor({"password": "hunter2-hunter2"})
    return SandboxBorder(page=NO_PAGE, artifacts=tmp_path, redact=redact)


def test_files_beyond_the_limit_are_refused_and_those_that_are_there_may_be_written_anew(
    border: SandboxBorder,
) -> None:
    for number in range(cell_files.MAX_FILES):
        cell_files.artifact_path(f"{number}.png", border).touch()

    assert cell_files.artifact_path("7.png", border).exists()
    with pytest.raises(Refusal, match="more than 100 files") as refused:
        cell_files.artifact_path("one-more.png", border)
    assert refused.value.rule == "AW505"


def test_the_folder_is_made_for_its_first_file(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "cell"
    made = SandboxBorder(page=NO_PAGE, artifacts=folder, redact=Redactor({}))

    assert cell_files.artifact_path("a.png", made) == folder / "a.png"
    assert folder.is_dir()


def test_a_saved_file_that_is_too_large_goes_again(border: SandboxBorder, tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    with path.open("wb") as stream:
        stream.truncate(cell_files.MAX_SAVED_BYTES + 1)

    with pytest.raises(Refusal, match="larger than 20 MB"):
        cell_files.keep_saved(None, path, border)
    assert not path.exists()


def test_secrets_leave_a_saved_file_and_other_bytes_stay(
    border: SandboxBorder, tmp_path: Path
) -> None:
    path = tmp_path / "mixed.bin"
    path.write_bytes(b"\xff\x00 hunter2-hunter2 \xfe")

    cell_files.keep_saved(None, path, border)

    assert path.read_bytes() == b"\xff\x00 <secret:password> \xfe"
