"""The real pages on which the benchmarks of marks look: tasks, applications, documentation."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import Page

ROOT = Path(__file__).parent.parent
TASKS = (
    "click-button",
    "click-checkboxes-large",
    "click-link",
    "click-option",
    "click-tab-2-hard",
    "click-test-2",
    "click-button-sequence",
    "choose-date",
    "choose-list",
    "copy-paste-2",
    "email-inbox",
    "enter-date",
    "enter-password",
    "enter-text-2",
    "focus-text-2",
    "login-user-popup",
    "search-engine",
    "use-autocomplete",
    "use-slider-2",
    "drag-items-grid",
)
TOWN = ("events", "mail", "news", "notices", "report", "shop", "tickets")
ADMIN = (
    "",
    "auth/user/",
    "auth/user/?q=stone",
    "auth/user/2/change/",
    "auth/user/add/",
    "auth/group/",
    "auth/group/add/",
    "password_change/",
)
DOCS = {
    "python": ("/usr/share/doc/python3.11/html", "index library/re contents genindex-A"),
    "flask": ("/usr/share/doc/python-flask-doc/html", "index quickstart api"),
    "django": ("/usr/share/doc/python-django-doc/html", "index intro/tutorial01 ref/settings"),
    "bootstrap": (
        "/usr/share/doc/libjs-bootstrap5/examples",
        "album/index checkout/index dropdowns/index headers/index list-groups/index"
        " navbars/index pricing/index sidebars/index",
    ),
}


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def guess_type(self, path: Any) -> str:
        """Serve every text as UTF-8."""
        kind = super().guess_type(path)
        return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder, and yield the address of its pages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def admin() -> Iterator[str]:
    """Serve a Django admin site, and yield the address of its staff list."""
    with served(ROOT) as taken:
        port = int(taken.rstrip("/").rpartition(":")[2])
    with tempfile.TemporaryDirectory() as data:
        script = str(ROOT / "cases/apps/django_admin.py")
        command = [sys.executable, script, "--port", str(port), "--data", data]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.kill()
            process.wait()


def miniwob_pages(page: Page) -> Iterator[str]:
    import miniwob

    with served(Path(str(miniwob.__file__)).parent / "html") as url:
        for task in TASKS:
            page.goto(f"{url}miniwob/{task}.html")
            page.evaluate(
                (ROOT / "templates/miniwob/episode.js").read_text().replace("__SEED__", "1")
            )
            yield task


def town_pages(page: Page) -> Iterator[str]:
    with served(ROOT / "cases/apps/town") as url:
        for name in TOWN:
            page.goto(f"{url}{name}.html", wait_until="networkidle")
            yield name


def admin_pages(page: Page) -> Iterator[str]:
    with admin() as url:
        page.goto("about:blank")
        session = {"name": "sessionid", "value": "demo0session0of0the0administrator", "url": url}
        page.context.add_cookies([session])  # type: ignore[list-item]
        _until_up(page, url)
        for path in ADMIN:
            page.goto(f"{url}admin/{path}")
            yield path or "start"


def _until_up(page: Page, url: str) -> None:
    for _ in range(100):
        try:
            page.goto(f"{url}admin/")
        except Exception:
            time.sleep(0.2)
        else:
            return


def docs_pages(page: Page, folder: Path, names: Sequence[str]) -> Iterator[str]:
    with served(folder) as url:
        for name in names:
            if not (folder / f"{name}.html").exists():
                continue
            page.goto(f"{url}{name}.html")
            yield name
            if page.evaluate("document.documentElement.scrollHeight > 2 * innerHeight"):
                page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
                yield f"{name} (half way)"


def all_pages(page: Page, groups: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name, pages in (("miniwob", miniwob_pages), ("town", town_pages), ("admin", admin_pages)):
        if name in groups:
            yield from ((name, shown) for shown in pages(page))
    for name, (folder, names) in DOCS.items():
        if f"docs-{name}" in groups and Path(folder).is_dir():
            shown = docs_pages(page, Path(folder), names.split())
            yield from ((f"docs-{name}", page_name) for page_name in shown)
