"""A last collection over the six sources, made after the rules had seen both corpora: unseen."""

import json
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from browser_errors import Act
from playwright.sync_api import Browser, expect
from provoked import Provoked, raised
from six_providers import BUSINESS, DATA, PARAMETER, PERMISSION, SERVICE, Said

T = 600
PAGE = """<!doctype html><title>Tickets</title><main><h2>Tickets 工单</h2>
<label>Title <input id=title maxlength=9></label><label>Owner <select id=owner disabled>
<option>Ana<option>Bo</select></label><ul><li>One <a href="#1">Open</a><li>Two <a href="#2">Open</a>
</ul><label><input type=checkbox id=urgent> Urgent</label><p id=empty></p>
<button id=send style="display:none">Send</button><input id=code readonly value=7>
<div style="height:40px;overflow:hidden;position:relative"><button id=deep>Deep</button>
<div style="position:absolute;inset:0;z-index:2">shade</div></div></main>"""
CALLS: tuple[tuple[str, tuple[Act, ...]], ...] = (
    ("DATA_NOT_FOUND", (
        lambda p: p.get_by_role("tab", name="Closed").click(timeout=T),
        lambda p: p.get_by_text("已关闭").first.click(timeout=T),
        lambda p: p.get_by_label("Due date").fill("1", timeout=T),
        lambda p: p.locator("li").filter(has_text="Three").locator("a").click(timeout=T),
        lambda p: p.locator("main >> css=footer").inner_text(timeout=T),
        lambda p: p.locator("#none").clear(timeout=T),
        lambda p: p.locator("#none").blur(timeout=T),
        lambda p: p.locator("#none").dispatch_event("click", timeout=T),
        lambda p: p.get_by_test_id("menu").hover(timeout=T),
        lambda p: p.get_by_role("listitem").nth(5).text_content(timeout=T),
        lambda p: p.check("text=Archived", timeout=T),
        lambda p: p.wait_for_selector("css=.toast", timeout=T),
        lambda p: p.wait_for_url("**/tickets/9", timeout=T),
        lambda p: p.wait_for_event("request", timeout=T),
    )),
    ("RESOURCE_CONFLICT", (
        lambda p: p.locator("#send").click(timeout=T),
        lambda p: p.locator("#owner").select_option("Bo", timeout=T),
        lambda p: p.locator("#code").fill("8", timeout=T),
        lambda p: p.locator("#deep").click(timeout=T),
        lambda p: p.locator("#empty").click(timeout=T),
        lambda p: p.locator("#send").hover(timeout=T),
    )),
    ("PARAMETER_ERROR", (
        lambda p: p.get_by_role("link", name="Open").click(timeout=T),
        lambda p: p.locator("li").click(timeout=T),
        lambda p: p.locator("h2").fill("x", timeout=T),
        lambda p: p.locator("#urgent").fill("yes", timeout=T),
        lambda p: p.locator("#title").check(timeout=T),
        lambda p: p.locator("h2").input_value(timeout=T),
        lambda p: p.locator("li:contains('One')").click(timeout=T),
        lambda p: p.locator("a[href='#1'").click(timeout=T),
        lambda p: p.locator("xpath=//li[").count(),
        lambda p: p.keyboard.press("Strg+A"),
        lambda p: p.get_by_role("link").first.clicks(),  # type: ignore[attr-defined]
        lambda p: p.locator("#title").fill("a", "b"),  # type: ignore[call-arg, arg-type]
        lambda p: p.evaluate("() => tickets.length"),
        lambda p: p.evaluate("() => document.querySelector('#none').value"),
        lambda p: p.evaluate("() => { if ( }"),
        lambda p: p.goto("tickets/1"),
        lambda p: p.wait_for_load_state("done"),  # type: ignore[arg-type]
    )),
    ("VALIDATION_ERROR", (
        lambda p: expect(p.locator("li")).to_have_count(3, timeout=T),
        lambda p: expect(p.locator("h2")).to_have_text("工单", timeout=T),
        lambda p: expect(p).to_have_title("Ticket", timeout=T),
        lambda p: expect(p.locator("#urgent")).to_be_checked(timeout=T),
        lambda p: expect(p.locator("#send")).to_be_visible(timeout=T),
        lambda p: expect(p.locator("#title")).to_have_value("x", timeout=T),
        lambda p: expect(p.locator("#none")).to_be_attached(timeout=T),
    )),
)  # fmt: skip
MISTAKES = r"""
ticket["id"]
tickets = [t for t in open_tickets]
"7" + 7
int("seven")
int("7,5")
len(7)
[1, 2, 3][9]
{"id": 1}["title"]
"title".push("x")
None.text
(1).append(2)
x, y = "abc"
for k, v in {"a": 1}: pass
sum("12")
max(None)
"a".join(["b", 1])
round(None)
def open(a, b): return a\nopen(1)
def open(a): return a\nopen(a=1, b=2)
class Ticket: pass\nTicket().close()
if ticket = 1: pass
print "ticket"
def f()\n  pass
x = {"a": 1
'ticket
from tickets import Ticket
import json; json.loads("ticket")
import json; json.loads('{"a" 1}')
import datetime; datetime.datetime.strptime("2026/12", "%Y-%m")
import decimal; decimal.Decimal("x")
import math; math.log(0)
1 % 0
next(iter(""))
float("7 EUR")
"{0[2]}".format([1])
assert "Open" in "Closed"
""".strip().splitlines()
SAID: tuple[Said, ...] = (
    (401, {"message": "invalid api token"}, PERMISSION),
    (404, {"message": "model 'command-x' not found, make sure the correct model ID was used"},
     DATA),
    (429, {"message": "You are using a Trial key, which is limited to 10 API calls / minute"},
     SERVICE),
    (400, {"message": "too many tokens: the total number of tokens in the prompt exceeds the "
     "limit of 4081"}, PARAMETER),
    (400, {"error": {"message": "property 'top_k' is unsupported", "type":
     "invalid_request_error"}}, PARAMETER),
    (413, {"error": {"message": "Request too large for model `llama3` on tokens per minute",
     "type": "tokens", "code": "rate_limit_exceeded"}}, PARAMETER),
    (400, {"error": {"message": "The model `mixtral-8x7b` has been decommissioned and is no "
     "longer supported.", "code": "model_decommissioned"}}, DATA),
    (400, {"error": {"message": "'messages' : minimum number of items is 1"}}, PARAMETER),
    (402, {"error": {"message": "This request requires more credits, or fewer max_tokens.",
     "code": 402}}, BUSINESS),
    (400, {"error": {"message": "gpt-9 is not a valid model ID", "code": 400}}, DATA),
    (403, {"error": {"message": "Your chosen model requires moderation and your input was "
     "flagged", "code": 403}}, PERMISSION),
    (502, {"error": {"message": "Provider returned error", "code": 502}}, SERVICE),
    (404, {"error": {"message": "The API deployment for this resource does not exist.", "code":
     "DeploymentNotFound"}}, DATA),
    (401, {"error": {"message": "Access denied due to invalid subscription key or wrong API "
     "endpoint.", "code": "401"}}, PERMISSION),
    (424, {"error": "Request failed during generation: Server error: CUDA out of memory",
     "error_type": "generation"}, SERVICE),
    (503, {"error": "Model is loading", "estimated_time": 20.0}, SERVICE),
    (401, {"error": {"message": "令牌无效", "code": "invalid_token"}}, PERMISSION),
    (400, {"error": {"message": "请求参数错误：temperature 取值范围为 (0, 1]", "code": "336003"}},
     PARAMETER),
    (429, {"error": {"message": "请求频率超过限制，请稍后再试", "code": "336501"}}, SERVICE),
    (400, {"error": {"message": "账户余额不足", "code": "1008"}}, BUSINESS),
    (400, {"error": {"message": "输入内容涉及敏感信息", "code": "1026"}}, BUSINESS),
    (404, {"error": {"message": "找不到指定的模型", "code": "NotFound"}}, DATA),
    (500, {"error": {"message": "服务器内部异常，请重试", "code": "InternalError"}}, SERVICE),
    (503, {"error": {"message": "模型服务过载，请稍后重试", "code": "ServerOverloaded"}}, SERVICE),
)  # fmt: skip
STATUSES = {
    "requests": (402, 403, 405, 410, 412, 502),
    "httpx": (401, 409, 413, 415, 422, 503),
    "aiohttp": (400, 403, 409, 411, 429, 502),
    "console": (402, 405, 412, 413, 504),
}
_NODE = """
const out = []; const say = (source, text) => out.push([source, String(text)]);
const Ajv = require('ajv').default || require('ajv'), locale = require('ajv-i18n');
const rules = {type: 'object', required: ['id'], additionalProperties: false, properties: {
  age: {type: 'integer'}, name: {type: 'string', minLength: 4}, tag: {maxLength: 2},
  low: {minimum: 5}, high: {maximum: 5}, kind: {enum: ['a', 'b']}, step: {multipleOf: 5},
  code: {pattern: '^[A-Z]+$'}, list: {maxItems: 1}, more: {minItems: 3}, uniq: {uniqueItems: true},
  fix: {const: 1}, above: {exclusiveMinimum: 5}}};
const data = {age: 'x', name: 'ab', tag: 'abc', low: 1, high: 9, kind: 'z', step: 7, code: 'a',
  list: [1, 2], more: [1], uniq: [1, 1], fix: 2, above: 5, extra: 1};
for (const language of ['en', 'zh']) {
  const check = new Ajv({allErrors: true, strict: false}).compile(rules); check(data);
  locale[language](check.errors);
  check.errors.forEach(e => say('ajv: ' + language, e.message));
}
const Validator = require('validatorjs');
const wanted = {id: 'required', mail: 'email', age: 'integer', low: 'min:5', high: 'max:5',
  day: 'date', web: 'url', kind: 'in:a,b', code: 'alpha', tag: 'alpha_num', n: 'numeric',
  size: 'size:3', ok: 'accepted', same: 'same:mail', digits: 'digits:4', b: 'boolean',
  r: 'between:2,4', h: 'hex', x: 'regex:/^a$/', s: 'string', list: 'array'};
const given = {mail: 'x', age: 'y', low: 1, high: 9, day: 'z', web: 'x', kind: 'q', code: '1',
  tag: '!', n: 'm', size: 'ab', ok: 'no', same: 'k', digits: '12', b: 'maybe', r: 9, h: 'zz',
  x: 'b', s: 1, list: 'l'};
for (const language of ['en', 'zh']) {
  Validator.useLang(language);
  const check = new Validator(given, wanted); check.passes();
  for (const texts of Object.values(check.errors.all())) say('validatorjs: ' + language, texts[0]);
}
for (const [file, language] of [['en', 'en'], ['zh_CN', 'zh']]) {
  const texts = require('@vee-validate/i18n/dist/locale/' + file + '.json').messages;
  for (const text of Object.values(texts)) say('vee-validate: ' + language, text
    .replace(/{field}/g, language === 'en' ? 'price' : '价格').replace(/(\\d:)?{\\w+}/g, '3'));
}
console.log(JSON.stringify(out));
"""


