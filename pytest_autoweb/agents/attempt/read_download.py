"""What a downloaded file holds, as a model is shown it."""

from typing import NamedTuple

from playwright.sync_api import Page

from pytest_autoweb.agents.attempt.execute import TOLD_CALL_S
from pytest_autoweb.agents.attempt.tools import Tools
from pytest_autoweb.judging.evidence.downloads import NOT_FINISHED, Download

NO_DOWNLOAD = "no download has begun"
_POLL_MS = 50.0
_BEGIN_S = 4.0
"""How long a download may take to begin after what led to it."""
_DOWNLOAD_CHARS = 8_000
"""How much of a downloaded text is shown; the whole of it is evidence of the attempt."""
_DOWNLOAD_BYTES = 4 * _DOWNLOAD_CHARS
_NAME_CHARS = 200


class ReadFile(NamedTuple):
    """A downloaded file, without secrets."""

    name: str
    content: str
    """The beginning of its text, after a few words about it, or why there is none."""


def read_download(tools: Tools, page: Page, count: int = 0) -> ReadFile | None:
    """Return what the newest download holds; None if none has begun.

    Args:
        tools: the tools of the attempt.
        page: a page that is open, on which to wait.
        count: how many downloads to wait for, if what was done before may have led to one.
    """
    files, ends = tools.downloads, tools.clock.now() + _BEGIN_S
    while len(files) < count and tools.clock.now() < ends:
        page.wait_for_timeout(_POLL_MS)
    if not files:
        return None
    ends = tools.clock.now() + TOLD_CALL_S
    while files[-1].problem == NOT_FINISHED and tools.clock.now() < ends:
        page.wait_for_timeout(_POLL_MS)
    file = files[-1]
    return ReadFile(tools.redact(file.name)[:_NAME_CHARS], _content(file, tools))


def _content(file: Download, tools: Tools) -> str:
    """Return the beginning of a file as text, or a sentence about it."""
    if file.path is None:
        return f"there is no file ({tools.redact(file.problem)[:200]})"
    with file.path.open("rb") as stream:
        data = stream.read(_DOWNLOAD_BYTES)
    text = _as_text(data)
    if text is None:
        return f"binary, {file.size:,} bytes, which cannot be shown as text"
    text = tools.redact(text)
    shown = text[:_DOWNLOAD_CHARS]
    cut = len(shown) < len(text) or len(data) < file.size
    about = f"{file.size:,} bytes" + (", of which this is the beginning" if cut else "")
    return f"{about}:\n{shown}"


def _as_text(data: bytes) -> str | None:
    """Return bytes as text, if they are one; the last character may be cut."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        return None
    for cut in range(4):
        try:
            return data[: len(data) - cut].decode("utf-8-sig")
        except UnicodeDecodeError:
            continue
    # Older programs write tables in the encoding of Windows, which has no such control characters.
    control = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in data)
    return None if control else data.decode("cp1252", "replace")
