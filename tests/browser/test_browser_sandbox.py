"""Generated code against a real page: what it may do works, what it may not do has no effect."""

import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame, Page

from pytest_autoweb.redaction import Redactor
from pytest_autoweb.sandbox.base import Border, Limits, StepOutcome
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.lint import lint_code
from pytest_autoweb.sandbox.members import CLASSES, OF_THE_PAGE

LIMITS = Limits(step_s=15)
SECRET = "hunter2-hunter2"

SHOP = """<!doctype html><title>Shop</title>
<h1>Shop</h1>
<form onsubmit="event.preventDefault(); done.textContent='Welcome, '+user.value">
  <label>User <input id=user name=user></label>
  <label>Password <input id=pw type=password></label>
  <label>Size <select id=size><option value=s>Small</option><option value=l>Large</option></select>
  </label>
  <label><input type=checkbox id=terms> Terms</label>
  <label>File <input type=file id=file multiple
     onchange="done.textContent=[...file.files].map(f=>f.name+':'+f.size).join()"></label>
  <button>Sign in</button>
</form>
<p id=done></p>
<ul><li class=item>apple</li><li class=item>pear</li><li class=item>plum</li></ul>
<table><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></table>
<button onclick="done.textContent=confirm('sure?')?'yes':'no'">Ask</button>
<button onclick="done.textContent=prompt('name?')">Prompt</button>
<button onclick="alert('one');alert('two')">Alerts</button>
<button onclick="console.log('logged', 7)">Log</button>
<button onclick="fetch('/api?q=1').then(r=>r.text()).then(t=>done.textContent=t)">Fetch</button>
<button onclick="setTimeout(()=>{late.hidden=false},200)">Late</button><p id=late hidden>late</p>
<button ondblclick="done.textContent='double'">Twice</button>
<div id=hover onmouseenter="done.textContent='hovered'">Hover me</div>
<a href="/popup" target=_blank>Open</a> <a href="/next">Next</a>
<a href="/file.csv" download="file.csv">Download</a>
<iframe name=inner src="/inner"></iframe>
"""
INNER = """<title>Inner</title><button onclick="this.textContent='pressed'">Inside</button>
<input aria-label=Note>"""


