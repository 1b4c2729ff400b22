"""The split of cells into shards: even, whole, and the same wherever it is made."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.session.shards import ShardPlace, split

places = st.lists(
    st.builds(
        ShardPlace,
        row=st.tuples(st.sampled_from("mno"), st.sampled_from("AR"), st.integers(1, 3)),
        column=st.tuples(st.just("f.yaml"), st.sampled_from("abcdefgh")),
    ),
    unique=True,
    max_size=60,
)


def spread(counts: Counter[int], shards: int) -> int:
    every = [counts[number] for number in range(1, shards + 1)]
    return max(every) - min(every)


@given(places, st.integers(1, 9), st.randoms(use_true_random=False))
def test_shards_differ_by_one_cell_at_most_in_all_and_per_model(
    places: list[ShardPlace], shards: int, chance: random.Random
) -> None:
    shard = split(places, shards)

    assert spread(Counter(shard), shards) <= 1
    for row in {place.row for place in places}:
        own = Counter(s for s, place in zip(shard, places, strict=True) if place.row == row)
        assert spread(own, shards) <= 1
    shuffled = chance.sample(places, len(places))
    assert dict(zip(places, shard, strict=True)) == dict(
        zip(shuffled, split(shuffled, shards), strict=True)
    )


def test_the_cells_of_one_case_are_spread_too() -> None:
    grid = [
        ShardPlace((model, "ARIA", repeat), ("f.yaml", f"case-{number:02}"))
        for model in "ab"
        for repeat in (1, 2)
        for number in range(12)
    ]

    shard = dict(zip(grid, split(grid, 4), strict=True))

    for number in range(12):
        own = [s for place, s in shard.items() if place.column[1] == f"case-{number:02}"]
        assert sorted(own) == [1, 2, 3, 4]
