import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.attempt.execute import unified_diff
from pytest_autoweb.agents.attempt.normal_form import normal_form
from pytest_autoweb.agents.attempt.script_blocks import split_blocks
from pytest_autoweb.agents.codegen.generate import tidied
from pytest_autoweb.sandbox.lint import lint_code


def test_blocks_keep_their_line_numbers() -> None:
    blocks = split_blocks("x = 1\n# Step 1: a\nfirst()\n# 步骤 ２\nsecond()\n").by_step

    assert blocks[1].code == "x = 1\n# Step 1: a\nfirst()\n"
    assert blocks[2].code == "\n\n\n# 步骤 ２\nsecond()\n"


def test_no_heading_makes_everything_step_one() -> None:
    assert split_blocks("a()\nb()").by_step[1].code == "a()\nb()"


def test_a_heading_inside_a_string_or_a_loop_is_no_heading() -> None:
    code = '# Step 1\nx = """\n# Step 2\n"""\nfor i in x:\n    # Step 3\n    a(i)\n'

    assert list(split_blocks(code).by_step) == [1]


def test_blocks_with_one_number_are_joined_and_noted() -> None:
    blocks = split_blocks("# Step 1\na()\n# Step 2\nb()\n# Step 1\nc()\n")

    assert blocks.by_step[1].code == "# Step 1\na()\n\n\n# Step 1\nc()\n"
    assert "two blocks" in blocks.notes[0]


def test_the_normal_form_mends_what_models_slip_on() -> None:
    code = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p:\n"
        "    browser = p.chromium.launch(headless=True)\n"
        "    page = browser.new_page()\n"
        "    // Step 1: open\n"
        "    await page.goto('http://x/')\n"
        "    browser.close()\n"
    )

    assert normal_form(code) == "# Step 1: open\npage.goto('http://x/')\n"
    assert normal_form("Step 1: go\nx = 1") == "# Step 1: go\nx = 1\n"


def test_the_diff_of_a_repair_names_both_attempts() -> None:
    diff = unified_diff("a()\n", "b()\n", 2)

    assert diff.splitlines()[:2] == ["--- attempt 1", "+++ attempt 2"]
    assert "-a()" in diff


@given(
    st.lists(st.sampled_from(["a()", "# Step 1", "# Step 2", "// Step 3", "x = '''", "'''", ""]))
)
def test_every_line_of_a_valid_script_is_in_exactly_one_block(lines: list[str]) -> None:
    code = "\n".join(lines)
    blocks = split_blocks(code).by_step
    try:
        ast.parse(code)
    except SyntaxError:
        return
    for number, line in enumerate(lines):
        if line.strip():
            holders = [
                b for b in blocks.values() if (b.code.split("\n") + [""] * 99)[number] == line
            ]
            assert len(holders) == 1


@given(st.text(max_size=200))
def test_the_normal_form_of_anything_is_text(code: str) -> None:
    assert normal_form(code).endswith("\n")
    assert split_blocks(code).by_step


CODEGEN = """import re
from playwright.sync_api import Playwright, sync_playwright, expect


def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch(headless=False)
    context = browser.new_context()
    page = context.new_page()
    page.goto("http://shop.test/")
    # Step 1
    page.get_by_role("button", name="Save").click()

    # ---------------------
    context.close()
    browser.close()


with sync_playwright() as playwright:
    run(playwright)
"""
ALIASED = """from playwright.sync_api import sync_playwright, TimeoutError as PWTimeout
with sync_playwright() as p:
    browser = p.chromium.launch()
    page = browser.new_page()
    try:
        page.goto("http://shop.test/")
    except PWTimeout:
        log("late")
"""
ANNOTATED = """from playwright.sync_api import sync_playwright, Page
def save(page: Page):
    page.get_by_role("button").click()
with sync_playwright() as playwright:
    browser = playwright.chromium.launch()
    page = browser.new_page()
    save(page)
"""
TEST = """from playwright.sync_api import Page, expect

def test_save(page: Page) -> None:
    page.get_by_role("button").click()
"""
MAIN = """from playwright.sync_api import sync_playwright
def main():
    with sync_playwright() as p:
        browser = p.chromium.launch()
        page = browser.new_page()
        page.get_by_role("button").click()
        browser.close()

if __name__ == "__main__":
    main()
"""
ASYNC = """import asyncio
from playwright.async_api import Playwright, async_playwright, expect


async def run(playwright: Playwright) -> None:
    browser = await playwright.chromium.launch(headless=False)
    context = await browser.new_context(
        viewport={"width": 1280, "height": 720}, storage_state="auth.json"
    )
    page = await context.new_page()
    async with page.expect_popup() as popup_info:
        await page.get_by_label("Note").fill("await async news")
    popup = await popup_info.value
    await popup.close()
    await page.close()

    # ---------------------
    await context.storage_state(path="auth.json")
    await context.close()
    await browser.close()


async def main() -> None:
    async with async_playwright() as playwright:
        await run(playwright)


asyncio.run(main())
"""
PYTEST = """import pytest
from playwright.sync_api import Page, expect

@pytest.fixture(scope="session")
def browser_context_args(browser_context_args, playwright):
    return {"viewport": {"width": 1280, "height": 720}}

def test_example(page: Page) -> None:
    page.get_by_role("button").click()
    page.close()
"""
STARTED = """from playwright.sync_api import sync_playwright
p = sync_playwright().start()
try:
    browser = p.chromium.launch()
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.get_by_role("button").click()
finally:
    browser.close()
    p.stop()
"""
CLOSING = """page.get_by_role("button").click()
page.close()
context.close()
browser.close()
"""


@pytest.mark.parametrize(
    "program", [CODEGEN, ALIASED, ANNOTATED, TEST, MAIN, ASYNC, PYTEST, STARTED, CLOSING]
)
def test_a_program_around_the_script_is_taken_off(program: str) -> None:
    script = tidied(program, lint_code)

    assert not lint_code(script)
    names = {node.id for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Name)}
    assert names.isdisjoint({"playwright", "Playwright", "browser", "context", "run", "main"})
    assert "page." in script
    assert "page.close()" not in script
    assert "await" not in script.replace("await async news", "")
    assert ("await async news" in script) == (program is ASYNC)


def test_a_second_tab_of_a_program_is_opened_in_the_context_that_is_given() -> None:
    script = tidied(CODEGEN.replace("# Step 1", "other = context.new_page()"), lint_code)

    assert "context = page.context\n" in script
    assert "other = context.new_page()" in script


@pytest.mark.parametrize(
    "script",
    [
        "def row(page, n):\n    return page.locator('tr').nth(n)\nrow(page, 2).click()\n",
        "def press(name):\n    page.get_by_text(name).click()\npress('a')\npress('b')\n",
        "# Step 1\nx = '''\n  a\n'''\npage.click('a')\n# Step 2\n",
        "popup.close()\npage.get_by_text('a').click()\npopup.close()\n",
        "page.close()\n",
    ],
)
def test_a_script_with_functions_of_its_own_stays_as_it_is(script: str) -> None:
    assert tidied(script, lint_code) == script
