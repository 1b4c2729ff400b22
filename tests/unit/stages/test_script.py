import ast

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.attempt.execute import normal_form, split_blocks, unified_diff


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
