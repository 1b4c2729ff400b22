"""What attacks act on: a shop, a forbidden server, files, a secret, and the harness.

PYTEST_DONT_REWRITE: the test modules import names from here before pytest takes the fixtures.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from attacks.attack import Attack
from forbidden_server import ForbiddenServer
from local_site import Site
from playwright.sync_api import Browser, Error, Page

from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.egress.traffic_reader import REPLY_BYTES
from pytest_autoweb.browser.page.covered_fields import covers
from pytest_autoweb.sandbox.engine import Limits, SandboxBorder, StepOutcome
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.levels import Level, scripts_allowed
from pytest_autoweb.sandbox.worker_process import workers_of

SECRET = "hunter2/hunter2&more"
CANARIES = ("CANARY-IN-A-FILE", "CANARY-IN-THE-ENVIRONMENT", "CANARY-IN-A-COOKIE")
_REDACT = Redactor({"password": SECRET})
_FOREIGN_NAME = "leak.example.org"

SHOP = """<!doctype html><title>Shop</title><h1>Shop</h1>
<input id=user aria-label=User><input id=pw type=password aria-label=Password>
<input id=note aria-label=Remark><input type=file id=file multiple>
<p id=done></p>
<button onclick="done.textContent=done.dataset.v=user.value">Mirror</button>
<button onclick="document.title=user.value">Title</button>
<button onclick="history.pushState(0,'','/x?q='+encodeURIComponent(user.value))">Address</button>
<button onclick="console.log('said', user.value)">Say</button>
<button onclick="alert(user.value)">Alert</button>
<button onclick="done.textContent=confirm('sure?')?'yes':'no'">Ask</button>
<button onclick="fetch('/api?q='+encodeURIComponent(user.value),{method:'POST',body:user.value})">
Send</button>
<button onclick="const a=document.createElement('a');a.download=user.value+'.txt';
a.href='data:text/plain,'+encodeURIComponent(user.value);a.click()">Save mirror</button>
<a href="/popup" target=_blank>Open</a> <a href="/shop?next">Next</a>
<a href="/file.csv" download="file.csv">Download</a>
<a href="{forbidden}">Away</a> <a href="{forbidden}" target=_blank>Window</a>
<a href="/hop" download>Fetch file</a>
<button onclick="new Image().src='{forbidden}'">Picture</button>
<form action="{forbidden}" method=post><button>Post</button></form>
"""
FRAMES = "<iframe name=inner src='/inner'></iframe><iframe id=foreign src='/foreign'></iframe>"


class Effects(NamedTuple):
    """What can be seen of the world outside."""

    files: dict[str, tuple[int, int]]
    connections: int
    packets: int
    contexts: int
    lookups: frozenset[str]


class Target:
    """Runs attacks at one level and sees what they did.

    Attributes:
        asked: tells how often the proxy refused.
        lines: what the code logged, as it happened.
    """

    def __init__(
        self,
        open_page: Callable[[], Page],
        site: Site,
        forbidden: ForbiddenServer,
        asked: Callable[[], int],
        folder: Path,
        level: Level,
    ) -> None:
        self.page, self._open_page = open_page(), open_page
        self.site, self.forbidden, self.asked, self.level = site, forbidden, asked, level
        self.folder, self.file, self.marker = folder, folder / "secret.txt", folder / "marker"
        self.cell = folder / "cell"
        self.shop = site.url + "shop"
        self.lines: list[str] = []
        self._index, self._as_found = 0, False
        self._border = self._made_border()
        self._engine = self._made_engine()

    def _made_border(self) -> SandboxBorder:
        policy = OriginPolicy(self.site.url)
        return SandboxBorder(
            page=self.page,
            artifacts=self.cell,
            secrets={"password": SECRET},
            allowed=policy.allows,
            secret_allowed=lambda url: policy.allows(url) and "/foreign" not in url,
            scripts=scripts_allowed(self.level, "some/model"),
            files={"invoice.pdf": self.folder / "invoice.pdf"},
            redact=_REDACT,
            covers=lambda page: covers(page, _REDACT),
            on_log=self.lines.append,
        )

    def _made_engine(self) -> WorkerEngine:
        return WorkerEngine(self._border, workers=workers_of(self.level))

    def filled(self, code: str) -> str:
        """The attack with its places filled in."""
        places = {"FILE": self.file, "MARKER": self.marker, "EVIL": self.forbidden.host}
        for name, value in (places | {"SHOP": self.site.url.rstrip("/")}).items():
            code = code.replace(f"@{name}@", str(value))
        return code

    def run(self, attack: Attack) -> StepOutcome:
        """Run an attack without linting it, on the page as a visitor finds it if it needs one."""
        if attack.on_page:
            self._visit(self.shop + "?frames" * ("frame" in attack.name + attack.code))
        self.lines.clear()
        self._index += 1
        outcome = self._engine.run_step(
            self._index, self.filled(attack.code), root=self.page, limits=attack.limits
        )
        self._as_found = not attack.scripts and not any(call.acting for call in outcome.calls)
        return outcome

    def _visit(self, url: str) -> None:
        """Open the page anew, unless nobody has done anything to it."""
        if self._as_found and self.page.url == url:
            return
        for _ in range(5):
            try:
                self.page.goto(url)
                return
            except Error:  # what the attack before has begun comes in between
                self.page.wait_for_timeout(100)
        self.page.goto(url)

    def told(self, outcome: StepOutcome) -> str:
        """Everything that came out."""
        saved = [p.read_bytes() for p in self.cell.iterdir() if p.suffix in {".txt", ".csv"}]
        return repr((outcome, self._engine.answer, self.lines, saved))

    def effects(self) -> Effects:
        """The world outside, as it is now."""
        files = {
            str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in self.folder.rglob("*")
            if self.cell not in path.parents and path != self.cell
        }
        browser = self.page.context.browser
        assert browser is not None
        forbidden = self.forbidden
        return Effects(
            files,
            forbidden.connections,
            forbidden.packets,
            len(browser.contexts),
            frozenset(_LOOKUPS),
        )

    def asked_soon(self, before: int) -> bool:
        """Whether the proxy is asked for a forbidden origin before long."""
        for _ in range(100):
            if self.asked() > before:
                return True
            self.page.wait_for_timeout(20)
        return False

    def tidy(self, outcome: StepOutcome) -> None:
        """Leave the target to the next attack.

        One that hurt its own page or its own worker gets a fresh one: it harmed its own attempt.
        """
        if outcome.failure and outcome.failure.evidence.get("page_lost"):
            self._renew(page=True)
            return
        for page in self.page.context.pages:
            if page is not self.page:
                page.close()
        for path in self.cell.iterdir():
            if path.is_file() and not path.is_symlink():
                path.unlink()
        self._index += 1
        sign = f"{_TYPED}\nanswer([int('{self._index}'), *[str(x)[:9] for x in things]])"
        self._engine.run_step(self._index, sign, root=self.page, limits=_SIGN_OF_LIFE)
        if self._engine.answer != (True, [self._index, *_HEALTHY]):
            self._renew(page=False)

    def _renew(self, *, page: bool) -> None:
        self._engine.close()
        if page:
            self.page.context.close()
            self.page = self._open_page()
        self._border = self._made_border()
        self._engine = self._made_engine()

    def close(self) -> None:
        """End the attempt."""
        self._engine.close()
        self.page.context.close()


_SIGN_OF_LIFE = Limits(step_s=5)
_TYPED = "import json as j\nthings = [page, log, expect, j.dumps([1]), [1 / 1]]"
_HEALTHY = ["<Page h1>", "<function", "<function", "[1]", "[1.0]"]
_LOOKUPS: set[str] = set()


def _note_lookup(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo" and _FOREIGN_NAME in str(args[0]):
        _LOOKUPS.add(str(args[0]))


@pytest.fixture(scope="module")
def target_of(cell_browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Gives the target at a level; both share a browser and a page."""
    sys.addaudithook(_note_lookup)
    site, forbidden = Site(), ForbiddenServer()
    _furnish(site, forbidden)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name in ("AUTOWEB_CANARY", "OPENAI_API_KEY"):
            patch.setenv(name, CANARIES[1])
        proxy = stack.enter_context(EgressProxy(OriginPolicy(site.url), lambda origin: None))
        targets: dict[Level, Target] = {}

        def open_page() -> Page:
            args: dict[str, Any] = {"proxy": proxy.settings, "service_workers": "block"}
            return cell_browser.new_context(**args).new_page()

        def asked() -> int:
            return sum(proxy.blocked.values())

        def target(level: Level) -> Target:
            if level not in targets:
                folder = _folder(tmp_path_factory.mktemp(level))
                targets[level] = Target(open_page, site, forbidden, asked, folder, level)
            return targets[level]

        yield target
        for one in targets.values():
            one.close()
    site.close()
    forbidden.close()


