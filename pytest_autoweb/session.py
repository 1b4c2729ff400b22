"""One pytest session as a process sees it: settings, models, run folder, gateway, web servers.

The controller opens it with `open_run`, starts the gateway and ends it with a report; xdist
workers get the shared facts through `SharedRun` and only run cells.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.cases.model import Case, Reset, ServerHandle
from pytest_autoweb.cases.webserver import ServerPool, stop_all
from pytest_autoweb.errors import SettingsError
from pytest_autoweb.llm.builtin import builtin_client
from pytest_autoweb.llm.client import Client
from pytest_autoweb.llm.gateway import GatewayAddress, GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.llm.registry import load_specs
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.options import Settings
from pytest_autoweb.pipeline import Bench
from pytest_autoweb.progress import Progress
from pytest_autoweb.saving import fresh_run_folder
from pytest_autoweb.shared_run import SharedRun

if TYPE_CHECKING:
    from playwright.sync_api import Page


class Servers:
    """Lends web servers to attempts, with their state put back (`pipeline.Servers`)."""

    def __init__(self, shared: SharedRun) -> None:
        self._pool = ServerPool(Path(shared.session_folder), owner_pid=shared.owner_pid)

    @contextmanager
    def lend(self, case: LoadedCase) -> Iterator[ServerHandle | None]:
        """The running server of the case file, reset; exclusive while it has an HTTP reset."""
        if case.webserver is None:
            yield None
            return
        with self._pool.serving(case.webserver, case.path) as handle:
            if isinstance(case.webserver.reset, Reset):
                self._pool.reset(case.webserver, handle, case.resolve_reset(handle))
            yield handle


class RunSession:
    """Runs cells in this process."""

    def __init__(
        self,
        settings: Settings,
        shared: SharedRun,
        *,
        environ: Mapping[str, str],
        worker: str,
        custom_client: Callable[[ModelSpec], Client | None],
    ) -> None:
        self.settings, self.shared = settings, shared
        self.run_folder = Path(shared.run_folder)
        self.progress = Progress(shared.progress_file)
        self._environ, self._worker, self._custom = environ, worker, custom_client
        self._servers = Servers(shared)
        self._specs = load_model_specs(settings, settings.models)
        self._gateways: list[GatewayAddress] = []

    def spec(self, name: str) -> ModelSpec:
        """Settings of a model, also of one that is not on the command line."""
        if name not in self._specs:
            self._specs |= load_model_specs(self.settings, (name,))
        return self._specs[name]

    def open_folder(self) -> Path:
        """The run folder, made (and an older run moved aside) once per session."""
        opened = self.shared.opened_file
        with FileLock(f"{opened}.lock"):
            if not opened.exists():
                fresh_run_folder(self.run_folder)
                opened.touch()
        return self.run_folder

    def bench(self, cell_name: str, open_page: Callable[[dict[str, Any]], "Page"]) -> Bench:
        """What one cell may use."""
        return Bench(
            settings=self.settings,
            run_folder=self.open_folder(),
            client=self._client,
            servers=self._servers,
            open_page=open_page,
            environ=self._environ,
            worker=self._worker,
            progress=lambda text: self.progress.emit(cell_name, "stage", text),
            stream=self._stream(cell_name),
        )

    def _stream(self, cell_name: str) -> Callable[[str], None]:
        if not self.settings.stdout:
            return lambda line: None
        return lambda line: self.progress.emit(cell_name, "log", line)

    def _client(self, spec: ModelSpec, case: Case) -> Client:
        if spec.provider == "builtin":
            return builtin_client(spec.name, case)
        if (custom := self._custom(spec)) is not None:
            return custom
        if self.shared.gateway and spec.name in self.settings.models:
            return GatewayClient(GatewayAddress.parse(self.shared.gateway))
        # A model named only in Python code: this process serves it itself.
        address = launch_gateway(self.settings, {spec.name: spec}, self.shared)
        self._gateways.append(address)
        self._custom = _first_of(self._custom, spec.name, GatewayClient(address))
        return self._client(spec, case)

    def close(self) -> None:
        """Stop what this process started."""
        for address in self._gateways:
            stop_gateway(address)
        self._gateways.clear()


def _first_of(
    others: Callable[[ModelSpec], Client | None], name: str, client: Client
) -> Callable[[ModelSpec], Client | None]:
    return lambda spec: client if spec.name == name else others(spec)


def load_model_specs(settings: Settings, names: Iterable[str]) -> dict[str, ModelSpec]:
    """Settings of models from pyproject.toml and the models file.

    Raises:
        SettingsError: a name or setting is unknown.
    """
    pyproject = settings.rootdir / "pyproject.toml"
    models_file = settings.rootdir / settings.models_file if settings.models_file else None
    return load_specs(
        tuple(names),
        pyproject=pyproject if pyproject.is_file() else None,
        models_file=models_file,
    )


def launch_gateway(
    settings: Settings, specs: Mapping[str, ModelSpec], shared: SharedRun
) -> GatewayAddress:
    """Start the process that talks to models."""
    return start_gateway(
        specs,
        record_mode=settings.record_mode,
        live=settings.live,
        cassettes=settings.rootdir / settings.cassettes,
        run_dir=Path(shared.session_folder),
        owner_pid=os.getpid(),
    )


def check_models(address: GatewayAddress, settings: Settings, specs: Iterable[ModelSpec]) -> None:
    """Ask the gateway whether each model that will be called live can be.

    Raises:
        SettingsError: one line per model that cannot.
    """
    names = [s.name for s in specs if settings.record_mode == "off" or s.name in settings.live]
    checks = GatewayClient(address).check(names) if names else ()
    if bad := [f"{check.model}: {check.detail}" for check in checks if not check.ok]:
        raise SettingsError("these models cannot be called:\n  " + "\n  ".join(bad))


def end_shared(shared: SharedRun) -> None:
    """Stop gateway and web servers, and remove the session's temporary folder."""
    if shared.gateway:
        stop_gateway(GatewayAddress.parse(shared.gateway))
    stop_all(Path(shared.session_folder))
    shutil.rmtree(shared.session_folder, ignore_errors=True)
