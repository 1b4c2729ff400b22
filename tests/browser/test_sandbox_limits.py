"""Generated code that takes too long, and steps that are continued after it."""

import time

import pytest
from playwright.sync_api import Page
from sandbox_shop import Step, why

from pytest_autoweb.sandbox.engine import Limits, StepOutcome

pytest_plugins = ["sandbox_shop"]


def test_waiting_is_cut_to_the_time_of_the_step(step: Step) -> None:
    began = time.monotonic()
    outcome = step("page.click('#none', timeout=60000)", limits=Limits(step_s=0.6))

    assert why(outcome)[0] == "timeout"
    assert not outcome.killed
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("code", ["page.wait_for_timeout(1e9)", "import time\ntime.sleep(1000)"])
def test_a_pause_longer_than_the_step_ends_with_it(step: Step, code: str) -> None:
    began = time.monotonic()
    outcome = step(code, limits=Limits(step_s=0.5))

    assert why(outcome)[0] == "timeout"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "code",
    [
        "page.evaluate('() => { while (true) {} }')",
        "page.evaluate('() => new Promise(() => {})')",
        "page.locator('.item').first.evaluate('() => { while (true) {} }')",
        "page.wait_for_function('() => { while (true) {} }')",
    ],
)
def test_a_script_that_never_ends_is_stopped_and_the_page_lives(step: Step, code: str) -> None:
    began = time.monotonic()
    outcome = step(code, limits=Limits(step_s=0.6))

    assert why(outcome)[0] == "timeout"
    assert time.monotonic() - began < 6
    assert step("answer(page.title())").ok
    assert step.engine.answer == (True, "Shop")


def test_swallowing_the_end_of_the_step_does_not_go_on_for_ever(step: Step) -> None:
    code = "while page:\n    try:\n        page.click('#none')\n    except Exception:\n        pass"
    began = time.monotonic()

    outcome = step(code, limits=Limits(step_s=0.5))

    assert why(outcome)[0] == "timeout"
    assert time.monotonic() - began < 8


def test_handles_outlive_a_killed_worker(step: Step) -> None:
    step(
        "first = page.locator('.item').first\nwith page.expect_popup() as i:\n"
        "    page.click('text=Open')\npopup = i.value\ncount = 3"
    )
    assert step("while count:\n    pass", limits=Limits(step_s=0.5)).killed

    outcome = step("answer([first.inner_text(), popup.url[-6:], count])")

    assert (outcome.failure, step.engine.answer[1]) == (None, ["apple", "/popup", 3])


COUNTING = (
    "page.evaluate('() => { window.times = (window.times || 0) + 1 }')\n"
    "page.fill('#user', 'ana')\n"
    "total = page.evaluate('() => window.times')\n"
)


def test_a_continued_step_repeats_no_action(step: Step) -> None:
    code = COUNTING + "page.click('#none', timeout=1000)\nanswer(total)"
    first = step(code, index=1)
    step.border.page.evaluate("() => document.querySelector('h1').id = 'none'")

    second = step(code, index=1, resume=first.calls[:3])

    assert (second.failure, step.engine.answer) == (None, (True, 1))
    assert [call.replayed for call in second.calls] == [True, True, True, False, False]
    assert step.border.page.evaluate("() => window.times") == 1


def test_a_step_may_be_continued_in_another_frame(step: Step, shop: Page) -> None:
    code = "page.fill('input', 'x')\npage.click('text=Inside', timeout=1000)\nanswer(page.url[-5:])"
    first = step(code, index=1)

    second = step(code, index=1, root=shop.frames[1], resume=first.calls[:1])

    assert (second.failure, step.engine.answer) == (None, (True, "/shop"))
    assert second.calls[0].replayed


def test_a_step_that_was_killed_is_continued_from_the_record(step: Step) -> None:
    step("base = [1]")
    code = (
        COUNTING
        + "base.append(total)\nready = page.is_visible('.ready')\nwhile not ready:\n    pass\n"
        "answer(base)"
    )
    first = step(code, index=2, limits=Limits(step_s=0.8))
    step.border.page.evaluate("() => document.body.classList.add('ready')")

    second = step(code, index=2, resume=first.calls[:3])

    assert (why(first)[0], first.killed) == ("timeout", True)
    assert (second.failure, step.engine.answer) == (None, (True, [1, 1]))
    assert step.border.page.evaluate("() => window.times") == 1


