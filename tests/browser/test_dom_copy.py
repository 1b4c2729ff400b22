"""A stored copy of a page is judged as the page itself was."""

import json
import re
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_site import Site
from playwright.sync_api import Browser, Page
from quiet_handler import QuietHandler

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.browser.page.frames import run_on_elements, run_script
from pytest_autoweb.cases.source import read_checks
from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.evidence import dom_copy
from pytest_autoweb.judging.evidence.dom_copy import copy_page, open_copy
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import Attempt, CheckResult
from pytest_autoweb.tools.verify.rejudge import CurrentCheck, RejudgeTools, Stored, rejudge

SECRET = "hunter2-hunter2"
REDACT = Redactor({"pw": SECRET})


@pytest.mark.long
def test_a_copy_is_judged_as_its_page_was(browser: Browser, account: Page) -> None:
    live = verdicts(account)
    with open_copy(browser, copy_page(account, REDACT), account.url) as copy:
        stored = verdicts(copy.page)

    assert copy.complete
    assert {passed for passed, _ in live} == {True, False}
    assert list(zip(CHECKS, stored, strict=True)) == list(zip(CHECKS, live, strict=True))


def test_a_copy_that_does_not_open_leaves_the_verdicts_that_there_were(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dom_copy, "OBSERVE_TIMEOUT_MS", 1)
    told = [{"text": "Paid"}, {"text": "Sent"}, {"answer": {"equals": 4}}]
    checks = [
        CurrentCheck(number, check, f"sum {number}")
        for number, check in enumerate(read_checks(told, (), None))
    ]
    recorded = CheckResult(index=0, type="text", passed=True, expected="", actual="", message="")
    attempt = Attempt(
        attempt_index=1,
        answered=True,
        answer=4,
        checks=(recorded.model_copy(update={"checksum": "sum 0"}),),
    )
    stored = Stored("<p>Paid" * 20_000, "http://a.example/", (), (), None)

    after = rejudge(attempt, checks, stored, RejudgeTools(lambda: browser))

    assert [one.passed for one in after.checks] == [True, None, True]
    assert "as recorded" in after.checks[0].message
    assert "the stored page does not open" in after.checks[1].message


@pytest.mark.long
def test_a_copy_shows_and_says_what_its_page_did(browser: Browser, account: Page) -> None:
    live = facts(account)
    with open_copy(browser, copy_page(account, REDACT), account.url) as copy:
        # Of what unknown secret fields hold is kept that it is something.
        assert facts(copy.page) == [
            re.sub('unknown-to-all|tok(?=")', "<hidden>", line) for line in live
        ]


def test_a_copy_holds_no_secret_no_script_and_no_event_handler(account: Page) -> None:
    text = copy_page(account, REDACT)

    assert SECRET not in text
    assert "unknown-to-all" not in text
    assert 'value="tok"' not in text
    assert "<script" not in text
    assert "onclick" not in text
    assert "alert(1)" not in text


