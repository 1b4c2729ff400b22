"""Orders to a run that is going on, as a command or a page writes them: a name and words."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from pytest_autoweb.base.errors import SettingsError, near_miss, nearest
from pytest_autoweb.base.values.flag_texts import until
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.records import CellResult, PlannedCell
from pytest_autoweb.results.runs.giving_orders import give_order
from pytest_autoweb.results.runs.live_session import LiveSession, living_session, session_of
from pytest_autoweb.results.runs.run_folder import read_manifest, saved_cell
from pytest_autoweb.results.runs.steering import Order, OrderKind, orders, since

_LISTED = 10
_MOST_IN_FLIGHT = 1000


def order_run(folder: Path, name: str, words: Sequence[str], by: str) -> Order:
    """Give one order to the run that is going on in a folder, and return it.

    Args:
        folder: the run folder.
        name: one of `ORDERS`.
        words: what stands behind it, such as the name of a model.
        by: what gives it: a command or a page, not a person.

    Raises:
        SettingsError: there is no such order, the run has ended, or the order does not fit it.
        OSError: the folder cannot be written.
    """
    if name not in ORDERS:
        raise no_such_order(name)
    session = living_session(folder)
    cells = read_manifest(folder).cells
    order = _order(name, words, cells, by)

    def check() -> None:
        if order.kind == "again":
            _refuse_again(folder, order, cells, session)

    give_order(folder, order, check=check)
    return order


def no_such_order(name: str) -> SettingsError:
    """Return the error that says which orders there are."""
    return SettingsError(f"there is no order {name!r}{near_miss(name, ORDERS)}")


def _order(name: str, words: Sequence[str], cells: Sequence[PlannedCell], by: str) -> Order:
    *_, read = ORDERS[name]
    try:
        value = read(words, cells)
        if name != "cap":
            return Order(cast("OrderKind", name), value, by=by)
        cap = until(value)
        if cap.usd is not None:
            return Order("cap-cost", f"{cap.usd:.9f}", by=by)
        return Order("cap-time", f"{cap.seconds:.3f}", by=by)
    except SettingsError as error:
        raise SettingsError(f"{name}: {error}") from None


def _refuse_again(
    folder: Path, order: Order, cells: Sequence[PlannedCell], session: LiveSession
) -> None:
    """Refuse to run a cell again that has not ended, or that nobody would run any more."""
    cell = next(cell for cell in cells if order.value in (cell.test_name, cell.nodeid))
    saved = saved_cell(folder, cell.folder)
    now = session_of(folder)
    if now is None or now.closing:
        raise SettingsError("again: the run is about to end, and begins no more cells")
    if not isinstance(saved, CellResult):
        raise SettingsError(f"again: {one_line(order.value)} has not ended yet")
    if saved.outcome == "skipped":
        why = one_line(saved.reason)
        raise SettingsError(
            f"again: {one_line(order.value)} has no result yet ({why}); --autoweb-resume runs it"
        )
    done = {run.ordered for run in saved.again}
    for given in since(orders(folder), session.started):
        if given.kind == "again" and given.value == order.value and given.at not in done:
            raise SettingsError(
                f"again: {one_line(order.value)} was ordered at {given.time}, and that run has not "
                "ended"
            )


def _nothing(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    if words:
        raise SettingsError(f"nothing stands behind it, but there is {words[0]!r}")
    return ""


def _model(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    return _one_of(words, "MODEL", (cell.model for cell in cells))


def _case(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    return _one_of(words, "CASE", (cell.case_id for cell in cells))


def _cell(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    """Return the name of a cell's test, or where several files have one of that name its id."""
    names = Counter(cell.test_name for cell in cells)
    fits = [cell for cell in cells if set(words) & {cell.test_name, cell.nodeid, cell.folder}]
    if len(words) == 1 and len(fits) > 1:
        told = ", ".join(one_line(cell.nodeid) for cell in fits[:_LISTED])
        raise SettingsError(f"{len(fits)} cells of the run are called {words[0]!r}: name {told}")
    if len(words) == 1 and fits:
        return fits[0].test_name if names[fits[0].test_name] == 1 else fits[0].nodeid
    return _one_of(words, "CELL", names)


def _cap(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    """Return the new cap as `--autoweb-until` writes one: `$5` or `30m`."""
    kinds = {"cost": "$", "time": ""}
    if len(words) != 2 or words[0] not in kinds:
        raise SettingsError("write `cap cost 5`, in US dollars, or `cap time 30m`")
    try:
        return str(until(kinds[words[0]] + words[1].removeprefix("$")))
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _number(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    if len(words) != 1 or not words[0].isdecimal() or not 1 <= int(words[0]) <= _MOST_IN_FLIGHT:
        raise SettingsError(
            f"write how many cells each process may have in flight, from 1 to {_MOST_IN_FLIGHT}"
        )
    return str(int(words[0]))


def _one_of(words: Sequence[str], what: str, names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    shown = ", ".join(one_line(name) for name in known[:_LISTED])
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    if len(words) != 1:
        raise SettingsError(f"name one {what} of the run: {shown}{more}")
    if words[0] not in known:
        meant = nearest(words[0], known)
        guess = f"; did you mean {one_line(meant)!r}?" if meant else ";"
        raise SettingsError(f"the run has no {what} {words[0]!r}{guess} it has: {shown}{more}")
    return words[0]


ORDERS: dict[str, tuple[str, str, Callable[[Sequence[str], Sequence[PlannedCell]], str]]] = {
    "pause": ("", "begin no more cells", _nothing),
    "go-on": ("", "end the pause", _nothing),
    "stop-model": ("MODEL", "begin no more cells of a model", _model),
    "stop-case": ("CASE", "begin no more cells of a case", _case),
    "again": ("CELL", "run a cell that has ended once more, beside its result", _cell),
    "cap": ("cost USD | time T", "begin no more cells beyond so much money or time", _cap),
    "in-flight": ("N", "have up to N cells in flight in each process", _number),
}
"""The orders by name, each with what stands behind it, what it does, and what reads its words."""