def test_a_continued_step_replays_caught_errors_and_popups(step: Step) -> None:
    code = (
        "try:\n    page.click('#never', timeout=50)\nexcept TimeoutError:\n    pass\n"
        "with page.expect_popup() as info:\n    page.click('text=Open')\n"
        "popup = info.value\n"
        "page.click('#none', timeout=1500)\nanswer([popup.title(), len(page.context.pages)])"
    )
    first = step(code, index=1)
    step.border.page.evaluate("() => document.querySelector('h1').id = 'none'")

    second = step(code, index=1, resume=first.calls[:-1])

    assert (second.failure, step.engine.answer[1]) == (None, ["Popup", 2])


def test_a_continued_step_that_takes_another_way_says_so(step: Step) -> None:
    code = (
        "import random\npage.fill('#user', str(random.random()))\npage.click('#none', timeout=50)"
    )
    first = step(code, index=1)

    second = step(code, index=1, resume=first.calls[:1])

    kind, _, message = why(second)
    assert kind == "step"
    assert message.startswith("the continued step took another path: the first run called page.f")


def test_a_step_run_anew_registers_its_listeners_once(step: Step) -> None:
    code = (
        "n = []\npage.on('console', lambda m: n.append(m.text))\npage.click('text=Log')\nanswer(n)"
    )
    step(code, index=1)
    step(code, index=1)

    assert step.engine.answer == (True, ["logged 7"])


IN_VAIN = "try:\n    page.click('#none', timeout=100)\nexcept TimeoutError"


@pytest.mark.parametrize(
    ("code", "timed_out"),
    [
        ("page.click('#none', timeout=100)", True),
        ("expect(page.locator('#none')).to_be_visible(timeout=100)", True),
        ("expect(page).to_have_title('Other', timeout=100)", True),
        (IN_VAIN + " as error:\n    raise RuntimeError('no button') from error", True),
        (IN_VAIN + ":\n    raise RuntimeError('no button')", True),
        (IN_VAIN + ":\n    page.title()\n    raise", True),
        (IN_VAIN + ":\n    raise RuntimeError('no button') from None", False),
        (IN_VAIN + ":\n    pass\nassert page.url == ''", False),
        ("raise ValueError('Timeout 100ms exceeded')", False),
        # An ambiguous locator is refused at once, and waiting would not make it clear.
        ("page.locator('.item').click(timeout=5_000)", False),
    ],
)
def test_whether_a_step_ran_out_of_time_is_decided_by_the_class_of_its_error(
    step: Step, code: str, timed_out: bool
) -> None:
    outcome = step(code)

    assert why(outcome)[0] == "step"
    assert outcome.timed_out is timed_out


@pytest.mark.parametrize(
    "code",
    [
        "expect(page.locator('#soon')).to_be_visible(timeout=1500)",
        "page.locator('#soon').click(timeout=1500)",
        "page.set_default_timeout(1500)\npage.click('#soon')",
        # What the code did about the error is not kept, or the error would only be repeated.
        "page.fill('#user', 'ana')\ntry:\n    page.click('#soon', timeout=1500)\n"
        "except TimeoutError:\n    page.title()\n    raise",
    ],
)
def test_the_call_that_was_late_may_take_three_times_its_own_timeout(step: Step, code: str) -> None:
    first = step(code, index=1)
    before = tuple(call for call in first.calls if first.overdue and call.seq < first.overdue.seq)
    step.border.page.evaluate(
        "() => { setTimeout(() => { document.querySelector('h1').id = 'soon' }, 2000) }"
    )

    second = step(code, index=1, limits=Limits(patience=3), resume=before[:1])

    assert first.timed_out
    assert first.overdue is not None
    assert second.failure is None


