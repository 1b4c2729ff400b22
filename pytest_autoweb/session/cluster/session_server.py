"""The session's machine, which answers the nodes of a cluster: run folder, access to models.

Results are written, money is counted and keys are known only here. A cell counts as ended once its
files are in the run folder, so a lost node costs only the cells that it was running.
"""

import shutil
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from pytest_autoweb.base.errors import AutowebError, SettingsError
from pytest_autoweb.models.gateway import SharedGateway
from pytest_autoweb.models.gateway_messages import (
    MODELS_PATH,
    Acknowledgement,
    CallFailed,
    NewModels,
)
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.runs.giving_orders import orders_held
from pytest_autoweb.results.runs.live_session import sign_closing
from pytest_autoweb.results.runs.saving import (
    CELL_FILE,
    Manifest,
    mark_started,
    move_to_replaced,
    unmark_started,
)
from pytest_autoweb.results.runs.steering import OrdersFile
from pytest_autoweb.results.runs.watched import is_watched
from pytest_autoweb.session.cluster.cells_so_far import take_so_far
from pytest_autoweb.session.cluster.frame_stream import MOST_BYTES, Frame
from pytest_autoweb.session.cluster.node_messages import (
    AGAIN_PATH,
    BEGIN_PATH,
    CLOSE_PATH,
    FORGET_PATH,
    ORDERS_PATH,
    PLAN_PATH,
    VARIABLES_PATH,
    WATCHED_PATH,
    AgainKnown,
    CellAsked,
    CellKnown,
    CloseKnown,
    NodeMessage,
    OrdersKnown,
    Variables,
    WatchedKnown,
)
from pytest_autoweb.session.cluster.node_worker import CELL_PATH, SENT_FILES
from pytest_autoweb.session.cluster.ordered_runs import OrderedRuns
from pytest_autoweb.session.cluster.packed_cell import is_cell_folder, unpack_cell
from pytest_autoweb.session.shared_run import PROGRESS_FILE

GATEWAY_PATHS = frozenset({"/complete", "/stats", "/prices", "/check"})
"""The gateway paths open to a node: neither the one that stops it, nor the one that tells it what
a model is, and so where its key goes."""
ARRIVING = ".arriving"


class SessionLists(NamedTuple):
    """What a node may name. The session's machine makes both from its own files."""

    spec: Callable[[str], ModelSpec]
    """Returns what this session takes a model to be; it raises `SettingsError` for one that the
    session does not use."""
    variables: Callable[[], Collection[str]]
    """Returns the environment variables that the session's cases name."""


def _no_spec(name: str) -> ModelSpec:
    raise SettingsError(f"{name[:100]!r} is not a model of this session")


NOTHING = SessionLists(_no_spec, tuple)


class NodeRequest(NamedTuple):
    """A node's request, with the file that preceded it."""

    worker: str
    path: str
    body: bytes
    file: Path | None


