"""Cells on the nodes of a cluster: xdist's controller, whose workers Ray has placed.

xdist distributes items as it does over processes of one machine. This module has the differences:
the session does not wait for workers, cells of a lost worker are placed again, and the end of the
cluster ends the session with a report.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import execnet
import pytest
from execnet.gateway import RInfo
from xdist.dsession import (  # type: ignore[import-untyped]
    DSession,
    TerminalDistReporter,
    get_default_max_worker_restart,
)
from xdist.scheduler import LoadScheduling  # type: ignore[import-untyped]
from xdist.workermanage import (  # type: ignore[import-untyped]
    Marker,
    NodeManager,
    WorkerController,
)

from pytest_autoweb.base.errors import CaseError, SettingsError
from pytest_autoweb.cases.loader import LoadedCase, load_case_file, load_inline
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.named_specs import project_models
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.runs.run_signs import holds_run
from pytest_autoweb.results.runs.saving import Manifest, save_manifest
from pytest_autoweb.session.case_files import CASE_SUFFIXES, is_case_file
from pytest_autoweb.session.cluster.ray_cluster import RayCluster, RuntimeEnv, Wanted, connect
from pytest_autoweb.session.cluster.session_server import SessionLists, SessionServer
from pytest_autoweb.session.resuming import all_planned
from pytest_autoweb.session.run_session import RunSession
from pytest_autoweb.session.shared_run import NODE_FOLDER
from pytest_autoweb.settings.run_settings import Settings

CLUSTER: pytest.StashKey[RayCluster] = pytest.StashKey()
"""The connection to the cluster, in the controller of a session that has one."""
PLACED_AGAIN = 2
"""How often a cell of a lost worker is placed again before it counts as the cause of the loss."""
LOST = "the cluster was lost while it ran"
_WORKER_MB, _CELL_MB = 1024, 60
"""Memory of a worker with its browser and one cell, and of each further cell in flight."""


_OWN_PYTHON = {
    "executable": sys.executable,
    "version_info": tuple(sys.version_info),
    "platform": sys.platform,
    "cwd": "",
}


class PlacedWorker(WorkerController):  # type: ignore[misc]  # xdist's types are its own affair
    """A worker that Ray places when there is room; the session does not wait for it."""

    def setup(self) -> None:
        self.config.hook.pytest_configure_node(node=self)
        module = self.config.hook.pytest_xdist_getremotemodule()
        self.channel = self.gateway.remote_exec(module)
        self.channel.send((self.workerinput, node_arguments(self.config), {}, None))
        self.channel.setcallback(self.process_from_remote, endmarker=Marker.END)


class ClusterNodes(NodeManager):  # type: ignore[misc]
    """The workers of a session on a cluster."""

    def __init__(self, config: pytest.Config, cluster: RayCluster) -> None:
        super().__init__(config, specs=["popen"] * cluster.workers)
        self._cluster = cluster

    def setup_node(self, spec: execnet.XSpec, putevent: Any) -> PlacedWorker:
        """Request one more worker."""
        stream = self._cluster.start(str(spec.id), self.group.execmodel)
        gateway = execnet.Gateway(stream, spec)
        self.group._register(gateway)
        # Asking a new worker for its Python version would block until Ray has placed it.
        gateway._cache_rinfo = RInfo(_OWN_PYTHON)
        self.config.hook.pytest_xdist_newgateway(gateway=gateway)
        node = PlacedWorker(self, gateway, self.config, putevent)
        gateway.node = node  # type: ignore[attr-defined]  # it keeps the node alive, as xdist does
        node.setup()
        return node


class ClusterScheduling(LoadScheduling):  # type: ignore[misc]
    """Items for workers that come and go at any time.

    Args:
        config: the controller's.
        log: xdist's.
        most: returns the limit on cells in flight in each worker, which an order may change.
    """

    collection: list[str] | None

    def __init__(self, config: pytest.Config, log: Any, most: Callable[[], int]) -> None:
        super().__init__(config, log)
        self._most = most
        self._lost: Counter[int] = Counter()

    @property
    def collection_is_completed(self) -> bool:
        """Tell whether one worker has collected; the others join when Ray has placed them."""
        return self.collection is not None or bool(self.node2collection)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Let a worker take part if it has collected the same items as the others."""
        if self.collection is not None and list(collection) != self.collection:
            del self.node2pending[node]
            node.shutdown()
            return
        self.node2collection[node] = list(collection)

    def schedule(self) -> None:
        """Give each worker that is ready its first items."""
        if self.collection is None:
            self.collection = next(iter(self.node2collection.values()))
            self.pending[:] = range(len(self.collection))
        for node in self.node2collection.keys() & self.node2pending.keys():
            self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Keep a worker supplied, and end it when no items are left.

        A worker begins its last item only when it gets more, or learns that there are no more.
        """
        if node.shutting_down or node not in self.node2collection:
            return
        left = len(self.pending) + sum(map(len, self.node2pending.values()))
        # At most its share of the remaining items, so that all workers end at about the same time.
        share = max(2, -(-left // max(1, self.numnodes, len(self.node2pending))))
        # Twice the cells in flight, because cells that ended ahead of their turn stay in the queue.
        missing = min(2 * self._most() + 1, share) - len(self.node2pending[node])
        if missing > 0:
            self._send_tests(node, missing)
        if not self.pending:
            node.shutdown()

    def take_back(self, node: Any, running: frozenset[str]) -> list[str]:
        """Take back the items that a lost worker has not finished.

        Args:
            node: the worker.
            running: the ids of the cells that it had begun.

        Returns:
            The ids of cells that are not placed again, because each of their workers was lost.
        """
        pending = self.node2pending.pop(node, [])
        self.node2collection.pop(node, None)
        given_up: list[str] = []
        for index in reversed(pending):
            assert self.collection is not None
            nodeid = self.collection[index]
            self._lost[index] += nodeid in running or (not running and index == pending[0])
            if self._lost[index] > PLACED_AGAIN:
                given_up.append(nodeid)
            else:
                self.pending.insert(0, index)
        for other in list(self.node2pending):
            self.check_schedule(other)
        return given_up

    @property
    def tests_finished(self) -> bool:
        """Tell whether all items have ended."""
        return self.collection is not None and not self.has_pending

    @property
    def needs_workers(self) -> bool:
        """Tell whether there is, or may be, work that no worker has."""
        return self.collection is None or bool(self.pending)


class ClusterSession(DSession):  # type: ignore[misc]
    """xdist's controller, on a cluster."""

    shouldstop: str | bool

    @property
    def _cluster(self) -> RayCluster:
        cluster: RayCluster = self.config.stash[CLUSTER]
        return cluster

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Request the workers."""
        self._begin_to_report()
        self.nodemanager = ClusterNodes(self.config, self._cluster)
        nodes = self.nodemanager.setup_nodes(putevent=self.queue.put)
        self._active_nodes.update(nodes)
        self._session = session

    def _begin_to_report(self) -> None:
        """Set up the terminal and processes, as xdist's own controller does when it is created."""
        self._last_words: dict[str, str] = {}
        self._replaced, self._most_replaced = 0, get_default_max_worker_restart(self.config)
        self.terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if self.terminal is not None:
            self.terminal.showfspath = False
            self.trdist = TerminalDistReporter(self.config)
            self.config.pluginmanager.register(self.trdist, "terminaldistreporter")

    def worker_errordown(self, node: Any, error: object | None) -> None:
        """Place a lost worker's running cells again."""
        if node not in self._active_nodes:
            return
        worker, cluster = node.gateway.id, self._cluster
        why = self._last_words.get(worker) or cluster.why_lost(worker) or str(error)
        self.config.hook.pytest_testnodedown(node=node, error=why)
        running = cluster.home.lose(worker)
        for nodeid in self.sched.take_back(node, running):
            self.handle_crashitem(nodeid, node)
        self._active_nodes.remove(node)
        if self.shouldstop:
            return
        if cluster.lost:
            self.shouldstop = f"{cluster.lost}; --autoweb-resume goes on with the run"
        elif not cluster.hosts and self._replaced >= cluster.workers:
            self.shouldstop = f"no worker could be started: {why}"
        elif self.sched.needs_workers:
            self._replace(node, f"{worker} was running {count_of(len(running), 'cell')}")

    def _replace(self, node: Any, told: str) -> None:
        self._replaced += 1
        if self._most_replaced is not None and self._replaced > self._most_replaced:
            self.shouldstop = (
                f"more workers were lost than --max-worker-restart={self._most_replaced}"
            )
            return
        self.report_line(f"{told}, which will run again where there is room")
        self.shuttingdown = False
        self._clone_node(node)

    def worker_internal_error(self, node: Any, formatted_error: str) -> None:
        """Treat an internal error as the loss of the worker: its node may be going down."""
        lines = [line.strip() for line in formatted_error.splitlines() if line.strip()]
        self._last_words[node.gateway.id] = lines[-1] if lines else "internal error"
        node.gateway._io.kill()

    def worker_workerfinished(self, node: Any) -> None:
        """Release a worker that has ended, so that its place is free for another one."""
        output = node.workeroutput
        interrupted = output["exitstatus"] == pytest.ExitCode.INTERRUPTED
        stopped = output["shouldfail"] or output["shouldstop"] or interrupted
        if not stopped and self.sched.node2pending.get(node):
            self.worker_errordown(node, "it ended before its cells")
        elif node in self._active_nodes:
            super().worker_workerfinished(node)
        self.sched.node2collection.pop(node, None)
        node.ensure_teardown()

    def triggershutdown(self) -> None:
        """End all workers, without waiting for any that is not placed yet."""
        super().triggershutdown()
        for node in self._active_nodes - set(self.sched.nodes):
            node.gateway._io.kill()


