"""Proves the board's checks before anybody plays: what passes undone, and what its solutions reach.

Each application is opened once and reports its state. Every verifier then looks at that state, and
at the state that the board's own solution makes of it. That takes seconds for the whole board,
where an attempt for each task would take hours.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic

from msgspec import Struct
from playwright.sync_api import Browser, Error

from pytest_autoweb.base.errors import BrowserError, first_line
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.tools.importing.infinity.app_server import FIRST, AppServer
from pytest_autoweb.tools.importing.infinity.board import App, Task
from pytest_autoweb.tools.importing.infinity.verifying import State, VerifierHangs, judged

_OPEN_MS = 30_000
_REPORT_S = 15.0
_SECONDS = 120.0


class Proof(Struct, frozen=True):
    """What the controls say of one task."""

    task: Task
    undone: bool
    """Whether its verifier accepts the state in which nothing was done: a defect."""
    solved: bool | None
    """Whether it accepts the board's own solution; None if the board has none."""
    words: str
    """What the verifier says of the solution."""


def prove(
    browser: Browser, apps: Sequence[App], say: Callable[[str], None] = lambda text: None
) -> dict[str, Proof]:
    """Return what the controls say of each task, by the id of its case.

    Raises:
        BrowserError: an application does not open, or reports no state.
        VerifierHangs: an application's verifiers do not end.
    """
    proofs: dict[str, Proof] = {}
    for number, app in enumerate(apps, start=1):
        state = first_state(browser, app)
        try:
            found = [
                Proof(
                    task,
                    undone=verdict.ruling.passed,
                    solved=verdict.solution.ruling.passed if verdict.solution else None,
                    words=verdict.solution.ruling.words if verdict.solution else "",
                )
                for task, verdict in zip(app.tasks, judged(app.tasks, state, _SECONDS), strict=True)
            ]
        except VerifierHangs as hangs:
            raise VerifierHangs(f"{app.name}: {hangs}") from None
        proofs |= {proof.task.id: proof for proof in found}
        solved = sum(proof.solved is True for proof in found)
        undone = sum(proof.undone for proof in found)
        say(
            f"[{number}/{len(apps)}] {app.name}: {len(found)} tasks, {solved} proven by solutions, "
            f"{undone} pass when nothing is done"
        )
    return proofs


def findings(proofs: Sequence[Proof]) -> list[str]:
    """Return what is wrong with the board, as lines: the tasks that a run should leave out."""
    undone = [proof.task.id for proof in proofs if proof.undone]
    refused = [proof for proof in proofs if proof.solved is False]
    without = [proof.task.id for proof in proofs if proof.solved is None]
    proven = sum(proof.solved is True for proof in proofs)
    lines = [f"{proven} of {len(proofs)} checks hold for the board's own solutions"]
    if undone:
        lines.append(f"{len(undone)} pass when nothing is done: {', '.join(undone)}")
    lines += [f"{p.task.id} refuses the board's own solution: {p.words}" for p in refused]
    if without:
        lines.append(f"{len(without)} have no solution: {', '.join(without)}")
    return lines


def first_state(browser: Browser, app: App) -> State:
    """Open an application and return the state that it reports first.

    Raises:
        BrowserError: it does not open, or reports none.
    """
    with _served(app) as (url, data), browser.new_context(locale="en-US") as context:
        # What the page loads from elsewhere, such as fonts, is no part of its state.
        context.route(lambda asked: not asked.startswith(url), lambda route: route.abort())
        page = context.new_page()
        try:
            page.goto(url, timeout=_OPEN_MS)
        except Error as error:
            raise BrowserError(f"{app.name} does not open: {first_line(error)}") from None
        ends = monotonic() + _REPORT_S
        while not (data / FIRST).is_file():
            if monotonic() > ends:
                raise BrowserError(f"{app.name} reported no state within {_REPORT_S:.0f} s")
            page.wait_for_timeout(50)  # Not asleep, or the page's requests would wait, too.
        state: State = read_json((data / FIRST).read_text("utf-8"))
        return state


@contextmanager
def _served(app: App) -> Iterator[tuple[str, Path]]:
    with TemporaryDirectory() as data, AppServer(app.folder, Path(data), 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", Path(data)
        finally:
            server.shutdown()
