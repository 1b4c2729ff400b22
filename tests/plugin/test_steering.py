"""`autoweb run ctl`: orders to a run that is going on."""

import signal
import time

import pytest
from steered_session import asking, cells_of, going


@pytest.mark.long
def test_a_paused_run_begins_no_cell_and_what_was_stopped_is_not_run(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    with going(asking(project), *workers) as session:
        assert session.ctl("autoweb-report", "pause").returncode == 0
        session.open_gate()
        session.wait_for(lambda: "paused" in session.said)
        time.sleep(1)
        at_pause = session.ended
        stopped = session.ctl("stop-model", "fake/b")
        case = session.ctl("stop-case", "ask-4")
        wrong = session.ctl("stop-model", "fake/c")
        went_on = session.ctl("go-on")
        report = session.report()

    # One cell was under way in each process, and workers may have begun a second one before.
    assert at_pause <= 2 * (2 if workers else 1)
    assert (stopped.returncode, case.returncode, went_on.returncode) == (0, 0, 0)
    assert wrong.returncode == 4
    assert "the run has no MODEL 'fake/c'" in wrong.stderr
    assert "it has: fake/a, fake/b" in wrong.stderr
    cells = cells_of(report)
    ran = {(cell["case_id"], cell["model"]) for cell in cells if cell["outcome"] == "passed"}
    assert {("ask-2", "fake/a"), ("ask-3", "fake/a")} <= ran
    assert len(ran) + sum(cell["not_needed"] == "steered" for cell in cells) == 8
    assert {cell["outcome"] for cell in cells} == {"passed", "skipped"}
    left = next(cell for cell in cells if cell["not_needed"] and cell["model"] == "fake/b")
    assert left["reason"].startswith("not run: stopped by `stop-")
    notes = "\n".join(report["notes"])
    assert "steered: " in notes
    assert "stop-model fake/b" in notes
    assert "cells were not run, by order (autoweb run ctl): " in notes
    assert "paused for " in notes
    assert "steered: " in session.said
    assert [order["kind"] for order in report["steered"]] == [
        "pause", "stop-model", "stop-case", "go-on",
    ]  # fmt: skip
    assert report["summary"]["decisive"] is not True
    over = session.ctl("pause")
    assert over.returncode == 4
    assert "does not go on any more: it ended with exit status 0" in over.stderr


@pytest.mark.long
def test_ctrl_c_ends_a_paused_run_with_cells_in_flight(project: pytest.Pytester) -> None:
    with going(asking(project), "--autoweb-concurrency=2", "-v") as session:
        session.ctl("pause")
        session.open_gate()
        session.wait_for(lambda: session.ended == 2 and "paused" in session.said)
        time.sleep(1)
        at_pause = session.ended
        session.process.send_signal(signal.SIGINT)
        report = session.report()

    assert at_pause == 2
    assert session.process.returncode == pytest.ExitCode.INTERRUPTED
    outcomes = [cell["outcome"] for cell in cells_of(report)]
    assert outcomes.count("passed") == 2
    assert outcomes.count("skipped") == 6