def node_arguments(config: pytest.Config) -> list[str]:
    """Return the command line for a worker on a node, which has the project in another folder.

    Raises:
        pytest.UsageError: it names files outside the project, which are not copied to nodes.
    """
    root, base = config.rootpath, config.invocation_params.dir
    given = [str(argument) for argument in config.invocation_params.args]
    return ["--rootdir", os.path.relpath(root, base), *(_relative(a, root, base) for a in given)]


def _relative(argument: str, root: Path, base: Path) -> str:
    flag, sign, value = argument.rpartition("=") if argument.startswith("-") else ("", "", argument)
    path, parts, rest = value.partition("::")
    if not path.startswith(("/", "..")) or not (base / path).exists():
        return argument
    place = Path(os.path.normpath(base / path))
    if not place.is_relative_to(root):
        raise pytest.UsageError(
            f"--autoweb-cluster: {argument} lies outside of {root}, which is all that the nodes get"
        )
    return f"{flag}{sign}{os.path.relpath(place, base)}{parts}{rest}"


def use_cluster(config: pytest.Config) -> None:
    """Replace xdist's controller with the session's, before any worker is started.

    Raises:
        SettingsError: another flag is not possible with a cluster.
    """
    if config.getoption("dist") not in ("no", "load"):
        raise SettingsError(
            f"--autoweb-cluster cannot distribute by --dist={config.getoption('dist')}; leave it "
            "out, or write --dist=load"
        )
    if config.getoption("usepdb"):
        raise SettingsError("--autoweb-cluster: --pdb cannot reach the nodes; leave it out")
    node_arguments(config)
    config.option.dist = "load"
    # Without these, xdist starts no controller of its own.
    config.option.tx = []
    config.pluginmanager.register(ClusterSession(config), "dsession")


