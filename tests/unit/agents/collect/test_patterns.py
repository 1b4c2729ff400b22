"""What visited links have in common: by place in the page, and by address."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_autoweb.agents.collect.addresses import common_address, joined, new_ones
from pytest_autoweb.agents.collect.places import Place, common_path, read_place

BASE = "http://lists.test/news/"


def place(*steps: str) -> Place:
    """`div#main`, `ul.list`, `li[3].entry.odd`, `a` as a place."""
    chain: list[list[Any]] = []
    for step in steps:
        tag = re.match(r"\w+", step)
        assert tag
        position = re.search(r"\[(\d+)\]", step)
        facts = [["id", name] for name in re.findall(r"#([\w-]+)", step)]
        facts += [["class", name] for name in re.findall(r"\.([\w-]+)", step)]
        chain.append([tag[0], int(position[1]) if position else 1, facts])
    return read_place(chain)


def items(*steps: str) -> list[Place]:
    return [place("html", "body", "div[2]#main", "ul.list", step, "a") for step in steps]


def test_a_list_keeps_its_place_and_loses_the_number_of_the_entry() -> None:
    found = common_path(items("li[1].entry", "li[4].entry", "li[9].entry"))

    assert found is not None
    entry = "[contains(concat(' ',normalize-space(@class),' '),' entry ')]"
    assert found.xpath == f"//div[@id='main']/ul[1]/li{entry}/a[1]"
    assert found.confidence == 1.0


def test_what_only_some_entries_have_is_no_condition() -> None:
    found = common_path(items("li[1].entry.odd.first", "li[3].entry.odd.active"))

    assert found is not None
    assert "odd" not in found.xpath
    assert "active" not in found.xpath
    assert "' entry '" in found.xpath


def test_a_menu_link_chosen_by_mistake_is_outvoted() -> None:
    menu = place("html", "body", "nav", "a[2]")

    found = common_path([menu, *items("li[1].entry", "li[2].entry")])

    assert found is not None
    assert found.visits == 2
    assert "nav" not in found.xpath


def test_one_place_or_unlike_places_have_nothing_in_common() -> None:
    assert common_path(items("li[1]")) is None
    assert common_path(items("li[1]", "li[1]")) is None
    assert common_path([place("html", "a"), place("html", "body", "a")]) is None


def test_the_more_positions_vary_the_less_sure_the_pattern_is() -> None:
    grid = [place("html", f"div[{a}]", f"ul[{b}]", f"li[{c}]", f"a[{d}]") for a, b, c, d in
            ((1, 1, 1, 1), (2, 2, 2, 2))]  # fmt: skip
    found = common_path(grid)

    assert found is not None
    assert found.confidence < 0.6


ADDRESSES = {
    "numbers": (["/p/12", "/p/7", "/p/301"], "/p/99", "/q/12"),
    "names with an end": (["/n/2025-001.html", "/n/2025-017.html"], "/n/2024-9.html", "/n/x.pdf"),
    "parameters": (["/jobs?id=4", "/jobs?id=8"], "/jobs?id=15", "/jobs?page=2"),
    "routes": (["/#/item/a", "/#/item/b"], "/#/item/zzz", "/#/cart/a"),
    "two parts": (["/a/x/1", "/a/y/2"], "/a/q/9", "/b/q/9"),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_addresses_of_one_kind_are_known_again(name: str) -> None:
    seen, same, other = ADDRESSES[name]
    found = common_address([f"http://lists.test{path}" for path in seen])

    assert found is not None
    assert found.confidence >= 0.6
    assert re.search(found.pattern, f"http://lists.test{same}")
    assert not re.search(found.pattern, f"http://lists.test{other}")
    assert not re.search(found.pattern, f"http://other.test{same}")


def test_addresses_with_nothing_but_the_origin_in_common_are_no_pattern() -> None:
    found = common_address(["http://lists.test/12", "http://lists.test/15"])

    assert found is None or found.confidence < 0.6
    assert common_address(["http://lists.test/a/1"]) is None


@example([".", "0."])
@given(st.lists(st.from_regex(r"\A[a-z0-9.-]{1,12}\Z"), min_size=2, max_size=6, unique=True))
def test_a_pattern_fits_every_address_it_was_learned_from(words: list[str]) -> None:
    urls = [f"{BASE}{word}/view?tab=1" for word in words]
    found = common_address(urls)

    assert found is not None
    assert all(re.search(found.pattern, url) for url in urls)


@pytest.mark.parametrize(
    ("href", "url"),
    [
        (" item/3 ", BASE + "item/3"),
        ("/x?a=1#part", "http://lists.test/x?a=1#part"),
        ("#/item/3", BASE + "#/item/3"),
        ("#top", ""),
        ("", ""),
        ("javascript:void(0)", ""),
        ("mailto:a@lists.test", ""),
        ("http://[broken", ""),
    ],
)
def test_links_are_joined_to_the_page_or_lead_nowhere(href: str, url: str) -> None:
    assert joined(BASE, href) == url


def test_addresses_count_once_as_exact_texts() -> None:
    assert new_ones(("/a",), ["/b", "/a", "/b", "/b#1"]) == ["/b", "/b#1"]
