"""A lock between processes, whose file nobody has to clear away."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_autoweb.base.passing_lock import PassingLock

HOLD = """
import sys, time
from pathlib import Path
from pytest_autoweb.base.passing_lock import PassingLock
PassingLock("run", Path(sys.argv[1])).acquire()
print("held", flush=True)
time.sleep(600)
"""
COUNT = """
import sys
from pathlib import Path
from pytest_autoweb.base.passing_lock import PassingLock
file = Path(sys.argv[1])
for _ in range(200):
    with PassingLock("count", file, wait_s=60):
        file.write_text(str(int(file.read_text()) + 1))
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_it_keeps_others_out_and_leaves_nothing(tmp_path: Path, temporary: Path) -> None:
    one, other = PassingLock("run", tmp_path / "run"), PassingLock("run", tmp_path / "run")

    one.acquire()
    with pytest.raises(TimeoutError):
        other.acquire()
    PassingLock("run", tmp_path / "another").acquire()
    one.release()
    with other:
        pass

    assert len(list(temporary.iterdir())) == 1


def test_it_ends_with_its_process(tmp_path: Path, temporary: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run")], stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    with holder, holder.stdout as said:
        said.readline()
        with pytest.raises(TimeoutError):
            PassingLock("run", tmp_path / "run").acquire()
        holder.kill()
    with PassingLock("run", tmp_path / "run"):
        pass

    assert list(temporary.iterdir()) == []


def test_many_take_it_one_at_a_time_while_its_file_comes_and_goes(
    tmp_path: Path, temporary: Path
) -> None:
    count = tmp_path / "count"
    count.write_text("0")
    command = [sys.executable, "-c", COUNT, str(count)]
    several = [subprocess.Popen(command, env=dict(os.environ)) for _ in range(4)]

    assert [process.wait(120) for process in several] == [0, 0, 0, 0]
    assert count.read_text() == "800"
    assert list(temporary.iterdir()) == []