class SessionServer:
    """Answers the nodes' requests.

    Args:
        run_folder: the run folder.
        session_folder: the folder of the files that all processes of the session append to.
        progress_file: the one of them that lies in the run folder.
        stamp: the start of this session, as part of a file name.
        started: the same, in seconds since the epoch.
        gateway: the session's gateway.
        environ: the environment variables, of which cases may name some.
        lists: which models and variables a node may name.
        keys: names of variables that only the gateway may read.
        open_folder: creates the run folder, once.
        save_plan: saves the collected cells.
    """

    def __init__(
        self,
        run_folder: Path,
        session_folder: Path,
        *,
        progress_file: Path,
        stamp: str,
        started: float,
        gateway: SharedGateway,
        environ: Mapping[str, str],
        lists: SessionLists = NOTHING,
        keys: Collection[str],
        open_folder: Callable[[], object],
        save_plan: Callable[[Manifest], None],
    ) -> None:
        self._run, self._session, self._stamp = run_folder, session_folder, stamp
        self._progress = progress_file
        self._gateway, self._environ, self._keys = gateway, environ, frozenset(keys)
        self._lists = lists
        self._open_folder, self._save_plan, self._planned = open_folder, save_plan, False
        self._orders, self._further = OrdersFile(run_folder), OrderedRuns(run_folder, started)
        self._lock = threading.Lock()
        self._running: dict[str, dict[str, str]] = {}
        self._ended: set[str] = set()
        self._begun: set[str] = set()
        self._lost: set[str] = set()
        self._parts: dict[tuple[str, int], Path] = {}

    # -- messages without a request ------------------------------------------------------

    def take(self, frame: Frame) -> None:
        """Store a part of a file, or lines of one that all processes append to."""
        if frame.kind == "lines" and frame.text in SENT_FILES:
            here = self._progress if frame.text == PROGRESS_FILE else self._session / frame.text
            with here.open("ab") as file:
                file.write(frame.body)
        elif frame.kind == "so-far":
            self._take_so_far(frame)
        elif frame.kind == "part":
            path = self._parts.setdefault(
                (frame.worker, frame.number),
                self._session / f"{ARRIVING}-{frame.worker}-{frame.number}.zip",
            )
            if not path.exists() or path.stat().st_size < MOST_BYTES:
                with path.open("ab") as file:
                    file.write(frame.body)

    def _take_so_far(self, frame: Frame) -> None:
        # Whoever watches misses nothing for good: the files of the cell come when it has ended.
        with self._lock, suppress(SettingsError):
            if frame.text in self._running.get(frame.worker, {}):
                take_so_far(self._run, frame.text, frame.body)

    # -- requests ------------------------------------------------------------------------

    def answer(self, frame: Frame) -> tuple[int, bytes]:
        file = self._parts.pop((frame.worker, frame.number), None)
        sent = NodeRequest(frame.worker, frame.text, frame.body, file)
        try:
            if sent.path in GATEWAY_PATHS:
                return self._gateway.forward(sent.path, sent.body)
            if sent.path == MODELS_PATH:
                return self._learn(sent.body)
            return 200, self._answer(sent)
        except (AutowebError, OSError, ValidationError, KeyError) as error:
            return 503, f"{type(error).__name__}: {error}".encode()
        finally:
            if file is not None:
                file.unlink(missing_ok=True)

    def _answer(self, sent: NodeRequest) -> bytes:
        if sent.path == PLAN_PATH:
            self._plan(sent.worker, Manifest.model_validate_json(sent.body))
        elif sent.path == WATCHED_PATH:
            return WatchedKnown(watched=is_watched(self._run)).model_dump_json().encode()
        elif sent.path in (ORDERS_PATH, AGAIN_PATH, CLOSE_PATH):
            return self._orders_for(sent).model_dump_json().encode()
        elif sent.path == VARIABLES_PATH:
            return self._variables(Variables.model_validate_json(sent.body)).encode()
        else:
            asked = CellAsked.model_validate_json(sent.body)
            self._open_folder()
            further = sent.path != BEGIN_PATH and asked.folder in self._further
            if not (further or is_cell_folder(asked.folder)):
                raise SettingsError(f"{asked.folder!r} is not a cell's folder")
            if sent.path == BEGIN_PATH:
                return self._begin(sent.worker, asked).model_dump_json().encode()
            if sent.path == CELL_PATH and sent.file is not None:
                self._receive(sent.worker, asked.folder, sent.file)
            elif sent.path == FORGET_PATH:
                self._forget(sent.worker, asked.folder)
            else:
                raise SettingsError(f"a node may not ask for {sent.path!r}")
        return Acknowledgement().model_dump_json().encode()

    def _orders_for(self, sent: NodeRequest) -> NodeMessage:
        if sent.path == CLOSE_PATH:
            return CloseKnown(closed=self._close_worker(sent.worker))
        with self._lock:
            if sent.path == ORDERS_PATH:
                waits = self._further.waits
                return OrdersKnown(given=self._orders.given, again_waits=waits, now=time.time())
            self._refuse_lost(sent.worker)
            if (given := self._further.give(sent.worker)) is None:
                return AgainKnown()
            order, folder = given
            self._running.setdefault(sent.worker, {})[folder] = f"{order.value} (again)"
            return AgainKnown(order=order, folder=folder)

    def _close_worker(self, worker: str) -> bool:
        """Let a worker begin no more cells, and say in the session's sign that none will.

        Nobody can then give an order that nobody would carry out.
        """
        with orders_held(self._run), self._lock:
            closed = self._further.close(worker)
            if self._further.closed:
                sign_closing(self._run)
        return closed

    def _plan(self, worker: str, manifest: Manifest) -> None:
        with self._lock:
            self._further.plan(worker, manifest.cells)
            if not self._planned:
                self._open_folder()
                self._save_plan(manifest)
                self._planned = True

    def _learn(self, body: bytes) -> tuple[int, bytes]:
        """Register the models that a node names, as this machine's own files describe them.

        What the node says of them is not read: it could give a model another address, to which the
        real key would be sent.
        """
        try:
            specs = [self._lists.spec(name) for name in NewModels.model_validate_json(body).specs]
        except SettingsError as error:
            failed = CallFailed(cause="unavailable", detail=str(error))
            return 422, failed.model_dump_json().encode()
        self._gateway.add(*specs)
        return 200, Acknowledgement().model_dump_json().encode()

    def _variables(self, asked: Variables) -> str:
        if foreign := sorted(asked.values.keys() - set(self._lists.variables())):
            raise SettingsError(
                f"no case of this session names {', '.join(foreign)[:200]}, so its value stays on "
                "the session's machine"
            )
        found = {name: self._environ[name] for name in asked.values if name in self._environ}
        if keys := sorted(self._keys & found.keys()):
            raise SettingsError(
                f"{', '.join(keys)} is a key of a model, which stays on the session's machine; "
                "give the case's secret another name"
            )
        return Variables(values=found).model_dump_json()

    def _begin(self, worker: str, asked: CellAsked) -> CellKnown:
        saved = self._run / asked.folder / CELL_FILE
        with self._lock:
            self._refuse_lost(worker)
            if asked.folder in self._ended:
                return CellKnown(saved=saved.read_text(encoding="utf-8"), ended=True)
            self._running.setdefault(worker, {})[asked.folder] = asked.nodeid
            if saved.exists():
                # The worker decides whether to keep this result; it stays until there is another.
                return CellKnown(saved=saved.read_text(encoding="utf-8"))
            cut_off = asked.folder not in self._begun and saved.parent.exists()
            if cut_off:
                move_to_replaced(self._run, asked.folder, self._stamp)
            self._begun.add(asked.folder)
            mark_started(self._run, asked.folder)
        return CellKnown(began=cut_off)

    def _receive(self, worker: str, cell: str, packed: Path) -> None:
        """Put a cell's files into the run folder in a single move."""
        arriving = self._run / ARRIVING / packed.stem
        try:
            unpack_cell(packed, cell, arriving)
            with self._lock:
                self._refuse_lost(worker)
                self._make_room(cell, arriving)
                (self._run / cell).parent.mkdir(parents=True, exist_ok=True)
                (arriving / cell).replace(self._run / cell)
                self._ended.add(cell)
                self._running.get(worker, {}).pop(cell, None)
                self._further.note(cell)
        finally:
            shutil.rmtree(arriving, ignore_errors=True)

    def _make_room(self, cell: str, arriving: Path) -> None:
        """Move a cell's existing files away: a marker, earlier files, or an earlier session's."""
        if not (self._run / cell).exists():
            return
        if (self._run / cell / CELL_FILE).exists() and cell not in self._ended:
            move_to_replaced(self._run, cell, self._stamp)
        else:
            (self._run / cell).replace(arriving / "before")

    def _forget(self, worker: str, cell: str) -> None:
        with self._lock:
            self._running.get(worker, {}).pop(cell, None)
            unmark_started(self._run, cell)

    def _refuse_lost(self, worker: str) -> None:
        if worker in self._lost:
            raise SettingsError(f"the session continues without {worker}")

    # -- the end -------------------------------------------------------------------------

    def lose(self, worker: str) -> frozenset[str]:
        """Accept nothing more from a worker; return the ids of the cells that it was running."""
        with self._lock:
            self._lost.add(worker)
            self._further.lose(worker)
            return frozenset(self._running.pop(worker, {}).values())

    def close(self, why: str) -> None:
        """Record the reason on each cell that has begun but not ended."""
        with self._lock:
            for cells in self._running.values():
                for cell in cells:
                    if not (self._run / cell / CELL_FILE).exists():
                        mark_started(self._run, cell, why)
            self._lost |= self._running.keys()
            self._running.clear()
        shutil.rmtree(self._run / ARRIVING, ignore_errors=True)
