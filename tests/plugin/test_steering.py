"""`autoweb run ctl`: orders to a run that is going on."""

import signal
import time

import pytest
from openai_server import Answer, OpenAIServer
from steered_session import asking, begun_in, cells_of, going, results_in


@pytest.mark.long
def test_a_paused_run_begins_no_cell_and_runs_one_again_but_not_what_was_stopped(
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
        first = results_in(session.path)[0]
        name = f"{first['case_id']}[{first['model']}]"
        session.answer_wrong(first["case_id"], first["model"])
        again = [session.ctl("again", cell) for cell in (name, name, "ask-3[fake/b]", "ask-9")]
        went_on = session.ctl("go-on")
        report = session.report()

    # One cell was under way in each process, and workers may have begun a second one before.
    assert at_pause <= 2 * (2 if workers else 1)
    assert (stopped.returncode, case.returncode, went_on.returncode) == (0, 0, 0)
    assert wrong.returncode == 4
    assert "the run has no MODEL 'fake/c'" in wrong.stderr
    assert "it has: fake/a, fake/b" in wrong.stderr
    assert [ran.returncode for ran in again] == [0, 4, 4, 4]
    assert "its first result counts" in again[0].stdout
    assert "and that run has not ended" in again[1].stderr
    assert "ask-3[fake/b] has not ended yet" in again[2].stderr
    assert "the run has no CELL 'ask-9'" in again[3].stderr
    cells = cells_of(report)
    [cell] = [cell for cell in cells if cell["again"]]
    assert (cell["nodeid"], cell["outcome"]) == (first["nodeid"], "passed")
    [ran_again] = cell["again"]
    assert (ran_again["outcome"], ran_again["by"]) == ("failed", "autoweb run ctl")
    evidence = session.path / "autoweb-report" / cell["folder"] / ran_again["folder"]
    assert (evidence / "attempt-1/script.py").is_file()
    assert (evidence.parent / "attempt-1/script.py").is_file()
    ran = {(cell["case_id"], cell["model"]) for cell in cells if cell["outcome"] == "passed"}
    assert {("ask-2", "fake/a"), ("ask-3", "fake/a")} <= ran
    assert len(ran) + sum(cell["not_needed"] == "steered" for cell in cells) == 8
    assert {cell["outcome"] for cell in cells} == {"passed", "skipped"}
    left = next(cell for cell in cells if cell["not_needed"] and cell["model"] == "fake/b")
    assert left["reason"].startswith("not run: stopped by `stop-")
    notes = "\n".join(report["notes"])
    assert "steered: " in notes
    assert "stop-model fake/b" in notes
    assert "cells were not run, by order: " in notes
    assert "paused for " in notes
    assert f"run again by order: {name} at " in notes
    assert "failed (first: passed); the first result of a cell counts" in notes
    assert f"{len(ran)} passed, {8 - len(ran)} skipped" in session.said
    assert "steered: " in session.said
    assert [order["kind"] for order in report["steered"]] == [
        "pause", "stop-model", "stop-case", "again", "go-on",
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


@pytest.mark.long
def test_caps_and_cells_in_flight_are_changed_while_the_run_goes_on(
    project: pytest.Pytester,
) -> None:
    with going(asking(project), "--autoweb-until=$5", "--autoweb-concurrency=1", "-n1") as session:
        wrong = [session.ctl("cap", "cost"), session.ctl("in-flight", "0"), session.ctl("fly")]
        assert session.ctl("in-flight", "4").returncode == 0
        session.open_gate()
        session.wait_for(lambda: session.ended >= 1)
        (session.path / "gate").unlink()
        # The next cell has begun, and three ahead of their turn: more than xdist itself would send.
        session.wait_for(lambda: len(begun_in(session.path)) - session.ended == 4)
        assert session.ctl("cap", "time", "1s").returncode == 0
        session.open_gate()
        report = session.report()

    assert [ran.returncode for ran in wrong] == [4, 4, 4]
    assert "cap: write `cap cost 5`, in US dollars, or `cap time 30m`" in wrong[0].stderr
    assert "there is no order 'fly'" in wrong[2].stderr
    cells = cells_of(report)
    left = [cell for cell in cells if cell["not_needed"]]
    assert {cell["not_needed"] for cell in left} == {"time"}
    assert 1 <= len(left) <= 3
    assert left[0]["reason"].startswith("not run: the time was over (cap time ")
    notes = "\n".join(report["notes"])
    assert "a cap was changed while the run went on" in notes
    assert "in-flight 4; " in notes
    assert f"{len(left)} of 8 cells were not run (by order): " in notes
    assert "because the time was over (cap time 1s)" in notes


@pytest.mark.long
def test_more_cells_begin_while_all_that_are_in_flight_go_on(project: pytest.Pytester) -> None:
    with going(asking(project), "--autoweb-concurrency=2") as session:
        session.wait_for(lambda: len(begun_in(session.path)) == 2)
        assert session.ctl("in-flight", "5").returncode == 0
        session.wait_for(lambda: len(begun_in(session.path)) == 5)
        assert session.ended == 0
        assert session.ctl("in-flight", "1").returncode == 0
        session.open_gate()
        report = session.report()

    assert {cell["outcome"] for cell in cells_of(report)} == {"passed"}
    assert "in-flight 5; " in "\n".join(report["notes"])


@pytest.mark.long
def test_a_cell_in_flight_runs_again_after_the_last_one_and_decides_nothing(
    project: pytest.Pytester,
) -> None:
    with going(asking(project), "-k", "ask-1", "--autoweb-concurrency=2") as session:
        session.open_gate("ask-1", "fake/a")
        session.wait_for(lambda: session.ended == 1)
        session.answer_wrong("ask-1", "fake/a")
        # Only the last cell is under way.
        assert session.ctl("again", "ask-1[fake/a]").returncode == 0
        session.open_gate()
        report = session.report()

    assert session.process.returncode == 0
    assert "2 passed" in session.said
    first, other = cells_of(report)
    assert (first["outcome"], other["outcome"], other["again"]) == ("passed", "passed", [])
    [again] = first["again"]
    assert (again["outcome"], again["folder"]) == ("failed", "again-1")
    numbers = [model["numbers"] for model in report["summary"]["models"]]
    assert {each["after_repair"]["all_trials"]["value"] for each in numbers} == {1.0}


@pytest.mark.long
def test_a_lowered_cap_of_the_cost_refuses_calls_and_leaves_out_the_cells(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    shop = asking(project)
    reply = 'Step 1: look\n```python\n# Step 1: look\nanswer("Shop")\n```'
    with OpenAIServer([Answer(reply)]) as server:
        # A reply costs seven cents, and could have cost ten.
        priced = "max_tokens: 10, input_cost_per_mtok: 0, output_cost_per_mtok: 10000"
        models = f"models: {{openai/first: {{api_base: '{server.api_base}', {priced}}}}}"
        (shop.path / "models.yaml").write_text(models, encoding="utf-8")
        flags = ("--autoweb-models=fake/a,openai/first", "--autoweb-models-file=models.yaml")
        with going(shop, *flags, "--autoweb-max-cost=100") as session:
            assert session.ctl("cap", "cost", "0.20").returncode == 0
            session.open_gate()
            report = session.report()

    paid = [cell for cell in cells_of(report) if cell["model"] == "openai/first"]
    outcomes = [(cell["outcome"], cell["not_needed"]) for cell in paid]
    assert outcomes[0] == ("passed", "")
    assert set(outcomes[1:]) == {("skipped", "money")}
    assert not [gate for gate in report["gates"] if gate["name"] == "cost cap"]
    assert session.process.returncode == 0
