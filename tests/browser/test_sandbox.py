"""Generated code on a real page: what is told of it."""

from playwright.sync_api import Page
from sandbox_shop import Step, why

pytest_plugins = ["sandbox_shop"]


def test_each_call_is_recorded_with_its_place_and_its_kind(step: Step) -> None:
    outcome = step(
        "name = page.get_by_role('textbox', name='User')\nname.fill('ana')\n\n"
        "expect(name).to_have_value('ana')\nprint(name.input_value())"
    )

    assert [(c.seq, c.line, c.target, c.method, c.arguments, c.acting) for c in outcome.calls] == [
        (0, 2, "page.get_by_role('textbox', name='User')", "fill", "'ana'", True),
        (1, 4, "expect(page.get_by_role('textbox', name='User'))", "to_have_value", "'ana'", False),
        (2, 5, "page.get_by_role('textbox', name='User')", "input_value", "", False),
    ]
    assert all(call.ok and call.step_index == 1 for call in outcome.calls)


def test_a_failing_call_names_its_reason_line_and_time(step: Step) -> None:
    outcome = step("page.title()\npage.click('#none', timeout=100)")

    assert why(outcome) == ("step", None, "TimeoutError: Page.click: Timeout 100ms exceeded.")
    assert outcome.failure is not None
    assert outcome.failure.line == 2
    assert "waiting for locator" in outcome.failure.evidence["detail"]
    assert not outcome.calls[-1].ok


def test_a_frame_stands_in_for_the_page(step: Step, shop: Page) -> None:
    frame = next(frame for frame in shop.frames if frame.name == "inner")

    outcome = step(
        "page.get_by_role('button').click()\npage.fill('[aria-label=Note]', 'x')\n"
        "answer([page.inner_text('button'), page.title(), page.evaluate('document.title'), "
        "page.is_visible('button')])\n"
        "page.keyboard.press('Tab')\nexpect(page).to_have_title('Shop')\n"
        "page.once('dialog', lambda d: d.accept())\npage.screenshot(path='all.png')\n"
        "page.goto('/next')",
        root=frame,
    )

    assert outcome.failure is None
    assert step.engine.answer == (True, ["pressed", "Shop", "Inner", True])
    assert outcome.calls[0].target == "frame('inner').get_by_role('button')"
    assert shop.title() == "Next"
