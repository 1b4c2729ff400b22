"""What may stand in place of a plain test's actions, and what may not."""

import pytest

from pytest_autoweb.tools.export.action_lines import (
    NoActions,
    PlainTest,
    RefusedLines,
    environment_names,
)

FILE = '''import os
import pytest
from playwright.sync_api import Page, expect
from shop import log_in

SITE = "https://shop.example/"


@pytest.mark.slow
def test_order(page: Page, server: str) -> None:
    """Order."""
    page.goto(f"{server}/shop")
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    log_in(page)

    # Step 1: the tea
    page.get_by_label("Item").fill("tea")
    count = page.get_by_role("listitem").count()
    with page.expect_popup() as popup:
        page.get_by_role("button", name="Order").click()

    expect(page.locator("#out")).to_have_text("1 tea")
    page.get_by_role("link", name="Cart").click()  # look
    page.wait_for_url("**/cart")
    assert count == 3
    assert popup.value.title() == "Paid"
    assert len(seen) > 2


class TestShop:
    def test_method(self, page: Page) -> None:
        page.get_by_role("button").click()


def test_look(page: Page) -> None:
    page.goto(SITE)
    expect(page).to_have_title("Shop")


def test_two(page: Page) -> None:
    page.goto(SITE); page.get_by_role("button").click()
'''
HELPERS = """
def visit(page, url):
    page.goto(url)


def pick(page, name):
    page.get_by_label(name).check()
"""
FIRST = """# Step 1: the tea
page.get_by_label("Article").fill("tea")
count = page.locator("main").get_by_role("listitem").count()
with page.expect_popup() as popup:
    page.get_by_role("button", name="Buy").last.click()
page.get_by_label('''two
lines''').check()"""


def test_only_the_lines_of_a_block_change() -> None:
    test = PlainTest(FILE, "test_order")
    assert "    #>>> block 1\n    # Step 1: the tea\n" in test.shown()
    assert '#>>> block 2\n    page.get_by_role("link", name="Cart").click()  # look' in test.shown()

    text = test.repaired({1: FIRST, 2: f"page.goto('{'https://shop.example/cart'}')\n"})

    before, after = FILE.split("\n"), text.split("\n")
    start, end = (
        before.index("    # Step 1: the tea"),
        before.index('    page.wait_for_url("**/cart")'),
    )
    assert after[:start] == before[:start]
    assert after[-(len(before) - end) :] == before[end:]
    # A text over several lines keeps its own beginning of a line.
    assert "\nlines''').check()\n\n    expect(page" in text
    assert PlainTest(text, "test_order").repaired({}) == text


def test_without_actions_what_assertions_read_is_still_there() -> None:
    idle = PlainTest(FILE, "test_order").idle()

    assert "fill(" not in idle
    assert "Cart" not in idle
    assert 'count = page.get_by_role("listitem").count()' in idle
    assert 'expect(page.locator("#out"))' in idle
    compile(idle, "idle", "exec")


def test_helpers_within_a_test_go_with_their_calls_and_scripts_of_its_own_stay() -> None:
    helper = """def test_helper(page):
    page.goto("/a")
    page.evaluate("localStorage.was = 1")
    count = 0
    def typed(label, text):
        nonlocal count
        count += 1
        page.get_by_label(label).fill(text)
    typed("Name", "ana")
    assert count == 1
"""
    test = PlainTest(helper, "test_helper")

    assert [line for line in test.idle().split("\n") if line] == [
        "def test_helper(page):",
        '    page.goto("/a")',
        '    page.evaluate("localStorage.was = 1")',
        "    count = 0",
        "    assert count == 1",
    ]
    assert "    #>>> block 1\n    def typed(label, text):" in test.shown()


FILL = 'page.get_by_label("Item").fill("tea")\n'
COUNT = 'count = page.get_by_role("listitem").count()\n'
POPUP = 'with page.expect_popup() as popup:\n    page.get_by_role("button", name="Order").click()\n'


