"""How many cells may be in flight, which items come next, and what xdist's workers are sent."""

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_autoweb.base.values.flag_texts import in_flight
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.session.flights import flights
from pytest_autoweb.session.flights.flight_bounds import session_bound
from pytest_autoweb.session.flights.flight_scheduling import FlightScheduling
from pytest_autoweb.session.flights.flights import how_many
from pytest_autoweb.session.flights.item_order import ItemOrder
from pytest_autoweb.session.xdist_internals import (
    can_replace_controller,
    can_schedule,
    can_see_queues,
    hides_order,
)


def spec(name: str, **more: Any) -> ModelSpec:
    return ModelSpec.model_validate({"name": name, **more})


@pytest.mark.parametrize(
    ("models", "processes", "memory_mb", "expected"),
    [
        ((spec("builtin/oracle"), spec("builtin/noop")), 1, 9_000, 1),
        ((spec("a/b"),), 1, 9_000, 8),
        ((spec("a/b"), spec("a/c")), 1, 9_000, 16),
        ((spec("a/b", max_parallel=64),), 1, 90_000, 16),
        ((spec("a/b", max_parallel=64),), 8, 90_000, 8),
        ((spec("a/b", max_parallel=2),), 4, 9_000, 1),
        ((spec("a/b"),), 1, 300, 5),
    ],
)
def test_auto_looks_at_models_memory_and_processes(
    models: tuple[ModelSpec, ...],
    processes: int,
    memory_mb: int,
    expected: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flights, "_available_mb", lambda: memory_mb)

    assert how_many(in_flight("auto"), models, processes) == expected
    assert how_many(in_flight("40"), models, processes) == 40


class LockedQueue:
    """xdist's own queue since 3.7, as far as it is looked at."""

    def __init__(self, *indices: Any) -> None:
        self._items = indices

    @contextmanager
    def lock(self) -> Iterator[tuple[Any, ...]]:
        yield self._items


def older_queue(*indices: Any) -> "queue.Queue[Any]":
    made: queue.Queue[Any] = queue.Queue()
    for index in indices:
        made.put(index)
    return made


def order(items: list[Any], *plugins: Any) -> ItemOrder:
    config = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugins=lambda: set(plugins)))
    session: Any = SimpleNamespace(items=items, config=config)
    return ItemOrder(session)


def test_without_workers_the_items_come_in_their_order() -> None:
    items: list[Any] = ["a", "b", "c"]

    assert list(map(str, order(items).after(items[0]))) == ["b", "c"]
    assert list(map(str, order(items).after(items[2]))) == []


@pytest.mark.parametrize("make", [LockedQueue, older_queue])
def test_a_worker_knows_what_it_was_sent(make: Any) -> None:
    items: list[Any] = ["a", "b", "c", "d", "e"]
    worker = type("Worker", (), {"torun": make(3, 4, "shutdown", 0), "nextitem_index": 1})()

    # No item comes after the word that nothing more will come.
    assert list(map(str, order(items, worker).after(items[0]))) == ["b", "d", "e"]


def test_a_worker_whose_queue_is_hidden_lets_no_cell_run_ahead_of_its_turn() -> None:
    plugins = SimpleNamespace(get_plugins=set)
    worker: Any = SimpleNamespace(pluginmanager=plugins, workerinput={})
    alone: Any = SimpleNamespace(pluginmanager=plugins)

    assert session_bound(worker) == "this pytest-xdist hides which items come next"
    assert not hides_order(alone)


def test_this_xdist_has_all_that_is_used() -> None:
    assert can_see_queues()
    assert can_schedule()
    assert can_replace_controller()


class Node:
    """A worker that remembers what it was sent."""

    shutting_down = False

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.gateway = SimpleNamespace(id="gw")

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def scheduling_of(items: int, **own: Any) -> tuple[FlightScheduling, list[Node]]:
    """The controller's scheduling and two workers that have collected so many items."""
    options = {"tx": ["popen", "popen"], "maxschedchunk": None}
    config: Any = SimpleNamespace(
        getvalue=options.get, getoption=options.get, option=SimpleNamespace(**options),
        rootpath=None,
    )  # fmt: skip
    scheduling = FlightScheduling.__new__(FlightScheduling)
    scheduling.__dict__.update(
        numnodes=2, node2collection={}, node2pending={}, pending=[], collection=None,
        log=lambda *_: None, config=config, maxschedchunk=None, **own,
    )  # fmt: skip
    nodes = [Node(), Node()]
    for node in nodes:
        scheduling.add_node(node)
        scheduling.add_node_collection(node, [str(number) for number in range(items)])
    return scheduling, nodes


@pytest.mark.parametrize(("items", "first"), [(100, 12), (40, 9), (6, 3), (2, 1)])
def test_each_worker_is_sent_what_it_can_have_in_flight_but_not_more_than_its_share(
    items: int, first: int
) -> None:
    scheduling, nodes = scheduling_of(items, _most=lambda: 8, _order=None)

    scheduling.schedule()

    assert [len(node.sent) for node in nodes] == [first, first]
    run_all(scheduling, nodes, items)


@pytest.mark.parametrize("most", [1, 3])
def test_what_is_most_urgent_is_sent_first_and_nothing_is_lost(most: int) -> None:
    scheduling, nodes = scheduling_of(40, _most=lambda: most, _order=lambda names: names[::-1])

    scheduling.schedule()

    assert nodes[0].sent[:2] == [39, 38]
    run_all(scheduling, nodes, 40)


def run_all(scheduling: FlightScheduling, nodes: list[Node], items: int) -> None:
    # A worker runs an item once it knows the next one, or that there is none.
    left = scheduling.node2pending
    while able := [n for n in nodes if len(left[n]) > 1 or (left[n] and n.shutting_down)]:
        for node in able:
            scheduling.mark_test_complete(node, left[node][0], 5.0)
    assert not any(left.values())
    assert sorted(nodes[0].sent + nodes[1].sent) == list(range(items))
    assert all(node.shutting_down for node in nodes)
