"""A run's rows are made from its folder: the same ones however often, in whatever order."""

import multiprocessing
import random
import tempfile
import warnings
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_run import BEGAN, STRENGTH, realistic_cells
from made_up_runs import METHODS, Content, attempt, call, content, save, tried
from sqlalchemy import select, text

from pytest_autoweb.base.errors import SettingsError, StoreError
from pytest_autoweb.results.records import CellResult, CheckResult, Resumption
from pytest_autoweb.results.runs.saving import RUN_FILE, save_manifest
from pytest_autoweb.results.runs.side_files import VERIFICATION_FILE
from pytest_autoweb.store.database import Store, read_address
from pytest_autoweb.store.session_hooks import store_at_end
from pytest_autoweb.store.sync import prune, sync_run
from pytest_autoweb.store.tables import CellRow, CheckRow, CorrectionRecord, ToolCallRecord
from pytest_autoweb.tools.verify.verify_run import Verification

MODELS = tuple(STRENGTH)


def some_cells(seed: int, day: int) -> list[CellResult]:
    """A random run of few cells; a run without any is possible."""
    chance = random.Random(seed)
    cells = []
    for number in range(chance.randrange(4)):
        attempts = []
        for index in range(1, chance.randrange(1, 4) + 1):
            calls = [
                call(
                    chance.choice(METHODS),
                    chance.random() < 0.6,
                    duplicate=chance.random() < 0.2,
                    ms=chance.uniform(0, 900),
                )
                for _ in range(chance.randrange(4))
            ]
            attempts.append(attempt(index, calls, chance.choice([True, False, None])))
        model = chance.choice((*MODELS, "builtin/oracle"))
        # Some cells end on the next day.
        started = BEGAN + timedelta(days=day, hours=chance.choice([0, 14]))
        cells.append(tried(f"case-{number}", model, *attempts, started=started))
    return cells


def counted(cells: list[CellResult]) -> dict[str, tuple[int, int, int, int, int]]:
    """Per tool: calls, good ones, duplicates, corrections tried, corrections that helped."""
    numbers: dict[str, list[int]] = {}
    for cell in cells:
        if cell.model.startswith("builtin/"):
            continue
        for place, one in enumerate(cell.attempts):
            for made in one.tool_calls:
                row = numbers.setdefault(f"locator.{made.method}", [0] * 5)
                row[0] += 1
                row[1] += made.ok
                row[2] += made.duplicate
            failed = [made for made in one.tool_calls if not made.ok]
            if failed and place + 1 < len(cell.attempts):
                row = numbers[f"locator.{failed[-1].method}"]
                row[3] += 1
                row[4] += cell.attempts[place + 1].checks_passed is True
    return {f"{tool}": tuple(row) for tool, row in numbers.items()}  # type: ignore[misc]


def test_a_run_becomes_rows_with_its_controls_counted_apart(store: Store, tmp_path: Path) -> None:
    cells = realistic_cells()
    told = sync_run(store, save(tmp_path / "run", cells))

    with store.read() as connection:
        one = connection.execute(
            text(
                "SELECT count(*), sum(CASE WHEN control THEN 1 ELSE 0 END) FROM cells"
                " WHERE run_id = :run"
            ),
            {"run": told.run_id},
        ).one()
        healed = sum(cell.outcome == "healed" for cell in cells)
        solved = text("SELECT count(*) FROM correction_records WHERE is_successful")

        assert connection.execute(solved).scalar() == healed
    assert tuple(one) == (60, 24)
    assert told.tool_calls == sum(
        len(one.tool_calls)
        for cell in cells
        if not cell.model.startswith("builtin/")
        for one in cell.attempts
    )


def test_a_correction_names_the_call_that_failed_and_what_became_of_it(
    store: Store, tmp_path: Path
) -> None:
    first = attempt(1, [call("click", True), call("fill", False)], False)
    cells = [tried("login", "m", first, attempt(2, [call("fill", True)], True))]
    sync_run(store, save(tmp_path / "run", cells))

    rows = content(store)
    (correction,) = rows["correction_records"]
    called = {row[0]: row for row in rows["tool_call_records"]}
    (day,) = rows["behavior_calibration_metrics"]
    reliability = {row[1]: row[2:7] for row in rows["tool_reliability_stats"]}

    assert called[correction[1]][2] == "locator.fill"
    assert [row[7] for row in called.values()].count(True) == 1
    assert correction[3] == "VALIDATION_ERROR"
    assert correction[6:9] == ("solved", True, 1)
    assert correction[9] == BEGAN + timedelta(seconds=1)
    assert day[2:8] == (3, 0, 1, 1, 1, 1000.0)
    assert reliability["locator.fill"] == (2, 1, 1, 10.0, 1.0)
    assert reliability["locator.click"] == (1, 1, 0, 10.0, None)


