import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.page.accessibility import aria_outline, ax_outline
from pytest_autoweb.page.outline import Line, estimate_tokens, fit_outline, render_outline


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


def test_a_large_outline_is_thinned_then_cut_at_a_line() -> None:
    items = tuple(Line(f"- listitem: entry {n}", "listitem") for n in range(200))
    root = (Line("- list:", "list", items), Line('- button "Pay"', "button"))

    cut = fit_outline(root, 200)

    lines = cut.text.splitlines()
    assert cut.truncated
    assert "(180 more alike)" in cut.text
    assert '- button "Pay"' in lines
    assert lines[-1] == "...(truncated: 22 of 202 elements shown)"


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
