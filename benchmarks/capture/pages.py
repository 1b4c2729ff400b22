"""The pages that all tools look at: applications and pages that others wrote, on this machine."""

import importlib.util
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from playwright.sync_api import Page

from benchmarks.capture.smallest import ONE_OF_EACH, SMALLEST

HERE = Path(__file__).parent
CASES = HERE.parents[1] / "cases"
_START_S = 180
"""How long a server may take to start, on a busy machine."""
MANUAL = ("index", "genindex", "reference", "user_guide")
HEAD = '<!doctype html><meta charset="utf-8">'
TOWN = ("events", "mail", "news", "shop", "tickets", "report")
MINIWOB = ("email-inbox", "book-flight", "social-media", "search-engine", "choose-date")
# MiniWoB shows a task once its episode has begun.
BEGIN = """() => {
  if (!window.core || !core.startEpisodeReal) return;
  if (Math.seedrandom) Math.seedrandom("1");
  core.startEpisodeReal();
}"""


@dataclass(slots=True)
class Site:
    """Servers that have been started, and their pages."""

    folder: Path
    stack: ExitStack
    pages: dict[str, str] = field(default_factory=dict)
    log_in: list[Callable[[Page], None]] = field(default_factory=list)

    def serve(self, command: Sequence[str], port: int, path: str = "") -> str:
        """Run a server until the end, and return its address."""
        url = f"http://127.0.0.1:{port}/"
        self.stack.enter_context(serving(command, url + path))
        return url

    def data(self, name: str) -> Path:
        """Return an empty folder."""
        made = self.folder / name
        made.mkdir()
        return made


def free_port() -> int:
    """Return a port that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def installed(package: str) -> Path:
    """Return the folder of a package, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        sys.exit(f"{package} is not installed")
    return Path(found.origin).parent


def _answers(url: str) -> bool:
    try:
        urlopen(url, timeout=5).close()
    except HTTPError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def serving(command: Sequence[str], url: str) -> Iterator[None]:
    """Run a server until the block ends."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + _START_S
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{' '.join(command)} does not answer")
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait()


def open_page(page: Page, address: str) -> None:
    """Open a page, as it is opened for every tool."""
    page.goto(address)
    page.evaluate(BEGIN)
    page.wait_for_timeout(700)


def serve_smallest(site: Site) -> None:
    """Serve the smallest pages on which something was lost."""
    tree = site.data("smallest")
    url = serve_files(site, tree)
    for name, markup in {**SMALLEST, "one of each": ONE_OF_EACH}.items():
        file = name.replace(" ", "-") + ".html"
        (tree / file).write_text(f"{HEAD}<title>{name}</title>{markup}", encoding="utf-8")
        site.pages[f"smallest: {name}"] = url + file


def serve_files(site: Site, tree: Path) -> str:
    """Serve a folder."""
    port = free_port()
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    return site.serve([*command, "-d", str(tree)], port)


def serve_bundled(site: Site) -> None:
    """Serve what the extras `demo` and `testing` bring along."""
    tree = site.data("site")
    (tree / "miniwob").symlink_to(installed("miniwob") / "html")
    (tree / "manual").symlink_to(Path(sys.prefix) / "share/doc/roundup/html")
    served: Mapping[str, Path] = {
        "admin": CASES / "apps/django_admin.py",
        "desk": HERE.parent / "behind_login/tracker_app.py",
        "town": CASES / "apps/town.py",
    }
    urls = {}
    for name, script in served.items():
        port, data = free_port(), str(site.data(name))
        command = [sys.executable, str(script), "--port", str(port), "--data", data]
        urls[name] = site.serve(command, port)
    files = serve_files(site, tree)
    admin, desk, town = (urls[name] for name in served)
    site.pages |= {
        "admin: start": f"{admin}admin/",
        "admin: users": f"{admin}admin/auth/user/",
        "admin: user": f"{admin}admin/auth/user/2/change/",
        "admin: add group": f"{admin}admin/auth/group/add/",
        "roundup: start": f"{desk}desk/",
        "roundup: issue": f"{desk}desk/issue1",
        "roundup: new issue": f"{desk}desk/issue?@template=item",
        "roundup: users": f"{desk}desk/user",
        "roundup: search": f"{desk}desk/issue?@template=search",
    }
    site.pages |= {f"manual: {name}": f"{files}manual/{name}.html" for name in MANUAL}
    site.pages |= {f"town: {name}": f"{town}{name}.html" for name in TOWN}
    site.pages |= {f"miniwob: {name}": f"{files}miniwob/miniwob/{name}.html" for name in MINIWOB}
    site.pages["miniwob: flight AA"] = f"{files}miniwob/flight/AA/wrapper.html"
    site.log_in.append(lambda page: _log_in(page, admin, desk))


def _log_in(page: Page, admin: str, desk: str) -> None:
    page.goto(f"{admin}admin/")
    page.get_by_label("Username:").fill("admin")
    page.get_by_label("Password:").fill("adminpw")
    page.get_by_role("button", name="Log in").click()
    page.goto(f"{desk}desk/")
    page.locator("[name=__login_name]").fill("admin")
    page.locator("[name=__login_password]").fill("adminpw")
    page.get_by_role("button", name="Login").click()
    page.get_by_text("Hello, admin").wait_for()
