"""Files that reach the disk while their cell goes on, and no later than its result."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_autoweb.results.runs.lasting_files import wait_for_disk, write_text_lasting


def _with_disk(monkeypatch: pytest.MonkeyPatch, disk: Callable[[], None]) -> list[str]:
    """Let `disk` happen before each file is on the disk; returns the texts that are on it."""
    kept: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        disk()
        real(descriptor)
        kept.append(os.pread(descriptor, 100, 0).decode())

    monkeypatch.setattr(os, "fsync", fsync)
    return kept


def test_written_files_are_there_at_once_and_on_the_disk_after_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = threading.Event()
    kept = _with_disk(monkeypatch, lambda: _wait(ready))
    for cell, name in (("a", "dom.html"), ("a", "wire.har"), ("b", "dom.html")):
        write_text_lasting(tmp_path / cell / name, f"{cell} {name}")
    assert (tmp_path / "a" / "wire.har").read_text() == "a wire.har"
    assert kept == []
    ready.set()
    wait_for_disk(tmp_path / "a")
    assert {"a dom.html", "a wire.har"} <= set(kept)
    wait_for_disk(tmp_path)
    assert sorted(kept) == ["a dom.html", "a wire.har", "b dom.html"]


def test_a_disk_that_fails_is_an_error_of_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise OSError(5, "Input/output error")

    _with_disk(monkeypatch, fails)
    write_text_lasting(tmp_path / "dom.html", "page")
    with pytest.raises(OSError, match="Input/output error"):
        wait_for_disk(tmp_path)
    wait_for_disk(tmp_path)


def test_a_file_that_was_removed_meanwhile_is_not_missed(tmp_path: Path) -> None:
    write_text_lasting(tmp_path / "dom.html", "page")
    (tmp_path / "dom.html").unlink()
    wait_for_disk(tmp_path)


def _wait(ready: threading.Event) -> None:
    assert ready.wait(10)
