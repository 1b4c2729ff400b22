"""Open the session of a process, and say which cells it has, in its manifest."""

import os
from collections.abc import Iterable

import pytest

from pytest_autoweb.base.waiting.hidden_loop import loop_hidden
from pytest_autoweb.cell.cell_record import planned_cell
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import PlannedCell
from pytest_autoweb.results.runs.saving import Manifest, save_manifest
from pytest_autoweb.sandbox.host import worker_engine
from pytest_autoweb.session.extras import session_at_home
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.resuming import all_planned
from pytest_autoweb.session.run_session import SESSION, RunSession
from pytest_autoweb.session.shards import UNSHARDED_ITEMS
from pytest_autoweb.session.shared_run import SharedRun
from pytest_autoweb.settings.run_settings import Settings


def open_session(
    config: pytest.Config, settings: Settings, shared: SharedRun, *, worker: str
) -> RunSession:
    def custom_client(spec: ModelSpec) -> Client | None:
        with loop_hidden():
            found: Client | None = config.hook.pytest_autoweb_client(spec=spec)
        return found

    return RunSession(
        settings,
        shared,
        environ=os.environ,
        worker=worker,
        custom_client=custom_client,
        engine=lambda border, level: (
            config.hook.pytest_autoweb_engine(border=border, level=level)
            or worker_engine(border, level)
        ),
        away=session_at_home(shared) if shared.away else None,
    )


def write_manifest(session: pytest.Session) -> None:
    """Save the collected cells, so that ones that never report are still counted."""
    stash = session.config.stash
    run = stash.get(SESSION, None)
    if run is None or session.config.option.collectonly or run.settings.preview:
        return
    cells = _planned(session.items)
    everything = stash.get(UNSHARDED_ITEMS, None)
    whole = _planned(everything or ())
    if not (cells or whole):
        return
    if session.testsfailed and not session.config.option.continue_on_collection_errors:
        return  # pytest is about to stop because of a collection error
    if run.away is not None:
        run.away.plan(Manifest(cells=tuple(cells), whole=tuple(whole), ts=run.shared.ts))
        return
    folder = run.open_folder()
    resumed = all_planned(folder, cells) if run.settings.resume else cells
    save_manifest(folder, resumed, whole=whole, ts=run.shared.ts)
    run.progress.emit("", "planned", str(len(cells)))


def _planned(items: Iterable[pytest.Item]) -> list[PlannedCell]:
    """Return the manifest's rows for the collected cells, each once if a plugin doubled it."""
    cells = {item.cell.folder: item.cell for item in items if isinstance(item, CellItem)}
    return [planned_cell(cell) for cell in cells.values()]