@pytest.mark.parametrize(
    ("code", "why"),
    [
        # An assertion rests on the value, so it has to come from the page as before.
        (FILL + "count = 3\n" + POPUP, "assertions rest on count, popup"),
        (FILL + POPUP, "assertions rest on"),
        (FILL + COUNT + POPUP + "count = count + 1", "assertions rest on"),
        (FILL + COUNT.replace("count()", "count() or 3") + POPUP, "assertions rest on"),
        (FILL + COUNT + POPUP + "page.locator(str(seen.append('a'))).click()", "assertions rest"),
        (FILL + COUNT.replace('"listitem"', "(count := 3)") + POPUP, "NamedExpr"),
        # What holds for the rest of the test must not change its meaning.
        (FILL + COUNT + POPUP + "page = page.frame('x')", "'page'"),
        (FILL + COUNT + POPUP + "len = page.title", "use .title"),
        (FILL + COUNT + POPUP + "server = 'x'", "give 'server' another meaning"),
        (COUNT + POPUP + "expect(page.locator('a')).to_be_visible()", "assert something"),
        (COUNT + POPUP + "assert True", "assert something"),
        (COUNT + POPUP + "import os", "hold a Import"),
        (COUNT + POPUP + "return", "hold a Return"),
        (COUNT + POPUP + "def expect(x):\n    pass", "hold a FunctionDef"),
        (COUNT + POPUP + "pytest.skip('no')", "assert something"),
        (COUNT + POPUP + "log_in(page)", "there is no 'log_in'"),
        (COUNT + POPUP + "os.remove('x')", "there is no 'os'|'os'"),
        # The page must not be given what the assertions want.
        (COUNT + POPUP + "page.evaluate('out.textContent = 1')", "use .evaluate"),
        (COUNT + POPUP + "page.set_content('1 tea')", "use .set_content"),
        (COUNT + POPUP + "page.route('**', None)", "use .route"),
        (COUNT + POPUP + "page.request.post('/order')", "use .post"),
        (COUNT + POPUP + "page.context.new_page()", "use .new_page"),
        (COUNT + POPUP + "page.get_by_label('File').set_input_files('x')", "use .set_input_files"),
        (COUNT + POPUP + "page.goto('https://evil.example/')", "none of the test's own site"),
        (COUNT + POPUP + "page.goto('data:text/html,1 tea')", "is not http or https"),
        (COUNT + POPUP + "page.goto('//evil.example/')", "none of the test's own site"),
        (COUNT + POPUP + "page.goto(f'{server}.evil.example/')", "none of the test's own site"),
        (COUNT + POPUP + "page.goto('https://shop.example' + '.evil/')", "none of the test's own"),
        # As a browser reads it, which is not as it looks.
        (COUNT + POPUP + r"page.goto('/\t/evil.example/')", "none of the test's own site"),
        (COUNT + POPUP + r"page.goto('/\\evil.example/')", "none of the test's own site"),
        (COUNT + POPUP + r"page.goto('http:\\\\evil.example')", "none of the test's own site"),
        (COUNT + POPUP + "page.goto('https://shop.example@evil.example/')", "none of the test's"),
        (COUNT + POPUP + "page.goto('javascript:fetch(1)')", "is not http or https"),
        (COUNT + POPUP + "page.goto(url='https://evil.example/')", "none of the test's own site"),
        (COUNT + POPUP + "page.goto(*['https://evil.example/'])", "none of the test's own site"),
        (COUNT + POPUP + "page.goto(f'{server:.7}/evil.example/')", "none of the test's own site"),
        (COUNT + POPUP + "page.goto(f'{server}//evil.example/')", "none of the test's own site"),
        # A method is called where it stands, so that what it is given can be seen.
        (COUNT + POPUP + "leave = page.goto\nleave('https://evil.example/')", "use .goto without"),
        (COUNT + POPUP + "list(map(page.goto, ['https://evil.example/']))", "use .goto without"),
        (COUNT + POPUP + "[page.goto][0]('https://evil.example/')", "use .goto without calling it"),
        (COUNT + POPUP + "sorted(['a'], key=page.goto)", "use .goto without calling it"),
        (COUNT + POPUP + "(page.goto if 1 else 0)('https://evil.example/')", "use .goto without"),
        (COUNT + POPUP + "visit(page, 'https://evil.example/')", "there is no 'visit'"),
        (COUNT + POPUP + "(lambda u: page.goto(u))('https://evil.example/')", "hold a Lambda"),
        # Nothing may go on for ever.
        (COUNT + POPUP + "for i in range(10**9): page.reload()", "hold a Pow"),
        (COUNT + POPUP + "for i in range(1000000000): page.reload()", "numbers are at most 1,000"),
        (COUNT + POPUP + "for i in range(100000): page.reload()", "of numbers up to 100"),
        (COUNT + POPUP + "for i in iter(int, 1): page.reload()", "a loop goes over a list"),
        (COUNT + POPUP + "[page.reload() for i in range(100000)]", "of numbers up to 100"),
        (COUNT + POPUP + "while True: page.reload()", "hold a While"),
        (COUNT + POPUP + "if True:\n    while True: page.reload()", "hold a While"),
        (COUNT + POPUP + "open('x')", "there is no 'open'"),
        (COUNT + POPUP + "().__class__", "use .__class__"),
        ("", "hold no statement"),
        ("page.(", "not Python"),
        (FILL + COUNT + POPUP + "page.get_by_text('\x1b[2J').click()", "nobody can see"),
        (FILL + COUNT + POPUP + FILL * 200, "more than 120 lines"),
    ],
)  # fmt: skip
def test_lines_that_do_more_than_to_act_are_refused(code: str, why: str) -> None:
    with pytest.raises(RefusedLines, match=why.replace(".", r"\.")):
        PlainTest(FILE + HELPERS, "test_order").repaired({1: code})


