"""A lock of an open file, here and as Windows has it."""

from pathlib import Path

import pytest
from other_systems import run_elsewhere

from pytest_autoweb.base.file_lock import lock_at_once

LOCK_TWICE = """
import os, sys
from pytest_autoweb.base.file_lock import lock_at_once
one, other = (os.open(sys.argv[1], os.O_RDWR | os.O_CREAT) for _ in range(2))
print(lock_at_once(one), lock_at_once(other), lock_at_once(other, shared=True))
os.close(one)
print(lock_at_once(other))
"""


def test_one_holds_it_until_its_file_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with file.open("ab") as one, file.open("ab") as other:
        assert lock_at_once(one.fileno())
        assert not lock_at_once(other.fileno())
        assert not lock_at_once(other.fileno(), shared=True)
        one.close()
        assert lock_at_once(other.fileno())


def test_several_share_it(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with file.open("ab") as one, file.open("ab") as other, file.open("ab") as third:
        assert lock_at_once(one.fileno(), shared=True)
        assert lock_at_once(other.fileno(), shared=True)
        assert not lock_at_once(third.fileno())


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_other_systems_have_it_too(system: str, tmp_path: Path) -> None:
    done = run_elsewhere(system, tmp_path, "-c", LOCK_TWICE, "lock")

    assert (done.outlines, done.errlines) == (["True False False", "True"], [])
