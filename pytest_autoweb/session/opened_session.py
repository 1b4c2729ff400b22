"""Open the session of a process, and say which cells it has, in its manifest."""

import os

import pytest

from pytest_autoweb.base.waiting import loop_hidden
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.runs.saving import Manifest, save_manifest
from pytest_autoweb.sandbox.host import worker_engine
from pytest_autoweb.session.items import SESSION, UNSHARDED_ITEMS, planned
from pytest_autoweb.session.resuming import all_planned
from pytest_autoweb.session.run_session import RunSession
from pytest_autoweb.session.shared_run import SharedRun
from pytest_autoweb.settings.run_settings import Settings


def open_session(
    config: pytest.Config, settings: Settings, shared: SharedRun, *, worker: str
) -> RunSession:
    """Open the session of this process."""

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
    )


def write_manifest(session: pytest.Session) -> None:
    """Save the collected cells, so that ones that never report are still counted."""
    stash = session.config.stash
    run = stash.get(SESSION, None)
    if run is None or session.config.option.collectonly or run.settings.preview:
        return
    cells = planned(session.items)
    everything = stash.get(UNSHARDED_ITEMS, None)
    whole = planned(everything or ())
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
