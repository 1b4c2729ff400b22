"""Pages and code that are too much: floods, megabytes, depths, patterns without an end.

Each becomes a cell, followed by another one that must pass as if nothing had happened.
"""

from typing import NamedTuple

REFUSED = "AW511"
"""The rule of what is refused for its size or its slowness."""


class Probe(NamedTuple):
    """One page or piece of code that is too much."""

    name: str
    page: str = ""
    """A script of the page, which runs when the page has loaded."""
    code: str = ""
    """The code of the model; the word `done` is answered at its end."""
    rule: str = ""
    """The rule that refuses the code; empty if it runs, however it ends."""
    may_break: bool = False
    """The page itself brings the browser down, so the cell may be `broken`."""


def pages(*written: tuple[str, str]) -> list[Probe]:
    """Probes in which the page is too much, by name and script."""
    return [Probe(name, page=script) for name, script in written]


def refused(*written: tuple[str, str]) -> list[Probe]:
    """Probes whose code is refused, by name and code."""
    return [Probe(name, code=code, rule=REFUSED) for name, code in written]


def endured(*written: tuple[str, str]) -> list[Probe]:
    """Probes whose code runs and costs nobody else anything, by name and code."""
    return [Probe(name, code=code) for name, code in written]


_MANY = "for (let i = 0; i < {}; i++) "
_BIG = "'x'.repeat({})"
_BODY = (
    "page.evaluate(\"() => { const d = document.createElement('div'); d.hidden = true; "
    "d.textContent = 'x'.repeat(5e6); document.body.append(d) }\")\n"
)


def _worker(script: str) -> str:
    """A page's worker; its addresses begin at those of the page."""
    absolute = script.replace("fetch('/'", "fetch('${location.origin}/'")
    return f"new Worker(URL.createObjectURL(new Blob([`{absolute}`])))"


TALK = pages(
    ("console flood", _MANY.format(100_000) + "console.log('line ' + i)"),
    ("console megabytes", f"console.log({_BIG.format('2e7')})"),
    ("console arguments", "console.log(...Array(20000).fill('x'))"),
    ("console errors", _MANY.format(20_000) + "console.error(new Error('e' + i))"),
    ("console table", "console.table(Array(2000).fill({a: 1, b: 'x'.repeat(100)}))"),
    ("uncaught flood", _MANY.format(5_000) + "setTimeout(() => { throw new Error('e' + i) })"),
    ("uncaught megabytes", f"setTimeout(() => {{ throw new Error({_BIG.format('1e7')}) }})"),
    ("rejection flood", _MANY.format(5_000) + "Promise.reject(new Error('e' + i))"),
    ("rejection megabytes", f"Promise.reject({_BIG.format('1e7')})"),
)

TRAFFIC = pages(
    ("POST megabytes",
     f"fetch('/', {{method: 'POST', body: {_BIG.format('1e7')}}}).catch(() => 0)"),
    ("POST too large",
     f"fetch('/', {{method: 'POST', body: {_BIG.format('2e8')}}}).catch(() => 0)"),
    ("POST too large by XMLHttpRequest", "const x = new XMLHttpRequest(); x.open('POST', '/'); "
     f"x.send({_BIG.format('2e8')})"),
    ("POST flood", _MANY.format(50)
     + f"fetch('/', {{method: 'POST', body: {_BIG.format('2e5')}}}).catch(() => 0)"),
    ("POST of a worker", _worker(f"fetch('/', {{method: 'POST', body: {_BIG.format('2e8')}}})")),
    ("POST flood of a worker", _worker(_MANY.format(40)
     + f"fetch('/', {{method: 'POST', body: {_BIG.format('2e7')}}})")),
    ("beacons", _MANY.format(100) + f"navigator.sendBeacon('/', {_BIG.format('5e3')})"),
    ("request flood", _MANY.format(400) + "fetch('/?' + i).catch(() => 0)"),
    ("long addresses", _MANY.format(20) + f"fetch('/?' + i + {_BIG.format('5e4')}).catch(() => 0)"),
    ("sockets", _MANY.format(50) + "try { new WebSocket('ws://127.0.0.1:9/') } catch {}"),
    ("large data address", f"fetch('data:text/plain,' + {_BIG.format('5e6')})"),
    ("downloads", _MANY.format(20) + "{ const a = document.createElement('a'); a.download = i + "
     "'.txt'; a.href = 'data:text/plain,' + i; a.click() }"),
    ("large download", "{ const a = document.createElement('a'); a.download = 'a.txt'; a.href = "
     "URL.createObjectURL(new Blob(['x'.repeat(3e7)])); a.click() }"),
)  # fmt: skip