@pytest.mark.long
def test_results_parameters_corrections_and_match_scores_are_kept_bounded_and_redacted(
    store: Store, tmp_path: Path
) -> None:
    key = "sk-" + "a1B2" * 10
    read = call("inner_text", True).model_copy(
        update={"result": f'"Bearer {key} and {"x" * 5000}"', "arguments": f"'{key}'"}
    )
    partly = CheckResult(
        index=0, type="answer", passed=False, expected="3", actual="2",
        finding="PARTIAL_MATCH", credit=0.5,
    )  # fmt: skip
    first = attempt(1, [read, call("fill", False)], False).model_copy(update={"checks": (partly,)})
    right = call("fill", True).model_copy(update={"arguments": "'MB-001'"})
    sync_run(
        store, save(tmp_path / "run", [tried("one", "m", first, attempt(2, [read, right], True))])
    )

    with store.read() as connection:
        rows = connection.execute(select(ToolCallRecord.result, ToolCallRecord.parameters)).all()
        (params,) = connection.execute(select(CorrectionRecord.corrected_params)).scalars()
        (check, _) = connection.execute(
            select(CheckRow.finding, CheckRow.match_score).order_by(CheckRow.passed)
        ).all()
    assert all(len(row.result["value"] or "") <= 2_001 for row in rows)
    assert any(row.result["value"] for row in rows)
    assert key not in str(rows)
    assert [(one["tool_name"], one["arguments"], one["ok"]) for one in params["calls"]] == [
        ("locator.fill", "'MB-001'", True)
    ]
    assert "code" in params
    assert tuple(check) == ("PARTIAL_MATCH", 0.5)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seeds=st.lists(st.integers(0, 10**6), min_size=1, max_size=3), order=st.randoms())
@pytest.mark.long
def test_rows_depend_on_the_runs_alone_and_roll_ups_are_those_of_a_plain_count(
    seeds: list[int], order: random.Random
) -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        # The last run shares its day with the first.
        runs = [some_cells(seed, day % 2) for day, seed in enumerate(seeds)]
        folders = [save(home / f"run{n}", cells, n) for n, cells in enumerate(runs)]
        again = [*folders, *order.choices(folders, k=3)]
        order.shuffle(again)
        straight, mixed = _filled(home / "a.db", folders), _filled(home / "b.db", again)

    assert mixed == straight
    tools = counted([cell for run in runs for cell in run])
    stats = {row[1]: row for row in straight["tool_reliability_stats"]}
    assert {tool: row[2:5] for tool, row in stats.items()} == {
        tool: (calls, good, calls - good) for tool, (calls, good, *_) in tools.items()
    }
    assert {tool: row[6] for tool, row in stats.items()} == {
        tool: (helped / fixed if fixed else None) for tool, (*_, fixed, helped) in tools.items()
    }
    days = straight["behavior_calibration_metrics"]
    assert sum(row[2] for row in days) == sum(row[0] for row in tools.values())
    assert sum(row[3] for row in days) == sum(row[2] for row in tools.values())
    assert all((row[7] is None) == (row[5] == 0) for row in days)


def _filled(path: Path, folders: list[Path]) -> Content:
    with Store(read_address(f"sqlite:///{path}")) as store:
        for folder in folders:
            sync_run(store, folder)
        return content(store)


def _sync_at_once(start: Barrier, url: str, folders: list[Path]) -> None:
    start.wait()
    with Store(read_address(url)) as store:
        for folder in folders:
            sync_run(store, folder)


def test_two_processes_that_write_at_once_into_an_empty_store_lose_nothing(
    store_url: str, tmp_path: Path
) -> None:
    folders = [save(tmp_path / f"run{n}", some_cells(n + 5, 0), n) for n in range(4)]
    forking = multiprocessing.get_context("fork")
    start = forking.Barrier(2)
    both = [
        forking.Process(target=_sync_at_once, args=(start, store_url, part))
        for part in (folders, folders[::-1])
    ]
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        for process in both:
            process.start()
    for process in both:
        process.join()

    assert [process.exitcode for process in both] == [0, 0]
    with Store(read_address(store_url)) as store:
        assert content(store) == _filled(tmp_path / "one.db", folders)


def test_pruning_leaves_what_the_younger_runs_alone_would_have_made(
    store: Store, tmp_path: Path
) -> None:
    folders = [save(tmp_path / f"run{n}", some_cells(n + 5, n), n) for n in range(3)]
    for folder in folders:
        sync_run(store, folder)

    gone = prune(store, before=BEGAN + timedelta(days=1), now=datetime.now(UTC))

    assert gone == 1
    assert content(store) == _filled(tmp_path / "young.db", folders[1:])


def _break_off(store: Store) -> None:
    with store.write() as connection:
        connection.execute(text("DELETE FROM runs"))
        connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))


