import ast
import re
import string
from pathlib import Path

import pytest
from attack_corpus import ATTACKS
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.sandbox import allowed_python
from pytest_autoweb.sandbox.allowed_python import MAX_SOURCE_CHARS
from pytest_autoweb.sandbox.lint import NodePlace, bound_names, fields_in, lint_code
from pytest_autoweb.sandbox.rules import LINT_RULES, RULES

PATIENT = settings(deadline=None)  # the machine may be busy
CASES = [
    pytest.param(rule, code, id=f"{rule}-{i}")
    for rule, group in ATTACKS.items()
    for i, code in enumerate(group)
]


def filled(code: str) -> str:
    """The attack with its places filled in."""
    return (
        code.replace("{file}", "/etc/hostname")
        .replace("{marker}", "/tmp/marker")
        .replace("{port}", "9")
        .replace("{{", "{")
        .replace("}}", "}")
    )


@pytest.mark.parametrize(
    ("rule", "code"),
    CASES,
)
def test_an_attack_is_refused_by_its_rule(rule: str, code: str) -> None:
    assert rule in {finding.code for finding in lint_code(filled(code))}


def test_every_rule_of_the_lint_has_attacks_and_there_are_over_a_hundred() -> None:
    assert set(ATTACKS) == set(LINT_RULES)
    assert sum(map(len, ATTACKS.values())) >= 100


def _benign() -> dict[str, str]:
    text = (Path(__file__).parent / "benign.txt").read_text(encoding="utf-8")
    _, *parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


BENIGN = _benign()


@pytest.mark.parametrize("code", BENIGN.values(), ids=BENIGN.keys())
def test_ordinary_code_is_clean(code: str) -> None:
    assert [str(finding) for finding in lint_code(code)] == []


@pytest.mark.parametrize(
    "code",
    [
        "open = 1",
        "def f(open):\n    pass",
        "def open():\n    pass",
        "class open:\n    pass",
        "try:\n    pass\nexcept ValueError as open:\n    pass",
        "match 1:\n    case open:\n        pass",
        "match [1]:\n    case [*open]:\n        pass",
        "match {}:\n    case {**open}:\n        pass",
        "import re as open",
    ],
)
def test_whatever_binds_a_name_hides_the_builtin(code: str) -> None:
    nodes = ast.walk(ast.parse(code))

    assert "open" in bound_names([NodePlace(node, None, 1, 0) for node in nodes])


def test_a_bare_except_is_allowed() -> None:
    assert lint_code("try:\n    page.click('a')\nexcept:\n    pass") == ()


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("page.find_element_by_id('x')", "'locator'"),
        ("page.getByRole('button')", "'get_by_role'"),
        ("page.waitForSelector('a')", "'wait_for_selector'"),
        ("x.send_keys('a')", "'fill'"),
        ("page.get_by_rol('button')", "'get_by_role'"),
        ("page.locator('a').inner_txt()", "'inner_text'"),
        ("page.locator('a').clik()", "'click'"),
        ("import jsn", "'json'"),
        ("from math import squareroot, sqr", "'sqrt'"),
        ("from playwright.sync_api import sync_playwright", "given `page`"),
        ("browser.new_page()", "given `page`"),
        ("page.context.browser.new_page()", "given `page`"),
        ("import pathlib", "open(download.path())"),
        ("page = info.value", "popup"),
        ("page.get('http://x.test/')", "'goto'"),
        ("page.press_sequentially('a')", "it belongs to Locator"),
        ("expect(page.locator('a')).to_be_visble()", "'to_be_visible'"),
        ("page.keyboard.fill('a')", "it belongs to Page"),
        ("page.locator('a').element_handle()", "locator"),
        ("if __name__ == '__main__':\n    pass", "directly"),
    ],
)
def test_a_finding_says_what_to_do_instead(code: str, hint: str) -> None:
    assert any(hint in finding.hint for finding in lint_code(code))


def test_typical_boilerplate_of_models_gives_clear_findings_and_no_more_than_that() -> None:
    code = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p:\n"
        "    browser = p.chromium.launch(headless=True)\n"
        "    page = browser.new_page()\n"
        "    page.goto('https://shop.test/')\n"
        "    browser.close()\n"
    )

    findings = lint_code(code)

    assert [(f.line, f.code) for f in findings] == [
        (1, "AW104"),
        (3, "AW308"),
        (3, "AW308"),
        (4, "AW303"),
    ]
    assert all("page" in f.hint or "another name" in f.hint for f in findings)


def test_fields_of_a_dataclass_of_earlier_code_can_be_read() -> None:
    earlier = "@dataclass\nclass Item:\n    price: int\n    gi_frame: int\n"
    fields = fields_in(earlier)

    assert lint_code("log(item.price)", fields=fields) == ()
    assert [finding.code for finding in lint_code("log(item.price)")] == ["AW304"]
    # A name of Python's own parts is none, whatever code calls its fields.
    assert [f.code for f in lint_code("log(x.gi_frame)", fields=fields)] == ["AW304"]
    assert fields_in("class (") == frozenset()


