"""What a run says of its progress where nothing on the screen can be rewritten."""

import time
from pathlib import Path

import pytest

from pytest_autoweb.results.runs.progress_file import Progress
from pytest_autoweb.session import progress
from pytest_autoweb.session.progress import Display, Pace


def until(text: str, capfd: pytest.CaptureFixture[str]) -> str:
    """Return what is shown from now on, up to a text."""
    shown, end = "", time.monotonic() + 20
    while text not in shown:
        assert time.monotonic() < end, shown
        time.sleep(0.02)
        shown += capfd.readouterr().out
    return shown


def test_without_a_terminal_a_line_comes_after_every_tenth_of_the_cells(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LEAST_BETWEEN_S", 0.0)
    path = tmp_path / "progress"
    events = Progress(path)
    events.emit("", "planned", "30")
    events.emit("last", "stage", "generate")
    display = Display(path, verbose=False, stream_log=False, neutral=str)
    display.start()
    shown = ""
    for number in (3, 6, 9):
        for _ in range(3):
            events.emit("other", "end", "passed")
        shown += until(f"[{number} of 30 done, 1 running, about ", capfd)
    display.stop()

    # The three ends may be read in two looks; a line comes only once there are three.
    assert [line[:2] for line in shown.splitlines() if line] == ["[3", "[6", "[9"]


def test_without_a_terminal_a_quick_run_says_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LEAST_BETWEEN_S", 1000.0)
    monkeypatch.setattr(progress, "LINE_EVERY_S", 1000.0)
    path = tmp_path / "progress"
    Progress(path).emit("a", "stage", "generate")
    Progress(path).emit("b", "end", "passed")
    display = Display(path, verbose=False, stream_log=False, neutral=str)
    display.start()
    time.sleep(2 * progress.POLL_S)
    display.stop()

    assert capfd.readouterr().out == ""


def test_a_slow_cell_does_not_leave_a_log_without_a_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    path = tmp_path / "progress"
    Progress(path).emit("", "planned", "2")
    Progress(path).emit("a", "stage", "generate")
    display = Display(path, verbose=False, stream_log=False, neutral=str)
    display.start()
    shown = until("running", capfd)
    display.stop()

    assert shown.startswith("\n[0 of 2 done, 1 running]\n")


@pytest.mark.parametrize(
    ("counts", "more", "told"),
    [
        ((0, 0, 1), False, "0 done, 1 running"),
        ((0, 4, 1), False, "0 of 4 done, 1 running"),
        ((1, 4, 2), False, "1 of 4 done, 2 running, about 10 s left"),
        ((1, 4, 2), True, "1 of at least 4 done, 2 running, at least 10 s left"),
        ((4, 4, 0), False, "4 of 4 done, 0 running"),
    ],
)
def test_the_counts_are_told_in_the_same_words_everywhere(
    counts: tuple[int, int, int], more: bool, told: str
) -> None:
    assert Pace().told(*counts, more=more) == told