_DEEP = (
    "let at = document.body; for (let i = 0; i < 20000; i++) "
    "{ const inner = document.createElement('div'); at.append(inner); at = inner }"
)
# Chromium's own stack is not deep enough for it.
SHAPES = [Probe("deep document", page=_DEEP, may_break=True), *pages(
    ("visible text", f"document.body.append({_BIG.format('1e7')})"),
    ("wide document", "document.body.innerHTML += '<p>wide</p>'.repeat(50000)"),
    ("deep shadows", "let at = document.body; for (let i = 0; i < 300; i++) { const inner = "
     "document.createElement('div'); at.append(inner); at = inner.attachShadow({mode: 'open'}) }"),
    ("large title", f"document.title = {_BIG.format('1e7')}"),
    ("large address", "history.replaceState(0, '', '?' + 'x'.repeat(5e5))"),
    ("many addresses", _MANY.format(150) + "history.pushState(0, '', '?' + i)"),
    ("large attribute", f"document.body.setAttribute('title', {_BIG.format('1e7')})"),
    ("many fields", "document.body.innerHTML += '<input value=v>'.repeat(5000)"),
    ("many options", "document.body.innerHTML += '<select>' + '<option>o'.repeat(20000)"),
    ("large table", "document.body.innerHTML += '<table>' + ('<tr>' + '<td>c'.repeat(100))"
     ".repeat(100)"),
    ("endless page", "document.body.style.height = '30000000px'"),
    ("heavy style", "document.body.style.filter = 'blur(900px)'"),
)]  # fmt: skip


def _frame(properties: str = "{}") -> str:
    return f"document.body.append(Object.assign(document.createElement('iframe'), {properties}))"


FRAMES = pages(
    ("many frames", _MANY.format(150) + _frame()),
    ("two thousand frames", _MANY.format(2_000) + _frame()),
    ("nested frames", "let at = document; for (let i = 0; i < 30; i++) { const f = "
     "at.createElement('iframe'); at.body.append(f); at = f.contentDocument }"),
    ("large frame name", _frame("{name: 'n'.repeat(3e6)}")),
    ("large frame text", _frame("{srcdoc: '<p>' + 'x '.repeat(2e6)}")),
    ("frames that come and go", "setInterval(() => { document.querySelector('iframe')?.remove(); "
     + _frame() + " }, 5)"),
)  # fmt: skip
FRAMES.append(
    Probe(
        "a frame that never answers",
        page=_frame("{srcdoc: '<script>setTimeout(() => { for (;;) {} }, 400)</' + 'script>'}"),
        may_break=True,
    )
)

BUSY = [
    Probe("a loop at once", page="for (;;) {}", may_break=True),
    Probe("a loop later", page="setTimeout(() => { for (;;) {} }, 700)", may_break=True),
    Probe("changes without end", page="new MutationObserver(() => document.body.append('x'))"
     ".observe(document.body, {childList: true}); document.body.append('x')", may_break=True),
    *pages(
    ("layout without end", "requestAnimationFrame(function f() { document.body.append('x'); "
     "document.body.offsetHeight; requestAnimationFrame(f) })"),
    ("reloads", "setTimeout(() => location.reload(), 300)"),
    ("alerts", _MANY.format(30) + "alert(i)"),
    ("a large alert", f"setTimeout(() => alert({_BIG.format('1e7')}), 200)"),
    ("leaving asked", "addEventListener('beforeunload', e => { e.preventDefault(); "
     "e.returnValue = 'x' })"),
    ("busy workers", _MANY.format(4) + "new Worker(URL.createObjectURL(new Blob(["
     "'for (let i = 0; i < 2000; i++) console.log(i)'])))"),
)]  # fmt: skip

RESULTS = refused(
    ("a large text", "page.evaluate(\"'x'.repeat(400 * 1024 * 1024)\")"),
    ("a large list", "page.evaluate('Array(3e6).fill(1)')"),
    ("a wide object",
     "page.evaluate('Object.fromEntries(Array(2e5).fill(0).map((_, i) => [i, i]))')"),
    ("a large number", "page.evaluate('2n ** 1000000n')"),
    ("large bytes", "page.evaluate('new Uint8Array(5e7)')"),
    ("a large error as a value", "page.evaluate(\"new Error('x'.repeat(3e7))\")"),
    ("of an element", "page.locator('h1').evaluate(\"e => 'x'.repeat(3e8)\")"),
    ("of statements", "page.evaluate(\"let a = 'x'.repeat(3e8); a\")"),
    ("of a promise", "page.evaluate(\"async () => 'x'.repeat(3e8)\")"),
    ("a text read", _BODY + "page.inner_text('body')"),
    ("the content read", _BODY + "page.content()"),
    ("a snapshot read", _BODY + "page.locator('body').aria_snapshot()"),
    ("a claim of a text", _BODY + "expect(page.locator('body')).to_have_text('y', timeout=300)"),
    ("a title read", "page.evaluate(\"() => { document.title = 'x'.repeat(5e6) }\")\npage.title()"),
    ("an attribute read", "page.evaluate(\"() => { document.body.lang = 'x'.repeat(5e6) }\")\n"
     "page.locator('body').get_attribute('lang')"),
    ("a value read",
     "page.evaluate(\"() => { const i = document.querySelector('input'); i.hidden = true; "
     "i.value = 'x'.repeat(5e6) }\")\n"
     "page.locator('input').input_value()"),
)  # fmt: skip

