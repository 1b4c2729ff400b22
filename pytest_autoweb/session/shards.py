"""Divides cells into shards, and selects a shard in pytest."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.playwright_fixtures import uses_fixture

UNSHARDED_ITEMS: pytest.StashKey[list[pytest.Item]] = pytest.StashKey()
"""In a shard, all items that the session would run without `--autoweb-shard`."""


class ShardPlace(NamedTuple):
    """A cell's place in the grid of all cells."""

    row: tuple[str, str, int]
    """The cell's model, capture mode and repeat."""
    column: tuple[str, str]
    """The cell's case, as its file and id."""


def split(places: Sequence[ShardPlace], shards: int) -> list[int]:
    """Return the shard, from 1, of every cell.

    Shards differ by at most one cell, in total and in every row, and neighbouring rows begin with
    different shards, so that a case is spread too. The order of the cells does not matter: every
    process and machine arrives at the same split.
    """
    rows: dict[tuple[str, str, int], list[int]] = {}
    for index in sorted(range(len(places)), key=lambda index: places[index]):
        rows.setdefault(places[index].row, []).append(index)
    order: list[int] = []
    for number, row in enumerate(rows.values()):
        turn = (len(order) - number) % shards % len(row)
        order += (*row[turn:], *row[:turn])
    shard = [0] * len(places)
    for position, index in enumerate(order):
        shard[index] = position % shards + 1
    return shard


class ShardSelection:
    """The plugin that deselects the cells of other shards, with `--autoweb-shard`.

    The split covers all collected cells, so a cell stays in its shard whatever `-k`, `-m` and the
    like select. Tests that use the `autoweb` fixture are split like cells; every other test runs in
    each shard.
    """

    def __init__(self, shard: tuple[int, int]) -> None:
        self._number, self._of = shard
        self._elsewhere: frozenset[str] = frozenset()

    def divide(self, items: Sequence[pytest.Item]) -> None:
        """Assign each cell to a shard, before anything else selects."""
        placed = [(item, place) for item in items if (place := _place(item)) is not None]
        shards = split([place for _, place in placed], self._of)
        self._elsewhere = frozenset(
            item.nodeid
            for (item, _), shard in zip(placed, shards, strict=True)
            if shard != self._number
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Iterator[None]:
        """Deselect, after everything else has selected."""
        yield
        config.stash[UNSHARDED_ITEMS] = list(items)
        deselected = [item for item in items if item.nodeid in self._elsewhere]
        if deselected:
            items[:] = [item for item in items if item.nodeid not in self._elsewhere]
            config.hook.pytest_deselected(items=deselected)


def _place(item: pytest.Item) -> ShardPlace | None:
    if isinstance(item, CellItem):
        cell = item.cell
        return ShardPlace((cell.spec.name, cell.mode, cell.repeat), (cell.case_path, cell.case.id))
    if uses_fixture(item):
        return ShardPlace(("", "", 0), (item.nodeid, ""))
    return None
