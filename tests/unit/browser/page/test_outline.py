import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.browser.page.accessibility import aria_outline, ax_outline
from pytest_autoweb.browser.page.outline import (
    Folds,
    Line,
    estimate_tokens,
    fit_outline,
    render_outline,
)


def shortened(snapshot: str, *secrets: str) -> str:
    return render_outline(aria_outline(snapshot, secrets))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("登录", 2), ("登录ab", 3), ("한글", 2)],
)
def test_tokens_are_a_quarter_of_the_letters_and_one_for_each_cjk_sign(
    text: str, tokens: int
) -> None:
    assert estimate_tokens(text) == tokens


def test_refs_and_nameless_wrappers_go_and_states_stay() -> None:
    snapshot = """\
- generic [active] [ref=e1]:
  - generic [ref=e2]:
    - checkbox "Agree" [checked] [ref=e3] [cursor=pointer]
    - generic [ref=e4] [cursor=pointer]: Buy
  - 'link "a: b" [ref=e5]':
    - /url: /x"""

    expected = """\
- checkbox "Agree" [checked]
- generic [cursor=pointer]: Buy
- 'link "a: b"':
  - /url: /x"""
    assert shortened(snapshot) == expected


def test_a_name_that_looks_like_a_ref_is_kept() -> None:
    assert shortened('- button "x [ref=e9]" [ref=e1]') == '- button "x [ref=e9]"'


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ('- textbox "Pw" [ref=e5]: s3cret', "s3cret"),
        ('- textbox: "12345"', "12345"),
        ('- textbox "Pw": "a: \\"b\\""', 'a: "b"'),
        ('- textbox "Password s3cret": s3cret', "s3cret"),
        ("- textbox: two words", "two  words"),
    ],
)
def test_values_of_password_fields_are_hidden(line: str, secret: str) -> None:
    text = shortened(line, secret)

    assert secret not in text
    assert "two words" not in text
    assert "<hidden>" in text


def test_a_short_password_does_not_eat_other_words() -> None:
    assert shortened('- textbox "Name": a\n- button "Add a car"', "a").endswith('car"')


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_a_secret_is_hidden_whatever_characters_it_holds(name: str, value: str) -> None:
    quoted = json.dumps(value, ensure_ascii=False)
    line = f"- textbox {json.dumps(name, ensure_ascii=False)}: {quoted}"

    hides = bool(value.strip())
    assert shortened(line, value).endswith(": <hidden>") == hides


def rows(count: int, kind: str = "listitem") -> tuple[Line, ...]:
    return tuple(Line(f"- {kind}: entry {n}", kind) for n in range(1, count + 1))


def test_a_long_list_keeps_as_much_of_head_and_tail_as_the_budget_allows() -> None:
    root = (Line("- list:", "list", rows(200)), Line('- button "Pay"', "button"))

    cut = fit_outline(root, 300)

    lines = cut.text.splitlines()
    shown = sum("entry" in line for line in lines)
    assert cut.truncated
    assert lines[1] == "  - listitem: entry 1"
    assert lines[-3:-1] == ["  - listitem: entry 200", '- button "Pay"']
    assert f"  - text: ({200 - shown} more items)" in lines
    assert lines[-1] == f"...(truncated: {shown + 2} of 202 elements shown)"
    assert 250 < estimate_tokens(cut.text) <= 300


def test_short_lists_stay_whole_beside_a_long_one() -> None:
    root = (
        Line("- list:", "list", rows(30, "option")),
        Line("- table:", "table", rows(500, "row")),
    )

    text = fit_outline(root, 600).text

    assert text.count("option: entry") == 30
    assert " more rows)" in text


def test_a_list_whose_rows_have_several_parts_is_thinned_too() -> None:
    parts = tuple(
        Line(f"- {kind} {n}", kind) for n in range(200) for kind in ("heading", "text", "link")
    )

    text = fit_outline((*parts, Line('- button "Pay"', "button")), 300).text

    assert "- heading 0" in text
    assert "- link 199" in text
    assert '- button "Pay"' in text


def test_an_outline_that_no_thinning_makes_fit_is_cut_at_a_line() -> None:
    kinds = tuple(Line(f"- kind{n} text", f"kind{n}") for n in range(200))

    lines = fit_outline(kinds, 100).text.splitlines()

    assert lines[0] == "- kind0 text"
    assert lines[-1] == f"...(truncated: {len(lines) - 1} of 200 elements shown)"


