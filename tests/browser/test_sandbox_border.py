"""Generated code on a real page: what it may not do has no effect."""

import time
from collections.abc import Callable

import pytest
from sandbox_shop import SECRET, Step, why

from pytest_autoweb.sandbox.engine import Limits
from pytest_autoweb.sandbox.lint import lint_code

pytest_plugins = ["sandbox_shop"]


def test_a_refusal_cannot_be_swallowed(step: Step) -> None:
    outcome = step(
        "try:\n    page.goto('http://evil.test/')\nexcept Exception:\n    pass\n"
        "try:\n    page.goto('http://evil.test/')\nexcept:\n    pass\npage.fill('#user', 'after')"
    )

    assert why(outcome)[:2] == ("sandbox", "AW501")
    assert "allowed_origins" in why(outcome)[2]
    assert step.border.page.input_value("#user") == ""


def test_what_is_typed_into_a_password_field_is_known_whatever_found_the_field(step: Step) -> None:
    heard: list[str] = []
    step.border.on_password = heard.append
    fields = "<input type=password id=second><input id=third>"
    outcome = step(
        f"page.evaluate(\"document.body.insertAdjacentHTML('beforeend', '{fields}')\")\n"
        "page.fill('#second', 'Tr0ub4dor&3')\n"
        "page.locator('#third').fill('order-12345')\n"
        "page.locator('#second').press_sequentially('Xy7kkkkk9')\n"
        "page.focus('#second')\npage.keyboard.type('Qw3rty-zz9')"
    )

    assert outcome.ok
    assert heard == ["Tr0ub4dor&3", "Xy7kkkkk9", "Qw3rty-zz9"]


@pytest.mark.parametrize("number", ["float('inf')", "float('nan')", "10 ** 400"])
def test_numbers_that_json_lacks_do_not_break_the_driver(step: Step, number: str) -> None:
    step(f"page.mouse.move({number}, 1)")

    assert step("answer(page.title())").ok


def test_a_slow_pattern_is_run_in_the_worker(step: Step) -> None:
    began = time.monotonic()
    outcome = step(
        "page.evaluate(\"history.pushState(0, '', '/' + 'a'.repeat(60) + '!')\")\n"
        "page.wait_for_url(re.compile('(a+)+$'))",
        limits=Limits(step_s=1),
    )

    assert not outcome.ok
    assert time.monotonic() - began < 8
    assert step("answer(1)").ok


@pytest.mark.long
def test_a_dialog_handler_that_hangs_does_not_hang_the_run(step: Step) -> None:
    began = time.monotonic()
    outcome = step(
        "def h(d):\n    x = 1\n    while x:\n        x += 1\npage.on('dialog', h)\n"
        "page.click('text=Ask')",
        limits=Limits(step_s=3),
    )

    assert not outcome.ok
    assert time.monotonic() - began < 12
    assert step("answer(page.inner_text('#done'))").ok
    assert step.engine.answer == (True, "no")


def test_a_dialog_between_two_steps_is_answered_by_the_code(step: Step) -> None:
    step("page.on('dialog', lambda d: d.accept())")
    step.border.page.get_by_text("Ask").click()

    assert step.border.page.inner_text("#done") == "yes"


def test_listeners_are_off_once_the_attempt_is_over(make_step: Callable[..., Step]) -> None:
    step = make_step()
    step("page.on('dialog', lambda d: d.accept())")
    step.engine.close()
    step.border.page.get_by_text("Ask").click()

    assert step.border.page.inner_text("#done") == "no"