def test_only_the_call_that_was_late_gets_more_time(step: Step) -> None:
    probe = "try:\n    page.click('#maybe', timeout=1000)\nexcept TimeoutError:\n    pass\n"
    code = probe + "page.click('#none', timeout=1000)"
    step(code, index=1)

    second = step(code, index=1, limits=Limits(patience=3))

    tried, late = second.calls
    assert tried.duration_ms < 2900 <= late.duration_ms


OPENS_LATE = (
    "() => { window.clicks = 0; document.querySelector('h1').onclick = () => {"
    " window.clicks++; setTimeout(() => window.open('/popup'), 1500) } }"
)
WAITS = (
    "with page.expect_popup({}) as info:\n    page.click('h1')\n"
    "info.value.wait_for_load_state()\nanswer(info.value.title())"
)


def continued(step: Step, code: str, *, pause: float = 0.0) -> StepOutcome:
    """Run a step whose event comes late, and continue it as an attempt does."""
    step.border.page.evaluate(OPENS_LATE)
    first = step(code, index=1)
    assert first.timed_out
    assert first.overdue is not None
    before = tuple(call for call in first.calls if call.seq < first.overdue.seq)
    step.border.page.wait_for_timeout(pause * 1000)
    return step(code, index=1, limits=Limits(patience=3), resume=before)


@pytest.mark.parametrize("arguments", ["timeout=700", "lambda p: p.url != '', timeout=700"])
@pytest.mark.parametrize("pause", [0.0, 1.5])
def test_an_event_that_ran_out_is_waited_for_again_and_not_caused_twice(
    step: Step, arguments: str, pause: float
) -> None:
    second = continued(step, WAITS.format(arguments), pause=pause)

    assert (second.failure, step.engine.answer) == (None, (True, "Popup"))
    assert step.border.page.evaluate("() => window.clicks") == 1
    assert [call.replayed for call in second.calls][:3] == [True, True, False]


def test_an_event_that_never_comes_gets_three_times_its_timeout(step: Step) -> None:
    began = time.monotonic()
    second = continued(step, WAITS.format("timeout=300"))
    assert second.failure is not None
    assert second.failure.message.startswith("TimeoutError: Timeout 900ms exceeded")
    assert second.timed_out
    assert time.monotonic() - began < 6
    assert step("answer(page.title())", index=2).ok


def test_an_event_that_the_limit_of_the_step_cuts_off_is_named(step: Step) -> None:
    in_vain = step(WAITS.format(""), index=1, limits=Limits(step_s=0.8))

    assert why(in_vain)[0] == "timeout"
    assert in_vain.failure is not None
    assert 'exceeded while waiting for event "popup"' in in_vain.failure.message


def test_a_wait_around_the_late_call_is_open_again_too(step: Step) -> None:
    step.border.page.evaluate(OPENS_LATE.replace("1500", "100"))
    code = WAITS.format("timeout=5000").replace("'h1'", "'#none', timeout=800")
    first = step(code, index=1)
    step.border.page.evaluate(
        "() => { setTimeout(() => { document.querySelector('h1').id = 'none' }, 1000) }"
    )

    second = step(code, index=1, limits=Limits(patience=3), resume=first.calls[:1])

    assert first.overdue is not None
    assert first.overdue.method == "click"
    assert (second.failure, step.engine.answer) == (None, (True, "Popup"))
    assert step.border.page.evaluate("() => window.clicks") == 1


@pytest.mark.long
def test_a_page_with_a_field_that_cannot_be_read_is_measured_by_the_element(step: Step) -> None:
    broken = (
        "page.evaluate(\"() => { const e = document.createElement('p'); document.body.append(e);"
        " Object.defineProperty(e, 'value', { get() { throw new Error('never') } });"
        " const long = document.createElement('div'); long.id = 'long';"
        " long.textContent = 'x'.repeat(5e6); document.body.append(long) }\")\n"
    )

    assert step(broken + "answer(page.locator('.item').first.inner_text())").ok
    refused = why(step("page.inner_text('#long')"))
    assert "inner_text() would read 5,000,000 characters" in " ".join(map(str, refused))