ARGUMENTS = refused(
    ("clicks", "page.click('h1', click_count=3_000_000)"),
    ("steps of the mouse", "page.mouse.move(5, 5, steps=10 ** 9)"),
    ("a long selector", "page.locator('#' + 'a' * 3_000_000).count()"),
    ("a selector of many parts", "page.locator(','.join('a' * 9_000)).count()"),
    ("conditions in a path", "page.locator('xpath=//*[count(//*[count(//*[//*])])]').count()"),
    ("conditions in a selector", "page.locator('*:has(*:has(*:has(*)))').count()"),
    ("a long name", "page.get_by_role('button', name='a' * 1_000_000).count()"),
    ("a long filling", "page.fill('input', 'a' * 1_000_000)"),
    ("long typing", "page.type('input', 'a' * 1_000_000)"),
    ("many options chosen", "page.select_option('select', ['a'] * 20_000)"),
    ("a large argument", "page.evaluate('x => 1', 'a' * 2_000_000)"),
    ("a long script", "page.evaluate('1;' * 100_000)"),
    ("a repetition in a title", "expect(page).to_have_title(re.compile('^(S+h*o*p*)+$'))"),
    ("a repetition in an address", "expect(page).to_have_url(re.compile('(h+)+$'))"),
    ("a repetition in a snapshot",
     "expect(page.locator('body')).to_match_aria_snapshot('- heading /^(S+)+$/')"),
    ("a repetition in a text", "page.locator('h1', has_text=re.compile('(S+)+$')).count()"),
    ("a repetition in a claim", "expect(page.locator('h1')).to_have_text(re.compile('(S*)*$'))"),
    ("a picture of a long page", "page.evaluate(\"document.body.style.height = '2000000px'\")\n"
     "page.screenshot(full_page=True)"),
    ("a large clip", "page.screenshot(clip={'x': 0, 'y': 0, 'width': 30_000, 'height': 30_000})"),
    ("a huge window",
     "page.set_viewport_size({'width': 8192, 'height': 8192})\npage.screenshot()"),
)  # fmt: skip

_WAY = "page.evaluate(\"location.hash = 'a'.repeat(1000)\")\n"
PATTERNS = endured(
    ("a glob", _WAY + "page.wait_for_url('**a' * 30 + '**b', timeout=300)"),
    ("braces", _WAY + "page.wait_for_url('**#' + '{a,aa}' * 40 + 'b', timeout=300)"),
    ("a glob for a frame", _WAY + "page.frame(url='**a' * 30 + '**b')"),
    ("a glob for a request",
     "with page.expect_request('**a' * 30 + '**b', timeout=300):\n    page.reload()"),
    ("a glob for collecting", "page.evaluate(\"document.body.innerHTML += '<a href=/' + "
     "'a'.repeat(1000) + '>x</a>'\")\ncollect_urls(pattern='**a' * 30 + '**b', pages=1)"),
    ("an error of megabytes", "page.evaluate(\"throw new Error('x'.repeat(1e8))\")"),
    ("a rejection of megabytes", "page.evaluate(\"Promise.reject('x'.repeat(1e8))\")"),
    ("a script without an end", "page.evaluate('() => { for (;;) {} }')"),
    ("many listeners",
     "for i in range(1_000):\n    page.on('request', lambda r: r.url)\npage.reload()"),
    ("many locators", "for i in range(1_000):\n    page.locator('h1').nth(i).is_visible()"),
    ("a deep result",
     "page.evaluate('() => { let a = []; for (let i = 0; i < 1e4; i++) a = [a]; return a }')"),
)  # fmt: skip

PATTERNS.append(Probe(
    "memory without an end",
    code="page.evaluate('() => { const b = []; for (;;) "
     "b.push(new Uint8Array(64 << 20).fill(1)) }')",
))  # fmt: skip

PROBES = [*TALK, *TRAFFIC, *SHAPES, *FRAMES, *BUSY, *RESULTS, *ARGUMENTS, *PATTERNS]