def test_a_long_text_does_not_take_the_place_of_all_else() -> None:
    text = Line("- text: " + "words " * 3_000, "text")

    shown = fit_outline((text, Line('- button "Pay"', "button")), 500).text

    assert "… (17008 more characters)\n- button" in shown
    assert shown.endswith('- button "Pay"')


def test_the_rest_of_a_list_can_be_asked_for_once() -> None:
    root = (Line('- table "Sheets":', "table", rows(300, "row")), Line("- list:", "list", rows(90)))
    folds = Folds()

    first = fit_outline(root, 500, folds).text
    folds.ask(1, 120)
    second = fit_outline(root, 500, folds).text
    third = fit_outline(root, 500, folds).text

    assert " more rows; page.show_more(1))" in first
    assert " (119 more rows; page.show_more(1))" in second
    assert "row: entry 120\n" in second
    assert "row: entry 180\n" in second
    assert re.search(r"\((\d+) more rows; page\.show_more\(1, \d+\)\)", second)
    assert estimate_tokens(second) <= 500
    assert third == first


def test_a_list_that_was_asked_for_is_whole_where_it_fits() -> None:
    root = (Line("- list:", "list", rows(60)), Line("- table:", "table", rows(300, "row")))
    folds = Folds()
    fit_outline(root, 500, folds)
    folds.ask(1)

    text = fit_outline(root, 500, folds).text

    assert text.count("listitem: entry") == 60


def test_only_what_the_listing_shortened_can_be_asked_for() -> None:
    folds = Folds()
    folds.ask(3)
    fit_outline(rows(3), 500, folds)

    with pytest.raises(LookupError, match=r"no shortened list 3 \(there are: none\)"):
        folds.ask(3)


@given(st.lists(st.text(max_size=40), max_size=60), st.integers(min_value=20, max_value=300))
def test_an_outline_keeps_its_budget(texts: list[str], budget: int) -> None:
    lines = tuple(Line(f"- text: {text}") for text in texts)

    assert estimate_tokens(fit_outline(lines, budget).text) <= budget


def test_an_endlessly_nested_snapshot_is_read() -> None:
    deep = "\n".join("  " * level + "- group:" for level in range(3_000))

    assert shortened(deep).count("group") == 3_000


def node(number: int, role: str, name: str = "", **more: object) -> dict[str, object]:
    return {"nodeId": str(number), "role": {"value": role}, "name": {"value": name}, **more}


def test_the_full_tree_is_shown_without_repeats_and_mask_lengths() -> None:
    nodes = [
        node(1, "RootWebArea", childIds=["2", "3", "5"]),
        node(2, "button", "Go", parentId="1", childIds=["4"]),
        node(4, "StaticText", "Go", parentId="2"),
        node(3, "textbox", "Pw", parentId="1", value={"value": "•••"}),
        node(5, "none", parentId="1", ignored=True, childIds=["6"]),
        node(
            6,
            "checkbox",
            "Agree",
            parentId="5",
            properties=[{"name": "checked", "value": {"value": "true"}}],
        ),
    ]

    text = render_outline(ax_outline(nodes, {}, []))

    assert text == 'button "Go"\ntextbox "Pw" value=<hidden>\ncheckbox "Agree" [checked]'


def kinds_apart(count: int) -> tuple[Line, ...]:
    """Lines of which no list can be made."""
    return tuple(Line(f"line {n} says this", "") for n in range(1, count + 1))


@settings(max_examples=25, deadline=None)
@given(st.integers(min_value=1, max_value=900), st.integers(min_value=120, max_value=900))
def test_a_page_without_lists_keeps_its_beginning_and_end_and_can_be_read_on(
    count: int, budget: int
) -> None:
    folds, seen = Folds(), set[str]()
    roots = kinds_apart(count)

    for _ in range(100):
        cut = fit_outline(roots, budget, folds)
        assert estimate_tokens(cut.text) <= budget
        lines = cut.text.split("\n")
        assert f"line {count} says this" in lines or seen
        seen |= set(lines)
        more = re.search(r"^\(\d+ more lines; page\.show_more\((\d+), (\d+)\)\)$", cut.text, re.M)
        if more is None:
            break
        folds.ask(int(more[1]), int(more[2]))

    assert {line.text for line in roots} <= seen


def test_a_listing_to_look_back_at_offers_no_more() -> None:
    rows = tuple(Line(f"row: {n} of a table", "row") for n in range(500))

    cut = fit_outline((Line("table:", "table", rows),), 200, Folds(may_ask=False))
    lines = fit_outline(kinds_apart(500), 200, Folds(may_ask=False))

    for text in (cut.text, lines.text):
        assert "show_more" not in text
        assert re.search(r"\(\d+ more (rows|lines)\)", text)