@pytest.mark.parametrize(
    "code",
    [
        "page.goto('/')",
        "page.goto(f'{server}/cart?a=1')",
        "page.goto('https://shop.example/cart')",
        "for row in page.get_by_role('row').all():\n    row.get_by_role('checkbox').check()",
        "for i in range(3):\n    page.keyboard.press('Tab')",
        "for name in ['Tea', 'Milk']:\n    page.get_by_label(name).check()",
        "if page.get_by_role('alert').count():\n    page.get_by_text(re.compile('o', re.I)).tap()",
        "page.mouse.wheel(0, -200)\npage.wait_for_timeout(500)",
        "name = page.get_by_role('row').first.inner_text()[:9]\npage.get_by_text(name).check()",
    ],
)  # fmt: skip
def test_lines_that_only_act_are_accepted(code: str) -> None:
    changed = PlainTest(FILE + HELPERS, "test_order").repaired({2: code})

    assert code.split("\n")[-1].strip() in changed


def test_functions_of_the_file_are_called_as_before_unless_they_only_act() -> None:
    file = f"{HELPERS}\ndef test_x(page):\n    page.goto('/a')\n    visit(page, '/b')\n"
    test = PlainTest(f"{file}    pick(page, 'Tea')\n    page.reload()\n", "test_x")

    assert "'Coffee'" in test.repaired({1: "visit(page, '/b')\npick(page, 'Coffee')"})
    with pytest.raises(RefusedLines, match="call visit in another way"):
        test.repaired({1: "visit(page, 'https://evil.example/')\npick(page, 'Tea')"})


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("test_method", "only functions of the file itself"),
        ("test_look", "no actions"),
        ("test_two", "several statements"),
    ],
)
def test_a_test_without_lines_of_its_own_to_mend_is_refused(name: str, why: str) -> None:
    with pytest.raises(NoActions, match=why):
        _ = PlainTest(FILE, name).blocks


def test_the_environment_that_a_file_reads_is_known() -> None:
    read = 'import os\na = os.environ["A"], os.environ.get("B", ""), os.getenv("C"), os.environ[x]'

    assert list(environment_names(read)) == ["A", "B", "C"]