def test_a_copy_that_a_person_opens_loads_nothing(
    browser: Browser, account: Page, tmp_path: Path
) -> None:
    path = tmp_path / "final.html"
    path.write_text(copy_page(account, REDACT), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    answered: list[str] = []
    page.on("response", lambda response: answered.append(response.url))
    page.goto(path.as_uri())
    page.get_by_role("button", name="Pay now").dispatch_event("click")

    assert page.title() == "Account"
    assert answered == [path.as_uri()]
    context.close()


OLD = """<!doctype html><html data-autoweb="0"><head><title>Old</title><style>
[data-autoweb="2"]{display:none!important}</style></head><body data-autoweb="0">
<p id=broken>A<template data-autoweb-graft><div>B</div></template>C</p>
<table><template data-autoweb-graft><tr><td>direct</td></tr></template></table>
<label>City <input value="Rome" data-autoweb-value="Paris"></label><p data-autoweb="2">unseen</p>
<div><template shadowrootmode="open"><p>Shadow words</p></template></div>
<pre>

kept</pre><iframe srcdoc="&lt;p&gt;Framed words&lt;/p&gt;"></iframe></body></html>"""


def test_a_copy_of_an_earlier_version_is_opened_as_before(browser: Browser) -> None:
    with open_copy(browser, OLD, "http://a.example/") as copy:
        told = {"B", "direct", "Shadow words", "Framed words", "unseen"}
        seen = {text for text in told if copy.page.get_by_text(text, exact=True).is_visible()}
        framed = copy.page.frames[1].get_by_text("Framed words").is_visible()

        assert seen == {"B", "direct", "Shadow words"}
        assert framed
        assert copy.page.get_by_label("City").input_value() == "Paris"
        assert copy.page.locator("p#broken > div").count() == 1
        assert copy.page.locator("table > tr").count() == 1
        assert copy.page.locator("pre").evaluate("pre => pre.textContent") == "\nkept"


def hostile_copy(url: str) -> str:
    """A copy of the current form in which somebody has put what a page could do harm with."""
    parts = (
        "<script>document.title = 'ran'</script>",
        f'<script src="{url}script.js"></script>',
        f'<img src="{url}picture.png" onerror="document.title = 1"/>',
        f'<link rel="stylesheet" href="{url}style.css"/>',
        f'<meta http-equiv="refresh" content="0; url={url}refresh"/><base href="{url}base/"/>',
        f'<iframe src="{url}frame"></iframe><object data="{url}object"></object>',
        f'<iframe src="javascript:parent.document.title = 2" srcdoc="&lt;script src='
        f'&quot;{url}inner.js&quot;&gt;&lt;/script&gt;"></iframe>',
        '<form id="f"><input name="appendChild"/><input name="setAttribute"/>'
        '<input name="attachShadow"/><p>in the form</p></form>',
        '<svg data-autoweb-space="1"><script>document.title = 3</script>'
        f'<image href="{url}image.png"></image></svg>',
        f"<style>body {{ background: url({url}background.png) }}</style>",
    )
    return f'<html data-autoweb-format="2"><head></head><body>{"".join(parts)}</body></html>'


def test_what_a_copy_from_somebody_else_holds_neither_runs_nor_loads(
    browser: Browser, site: Site
) -> None:
    with open_copy(browser, hostile_copy(site.url), "http://a.example/") as copy:
        copy.page.wait_for_timeout(300)

        assert copy.page.get_by_text("in the form").count() == 1
        assert copy.page.url == "http://a.example/"
        assert copy.page.title() == ""
        assert site.hits == []


@pytest.mark.parametrize("body", ["</p></body></html></div>x", "<i>" * 100_000, "<p"])
def test_a_copy_that_no_page_gives_says_that_it_does_not_open(browser: Browser, body: str) -> None:
    text = f'<html data-autoweb-format="2"><head></head><body>{body}'

    with (
        pytest.raises(BrowserError, match="the stored page does not open"),
        open_copy(browser, text, "http://a.example/"),
    ):
        pass


@pytest.fixture(scope="module")
def miniwob() -> Iterator[str]:
    package = pytest.importorskip("miniwob", reason="needs the extra `demo`")
    folder = Path(str(package.__file__)).parent / "html"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/miniwob/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("task", ["book-flight", "click-dialog-2", "email-inbox", "social-media"])
def test_pages_that_nobody_here_wrote_survive_being_copied(
    browser: Browser, blank: Page, miniwob: str, task: str
) -> None:
    blank.goto(f"{miniwob}{task}.html")
    blank.evaluate("Math.seedrandom('7'); core.EPISODE_MAX_TIME = 1e8; core.startEpisodeReal()")
    blank.wait_for_function("WOB_TASK_READY")
    seen: list[str] = []
    # Pictures that a style sheet names arrive without an event: a copy counts that saw no change.
    while seen != (seen := facts(blank)):
        text = copy_page(blank, str)
    with open_copy(browser, text, blank.url) as copy:
        assert facts(copy.page) == seen


TAGS = st.sampled_from(
    re.findall(
        r"\w+",
        "a b button div form h1 h2 li ul p span table tbody tr td select option pre dl dd dt label"
        " details summary section",
    )
)
TREES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(["x", "\n", " ", "a<b&", "\nline"]),
    lambda inner: (
        st.tuples(TAGS, st.lists(inner, max_size=4))
        | st.tuples(st.sampled_from(["br", "input", "hr", "textarea"]), st.just([]))
    ),
    max_leaves=25,
)
BUILD = """tree => { const make = node => {
  if (typeof node === 'string') return document.createTextNode(node);
  const element = document.createElement(node[0]); element.append(...node[1].map(make));
  return element; };
  document.body.replaceChildren(make(['div', [tree]])); document.body.normalize(); }"""
