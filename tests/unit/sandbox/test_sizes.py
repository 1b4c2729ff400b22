"""What is too large, too much or too slow to cross the border, and what is not."""

import re
from typing import Any

import pytest

from pytest_autoweb.sandbox.rules import Refusal
from pytest_autoweb.sandbox.size_limits import check_picture, check_read, check_sizes
from pytest_autoweb.sandbox.slow_patterns import slow_part

SLOW = [
    "^(a+)+$", "(a|aa)+$", "(a|a)*b", r"(\w+\s?)+$", "(a*)*b", "(.*)*x", r"([a-z]+)*1", "(a+|b)*c",
    r"^(\d+\.?)+$", "((a+)b?)+$", "(?:a?){20,}b", "(x+x+)+y", "(.|a)*b", "(?i:(A+)+)b",
    "((?=a)a+)+b", r"(\s|\n)*x", "(a*,a*)+b", "((a|a)b)+c", r"(?P<n>(a+)+)b", r"(a+)\1+(b+)+c",
    "(unclosed", "a?" * 26 + "a" * 26, "(a{1,10}){1,10}b", r"(\d{1,9}){1,9}x", ".*.*.*.*=",
    "(a|b|ab){0,10}(a|b|ab){0,10}(a|b|ab){0,10}c", "(?:a?b?c?d?e?f?g?){9}z", "(x?x?){10}y",
    r"([a-z]{1,8}\s?){1,8}!", "((a{1,5}){1,5}){1,5}b", r"^(\w{1,9}\s?){2,9}$",
    "((a?){3}){20}b", "((a?){10}){0,3}abb{2,}c", r"(((a?){1,10}|[ab]){2,8}1)+z",
    r"((\s[ab]{1,10}){3}x?){0,9}z", r"(((\d|\s?){2,8}){1,3}[a-z]){1,3}!",
]  # fmt: skip
FAST = [
    "Welcome, .*", r"^(\d+,)*\d+$", r"(\d{3}-)+\d", "(foo|bar)+", r"Total: \$\d+(\.\d{2})?",
    r"(?:\s*\w+;)*", r".*/cart/?(\?.*)?$", r"^Order #\d+ (confirmed|shipped)$", "(ab)+",
    r"\w+@\w+\.(com|org)", r"^\s*(Yes|No)\s*$", "(/[^/]+)+", r"[\w.]+", r"(?:[A-Z][a-z]+ )+",
    r"(?:\d+\s*,\s*)+\d+", r"[\w\d]+", "(ab|cd)*x", r"(?:[\w-]+\.)+[a-z]{2,}", "(?i)sign (in|up)",
    "(?<=a)b", r"(a)?\1b", "(a|b){2}", "", r"(?:\d{1,3}\.){3}\d{1,3}", r"\d{1,2}/\d{1,2}/\d{2,4}",
    ".*foo.*bar.*baz.*qux.*", r"[\w.-]{1,64}@[\w.-]{1,255}\.\w{2,10}", r"\s+$",
    r"^\s*\d+\s*€?\s*$",
    "(?:[A-Z][a-z]+ ?){1,4}", "(?:foo|bar|baz){1,10}", r"https?://[^/]+/cart(/.*)?$",
    r"(\w+ ){1,3}",
    r"\$?\d{1,3}(?:,\d{3})*(?:\.\d{2})?", r"[+(]?\d{1,3}[)\s-]?\d{3}[\s-]?\d{4}", ".*.*=",
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?Z?",
    r"^https?://(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/[^?#]*)?(?:\?[^#]*)?(?:#.*)?$",
    r"(/[^/]+)+\?x=\d+", r"(?:\w+, ){2,5}\w+",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_can_take_for_ever_is_known_by_its_shape(pattern: str) -> None:
    assert slow_part(pattern)


@pytest.mark.parametrize("pattern", FAST)
def test_an_ordinary_pattern_may_pass(pattern: str) -> None:
    assert slow_part(pattern) == ""


@pytest.mark.parametrize(
    ("kind", "method", "args", "kwargs", "why"),
    [
        ("Page", "get_by_text", ["a" * 20_001], {}, "at most 20,000 characters, not 20,001"),
        ("Locator", "fill", ["a" * 200_001], {}, "at most 200,000 characters"),
        ("Page", "evaluate", ["x => x", "a" * 1_000_001], {}, "at most 1,000,000 characters"),
        ("Locator", "select_option", [["a"] * 6_000], {}, "at most 5,000 values"),
        ("Locator", "select_option", [], {"label": {"a": ["b"] * 6_000}}, "at most 5,000 values"),
        ("Page", "locator", [",".join("a" * 600)], {}, "at most 500 parts"),
        ("Page", "click", [" ".join("a" * 600)], {}, "at most 500 parts"),
        ("Page", "drag_and_drop", ["#a"], {"target": ">>".join("a" * 600)}, "at most 500 parts"),
        ("Frame", "locator", ["//*[//*[//*[//*]]]"], {}, "may not search again"),
        ("Page", "locator", ["a:has(b:has(c:has(d)))"], {}, "may not search again"),
        ("Locator", "click", [], {"click_count": 21}, "click_count=…) is at most 20"),
        ("Mouse", "move", [1, 1], {"steps": 1e9}, "steps=…) is at most 1,000"),
        ("Locator", "filter", [], {"has_text": re.compile("(a+)+")}, "too many ways"),
        ("PageAssertions", "to_have_title", [re.compile("(a+)+")], {}, "too many ways"),
        ("LocatorAssertions", "to_match_aria_snapshot", ["- text: /(a+)+/"], {}, "too many ways"),
        ("Page", "wait_for_url", [re.compile("(a{1,10}){1,10}b")], {}, "too many ways"),
        ("LocatorAssertions", "to_match_aria_snapshot", ["- text: /(a/"], {}, "cannot be read"),
        ("Page", "locator", ["div >> text=/(a{1,10}){1,10}b/i"], {}, "too many ways"),
        ("Page", "click", ["role=button[name=/(a+)+$/i]"], {}, "too many ways"),
        ("Frame", "wait_for_selector", ["text=/a/(a+)+$/"], {}, "too many ways"),
        ("Page", "locator", [r'p:text-matches("(\\w+\\s?)+!$", "i")'], {}, "too many ways"),
        ("Page", "locator", ['p:TEXT-Matches("(a+)+$")'], {}, "too many ways"),
        ("Page", "locator", [r'p:text-m\61 tches("(a+)+$")'], {}, "too many ways"),
        ("Page", "locator", [r'p:text-matches("\28 a+\29+$")'], {}, "too many ways"),
        ("Page", "locator", [r'p >> internal:has="text=/(a+)+$/"'], {}, "too many ways"),
        ("Locator", "locator", ["internal:has-text=/(a/"], {}, "of a selector cannot be read"),
    ],
)
def test_what_is_too_much_is_refused_with_its_limit(
    kind: str, method: str, args: list[Any], kwargs: dict[str, Any], why: str
) -> None:
    with pytest.raises(Refusal) as refused:
        check_sizes(kind, method, args, kwargs)

    assert refused.value.rule == "AW511"
    assert why in refused.value.reason


def test_a_number_of_thousands_of_digits_is_an_error() -> None:
    with pytest.raises(ValueError, match="at most 600 digits"):
        check_sizes("Mouse", "move", [10**1_000, 1], {})


def test_ordinary_arguments_pass() -> None:
    check_sizes("Page", "get_by_text", ["a word " * 1_000], {"exact": True})
    check_sizes("Page", "locator", ["xpath=//tr[td[text()='a']]//button[@id='b']"], {})
    check_sizes("Page", "locator", ["li:has(a:text('b')):not(.c) >> nth=1"], {})
    check_sizes("Page", "click", ["#a"], {"click_count": 3, "position": {"x": 1.5, "y": 2}})
    check_sizes("LocatorAssertions", "to_match_aria_snapshot", ["- link /a.*/:\n  - /url: /b/"], {})
    check_sizes("Page", "collect_urls", [], {"pattern": {"matches": "(a+)+"}})
    check_sizes("Page", "goto", ["/" + "a," * 900], {})
    for selector in (
        "xpath=/html/body/*[1]/div",
        "//a[@href='/x/(']",
        "[href='/(a+)+/']",
        "text=/",
    ):
        check_sizes("Page", "locator", [selector], {})
    check_sizes("Page", "locator", [r"text=/^Order #\d+ (confirmed|shipped)$/i"], {})


def test_pictures_and_readings_have_a_size() -> None:
    check_picture([5_000, 8_000])
    check_picture(None)
    check_read("title", 2_000_000)
    check_read("title", None)
    with pytest.raises(Refusal, match=r"at most 40,000,000 pixels, not 5,000 by 8,001"):
        check_picture([5_000, 8_001])
    with pytest.raises(Refusal, match=r"title\(\) would read 2,000,001 characters; at most"):
        check_read("title", 2_000_001)