def _furnish(site: Site, forbidden: ForbiddenServer) -> None:
    cookie = {"set-cookie": f"sid={CANARIES[2]}; HttpOnly"}
    shop = SHOP.replace("{forbidden}", forbidden.url)
    site.put("/shop", shop, headers=cookie)
    site.put("/shop?frames", shop + FRAMES, headers=cookie)
    site.put("/inner", "<title>Inner</title><input aria-label=Note>")
    site.put("/foreign", "<title>Foreign</title><input aria-label=Note>")
    site.put("/popup", "<title>Popup</title><h1>Popup</h1>")
    site.put("/file.csv", "a,b\n1,2\n", headers={"content-type": "text/csv"})
    site.put("/hop", "", status=302, headers={"location": forbidden.url})
    site.put("/large", "x" * (REPLY_BYTES + 1))
    site.put("/inflating", "", headers={"content-encoding": "gzip"})
    site.put("/chain", "", status=307, headers={"location": "/hop"})


def _folder(folder: Path) -> Path:
    """A run's folder, with this cell's files and those of others."""
    (folder / "secret.txt").write_text(CANARIES[0], encoding="utf-8")
    (folder / "invoice.pdf").write_bytes(b"%PDF-1")
    (folder / "other").mkdir()
    (folder / "other" / "result.json").write_text("{}", encoding="utf-8")
    (folder / "cell" / "folder.png").mkdir(parents=True)
    (folder / "cell" / "link.png").symlink_to(folder / "other" / "result.json")
    return folder


TargetOf = Callable[[Level], Target]
