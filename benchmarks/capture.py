#!/usr/bin/env python3
"""Compare how much of a page is shown, and in how many tokens, with BrowserGym and browser-use.

    python benchmarks/capture.py --browsergym VENV/bin/python --browser-use VENV/bin/python
    python benchmarks/capture.py --pages admin roundup --json capture.json

All look at the same pages in one Chromium, through its debugging port: Django's admin site and the
issue tracker Roundup after logging in, pages of Roundup's manual, the bundled town and some of
MiniWoB. The peers run in environments of their own (`pip install browsergym-core`, `pip install
browser-use`); without their Pythons only this package is measured.

What should be there is found without any of them: the nodes of Chromium's accessibility tree whose
role can be acted on and that have a name, as far as a pointer reaches them (each is scrolled into
view, and the point in its middle must hit it). Of this package's listings role and name must be
there, as often as on the page; of the peers' only the name, anywhere. Tokens are those of the
encoding o200k_base for all.
"""

import argparse
import importlib.util
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

from pytest_autoweb.browser.egress.chromium import system_chromium
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.browser.page.outline import Folds

HERE = Path(__file__).parent
CASES = HERE.parent / "cases"
ROLES = frozenset(
    [
        *("button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "switch"),
        *("slider", "spinbutton", "tab", "menuitem", "menuitemcheckbox", "menuitemradio"),
        *("treeitem", "listbox"),
    ]
)
BUDGET = 200_000
# MiniWoB shows a task once its episode has begun.
BEGIN = "() => window.core && core.startEpisodeReal && core.startEpisodeReal()"
HIT = """function () {
  this.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  const box = [...this.getClientRects()].find((r) => r.width > 1 && r.height > 1);
  if (!box) return false;
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  let hit = this.ownerDocument.elementFromPoint(x, y);
  while (hit && hit.shadowRoot) {
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  for (let at = hit; at; at = at.parentNode || at.host) {
    if (at === this || at.control === this) return true;
  }
  return false;
}"""


class Listing(NamedTuple):
    """What one tool shows of one page."""

    text: str
    seconds: float


class Row(NamedTuple):
    """A tool's result on one page."""

    page: str
    tool: str
    tokens: int
    wanted: int
    present: int
    seconds: float


def wanted_elements(page: Page) -> Counter[tuple[str, str]]:
    """Return role and name of each element that a pointer reaches, by Chromium's own account."""
    session = page.context.new_cdp_session(page)
    found: Counter[tuple[str, str]] = Counter()
    trees = [session.send("Accessibility.getFullAXTree")["nodes"]]
    for child in session.send("Page.getFrameTree")["frameTree"].get("childFrames", ()):
        asked = {"frameId": child["frame"]["id"]}
        trees.append(session.send("Accessibility.getFullAXTree", asked)["nodes"])
    for node in (node for tree in trees for node in tree):
        role = node.get("role", {}).get("value", "")
        name = flat(str(node.get("name", {}).get("value", "")))
        if node.get("ignored") or role not in ROLES or not name:
            continue
        resolved = session.send("DOM.resolveNode", {"backendNodeId": node["backendDOMNodeId"]})
        asked = {"objectId": resolved["object"]["objectId"], "functionDeclaration": HIT}
        if session.send("Runtime.callFunctionOn", {**asked, "returnByValue": True})["result"].get(
            "value"
        ):
            found[role, name] += 1
    session.detach()
    return found


def installed(package: str) -> Path:
    """Return the folder of a package, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        sys.exit(f"{package} is not installed")
    return Path(found.origin).parent


def free_port() -> int:
    """Return a port that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def flat(text: str) -> str:
    """Return a text without white space, which the tools treat differently."""
    return re.sub(r"\s+", "", text).casefold()


def present_in_ours(text: str, wanted: Counter[tuple[str, str]]) -> int:
    """Count the elements whose role and name are in a listing of this package."""
    names: Counter[tuple[str, str]] = Counter()
    for role, name in re.findall(r'\b([a-z]+) ("(?:[^"\\]|\\.)*")', text):
        names[role, flat(json.loads(name))] += 1
    return sum(min(count, names[key]) for key, count in wanted.items())


def present_in_peers(text: str, wanted: Counter[tuple[str, str]]) -> int:
    """Count the elements whose name stands in a peer's listing, whatever the role there."""
    plain = flat(text.replace("\\'", "'").replace('\\"', '"'))
    without_tags = flat(re.sub(r"\*?\[\w+\]|</?[a-z][^>]*>", " ", text))
    by_name: Counter[str] = Counter()
    for (_, name), count in wanted.items():
        by_name[name] += count
    return sum(
        min(count, max(plain.count(name), without_tags.count(name)))
        for name, count in by_name.items()
    )


def look_at(page: Page, address: str) -> None:
    """Open a page, as the peers' script does."""
    page.goto(address)
    page.evaluate(BEGIN)
    page.wait_for_timeout(700)


def list_as_we_do(page: Page, addresses: Sequence[str], *, brief: bool) -> dict[str, Listing]:
    """List the pages with this package."""
    found: dict[str, Listing] = {}
    for address in addresses:
        look_at(page, address)
        began = time.perf_counter()
        shown = capture_snapshot(
            page,
            "ARIA",
            url=address,
            entry_action="",
            step_indexes=(),
            budget_tokens=BUDGET,
            folds=Folds() if brief else None,
        )
        found[address] = Listing(shown.text, time.perf_counter() - began)
    return found


def list_with(python: str, peer: str, cdp_url: str, addresses: Sequence[str]) -> dict[str, Listing]:
    """List the pages with a peer."""
    command = [python, str(HERE / "capture_peers.py"), peer, cdp_url, BEGIN]
    quiet = {"ANONYMIZED_TELEMETRY": "false", "BROWSER_USE_LOGGING_LEVEL": "result"}
    done = subprocess.run(
        command,
        input=json.dumps(addresses),
        capture_output=True,
        text=True,
        env={**os.environ, **quiet},
        timeout=900,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{peer} failed:\n{done.stderr[-3000:]}")
    made = json.loads(done.stdout.rpartition("\nLISTINGS ")[2])
    return {address: Listing(**listing) for address, listing in made.items()}


@contextmanager
def serving(command: Sequence[str], url: str) -> Iterator[None]:
    """Run a server until the block ends."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                urlopen(url, timeout=2).close()
                break
            except OSError:
                time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait()


def serve_all(stack: ExitStack, folder: Path) -> dict[str, str]:
    """Start the applications, and return the pages by name."""
    admin, desk, town, files = (f"http://127.0.0.1:{free_port()}/" for _ in range(4))
    miniwob = installed("miniwob") / "html"
    manual = Path(sys.prefix) / "share/doc/roundup/html"
    site = folder / "site"
    site.mkdir()
    (site / "miniwob").symlink_to(miniwob)
    (site / "manual").symlink_to(manual)
    for script, url in (
        (CASES / "apps/django_admin.py", admin),
        (HERE / "behind_login/tracker_app.py", desk),
        (CASES / "apps/town.py", town),
    ):
        data = folder / script.stem
        data.mkdir()
        port = url.split(":")[-1].strip("/")
        command = [sys.executable, str(script), "--port", port, "--data", str(data)]
        stack.enter_context(serving(command, url))
    port = files.split(":")[-1].strip("/")
    command = [sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1", "-d", str(site)]
    stack.enter_context(serving(command, files))
    pages = {
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
    pages |= {f"manual: {name}": f"{files}manual/{name}.html" for name in MANUAL}
    pages |= {f"town: {name}": f"{town}{name}.html" for name in TOWN}
    return pages | {f"miniwob: {name}": f"{files}miniwob/miniwob/{name}.html" for name in MINIWOB}


MANUAL = ("index", "genindex", "reference", "user_guide")
TOWN = ("events", "mail", "news", "shop", "tickets", "report")
MINIWOB = ("email-inbox", "book-flight", "social-media", "search-engine", "choose-date")


def log_in(page: Page, pages: dict[str, str]) -> None:
    """Log in to the two applications; all tools share the browser's cookies."""
    page.goto(pages["admin: start"])
    page.get_by_label("Username:").fill("admin")
    page.get_by_label("Password:").fill("adminpw")
    page.get_by_role("button", name="Log in").click()
    page.goto(pages["roundup: start"])
    page.locator("[name=__login_name]").fill("admin")
    page.locator("[name=__login_password]").fill("adminpw")
    page.get_by_role("button", name="Login").click()
    page.get_by_text("Hello, admin").wait_for()


def tokens_of(text: str) -> int:
    """Count tokens as OpenAI's models do; litellm brings the encoding along."""
    folder = installed("litellm") / "litellm_core_utils/tokenizers"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    # Late: it reads where its encodings are when it is imported.
    import tiktoken

    return len(tiktoken.get_encoding("o200k_base").encode(text, disallowed_special=()))


def measure(options: argparse.Namespace) -> list[Row]:
    """Look at all pages with all tools."""
    rows: list[Row] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pages = serve_all(stack, folder)
        port = free_port()
        started = stack.enter_context(sync_playwright())
        browser = stack.enter_context(
            closing(
                started.chromium.launch_persistent_context(
                    folder / "profile",
                    executable_path=options.chromium or system_chromium(),
                    args=[f"--remote-debugging-port={port}", "--no-sandbox"],
                )
            )
        )
        page = browser.new_page()
        log_in(page, pages)
        pages = {
            name: url for name, url in pages.items() if any(part in name for part in options.pages)
        }
        addresses = list(pages.values())
        listings = {"this package": list_as_we_do(page, addresses, brief=True)}
        listings["ARIA"] = list_as_we_do(page, addresses, brief=False)
        for peer in ("browsergym", "browser-use"):
            if python := getattr(options, peer.replace("-", "_")):
                listings[peer] = list_with(python, peer, f"http://127.0.0.1:{port}", addresses)
        for name, url in pages.items():
            look_at(page, url)
            wanted = wanted_elements(page)
            for tool, listed in listings.items():
                text, seconds = listed[url]
                ours = tool in {"this package", "ARIA"}
                present = (present_in_ours if ours else present_in_peers)(text, wanted)
                rows.append(
                    Row(name, tool, tokens_of(text), wanted.total(), present, round(seconds, 3))
                )
            if options.texts:
                options.texts.mkdir(exist_ok=True)
                for tool, listed in listings.items():
                    file = re.sub(r"\W+", "-", f"{name} {tool}") + ".txt"
                    (options.texts / file).write_text(listed[url].text, encoding="utf-8")
                shown = "\n".join(
                    f"{count} {role} {what}" for (role, what), count in wanted.items()
                )
                (options.texts / (re.sub(r"\W+", "-", name) + "-wanted.txt")).write_text(shown)
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return the results as a table: tokens, and the share of elements that are there."""
    tools = list(dict.fromkeys(row.tool for row in rows))
    by = {(row.page, row.tool): row for row in rows}
    lines = ["| page | elements | " + " | ".join(tools) + " |", "|---|---|" + "---|" * len(tools)]
    for page in dict.fromkeys(row.page for row in rows):
        cells = [by[page, tool] for tool in tools]
        shown = [f"{cell.tokens:,} ({_share(cell.present, cell.wanted)})" for cell in cells]
        lines.append(f"| {page} | {cells[0].wanted} | " + " | ".join(shown) + " |")
    totals = []
    for tool in tools:
        own = [row for row in rows if row.tool == tool]
        share = _share(sum(row.present for row in own), sum(row.wanted for row in own))
        median = statistics.median(row.seconds for row in own)
        totals.append(f"{sum(row.tokens for row in own):,} ({share}), {median:.2f} s")
    wanted = sum(row.wanted for row in rows if row.tool == tools[0])
    lines.append(f"| **all; median time** | {wanted} | " + " | ".join(totals) + " |")
    return "\n".join(lines)


def _share(present: int, wanted: int) -> str:
    return f"{100 * present / wanted:.4g} %" if wanted else "–"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--browsergym", help="a Python that has browsergym-core")
    parser.add_argument("--browser-use", help="a Python that has browser-use")
    parser.add_argument("--chromium", help="path of the browser")
    parser.add_argument("--pages", nargs="*", default=[""], help="parts of the names of pages")
    parser.add_argument("--texts", type=Path, help="a folder for the listings")
    parser.add_argument("--json", type=Path, help="a file for the results")
    options = parser.parse_args()
    rows = measure(options)
    if options.json:
        options.json.write_text(json.dumps([row._asdict() for row in rows], indent=1))
    print(table(rows))


if __name__ == "__main__":
    sys.setrecursionlimit(5_000)
    main()
