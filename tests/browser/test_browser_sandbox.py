"""Generated code on a real page: what it may do, it does."""

import pytest
from playwright.sync_api import Page
from sandbox_shop import Step, why

pytest_plugins = ["sandbox_shop"]

WORKING: dict[str, tuple[str, object]] = {
    "fill and submit": (
        "page.get_by_label('User').fill('ana')\n"
        "page.get_by_role('button', name='Sign in').click()\n"
        "answer(page.locator('#done').inner_text())",
        "Welcome, ana",
    ),
    "type and press": (
        "page.locator('#user').press_sequentially('bob', delay=1)\npage.keyboard.press('Enter')\n"
        "answer(page.locator('#done').text_content())",
        "Welcome, bob",
    ),
    "selectors on the page": (
        "page.fill('#user', 'eve')\npage.click('text=Sign in')\nanswer(page.inner_text('#done'))",
        "Welcome, eve",
    ),
    "select by label": (
        "page.get_by_label('Size').select_option(label='Large')\nanswer(page.input_value('#size'))",
        "l",
    ),
    "check": (
        "page.get_by_label('Terms').check()\nanswer(page.is_checked('#terms'))",
        True,
    ),
    "all": (
        "answer([item.inner_text() for item in page.locator('.item').all()])",
        ["apple", "pear", "plum"],
    ),
    "filter and nth": (
        "rows = page.locator('tr').filter(has_text='b')\n"
        "answer([rows.count(), rows.first.locator('td').nth(1).inner_text()])",
        [1, "2"],
    ),
    "has and or": (
        "row = page.locator('tr', has=page.get_by_text('a', exact=True))\n"
        "both = row.or_(page.locator('.none'))\nanswer(both.inner_text().split())",
        ["a", "1"],
    ),
    "regular expressions": (
        "answer(page.get_by_text(re.compile('^PL', re.I)).inner_text())",
        "plum",
    ),
    "expect": (
        "expect(page).to_have_title('Shop')\nexpect(page).to_have_url(re.compile('/shop$'))\n"
        "expect(page.locator('.item')).to_have_count(3)\n"
        "expect(page.locator('.item')).to_have_text(['apple', re.compile('p.ar'), 'plum'])\n"
        "expect(page.locator('#late')).not_to_be_visible()\n"
        "expect(page.get_by_role('heading'), 'a heading').to_be_visible()\nanswer(True)",
        True,
    ),
    "waiting": (
        "page.get_by_role('button', name='Late').click()\n"
        "expect(page.locator('#late')).to_be_visible(timeout=3000)\n"
        "page.wait_for_selector('#late')\npage.wait_for_function('() => !late.hidden')\n"
        "page.wait_for_load_state()\npage.wait_for_timeout(10)\nanswer(1)",
        1,
    ),
    "sleep": ("import time\ntime.sleep(0.01)\nanswer('slept')", "slept"),
    "evaluate": (
        "answer(page.evaluate('([a, b]) => ({sum: a + b, none: null, list: [1, \"x\"]})', [1, 2]))",
        {"sum": 3, "none": None, "list": [1, "x"]},
    ),
    "evaluate an odd value": (
        "x = page.evaluate('() => [NaN, Infinity, new Date(0), {\"$re\": 1}]')\n"
        "answer([str(x[0]), str(x[1]), x[2], x[3]])",
        ["nan", "inf", "1970-01-01T00:00:00+00:00", {"$re": 1}],
    ),
    "element queries": (
        "found = page.query_selector('.item')\nnone = page.query_selector('.none')\n"
        "answer([found.inner_text(), none is None, len(page.query_selector_all('.item'))])",
        ["apple", True, 3],
    ),
    "confirm": (
        "page.once('dialog', lambda d: d.accept())\npage.get_by_text('Ask').click()\n"
        "answer(page.inner_text('#done'))",
        "yes",
    ),
    "prompt": (
        "def tell(dialog):\n    print(dialog.type, dialog.message)\n    dialog.accept('Zoe')\n"
        "page.on('dialog', tell)\npage.click('text=Prompt')\nanswer(page.inner_text('#done'))",
        "Zoe",
    ),
    "a listener that is taken off": (
        "def yes(d):\n    d.accept()\npage.on('dialog', yes)\npage.click('text=Ask')\n"
        "one = page.inner_text('#done')\npage.remove_listener('dialog', yes)\n"
        "page.click('text=Ask')\nanswer([one, page.inner_text('#done')])",
        ["yes", "no"],
    ),
    "dialogs that nobody answers are dismissed": (
        "seen = []\npage.on('dialog', lambda d: seen.append(d.message))\n"
        "page.click('text=Alerts')\nanswer(seen)",
        ["one", "two"],
    ),
    "console": (
        "lines = []\npage.on('console', lambda m: lines.append(m.text))\npage.click('text=Log')\n"
        "page.title()\nanswer(lines)",
        ["logged 7"],
    ),
    "popup": (
        "with page.expect_popup() as info:\n    page.get_by_text('Open').click()\n"
        "popup = info.value\npopup.wait_for_load_state()\n"
        "expect(popup.get_by_role('heading')).to_have_text('Popup')\n"
        "title = popup.title()\npopup.close()\nanswer([title, popup.is_closed()])",
        ["Popup", True],
    ),
    "page of the context": (
        "with page.context.expect_page() as info:\n    page.get_by_text('Open').click()\n"
        "info.value.wait_for_load_state()\nanswer(len(page.context.pages))",
        2,
    ),
    "navigation": (
        "page.get_by_text('Next').click()\npage.wait_for_url('**/next')\nback = page.url\n"
        "page.go_back()\npage.reload()\nanswer([back[-5:], page.title()])",
        ["/next", "Shop"],
    ),
    "goto": (
        "reply = page.goto('/next')\nanswer([reply.status, reply.ok, page.title()])",
        [200, True, "Next"],
    ),
    "wait for a URL by expression": (
        "page.click('text=Next')\npage.wait_for_url(re.compile('/ne.t$'))\nanswer(page.title())",
        "Next",
    ),
    "expect a navigation": (
        "with page.expect_navigation(url=lambda u: u.endswith('next')) as info:\n"
        "    page.click('text=Next')\nanswer(info.value.status)",
        200,
    ),
    "response": (
        "with page.expect_response(lambda r: '/api' in r.url and r.request.method == 'GET') as i:\n"
        "    page.click('text=Fetch')\nanswer(i.value.json())",
        {"total": 42},
    ),
    "response by expression": (
        "with page.expect_response(re.compile('/api')) as i:\n    page.click('text=Fetch')\n"
        "answer([i.value.text(), i.value.headers['content-type']])",
        ['{"total": 42}', "application/json"],
    ),
    "request by glob": (
        "with page.expect_request('**/api?*') as i:\n    page.click('text=Fetch')\n"
        "answer(i.value.url[-8:])",
        "/api?q=1",
    ),
    "frame locator": (
        "inside = page.frame_locator('iframe[name=inner]').get_by_role('button')\n"
        "inside.click()\nanswer(inside.inner_text())",
        "pressed",
    ),
    "content frame": (
        "page.locator('iframe').content_frame.get_by_label('Note').fill('n')\n"
        "answer(page.frame(name='inner').locator('input').input_value())",
        "n",
    ),
    "frames": (
        "answer([[f.name for f in page.frames], page.main_frame.title(), "
        "page.frame(url=re.compile('inner')).title()])",
        [["", "inner"], "Shop", "Inner"],
    ),
    "mouse": (
        "box = page.locator('#hover').bounding_box()\n"
        "page.mouse.move(box['x'] + 5, box['y'] + 5)\nanswer(page.inner_text('#done'))",
        "hovered",
    ),
    "double click": (
        "page.get_by_text('Twice').dblclick()\nanswer(page.inner_text('#done'))",
        "double",
    ),
    "upload of a file of the case": (
        "page.get_by_label('File').set_input_files('invoice.pdf')\n"
        "answer(page.inner_text('#done'))",
        "invoice.pdf:6",
    ),
    "upload of made bytes": (
        "page.set_input_files('#file', [{'name': 'a.txt', 'mimeType': 'text/plain', "
        "'buffer': b'abc'}])\nanswer(page.inner_text('#done'))",
        "a.txt:3",
    ),
    "file chooser": (
        "with page.expect_file_chooser() as info:\n    page.click('#file')\n"
        "info.value.set_files('invoice.pdf')\nanswer(page.inner_text('#done'))",
        "invoice.pdf:6",
    ),
    "errors that are caught": (
        "from playwright.sync_api import TimeoutError as Late, Error\nseen = []\n"
        "try:\n    page.click('#none', timeout=50)\nexcept Late as e:\n    seen.append('late')\n"
        "try:\n    page.click('#none', timeout=50)\nexcept TimeoutError:\n    seen.append('late')\n"
        "try:\n    page.locator('.item').click(timeout=500)\nexcept Error as e:\n"
        "    seen.append('strict' in e.message)\n"
        "try:\n    expect(page.locator('#done')).to_have_text('x', timeout=50)\n"
        "except AssertionError:\n    seen.append('assert')\n"
        "try:\n    page.locator('a').click(nonsense=1)\nexcept TypeError:\n    seen += ['type']\n"
        "answer(seen)",
        ["late", "late", True, "assert", "type"],
    ),
    "a function with the page": (
        "def texts(page, selector):\n    return page.locator(selector).all_inner_texts()\n"
        "answer(texts(page, 'td')[::2])",
        ["a", "b"],
    ),
    "annotations and classes as names": (
        "from playwright.sync_api import Page, Locator\ndef first(page: Page) -> Locator:\n"
        "    return page.locator('.item').first\nanswer(isinstance(first(page), Locator))",
        True,
    ),
    "default timeout": (
        "page.set_default_timeout(100)\ntry:\n    page.click('#none')\n"
        "except Exception as e:\n    answer('100ms' in str(e))",
        True,
    ),
    "dates and numbers as arguments": (
        "from datetime import date, timedelta\nday = date(2024, 2, 28) + timedelta(days=1)\n"
        "page.fill('#user', f'{day:%Y-%m-%d} {3.14159:.2f}')\nanswer(page.input_value('#user'))",
        "2024-02-29 3.14",
    ),
}


@pytest.mark.parametrize(("code", "answered"), WORKING.values(), ids=WORKING.keys())
def test_ordinary_code_does_its_work(step: Step, code: str, answered: object) -> None:
    outcome = step(code)

    assert (outcome.failure, step.engine.answer) == (None, (True, answered))


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