OUTLINE = """() => { const tell = node => node.nodeType === 3 ? node.nodeValue
  : [node.localName, [...node.childNodes].filter(n => n.nodeType !== 8).map(tell)];
  return JSON.stringify(tell(document.body)); }"""


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(tree=TREES)
def test_any_tree_that_a_script_can_build_is_kept(kept_page: Page, tree: Any) -> None:
    kept_page.set_content("<!doctype html><body></body>")
    kept_page.evaluate(BUILD, tree)
    live = kept_page.evaluate(OUTLINE)
    text = copy_page(kept_page, str)
    run_script(kept_page, "dom_build", text)

    assert json.loads(kept_page.evaluate(OUTLINE)) == json.loads(live)


PICTURE = """() => { const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 9 9');
  const use = document.createElementNS(svg.namespaceURI, 'linearGradient');
  use.setAttributeNS('http://www.w3.org/1999/xlink', 'xlink:href', '#a');
  const block = document.createElement('div'); block.append('html in a picture');
  svg.append(use, block); document.body.replaceChildren(svg, document.createElement('svg')); }"""
SPACES = """() => [...document.querySelectorAll('body *')].map(e => [e.parentNode.localName,
  e.namespaceURI, e.localName, ...[...e.attributes].filter(a => !a.name.startsWith('data-autoweb'))
  .map(a => [a.namespaceURI, a.name, a.value])])"""


def test_elements_of_pictures_keep_their_names_and_places(kept_page: Page) -> None:
    kept_page.set_content("<!doctype html><body></body>")
    kept_page.evaluate(PICTURE)
    live = kept_page.evaluate(SPACES)
    run_script(kept_page, "dom_build", copy_page(kept_page, str))

    assert kept_page.evaluate(SPACES) == live


PAGE = """<!doctype html><html lang=en><title>Account</title><style>
.gone{display:none}
.icon::before{content:"★ \\3c/style><b>"} .must::after{content:" *" / "required"}
.apart{position:absolute} .zero{width:0;height:0} .row{display:flex} .tiny{font-size:0}
.plate{width:20px;height:20px;background:red} h2{visibility:hidden} h2 b{visibility:visible}
.reader{position:absolute;width:1px;height:1px;overflow:hidden} .flat{transform:scale(0)}
</style><base href="/"><body class=signed-in>
<h1>Account</h1><p>Welcome, <b>Ana</b>&nbsp;Lee! %(secret)s</p>
<p style="display:none">hidden words</p><p class=gone>more hidden words</p>
<label>City <input value=Rome id=city></label> <input type=checkbox aria-label=Agree checked>
<input type=radio name=r aria-label=One checked><input type=radio name=r aria-label=Two id=two>
<button disabled>Send</button><ul><li>a<li>b<li hidden>c</ul>
<button data-testid=pay class="big icon" onclick="document.title='ran'">Pay now</button>
<label class=must>Pin <input type=password id=pin></label><input type=hidden name=csrf value=tok>
<label>Other <input type=password value=unknown-to-all></label>
<a href="#x"><span class=apart>Apart</span></a><a href="javascript:alert(1)">Script</a>
<div class=row><span>one</span><span>two</span></div>
<div class=plate role=button aria-label=Red></div>
<span class=tiny>tiny</span><h2>unseen <b>seen</b></h2><span class=reader>for readers</span>
<p class=flat>flat</p><div class=zero><button>In nothing</button></div>
<details><summary>More</summary><p>folded</p></details>
<details open><summary>Open</summary><p>unfolded</p></details>
<select aria-label=Size><option value=s>Small<option value=l selected>Large</select>
<textarea aria-label=Note>
 written</textarea><table><tr><td>1<td class=gone>2<td>3</table>
<img alt=Logo src="/logo.png"><svg role=img aria-label=Chart width=9 height=9><title>T</title></svg>
<div id=host></div><div id=slots><i slot=s>slotted</i><i>nowhere</i></div>
<p id=broken>A<i></i>C</p><table id=rows></table><dialog id=box>Sure? <button>Yes</button></dialog>
<iframe name=inner srcdoc="<p>Framed words</p><button>Inner</button><input id=i value=q>"></iframe>
<iframe class=gone srcdoc="<p>unseen frame</p>"></iframe><iframe src="%(other)s"></iframe>
<noscript>no scripts here</noscript><link rel=stylesheet href="/late.css">
<div popover id=pop>Pop</div>
<script>
host.attachShadow({mode: 'open'}).innerHTML =
  '<style>u{display:block}</style><p>Shadow words</p><u>block</u><input id=deep aria-label=Deep>';
slots.attachShadow({mode: 'open'}).innerHTML = '<b>S:</b><slot name=s></slot>';
host.shadowRoot.getElementById('deep').value = 'below';
city.value = 'Paris'; two.checked = true; pin.value = '%(secret)s';
document.querySelector('select').value = 's';
document.querySelector('textarea').value = '</textarea><script>';
const block = document.createElement('div'); block.textContent = 'B';
document.querySelector('#broken i').replaceWith(block);
const row = document.createElement('tr'); row.innerHTML = '<td>direct</td>';
rows.append(row, 'loose');
box.showModal(); pop.showPopover();
</script>"""