def again_calls(browser: Browser) -> Iterator[Provoked]:
    """Yield calls on another page."""
    for label, acts in CALLS:
        page = browser.new_page()
        page.set_content(PAGE)
        for number, act in enumerate(acts):
            try:
                said = raised(act, page)
            except AssertionError:
                continue
            yield Provoked(*said, None, label, "", f"playwright: again {number + 1}")
        page.close()


def again_pages(browser: Browser, base: str) -> Iterator[Provoked]:
    """Yield Chromium's error pages and console for hosts that answer badly."""
    for name in ("empty", "garbage", "loop", "chunked", "headers", "lengths", "encoding"):
        page = browser.new_page()
        try:
            raised(partial(page.goto, timeout=3000), f"{base}/{name}")
            shown = page.locator("#main-message").inner_text(timeout=2000)
        except Exception:  # this one has no page of its own
            continue
        finally:
            page.close()
        text = " ".join(shown.split())[:300]
        yield Provoked("", text, None, "SERVICE_UNAVAILABLE", "", f"chromium: again {name}")
    page = browser.new_page()
    told: list[str] = []
    page.on("console", lambda line: told.append(line.text))
    page.evaluate("new WebSocket('ws://127.0.0.1:9/')")
    page.evaluate("fetch('http://no-such-host.invalid/').catch(() => 0)")
    page.wait_for_timeout(500)
    page.close()
    for text in told:
        label = "PARAMETER_ERROR" if "UNSAFE_PORT" in text else "SERVICE_UNAVAILABLE"
        yield Provoked("", text, None, label, "", "chromium: again console")


