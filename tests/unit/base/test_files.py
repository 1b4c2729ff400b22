"""A file is replaced as a whole, or stays as it was."""

import os
import stat
from pathlib import Path
from threading import Barrier, Thread

import pytest

from pytest_autoweb.base.files import PRIVATE, replace_text, whole_file


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_reader_sees_the_old_content_until_the_new_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run" / "state.json"
    replace_text(path, "old")

    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        during = path.read_text()

    assert (during, path.read_text()) == ("old", "new")
    assert names(path.parent) == ["state.json"]


def test_a_failing_write_changes_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    replace_text(path, "old")

    with pytest.raises(TypeError), whole_file(path) as file:
        file.writelines([b"half", "no bytes"])  # type: ignore[list-item]

    assert path.read_text() == "old"
    assert names(tmp_path) == ["state.json"]


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    with whole_file(tmp_path / "token", mode=PRIVATE):
        (draft,) = tmp_path.iterdir()
        during = stat.S_IMODE(draft.stat().st_mode)

    assert (during, stat.S_IMODE((tmp_path / "token").stat().st_mode)) == (0o600, 0o600)


def test_all_that_is_written_is_there_when_the_disk_is_asked(tmp_path: Path) -> None:
    sizes = []

    with whole_file(tmp_path / "cell", sync=lambda file: sizes.append(os.fstat(file).st_size)) as f:
        f.write(b"12345")

    assert sizes == [5]


def test_threads_that_replace_one_file_at_once_do_not_meet(tmp_path: Path) -> None:
    path, together = tmp_path / "state", Barrier(2)

    def replace(content: bytes) -> None:
        with whole_file(path) as file:
            file.write(content)
            together.wait(10)

    both = [Thread(target=replace, args=(letter * 9,)) for letter in (b"a", b"b")]
    for one in both:
        one.start()
    for one in both:
        one.join()

    assert path.read_bytes() in (b"a" * 9, b"b" * 9)
    assert names(tmp_path) == ["state"]
