"""Which control leads on: the usual ones in several languages, and their look-alikes."""

from typing import Any

import pytest

from pytest_autoweb.agents.collect.list_controls import Control, choose_more, choose_next

PLAIN: dict[str, Any] = {
    "text": "", "label": "", "rel": "", "classes": "", "icon": "", "tag": "a", "href": "#",
    "disabled": False, "current": False, "pager": False, "other": False, "top": 900.0,
    "path": "/html[1]/body[1]/a[1]",
}  # fmt: skip


def control(text: str = "", **more: Any) -> Control:
    return Control(**{**PLAIN, "text": text, **more})


def numbers(*texts: str, current: str = "") -> list[Control]:
    return [
        control(text, current=text == current, path=f"/html[1]/body[1]/ul[1]/li[{n}]/a[1]")
        for n, text in enumerate(texts, 1)
    ]


@pytest.mark.parametrize(
    "next_one",
    [
        control("Next"),
        control("Next ›"),
        control("下一页"),
        control("下一页 >"),
        control("下頁"),
        control("次へ"),
        control("Weiter"),
        control("التالي"),
        control(">", pager=True),
        control("", label="Next page"),
        control("", classes="btn-next", pager=True),
        control("", icon="el-icon-arrow-right", pager=True),
        control("4", rel="next"),
    ],
    ids=lambda c: c.text or c.label or c.classes or c.icon,
)
def test_usual_controls_for_the_next_page_are_known(next_one: Control) -> None:
    others = [
        control("Home"),
        control("上一页"),
        control("Previous"),
        control("尾页"),
        control("2025"),
    ]

    assert choose_next([*others, next_one], 1).control is next_one


def test_look_alikes_are_not_pressed() -> None:
    alike = [
        control("Next", other=True),  # of a carousel
        control("›", label="Next month", other=True),
        control("下一篇：关于我们"),
        control("Next article"),
        control("Last »", classes="last"),
    ]

    assert choose_next(alike, 1) == (None, "none")


def test_the_next_page_beats_the_last_page() -> None:
    following, last = control(">", pager=True), control(">>", pager=True)

    assert choose_next([last, following], 1).control is following


def test_a_disabled_control_says_that_this_is_the_last_page() -> None:
    assert choose_next([control("下一页", disabled=True)], 3) == (None, "disabled")
    assert choose_next(numbers("1", "2", "3", current="3"), 3) == (None, "disabled")


def test_numbers_lead_on_from_the_page_that_is_marked_or_counted() -> None:
    marked, counted = numbers("1", "2", "3", current="2"), numbers("1", "2", "3")

    assert choose_next(marked, 1).control is marked[2]
    assert choose_next(counted, 1).control is counted[1]


def test_numbers_that_are_no_pages_are_left_alone() -> None:
    years = numbers("2023", "2024", "2025")

    assert choose_next(years, 1) == (None, "none")


@pytest.mark.parametrize(
    "text",
    [
        "Load more",
        "Show 20 more",
        "Show more jobs",
        "点击加载更多",
        "查看更多 ↓",
        "もっと見る",
        "المزيد",
    ],
)
def test_controls_that_load_more_are_known(text: str) -> None:
    more = control(text, tag="button", href="")

    assert choose_more([control("More", href="/about"), more]) is more


def test_a_link_to_another_page_loads_no_more() -> None:
    assert choose_more([control("Read more", href="/a"), control("更多", href="/news")]) is None
