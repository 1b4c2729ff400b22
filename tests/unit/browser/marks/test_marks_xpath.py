import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.xpath import xpath_literal
from pytest_autoweb.browser.marks.find_again import looks_random, selectors, xpaths

FACTS = {
    "css": "",
    "tag": "a",
    "steps": ["html", "body", "ul[2]", "li[3]", "a"],
    "anchor": {"id": "menu", "steps": ["li[3]", "a"]},
    "id": "next",
    "tests": [["data-testid", "next-page"]],
    "label": "Next page",
    "href": "/list?page=2",
    "text": "下一页",
}
RANKED = (
    "//*[@id='next']",
    "//*[@data-testid='next-page']",
    "//a[@aria-label='Next page']",
    "//a[substring(@href, string-length(@href) - 11)='/list?page=2']",
    "//a[normalize-space(.)='下一页']",
    "//*[@id='menu']/li[3]/a",
    "/html/body/ul[2]/li[3]/a",
)


def read(expression: str) -> str:
    """The text that an XPath string expression stands for."""
    inner = re.fullmatch(r"concat\((.*)\)", expression, re.DOTALL)
    pieces = re.findall(r"'([^']*)'|\"([^\"]*)\"", inner[1] if inner else expression)
    return "".join(single or double for single, double in pieces)


@given(st.text(alphabet=st.sampled_from("'\"> a,()\\`下"), max_size=12) | st.text(max_size=40))
def test_a_literal_stands_for_its_text_and_never_splits_a_selector(text: str) -> None:
    made = xpath_literal(text)

    assert read(made) == text
    assert ">>" not in made


def test_expressions_are_ranked_from_what_the_author_chose_to_the_full_path() -> None:
    assert xpaths(FACTS) == RANKED


@pytest.mark.parametrize(
    ("changed", "gone"),
    [
        ({"id": "item-48213"}, {0}),
        ({"href": "/a"}, {3}),
        ({"text": "x" * 31}, {4}),
        ({"anchor": {"id": "ember27", "steps": ["a"]}}, {5}),
        ({**dict.fromkeys(("id", "label", "href", "text"), ""), "tests": []}, {0, 1, 2, 3, 4}),
        ({"anchor": None}, {5}),
    ],
)
def test_what_is_random_long_or_absent_gives_no_expression(
    changed: dict[str, object], gone: set[int]
) -> None:
    expected = tuple(path for place, path in enumerate(RANKED) if place not in gone)

    assert xpaths({**FACTS, **changed}) == expected


def test_an_element_within_a_shadow_root_is_found_by_css_alone() -> None:
    assert selectors({"css": "my-card button"}) == ("my-card button",)


@pytest.mark.parametrize(
    "identifier", [":r1:", "ember12", "a1b2c3d4e5f6", "row-20250101", "x" * 41]
)
def test_ids_that_a_program_made_up_are_recognised(identifier: str) -> None:
    assert looks_random(identifier)


@pytest.mark.parametrize("identifier", ["next", "main-menu", "q", "step2", "id_username", "下一页"])
def test_ids_that_a_person_wrote_are_not_taken_for_random(identifier: str) -> None:
    assert not looks_random(identifier)
