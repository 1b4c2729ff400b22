"""Cells for workers that come and go: none is lost, none is run twice but for a lost worker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.session.cluster.cluster_session import PLACED_AGAIN, ClusterScheduling


class Node:
    """A worker as the scheduler sees it; as xdist's does, it keeps its last item for later."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.items += indices

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def may_run(self) -> bool:
        return len(self.items) > (not self.shutting_down)


class Config:
    """What xdist's scheduler asks of pytest's configuration."""

    def getvalue(self, name: str) -> list[str]:
        return ["popen"] * 3

    def getoption(self, name: str) -> None:
        return None


def scheduling(most: int) -> ClusterScheduling:
    return ClusterScheduling(Config(), None, lambda: most)  # type: ignore[arg-type]


@given(
    cells=st.integers(0, 40),
    most=st.integers(1, 5),
    events=st.lists(
        st.sampled_from(["add", "run", "run", "run", "run", "run", "lose", "end"]), max_size=200
    ),
    chance=st.randoms(use_true_random=False),
)
def test_each_cell_ends_once_whatever_becomes_of_the_workers(
    cells: int, most: int, events: list[str], chance: object
) -> None:
    pick = chance.choice  # type: ignore[attr-defined]
    sched, names = scheduling(most), [f"c{n}" for n in range(cells)]
    nodes: list[Node] = []
    ended: list[int] = []
    given_up: list[str] = []
    # When the dice have been thrown, workers join and run until nothing is left.
    for event in [*events, *["add", "run", "run", "end"] * 200]:
        if event == "add" and len(nodes) < 3:
            nodes.append(node := Node())
            sched.add_node(node)
            sched.add_node_collection(node, names)
            sched.schedule()
        elif event == "lose" and nodes:
            nodes.remove(node := pick(nodes))
            begun = frozenset(names[item] for item in node.items[:most])
            given_up += sched.take_back(node, begun)
        elif event == "run" and (ready := [node for node in nodes if node.may_run]):
            ended.append((node := pick(ready)).items.pop(0))
            sched.mark_test_complete(node, ended[-1])
        elif event == "end":
            for node in [node for node in nodes if node.shutting_down and not node.items]:
                nodes.remove(node)
                assert sched.remove_node(node) is None

    assert sched.tests_finished
    assert sorted([*(names[item] for item in ended), *given_up]) == sorted(names)


def test_a_cell_whose_workers_are_lost_again_and_again_is_given_up() -> None:
    sched, names = scheduling(1), ["kills", "other"]
    told = []
    for _ in range(PLACED_AGAIN + 1):
        node = Node()
        sched.add_node(node)
        sched.add_node_collection(node, names)
        sched.schedule()
        assert node.items == [0, 1]
        told.append(sched.take_back(node, frozenset({"kills"})))

    assert told == [[], [], ["kills"]]
    assert sched.needs_workers
    assert sched.pending == [1]


def test_a_worker_that_collected_something_else_takes_no_part() -> None:
    sched = scheduling(1)
    first, second = Node(), Node()
    sched.add_node(first)
    sched.add_node_collection(first, ["a", "b"])
    sched.schedule()
    sched.add_node(second)
    sched.add_node_collection(second, ["a", "c"])
    sched.schedule()

    assert (second.shutting_down, second.items) == (True, [])
    with pytest.raises(KeyError):
        sched.remove_node(second)
