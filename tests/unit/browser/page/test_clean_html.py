import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.browser.page.clean_html import clean_html, html_outline
from pytest_autoweb.browser.page.outline import estimate_tokens, render_outline

PLENTY = 100_000


def cleaned(html: str) -> str:
    return clean_html(html, PLENTY).text


@pytest.mark.parametrize(
    "html",
    [
        "<script>steal()</script>",
        "<style>b{}</style>",
        "<svg><path d='M1'/><text>x</text></svg>",
        "<!-- note -->",
        "<meta name=a><link rel=stylesheet>",
        "<div><span> </span></div>",
    ],
)
def test_what_a_model_cannot_use_is_dropped(html: str) -> None:
    assert cleaned(f"<p>kept</p>{html}") == "<p>kept</p>"


@pytest.mark.parametrize(
    "element",
    [
        '<input type="checkbox" checked>',
        "<button disabled>Go</button>",
        "<option selected>a</option>",
        '<input readonly required tabindex="0">',
        '<div contenteditable aria-label="Body"></div>',
        '<a href="/x?a=1" role="tab" aria-selected="true">t</a>',
        '<label for="q">Q</label>',
        '<td data-id="7">x</td>',
    ],
)
def test_states_and_handles_stay(element: str) -> None:
    assert cleaned(element) == element


@pytest.mark.parametrize(
    "html",
    [
        '<input type="password" value="hunter2">',
        "<INPUT TYPE=PASSWORD VALUE=hunter2>",
        '<input type="hidden" value="hunter2">',
        '<input value="hunter2" type=" password ">',
        '<input autocomplete="section-a current-password" value="hunter2">',
        '<input type="text" type="password" autocomplete="one-time-code" value="hunter2">',
    ],
)
def test_values_of_secret_fields_never_stay(html: str) -> None:
    assert "hunter2" not in cleaned(html)


def test_long_values_are_shortened() -> None:
    long = "x" * 900
    html = f'<img src="data:image/png;base64,{long}" alt="a" data-blob="{long}"><p>{long}</p>'

    text = cleaned(html)

    assert "data-blob" not in text
    assert text.count("x") < 600
    assert 'src="data:image/png;base64,xxx' in text


def test_a_cut_is_at_an_element_and_says_how_much_is_shown() -> None:
    html = "<ul>" + "".join(f"<li><a href='/{n}'>Item {n}</a></li>" for n in range(15)) + "</ul>"

    cut = clean_html(html, 80)

    body, _, marker = cut.text.rpartition("\n")
    assert cut.truncated
    assert marker.startswith("...(truncated: ")
    assert marker.endswith(" of 31 elements shown)")
    assert body.endswith("</ul>")
    assert body.count("<li>") == body.count("</li>") == body.count("</a>")


@pytest.mark.parametrize("gap", ["", "\n  "])
def test_a_list_keeps_as_much_of_head_and_tail_as_the_budget_allows(gap: str) -> None:
    rows = "".join(f"<li>row {n}</li>{gap}" for n in range(500))

    cut = clean_html(f"<ul>{rows}</ul><button>Pay</button>", 1_000)

    shown = [int(n) for n in re.findall(r"row (\d+)", cut.text)]
    count = re.search(r"\((\d+) more alike\)", cut.text)
    assert "<button>Pay</button>" in cut.text
    assert count
    assert int(count[1]) + len(shown) == 500
    assert (shown[0], shown[-1]) == (0, 499)
    assert 800 < estimate_tokens(cut.text) <= 1_000


def test_a_short_list_stays_whole_beside_a_long_one() -> None:
    short = "".join(f"<dt>name {n}</dt> <dd>value {n}</dd>" for n in range(12))
    rows = "".join(f"<tr><td>row {n}</td><td>{n}</td></tr>" for n in range(500))

    text = clean_html(f"<dl>{short}</dl><table>{rows}</table>", 1_200).text

    assert re.findall(r"value (\d+)", text) == [str(n) for n in range(12)]
    assert text.count("more alike") == 1


def test_in_brief_the_indentation_stands_for_closing_tags() -> None:
    html = "<div><ul id=a><li>one <b>two</b></li> <li><a href='/x'>a &lt; b</a></li></ul></div>"

    assert render_outline(html_outline(html)).splitlines() == [
        '<ul id="a">',
        "  <li>",
        "    one",
        "    <b>two",
        '  <li><a href="/x">a &lt; b',
    ]


TAGS = """<div > </div> <p\tclass=a> <script> </script> <!-- --> &amp; <svg/> <![CDATA[ <?php <b/> "
<input\ttype=password\tvalue=hunter2> <textarea> </textarea> <iframe> </iframe> <select><option>
<a\thref=x>"""
pieces = st.one_of(st.text(max_size=20), st.sampled_from(re.split("[ \n]", TAGS)))
wild = st.lists(pieces, max_size=40).map("".join)


class Balance(HTMLParser):
    """Collects the tags of well-formed output."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


@given(wild)
def test_wild_html_gives_text_without_scripts(html: str) -> None:
    reader = Balance()
    reader.feed(cleaned(html))

    assert not {"script", "style", "svg", "meta"} & set(reader.tags)


@given(wild, st.integers(min_value=20, max_value=200))
def test_the_budget_is_kept(html: str, budget: int) -> None:
    assert estimate_tokens(clean_html(html, budget).text) <= budget


def test_very_deep_html_does_not_break_it() -> None:
    assert "deep" in cleaned("<div>" * 5_000 + "deep")