CHECKS: list[dict[str, Any]] = [
    {"url": "**/user/account?tab=1"},
    {"url": "**/user"},
    {"text": "Welcome, Ana Lee!"},
    {"text": "hidden words"},
    {"text": {"matches": "^Framed words$"}},
    {"text": "unseen frame"},
    {"text": "Other origin"},
    {"text": "no scripts here"},
    {"text": "folded"},
    {"text": "Shadow words"},
    {"text": "onetwo"},
    {"text": "one two"},
    {"text": "1 3"},
    {"text": "S:slotted"},
    {"element": {"role": "heading", "name": "Account", "count": 1}},
    {"element": {"role": "heading", "name": "seen"}},
    {"element": {"label": "City", "value": "Paris"}},
    {"element": {"css": "input[value=Rome]"}},
    {"element": {"label": "Deep", "value": "below"}},
    {"element": {"role": "radio", "name": "Two", "checked": True}},
    {"element": {"role": "radio", "name": "One", "checked": True}},
    {"element": {"label": "Agree", "checked": True}},
    {"element": {"role": "button", "name": "Send", "enabled": False}},
    {"element": {"role": "button", "name": {"matches": "^★.*Pay now"}, "visible": True}},
    {"element": {"role": "textbox", "name": "Pin required"}},
    {"element": {"role": "button", "name": "Red"}},
    {"element": {"role": "link", "name": "Apart"}},
    {"element": {"css": "a > span"}},
    {"element": {"css": ".tiny"}},
    {"element": {"css": ".flat"}},
    {"element": {"css": ".zero"}},
    {"element": {"css": ".reader", "count": 1}},
    {"element": {"role": "button", "name": "In nothing"}},
    {"element": {"css": "li", "count": 2}},
    {"element": {"css": "li:nth-child(3)", "visible": False}},
    {"element": {"label": "Size", "value": "s"}},
    {"element": {"label": "Note", "value": "</textarea><script>"}},
    {"element": {"css": "p#broken > div", "text": "B"}},
    {"element": {"css": "table#rows > tr > td", "text": "direct"}},
    {"element": {"role": "dialog"}},
    {"element": {"css": "#pop", "text": "Pop"}},
    {"element": {"role": "img", "name": "Logo"}},
    {"element": {"role": "button", "name": "Inner"}},
    {"element": {"css": "body.signed-in > h1"}},
]


def verdicts(page: Page) -> list[tuple[bool | None, str]]:
    evidence = Evidence(page=page, answered=False, answer=None, redact=REDACT)
    checks = read_checks(list(CHECKS), (), None)
    return [(r.passed, r.actual) for r in judge_checks(checks, evidence, timeout_s=0)]


def facts(page: Page) -> list[str]:
    """All that text and element checks can see: texts, roles and names, states."""
    seen: list[str] = []
    for frame in page.frames:
        if frame != page.main_frame and not frame.frame_element().is_visible():
            continue
        every = frame.locator("body *:not(script, style, link, meta, base, noscript, template)")
        seen += run_script(frame, "visible_text").splitlines()
        seen += frame.locator("body").aria_snapshot().splitlines()
        seen += [json.dumps(state) for state in run_on_elements(every, "element_states")]
    return [REDACT(line).replace("javascript:alert(1)", '"javascript:"') for line in seen]


@pytest.fixture(scope="module")
def account(browser: Browser) -> Iterator[Page]:
    """One page for all tests here: they only read."""
    site, other = Site(), Site()
    context = browser.new_context()
    page = context.new_page()
    inner = other.put("/inner", "<p>Other origin</p><button>Far</button>")
    page.goto(site.put("/user/account?tab=1", PAGE % {"other": inner, "secret": SECRET}))
    yield page
    context.close()
    site.close()
    other.close()