def open_cluster(config: pytest.Config, settings: Settings, run: RunSession) -> RayCluster:
    """Connect to the cluster that the settings name.

    Raises:
        SettingsError: it cannot be reached, or has no room.
    """

    def save_plan(plan: Manifest) -> None:
        cells = all_planned(run.run_folder, plan.cells) if settings.resume else plan.cells
        save_manifest(run.run_folder, cells, whole=plan.whole, ts=run.shared.ts)

    home = SessionServer(
        run.run_folder,
        Path(run.shared.session_folder),
        progress_file=run.shared.progress_file,
        stamp=f"{datetime.now():%Y%m%d_%H%M%S}",
        started=run.shared.started,
        gateway=run.gateway,
        environ=os.environ,
        lists=_lists(config, settings, run),
        keys=run.key_names(),
        open_folder=run.open_folder,
        save_plan=save_plan,
    )
    most = run.concurrency(1)
    runtime_env = RuntimeEnv(
        settings.rootdir,
        config.invocation_params.dir,
        tuple(f"{name}*/" for name in _results(settings)),
        NODE_FOLDER,
        os.environ,
    )
    wanted = Wanted(
        workers=int(config.getoption("numprocesses") or 0),
        memory=(_WORKER_MB + _CELL_MB * (most - 1)) * 2**20,
    )
    cluster = connect(settings.cluster, home, runtime_env, wanted, Path(run.shared.session_folder))
    config.stash[CLUSTER] = cluster
    config.option.numprocesses = cluster.workers
    config.option.tx = ["popen"] * cluster.workers
    return cluster


def _lists(config: pytest.Config, settings: Settings, run: RunSession) -> SessionLists:
    """Return what nodes may name: the models and variables of this machine's own files."""
    found = cache(lambda: tuple(own_cases(config, settings)))
    named = {*settings.models, settings.judge_model, settings.failure_model}

    def spec(name: str) -> ModelSpec:
        judges = (judge for case in found() for judge in case.judge_models)
        declared = project_models(settings.rootdir, settings.models_file)
        if name and (name in named or name in declared or name in judges):
            return run.spec(name)
        raise SettingsError(
            f"{name[:100]!r} is not a model of this session; name it with --autoweb-models, or in "
            "[tool.autoweb.models] on the session's machine"
        )

    return SessionLists(spec, lambda: {name for case in found() for name in case.variables})


def own_cases(config: pytest.Config, settings: Settings) -> Iterator[LoadedCase]:
    """Yield the cases that the command line names, as this machine has them.

    Args:
        config: the controller's.
        settings: the session's.
    """
    base = config.invocation_params.dir
    named = [argument.partition("::")[::2] for argument in config.args]
    places = [((base / path).absolute(), case.partition("[")[0]) for path, case in named]
    asked = {place for place, _ in places}
    # All that is asked of a session here; this process collects nothing itself.
    session = cast("pytest.Session", SimpleNamespace(config=config, isinitpath=asked.__contains__))
    for place, only in places:
        for file in _files_at(place):
            if file.suffix not in CASE_SUFFIXES or not is_case_file(file, session, settings):
                continue
            # A file that cannot be read is refused on the nodes, which say why.
            with suppress(CaseError):
                yield from (case for case in load_case_file(file) if only in ("", case.id))
    if settings.cases:
        with suppress(CaseError):
            yield from load_inline(settings.cases)


def _files_at(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for where, folders, names in os.walk(place):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".")
            and name not in ("node_modules", "venv", "__pycache__")
            and not holds_run(Path(where, name))
        ]
        yield from (Path(where, name) for name in names)


def _results(settings: Settings) -> list[str]:
    """Return the folders of results, which grow large and are not needed on nodes."""
    return [p.as_posix() for p in (settings.report, settings.blobs) if not p.is_absolute()]
