"""A little shop, and a runner of blocks on it, for the tests of the sandbox.

PYTEST_DONT_REWRITE: the test modules import names from here before pytest takes the fixtures.
"""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.sandbox.engine import Limits, SandboxBorder, StepOutcome
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.levels import Level, scripts_allowed
from pytest_autoweb.sandbox.lint import lint_code
from pytest_autoweb.sandbox.worker_process import workers_of

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
    "/elsewhere": ("<input id=later>", "text/html"),
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
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
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

    def __init__(self, engine: WorkerEngine, border: SandboxBorder) -> None:
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

    def make(level: Level = "auto", **changes: Any) -> Step:
        border = SandboxBorder(
            page=shop,
            artifacts=tmp_path / "artifacts",
            secrets={"password": SECRET},
            allowed=lambda url: url.startswith(origin + "/"),
            secret_allowed=lambda url: url.startswith(origin + "/"),
            files={"invoice.pdf": _file(tmp_path / "invoice.pdf")},
            scripts=scripts_allowed(level, "some/model"),
            redact=Redactor({"password": SECRET}),
        )
        for name, value in changes.items():
            setattr(border, name, value)
        engines.append(WorkerEngine(border, workers=workers_of(level)))
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
