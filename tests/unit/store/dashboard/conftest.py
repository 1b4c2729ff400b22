"""The dashboard over a store with three made-up runs, behind a real server."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from dashboard_server import holder
from made_up_run import realistic_cells
from made_up_runs import attempt, call, save, tried

from pytest_autoweb.report.write import write_report
from pytest_autoweb.store.database import Store, read_address
from pytest_autoweb.store.sync import sync_run

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the runs: `small`, with a report, `big` and `empty`."""
    home = tmp_path_factory.mktemp("runs")
    first = attempt(1, [call("click", True), call("click", True, duplicate=True)], True)
    failed = attempt(1, [call("fill", False)], False)
    healed = attempt(2, [call("fill", True)], True)
    cells = [tried("one", "m", first, started=NOW), tried("two", "m", failed, healed, started=NOW)]
    save(home / "small", cells, started=NOW, ts="20261122_101500_001")
    write_report(home / "small", max_chars=100_000, analysis=None)
    started = [cell.model_copy(update={"started": NOW}) for cell in realistic_cells()]
    save(home / "big", started, started=NOW, ts="20261122_101500_002")
    save(home / "empty", [], started=NOW, ts="20261122_101500_003")
    return home


@pytest.fixture(scope="module")
def small(runs: Path) -> Iterator[Store]:
    """Holds the small run alone."""
    with Store(read_address(f"sqlite:///{runs}/small.db")) as store:
        sync_run(store, runs / "small")
        yield store


@pytest.fixture(scope="module")
def full(runs: Path) -> Iterator[Store]:
    with Store(read_address(f"sqlite:///{runs}/full.db")) as store:
        for name in ("small", "big", "empty"):
            sync_run(store, runs / name)
        yield store


@pytest.fixture(scope="module")
def client(small: Store) -> Iterator[httpx.Client]:
    """Has the token."""
    with holder(small) as client:
        yield client