def test_a_connection_that_breaks_in_the_middle_changes_nothing(
    postgres_url: str, tmp_path: Path
) -> None:
    with Store(read_address(postgres_url)) as store:
        sync_run(store, save(tmp_path / "run", some_cells(7, 0)))
        before = content(store)
        with pytest.raises(StoreError, match="terminating connection") as broken:
            _break_off(store)

        assert "let-me-in" not in str(broken.value)
        assert content(store) == before


def test_a_store_that_is_not_there_costs_a_sentence_and_sync_catches_up(tmp_path: Path) -> None:
    folder = save(tmp_path / "run", some_cells(7, 0))
    blocked = tmp_path / "stores"
    blocked.write_text("a file where the store's folder should be")
    url = f"sqlite:///{blocked}/runs.db"

    told = store_at_end(url, tmp_path, folder)
    blocked.unlink()
    again = store_at_end(url, tmp_path, folder)

    assert f"nothing is lost: `autoweb db sync {folder} --database URL` catches up" in told
    assert again.startswith("stored as ")


def test_a_run_has_one_identity_while_it_goes_on_and_when_it_is_over(
    store: Store, tmp_path: Path
) -> None:
    cells = some_cells(7, 0)
    folder = save(tmp_path / "run", cells)
    save_manifest(folder, cells, ts="20261121_093000_000")
    info = (folder / RUN_FILE).read_bytes()
    (folder / RUN_FILE).unlink()
    during = sync_run(store, folder)
    (folder / RUN_FILE).write_bytes(info)

    assert sync_run(store, folder).run_id == during.run_id
    assert len(content(store)["runs"]) == 1


def test_a_shard_is_refused_because_its_cells_would_count_twice(
    store: Store, tmp_path: Path
) -> None:
    folder = save(tmp_path / "run", some_cells(7, 0), shard=(1, 4))

    with pytest.raises(SettingsError, match="shard 1 of 4"):
        sync_run(store, folder)


def _calls_of(*names: str) -> list[CellResult]:
    made = attempt(1, [call(name, True) for name in names], True)
    return [tried("one", "m", made), tried("two", "m", made)]


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "failed", "reason": "x"},
        {"started": BEGAN + timedelta(seconds=3)},
        {"duration_ms": 7.0},
        {"attempts": _calls_of("fill")[0].attempts},
        {"attempts": _calls_of("click", "click")[0].attempts},
        {"outcome": "skipped", "reason": "x", "attempts": ()},
    ],
)
def test_a_run_that_only_claims_the_name_of_another_does_not_replace_it(
    store: Store, tmp_path: Path, change: dict[str, Any]
) -> None:
    one, two = _calls_of("click")
    sync_run(store, save(tmp_path / "mine", [one, two]))
    before = content(store)
    stranger = save(tmp_path / "strangers", [one.model_copy(update=change), two])

    with pytest.raises(SettingsError, match=r"strangers says that it is the run .*--replace"):
        sync_run(store, stranger)

    assert content(store) == before
    sync_run(store, stranger, replace=True)
    assert content(store) != before
    assert len(content(store)["runs"]) == 1


def test_a_run_that_went_on_or_was_judged_again_is_still_the_same(
    store: Store, tmp_path: Path
) -> None:
    one, two = _calls_of("click")
    cut_off = two.model_copy(update={"outcome": "broken", "attempts": ()})
    control = tried("one", "builtin/oracle", attempt(1, [call("click", True)], True))
    folder = save(tmp_path / "run", [one, cut_off, control])
    sync_run(store, folder)

    # The cell that was cut off has ended, in a session that began later; so has the control.
    later = BEGAN + timedelta(hours=1)
    told = Resumption(started=later, kept=1)
    again = [one, two.model_copy(update={"started": later})]
    again += [control.model_copy(update={"started": later, "outcome": "failed"})]
    sync_run(store, save(folder, again, resumed=(told,)))
    # Its case was changed, so a cell with a verdict ran again as well.
    moved = one.model_copy(update={"started": later + timedelta(seconds=9), "outcome": "failed"})
    sync_run(store, save(folder, [moved, *again[1:]], resumed=(told,)))
    # `autoweb run rejudge` keeps what happened and changes verdicts.
    judged = again[1].model_copy(update={"outcome": "failed"})
    save(tmp_path / "run-verified", [moved, judged, again[2]], resumed=(told,))
    verified = Verification(ts=f"{BEGAN:%Y%m%d_%H%M%S}_000", cells=())
    (tmp_path / "run-verified" / VERIFICATION_FILE).write_text(verified.model_dump_json())
    sync_run(store, tmp_path / "run-verified")

    assert len(content(store)["runs"]) == 1
    with store.read() as connection:
        outcomes = connection.execute(select(CellRow.outcome)).scalars().all()
    assert outcomes == ["failed"] * 3