@pytest.mark.parametrize(
    "code",
    [
        "page.get_by_label('Password').fill('<secret:password>')",
        "page.fill('#pw', '<secret:password>')",
        "page.get_by_label('Password').press_sequentially('<secret:password>')",
        "page.get_by_label('Password').type('<secret:password>')",
        "page.click('#pw')\npage.keyboard.insert_text('<secret:password>')",
    ],
)
def test_a_secret_is_typed_and_told_to_nobody(step: Step, code: str) -> None:
    outcome = step(
        code + "\nvalue = page.input_value('#pw')\nprint(value, len(value))\nanswer(value)"
    )

    assert outcome.failure is None
    assert step.border.page.input_value("#pw") == SECRET
    assert step.engine.answer == (True, "<secret:password>")
    assert "hunter2" not in repr(outcome)


def test_a_secret_is_not_replaced_elsewhere(step: Step) -> None:
    step("page.evaluate('(t) => { done.textContent = t }', '<secret:password>')")

    assert step.border.page.inner_text("#done") == "<secret:password>"


def test_a_secret_is_not_typed_on_another_origin(make_step: Callable[..., Step]) -> None:
    step = make_step(secret_allowed=lambda _url: False)

    outcome = step("page.fill('#pw', '<secret:password>')")

    assert why(outcome)[:2] == ("sandbox", "AW503")
    assert step.border.page.input_value("#pw") == ""


def test_a_secret_is_not_typed_where_a_page_went_while_the_field_was_waited_for(
    make_step: Callable[..., Step],
) -> None:
    step = make_step(secret_allowed=lambda url: "elsewhere" not in url)

    outcome = step(
        "page.evaluate(\"setTimeout(() => { location.href = '/elsewhere' }, 300)\")\n"
        "page.fill('#later', '<secret:password>')"
    )

    assert why(outcome)[:2] == ("sandbox", "AW503")
    assert step.border.page.input_value("#later") == ""


@pytest.mark.parametrize(
    "code",
    [
        "page.frame_locator('iframe').get_by_label('Note').fill('<secret:password>')",
        "page.frame(name='inner').fill('input', '<secret:password>')",
        "page.frame_locator('iframe').get_by_label('Note').click()\n"
        "page.keyboard.type('<secret:password>')",
    ],
)
def test_a_secret_is_not_typed_into_a_frame_of_another_origin(
    make_step: Callable[..., Step], code: str
) -> None:
    step = make_step(secret_allowed=lambda url: "inner" not in url)

    outcome = step(code)

    assert why(outcome)[:2] == ("sandbox", "AW503")
    inner = step.border.page.frame("inner")
    assert inner is not None
    assert inner.input_value("input") == ""


def test_files_land_in_the_folder_of_the_cell(step: Step) -> None:
    outcome = step(
        "page.screenshot(path='after.png')\nwith page.expect_download() as d:\n"
        "    page.click('text=Download')\nprint(d.value.suggested_filename)\n"
        "d.value.save_as('report.csv')"
    )

    folder = step.border.artifacts
    assert outcome.failure is None
    assert (folder / "report.csv").read_text() == "a,b\n1,2\n"
    assert (folder / "after.png").read_bytes().startswith(b"\x89PNG")


def test_cookies_of_a_reply_are_not_shown(step: Step) -> None:
    step("answer(page.goto('/next').headers)")

    _, headers = step.engine.answer
    assert isinstance(headers, dict)
    assert headers["content-type"] == "text/html"
    assert "verysecret" not in repr(step.engine.answer)


@pytest.mark.parametrize(
    "code",
    [
        "page.evaluate('1')",
        "page.locator('h1').evaluate('1')",
        "page.locator('h1').evaluate_all('1')",
        "page.frames[1].eval_on_selector('button', '1')",
        "page.eval_on_selector_all('button', '1')",
        "page.wait_for_function('1')",
    ],
)
def test_at_the_level_strict_code_brings_no_script_into_the_page(
    make_step: Callable[..., Step], code: str
) -> None:
    step = make_step(scripts=False)
    outcome = step(code, lint=False)

    assert why(outcome)[:2] == ("sandbox", "AW510")
    assert [finding.code for finding in lint_code(code, scripts=False)] == ["AW310"]
    assert step("answer(page.locator('h1').inner_text())").ok