@pytest.mark.parametrize(
    "name", ["gi_frame", "gi_code", "cr_frame", "tb_frame", "f_globals", "mro"]
)
def test_a_dataclass_has_no_field_that_python_itself_has(name: str) -> None:
    assert not allowed_python.may_be_a_field(name)


def test_a_finding_points_at_its_place_and_moves_with_the_block() -> None:
    (finding,) = lint_code("x = 1\ny = x.__class__", line_offset=10)

    assert (finding.line, finding.col, finding.code) == (12, 5, "AW304")
    assert str(finding).startswith("12:5 AW304 ")


def test_a_syntax_error_is_a_finding_with_its_place() -> None:
    (finding,) = lint_code("page.click('a')\npage.click(")

    assert (finding.line, finding.code) == (2, "AW001")


def test_findings_are_in_the_order_of_the_code_and_each_stands_there_once() -> None:
    findings = lint_code("import os\nimport os\nx.__a\neval('f')")

    assert [(f.line, f.code) for f in findings] == [
        (1, "AW101"),
        (2, "AW101"),
        (3, "AW304"),
        (4, "AW301"),
    ]


def test_every_finding_has_a_known_rule() -> None:
    codes = {f.code for group in ATTACKS.values() for c in group for f in lint_code(filled(c))}

    assert codes == set(LINT_RULES)
    assert set(LINT_RULES) < set(RULES)


@PATIENT
@given(st.text(max_size=300))
def test_no_text_makes_the_lint_raise(code: str) -> None:
    assert all(finding.code in LINT_RULES for finding in lint_code(code))


TOKENS = r"""page expect . ( ) [ ] { } = := , : if for while True try except with as def class
lambda import from * ** @ ' " f' f" {{ __class__ async await yield match case del global 1 0x
1e9 \ # ; -> ... is not in or and %"""
SOUP = st.lists(st.sampled_from([*TOKENS.split(), "\n", "\n\t"]), max_size=60).map(" ".join)


@PATIENT
@given(SOUP)
def test_no_soup_of_tokens_makes_the_lint_raise(code: str) -> None:
    assert all(finding.code in LINT_RULES for finding in lint_code(code))


NAMES = st.sampled_from(["page", "x", "open", "__class__", "click", "_y", "format"])


def _expressions() -> st.SearchStrategy[ast.expr]:
    leaves = NAMES.map(lambda n: ast.Name(n, ast.Load())) | st.sampled_from(
        [1, 1.5, "a{}", b"b", None, True, ...]
    ).map(ast.Constant)

    def grow(inner: st.SearchStrategy[ast.expr]) -> st.SearchStrategy[ast.expr]:
        return st.one_of(
            st.builds(lambda v, n: ast.Attribute(v, n, ast.Load()), inner, NAMES),
            st.builds(lambda f, a: ast.Call(f, a, []), inner, st.lists(inner, max_size=2)),
            st.builds(lambda v: ast.Await(v), inner),
            st.builds(lambda v: ast.YieldFrom(v), inner),
            st.builds(lambda n, v: ast.NamedExpr(ast.Name(n, ast.Store()), v), NAMES, inner),
            st.builds(lambda v: ast.JoinedStr([ast.FormattedValue(v, -1, None)]), inner),
            st.builds(
                lambda n, v: ast.Lambda(ast.arguments([], [ast.arg(n)], None, [], [], None, []), v),
                NAMES,
                inner,
            ),
            st.builds(lambda a, b: ast.BinOp(a, ast.Mod(), b), inner, inner),
            st.builds(lambda v: ast.List([v, v], ast.Load()), inner),
        )

    return st.recursive(leaves, grow, max_leaves=12)


@PATIENT
@given(st.lists(_expressions(), max_size=4))
def test_no_tree_makes_the_lint_raise(expressions: list[ast.expr]) -> None:
    code = "\n".join(ast.unparse(ast.fix_missing_locations(e)) for e in expressions)

    assert all(finding.code in LINT_RULES for finding in lint_code(code))


@PATIENT
@given(NAMES.filter(lambda name: name.startswith("__")), st.sampled_from(string.ascii_lowercase))
def test_no_dunder_passes_as_name_attribute_or_keyword(dunder: str, letter: str) -> None:
    for code in (dunder, f"{letter}.{dunder}", f"f({dunder}={letter})", f"{dunder} = {letter}"):
        assert lint_code(code)


def test_code_of_just_the_allowed_length_passes() -> None:
    code = "# " + "x" * (MAX_SOURCE_CHARS - 2)

    assert lint_code(code) == ()
    assert [f.code for f in lint_code(code + "x")] == ["AW002"]