def again_python() -> Iterator[Provoked]:
    """Yield other mistakes of scripts."""
    for line in MISTAKES:
        kind, text = raised(exec, line.replace("\\n", "\n"), {"page": object()})
        label = "VALIDATION_ERROR" if kind == "AssertionError" else "PARAMETER_ERROR"
        yield Provoked(kind, text, None, label, "", f"python: again {line!r}")


def again_frameworks() -> Iterator[Provoked]:
    """Yield what Falcon, Tornado and Bottle say of a status by default."""
    from http_statuses import LABELS

    falcon: Any = import_module("falcon")
    made: tuple[tuple[int, Callable[[], Any]], ...] = (
        (404, falcon.HTTPNotFound), (403, falcon.HTTPForbidden), (409, falcon.HTTPConflict),
        (401, falcon.HTTPUnauthorized), (503, falcon.HTTPServiceUnavailable),
        (500, falcon.HTTPInternalServerError), (429, falcon.HTTPTooManyRequests),
        (410, falcon.HTTPGone), (422, falcon.HTTPUnprocessableEntity),
    )  # fmt: skip
    for status, make in made:
        text = json.dumps(make().to_dict())
        yield Provoked("", text, None, LABELS[status], "", f"HTTP: falcon {status}")
    tornado: Any = import_module("tornado.web")
    for status in (400, 403, 404, 405, 500):
        text = str(tornado.HTTPError(status))
        yield Provoked("HTTPError", text, None, LABELS[status], "", f"HTTP: tornado {status}")
    bottle: Any = import_module("bottle")
    for status, body in ((404, "Not found: '/tickets'"), (405, "Method not allowed.")):
        text = f"Error: {bottle.HTTPError(status, body).status_line} {body}"
        yield Provoked("", text, None, LABELS[status], "", f"HTTP: bottle {status}")


def again_forms(packages: Path) -> Iterator[Provoked]:
    """Yield messages of Ajv, validatorjs and VeeValidate, in English and Chinese."""
    done = subprocess.run(
        ["node", "-e", _NODE], cwd=packages, capture_output=True, text=True, check=True
    )
    for source, text in json.loads(done.stdout):
        yield Provoked("", text, None, "VALIDATION_ERROR", "", f"{source} again")