REPLIES = {
    "/shop": (SHOP, "text/html"),
    "/inner": (INNER, "text/html"),
    "/popup": ("<title>Popup</title><h1>Popup</h1><button>Fine</button>", "text/html"),
    "/next": ("<title>Next</title><h1>Next page</h1>", "text/html"),
    "/api?q=1": ('{"total": 42}', "application/json"),
    "/file.csv": ("a,b\n1,2\n", "text/csv"),
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text, kind = REPLIES.get(self.path, ("<h1>nothing here</h1>", "text/html"))
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.send_header("set-cookie", "sid=verysecret")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def one_page(browser: Browser) -> Iterator[Page]:
    """One for all tests here: what they do to it goes when the shop is opened anew."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def shop(one_page: Page, origin: str) -> Iterator[Page]:
    one_page.goto(origin + "/shop")
    yield one_page
    for opened in one_page.context.pages:
        if opened is not one_page:
            opened.close()


class Step:
    """Runs blocks on the shop's page and lints them first."""

    def __init__(self, engine: WorkerEngine, border: Border) -> None:
        self.engine, self.border, self.index = engine, border, 0

    def __call__(
        self, code: str, *, lint: bool = True, limits: Limits = LIMITS, **more: Any
    ) -> StepOutcome:
        if lint:
            assert [str(finding) for finding in lint_code(code)] == []
        self.index += 1
        more.setdefault("root", self.border.page)
        return self.engine.run_step(more.pop("index", self.index), code, limits=limits, **more)


@pytest.fixture
def make_step(shop: Page, origin: str, tmp_path: Path) -> Iterator[Callable[..., Step]]:
    engines: list[WorkerEngine] = []

    def make(**changes: Any) -> Step:
        border = Border(
            page=shop,
            artifacts=tmp_path / "artifacts",
            secrets={"password": SECRET},
            allowed=lambda url: url.startswith(origin + "/"),
            secret_allowed=lambda url: url.startswith(origin + "/"),
            files={"invoice.pdf": _file(tmp_path / "invoice.pdf")},
            redact=Redactor({"password": SECRET}),
        )
        for name, value in changes.items():
            setattr(border, name, value)
        engines.append(WorkerEngine(border))
        return Step(engines[-1], border)

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def step(make_step: Callable[..., Step]) -> Step:
    return make_step()


def _file(path: Path) -> Path:
    path.write_bytes(b"%PDF-1")
    return path


def methods(outcome: StepOutcome) -> list[str]:
    return [call.method for call in outcome.calls]


def why(outcome: StepOutcome) -> tuple[str, str | None, str]:
    assert outcome.failure is not None
    return outcome.failure.kind, outcome.failure.rule, outcome.failure.message


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


# -- continuing a step ------------------------------------------------------------------

COUNTING = (
    "page.evaluate('() => { window.times = (window.times || 0) + 1 }')\n"
    "page.fill('#user', 'ana')\n"
    "total = page.evaluate('() => window.times')\n"
)


def test_a_continued_step_repeats_no_action(step: Step) -> None:
    code = COUNTING + "page.click('#none', timeout=200)\nanswer(total)"
    first = step(code, index=1)
    step.border.page.evaluate("() => document.querySelector('h1').id = 'none'")

    second = step(code, index=1, resume=first.calls[:3])

    assert (second.failure, step.engine.answer) == (None, (True, 1))
    assert [call.replayed for call in second.calls] == [True, True, True, False, False]
    assert step.border.page.evaluate("() => window.times") == 1


def test_a_step_that_was_killed_is_continued_from_the_record(step: Step) -> None:
    step("base = [1]")
    code = (
        COUNTING
        + "base.append(total)\nwhile not page.is_visible('.ready'):\n    pass\nanswer(base)"
    )
    first = step(code, index=2, limits=Limits(step_s=0.8, calls=100_000))
    step.border.page.evaluate("() => document.body.classList.add('ready')")

    second = step(code, index=2, resume=first.calls[:3])

    assert why(first)[0] == "timeout"
    assert (second.failure, step.engine.answer) == (None, (True, [1, 1]))
    assert step.border.page.evaluate("() => window.times") == 1


def test_a_continued_step_replays_caught_errors_and_popups(step: Step) -> None:
    code = (
        "try:\n    page.click('#never', timeout=50)\nexcept TimeoutError:\n    pass\n"
        "with page.expect_popup() as info:\n    page.click('text=Open')\n"
        "popup = info.value\n"
        "page.click('#none', timeout=200)\nanswer([popup.title(), len(page.context.pages)])"
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
    assert message.startswith("the continued step took another way: the first run called page.fill")


def test_a_step_run_anew_registers_its_listeners_once(step: Step) -> None:
    code = (
        "n = []\npage.on('console', lambda m: n.append(m.text))\npage.click('text=Log')\nanswer(n)"
    )
    step(code, index=1)
    step(code, index=1)

    assert step.engine.answer == (True, ["logged 7"])


# -- frames -----------------------------------------------------------------------------


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


def test_every_member_of_the_page_is_the_pages_or_the_frames() -> None:
    assert set(CLASSES["Page"]) - OF_THE_PAGE <= set(CLASSES["Frame"])
    assert all(hasattr(Frame, name) for name in set(CLASSES["Page"]) - OF_THE_PAGE)


# -- what is refused --------------------------------------------------------------------

REFUSED: dict[str, tuple[str, str]] = {
    "a file address": ("page.goto('fi' + 'le:///etc/passwd')", "AW501"),
    "a script address": ("page.goto('java' + 'script:alert(1)')", "AW501"),
    "a script address with a tab": ("page.goto('java' + '\\tscript:alert(1)')", "AW501"),
    "a data address": ("page.goto('da' + 'ta:text/html,x')", "AW501"),
    "another origin": ("page.goto('http://evil.test/?q=1')", "AW501"),
    "another origin without a scheme": ("page.goto('//evil.test/')", "AW501"),
    "another origin behind a user name": (
        "u = page.url.replace('shop', '').rstrip('/')\npage.goto(u + '@evil.test/')",
        "AW501",
    ),
    "a backslash": ("page.goto('http:\\\\\\\\evil.test')", "AW501"),
    "another origin in a frame": ("page.frames[1].goto('http://evil.test/')", "AW501"),
    "a screenshot outside": ("page.screenshot(path='..' + '/x.png')", "AW502"),
    "a screenshot at a path": ("page.screenshot(path='/tmp' + '/x.png')", "AW502"),
    "a device name": ("page.screenshot(path='con.png')", "AW502"),
    "a hidden file": ("page.screenshot(path='.bashrc')", "AW502"),
    "a download outside": (
        "with page.expect_download() as d:\n    page.click('text=Download')\n"
        "d.value.save_as('..' + '/../x.csv')",
        "AW502",
    ),
    "an upload of a path": ("page.set_input_files('#file', '/etc' + '/passwd')", "AW502"),
    "an upload that is not listed": ("page.set_input_files('#file', 'other.pdf')", "AW502"),
    "an upload by chooser": (
        "with page.expect_file_chooser() as i:\n    page.click('#file')\n"
        "i.value.set_files(['invoice.pdf', '..' + '/x'])",
        "AW502",
    ),
    "an unknown secret": ("page.fill('#pw', '<secret:other>')", "AW503"),
    "closing the page": ("page.close()", "AW504"),
}


@pytest.mark.parametrize(("code", "rule"), REFUSED.values(), ids=REFUSED.keys())
def test_the_border_refuses(step: Step, tmp_path: Path, code: str, rule: str) -> None:
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    url = step.border.page.url

    outcome = step(code)

    assert why(outcome)[:2] == ("sandbox", rule)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before
    assert step.border.page.url == url
    assert step("answer(page.title())").ok


def test_a_refusal_cannot_be_swallowed(step: Step) -> None:
    outcome = step(
        "try:\n    page.goto('http://evil.test/')\nexcept Exception:\n    pass\n"
        "try:\n    page.goto('http://evil.test/')\nexcept:\n    pass\npage.fill('#user', 'after')"
    )

    assert why(outcome)[:2] == ("sandbox", "AW501")
    assert "allowed_origins" in why(outcome)[2]
    assert step.border.page.input_value("#user") == ""


UNLINTED: dict[str, str] = {
    "raw method": "call(page._root, 'set_content', ['<h1>forged</h1>'])",
    "route": "call(page._root, 'route', ['**/*'])",
    "network of the driver": "call(page._root, 'request', [])",
    "pdf": "call(page._root, 'pdf', [], {'path': 'MARKER'})",
    "script file": "call(page._root, 'add_script_tag', [], {'path': '/etc/hostname'})",
    "implementation": "call(page._root, '_impl_obj', [])",
    "class": "call(page._root, '__class__', [])",
    "context": "page._border.call({'root': page._root, 'chain': [['context']]}, 'close', [], {})",
    "storage": (
        "page._border.call({'root': page._root, 'chain': [['context']]}, 'storage_state', [], "
        "{'path': 'MARKER'})"
    ),
    "unknown object": "call('h77', 'click', ['a'])",
    "chain into an action": (
        "page._border.call({'root': page._root, 'chain': [['click', ['a'], {}]]}, 'title', [], {})"
    ),
    "expression matched in Python": ("call(page._root, 'wait_for_url', [{'$re': ['(a+)+$', 0]}])"),
    "function where none belongs": ("call(page._root, 'evaluate', [{'$cb': 1}])\nraise ValueError"),
    "path in a screenshot": "call(page._root, 'screenshot', [], {'path': 'MARKER'})",
    "infinite number": "call(page._root, 'evaluate', ['1', {'$float': 'x'}])",
}


@pytest.mark.parametrize("code", UNLINTED.values(), ids=UNLINTED.keys())
def test_a_worker_that_speaks_for_itself_gets_nothing(
    step: Step, tmp_path: Path, code: str
) -> None:
    marker = tmp_path / "marker"
    helper = (
        "def call(root, method, args, kwargs={}):\n"
        "    return page._border.call({'root': root, 'chain': []}, method, args, kwargs)\n"
    )

    outcome = step(helper + code.replace("MARKER", str(marker)), lint=False)

    assert not outcome.ok
    assert not marker.exists()
    assert step("answer([page.title(), page.inner_text('h1')])").ok
    assert step.engine.answer == (True, ["Shop", "Shop"])


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


# -- secrets and files ------------------------------------------------------------------


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
    assert inner.input_value("input") == ""


def test_files_land_in_the_folder_of_the_cell(step: Step) -> None:
    outcome = step(
        "page.screenshot(path='after.png')\nwith page.expect_download() as d:\n"
        "    page.click('text=Download')\nprint(d.value.suggested_filename)\n"
        "d.value.save_as('report.csv')"
    )

    folder = Path(step.border.artifacts)
    assert outcome.failure is None
    assert (folder / "report.csv").read_text() == "a,b\n1,2\n"
    assert (folder / "after.png").read_bytes().startswith(b"\x89PNG")


def test_cookies_of_a_reply_are_not_shown(step: Step) -> None:
    step("answer(page.goto('/next').headers)")

    assert step.engine.answer[1]["content-type"] == "text/html"
    assert "verysecret" not in repr(step.engine.answer)


# -- the table against the installed Playwright ----------------------------------------


def test_the_allow_list_fits_the_installed_playwright() -> None:
    import inspect

    import playwright.sync_api._generated as generated

    made_here = {"EventInfo"}
    for name, members in CLASSES.items():
        if name in made_here:
            continue
        real = getattr(generated, name)
        for method, member in members.items():
            if member.kind in {"local", "listen"}:
                continue
            found = inspect.getattr_static(real, method)
            is_property = isinstance(found, property)
            assert is_property == (member.kind in {"link", "get"}), f"{name}.{method}"
            if not is_property:
                takes = "timeout" in inspect.signature(found).parameters
                wanted = member.timeout or method.startswith(("set_default", "wait_for_timeout"))
                assert takes == wanted, f"{name}.{method}"


def test_every_public_member_of_the_allowed_classes_is_allowed_or_refused_with_a_hint() -> None:
    import playwright.sync_api._generated as generated

    from pytest_autoweb.sandbox.policy import REFUSED_MEMBERS, REFUSED_OF

    for name, members in CLASSES.items():
        if name in {"EventInfo", "BrowserContext"}:
            continue
        public = {m for m in dir(getattr(generated, name)) if not m.startswith("_")}
        listeners = {"on", "once", "remove_listener"}
        unclassified = public - set(members) - set(REFUSED_MEMBERS) - listeners
        assert {m for m in unclassified if (name, m) not in REFUSED_OF} == set(), name
