"""Keep what an attempt can be judged by again, without its page and its server."""

from collections.abc import Callable
from pathlib import Path

from pytest_autoweb.attempt.execute import relative
from pytest_autoweb.attempt.tools import Tools, change
from pytest_autoweb.browser.dom_copy import copy_page
from pytest_autoweb.browser.downloads import downloads_text
from pytest_autoweb.browser.har import har_text
from pytest_autoweb.results import Attempt
from pytest_autoweb.saving import json_text, write_text_atomic

DOM_FILE = "final.html"
WIRE_FILE = "wire.har"
DOWNLOADS_FILE = "downloads.json"
SERVER_FILE = "server.json"


def keep_page(attempt: Attempt, tools: Tools) -> Attempt:
    """Save the page as the judge saw it (`dom`)."""
    path = tools.folder / DOM_FILE
    return _kept(attempt, tools, "dom", path, lambda: copy_page(tools.page, tools.redact))


def keep_records(attempt: Attempt, tools: Tools) -> Attempt:
    """End the records of requests and downloads, and save them.

    `wire` and `downloads`, and in `server` where the case's web server was: checks may name it.
    """
    wire, files = tools.wire, tools.downloads
    if not wire.started or "wire" in attempt.evidence:
        return attempt
    wire.stop()
    files.stop()
    path = tools.folder / WIRE_FILE
    attempt = _kept(
        attempt, tools, "wire", path, lambda: har_text(wire, tools.keep, dropped=wire.dropped)
    )
    if tools.server_url:
        place = json_text({"url": tools.server_url})
        attempt = _kept(attempt, tools, "server", tools.folder / SERVER_FILE, lambda: place)
    if not files:
        return attempt
    path = tools.folder / DOWNLOADS_FILE
    return _kept(
        attempt,
        tools,
        "downloads",
        path,
        lambda: downloads_text(files, tools.folder, tools.keep),
    )


def _kept(
    attempt: Attempt, tools: Tools, name: str, path: Path, make: Callable[[], str]
) -> Attempt:
    """The attempt with one more file; a page or a disk that refuses costs the file only."""
    try:
        write_text_atomic(path, make())
    except Exception as error:
        # A page can refuse in any way it likes; the verdict must not depend on it.
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        tools.log.write(f"the {name} of this attempt could not be kept: {line}")
        return attempt
    return change(attempt, evidence={**attempt.evidence, name: relative(path, tools)})
