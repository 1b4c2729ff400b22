"""The pace of collecting, the addresses of list pages, and what is kept on the disk."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.collect.saved_state import (
    Collection,
    CollectProgress,
    collection_of,
    load_collection,
    moved,
    save_collection,
    save_progress,
    unfinished,
)
from pytest_autoweb.agents.collect.walk import MAX_LEVEL, Pacer, next_by_parameter, predicted
from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.cases.collect_spec import CollectSpec, PageParameter, Rate

LIST = "http://lists.test/all"


def pacer(delay: float, jitter: float = 0.0, chance: float = 0.5) -> tuple[Pacer, list[float]]:
    slept: list[float] = []
    return Pacer(Rate(delay=delay, jitter=jitter), slept.append, lambda: chance), slept


def test_refusals_make_pauses_longer_up_to_a_limit() -> None:
    paced, slept = pacer(1.0)
    for _ in range(MAX_LEVEL + 2):
        paced.pause()
        paced.refused()
    paced.pause()

    assert slept == [1.0, 1.5, 2.25, 3.375, 3.375, 3.375]


def test_five_good_pages_in_a_row_make_them_shorter_again() -> None:
    paced, slept = pacer(1.0)
    paced.refused()
    paced.refused()
    for _ in range(4):
        paced.succeeded()
    paced.refused()
    for _ in range(5):
        paced.succeeded()
    paced.pause()

    assert slept == [pytest.approx(1.5**2)]


@given(st.floats(0, 1), st.integers(0, 6))
def test_a_pause_stays_within_its_jitter_and_no_delay_means_none(chance: float, falls: int) -> None:
    paced, slept = pacer(1.0, 0.5, chance)
    hurried, none = pacer(0.0, 0.5, chance)
    for _ in range(falls):
        paced.refused()
    paced.pause()
    hurried.pause()

    assert abs(slept[0] - 1.5 ** min(falls, MAX_LEVEL)) <= 0.5
    assert none == []


PAGES = {
    "page from 1": ["", "?page=2", "?page=3"],
    "page from 0": ["?p=0", "?p=1", "?p=2"],
    "offset": ["?offset=0", "?offset=20", "?offset=40"],
    "offset that begins late": ["", "?offset=20", "?offset=40"],
    "with others": ["?q=a%20b&pn=1", "?q=a%20b&pn=2", "?q=a%20b&pn=3"],
}


@pytest.mark.parametrize("name", PAGES)
def test_two_pages_foretell_the_next_one(name: str) -> None:
    first, second, third = (LIST + query for query in PAGES[name])

    assert predicted(first, second) == third


@pytest.mark.parametrize(
    ("before", "now"),
    [("?page=2", "?page=2"), ("?page=3", "?page=2"), ("?page=1&s=1", "?page=2&s=2"), ("", "/2")],
)
def test_pages_that_do_not_tell_foretell_nothing(before: str, now: str) -> None:
    assert predicted(LIST + before, LIST + now) == ""


@given(st.integers(1, 50), st.sampled_from(["page", "offset", "seite"]))
def test_a_given_parameter_grows_by_its_step(step: int, name: str) -> None:
    given = PageParameter(parameter=name, step=step)
    urls = [LIST]
    for _ in range(3):
        urls.append(next_by_parameter(urls[-1], given))
    values = [int(url.rpartition("=")[2]) for url in urls[1:]]

    assert values[0] == (step if name == "offset" else 1 + step)
    assert all(later - earlier == step for earlier, later in pairwise(values))


def test_progress_is_taken_up_again_only_for_the_same_list_and_task(tmp_path: Path) -> None:
    collection = collection_of(CollectSpec(pattern="**/x/*"), LIST, "all x")
    progress = CollectProgress(list_url=LIST, task_description="all x", collection=collection)
    saved = save_progress(
        progress.model_copy(update={"urls": ("http://lists.test/x/1",)}), tmp_path
    )

    assert unfinished(tmp_path, LIST, "all x") == saved
    assert unfinished(tmp_path, LIST, "all y") is None
    assert unfinished(tmp_path, LIST + "?b", "all x") is None
    assert (tmp_path / "urls.txt").read_text() == "http://lists.test/x/1\n"
    assert json.loads((tmp_path / "progress.json").read_text())["collected_count"] == 1

    save_progress(saved.model_copy(update={"status": "done"}), tmp_path)

    assert unfinished(tmp_path, LIST, "all x") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "other"}', '{"version": 99}'])
def test_progress_that_cannot_be_read_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "progress.json").write_text(text)

    assert unfinished(tmp_path, LIST, "all x") is None


def test_a_saved_collection_moves_with_its_list(tmp_path: Path) -> None:
    learned = Pattern(matches=r"^http://lists\.test/x/[^/?&#=;]+$")
    save_collection(Collection(list_url=LIST, detail_pattern=learned), tmp_path)

    found = moved(load_collection(tmp_path / "collection.json"), "http://127.0.0.1:8000/all")

    assert found.list_url == "http://127.0.0.1:8000/all"
    assert found.detail_pattern == Pattern(matches=r"^http://127\.0\.0\.1:8000/x/[^/?&#=;]+$")


@pytest.mark.parametrize("text", [None, "{", '{"format": "pytest-autoweb/collection"}'])
def test_a_file_that_is_no_collection_is_a_mistake_of_the_case(
    tmp_path: Path, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "collection.json").write_text(text)

    with pytest.raises(CaseError, match=r"collection\.json"):
        load_collection(tmp_path / "collection.json")
