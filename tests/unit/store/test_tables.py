"""The tables are the ones that were promised, and migrations lead to them."""

import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from made_up_run import realistic_cells
from made_up_runs import attempt, call, content, save, tried
from sqlalchemy import Connection, inspect, text

from pytest_autoweb.base.errors import StoreError
from pytest_autoweb.store.database import Store, read_address
from pytest_autoweb.store.sync import sync_run
from pytest_autoweb.store.tables import Base

PROMISED = {
    "tool_call_records": "id session_id tool_name parameters result execution_time_ms is_duplicate "
    "is_corrected validation_result created_at",
    "tool_call_cache": "id call_hash cached_result created_at expires_at",
    "tool_reliability_stats": "id tool_name total_calls success_count failure_count "
    "avg_execution_time correction_success_rate last_failure_type updated_at",
    "correction_records": "id tool_call_id original_error failure_type recovery_prompt "
    "corrected_params correction_result is_successful retry_count created_at",
    "behavior_calibration_metrics": "id date total_tool_calls duplicate_calls failed_calls "
    "corrected_calls correction_success avg_correction_time created_at",
}


def test_migrations_make_exactly_the_tables_of_the_code_with_the_promised_columns(
    store: Store,
) -> None:
    with store.read() as connection:
        migrations = MigrationContext.configure(connection)
        found = inspect(connection)
        columns = {name: {c["name"] for c in found.get_columns(name)} for name in PROMISED}
        unique = {name: found.get_unique_constraints(name) for name in PROMISED}
        (key,) = (
            key
            for key in found.get_foreign_keys("correction_records")
            if key["constrained_columns"] == ["tool_call_id"]
        )

        assert compare_metadata(migrations, Base.metadata) == []
    assert columns == {name: set(text.split()) for name, text in PROMISED.items()}
    assert key["referred_table"] == "tool_call_records"
    assert [unique[name][0]["column_names"] for name in PROMISED if unique[name]] == [
        ["call_hash"],
        ["tool_name"],
        ["date"],
    ]


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    address = read_address(f"sqlite:///{tmp_path}/runs.db")
    with Store(address) as store, store.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    with (
        Store(address) as store,
        pytest.raises(StoreError, match=r"newer version .* 9999"),
        store.write(),
    ):
        pass


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("these are notes, not a database " * 100)

    with (
        Store(read_address(f"sqlite:///{tmp_path}/runs.db")) as store,
        pytest.raises(StoreError, match=r"runs\.db: file is not a database"),
        store.read(),
    ):
        pass


def test_nothing_of_a_change_of_tables_stays_when_it_breaks_off(tmp_path: Path) -> None:
    address = read_address(f"sqlite:///{tmp_path}/runs.db")
    with Store(address) as store, pytest.raises(KeyboardInterrupt), store.write():
        raise KeyboardInterrupt

    with sqlite3.connect(tmp_path / "runs.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()


_KINDS_OF_TOKENS = "SELECT cached_tokens, reasoning_tokens FROM cells"


@pytest.mark.parametrize("version", ["0005", "0006"])
def test_the_runs_of_an_older_store_are_counted(
    store_url: str, tmp_path: Path, version: str
) -> None:
    with Store(read_address(store_url)) as store:
        sync_run(store, save(tmp_path / "run", realistic_cells()))
        before = content(store)
        with store.write() as connection:
            downgrade(connection, version)

    with Store(read_address(store_url)) as store:
        assert content(store) == before
    assert all(before[table] for table in COUNTED)


COUNTED = ("model_results", "outcome_counts", "call_counts", "correction_counts")


def downgrade(connection: Connection, version: str) -> None:
    config = Config()
    config.set_main_option("script_location", "pytest_autoweb:store/migrations")
    config.attributes["connection"] = connection
    command.downgrade(config, version)


def test_attempts_of_an_older_store_learn_what_made_them(store_url: str, tmp_path: Path) -> None:
    first = attempt(1, [call("fill", False)], False)
    cells = [tried("one", "m", first, attempt(2, [], True), correction="reflexion")]
    with Store(read_address(store_url)) as store:
        sync_run(store, save(tmp_path / "run", cells))
        with store.write() as connection:
            counted = connection.execute(text(_KINDS_OF_TOKENS)).one()
            downgrade(connection, "0001")

    assert tuple(counted) == (0, 0)
    with Store(read_address(store_url)) as store, store.read() as connection:
        assert tuple(connection.execute(text(_KINDS_OF_TOKENS)).one()) == (None, None)
        rows = connection.execute(text("SELECT arm, beside FROM attempts ORDER BY attempt_index"))
        assert [(arm, bool(beside)) for arm, beside in rows] == [("", False), ("reflexion", False)]
