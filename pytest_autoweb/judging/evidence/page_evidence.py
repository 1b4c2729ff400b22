"""What pages leave for the judge: how they looked, their console, the files they offered.

A record of the page is made at given moments. The files that pages offer for download are kept with
the attempt's other evidence.
"""

import base64
import hashlib
import json
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import overload

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    Response,
)
from playwright.sync_api import Download as PlaywrightDownload
from pydantic import TypeAdapter, ValidationError

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.whole_characters import read_json, whole_text
from pytest_autoweb.browser.egress.browser_watch import (
    call_within,
    debugging_session,
    driver_ended,
    forget_session,
)
from pytest_autoweb.browser.marks.drawing import covers
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.browser.page.frames import call_function
from pytest_autoweb.browser.page.opening import PRIVATE_FIELDS, PageLook
from pytest_autoweb.judging.evidence.wire import run_after_event
from pytest_autoweb.results.records import CaptureModeName, Scene
from pytest_autoweb.results.runs.inert_copies import stored_file
from pytest_autoweb.results.runs.saving import safe_name

FILE_BYTES = 20_000_000
"""Limit on a kept file; of a larger file only size and checksum are kept."""
FILES = 50
"""Limit on the files kept for one attempt."""
NOT_FINISHED = "not finished"

# Only texts up to this size are searched for secrets; larger files are kept unchanged.
_TEXT_BYTES = 5_000_000
_CHUNK = 1 << 20

_LINES = 50
_LINE_CHARS = 300
_LONGEST = 20_000
_EVENTS = 5_000
_SNAPSHOT_TOKENS = 4_000
_SHOT_MS = 5_000.0
_QUALITY = 60

# Types of messages that are skipped: they come at random times and make equal scenes differ.
_TO_DEVELOPERS = ("debug", "verbose")


@dataclass(frozen=True, slots=True)
class Download:
    """A file that a page offered for download during the attempt."""

    name: str
    """Name suggested by the page."""
    path: Path | None
    """Path of the kept file, with secrets in text replaced; None if the download failed or is too
    large."""
    size: int
    sha256: str = ""
    """Checksum of the original file, before secrets were replaced."""
    url: str = ""
    problem: str = ""
    """Reason why there is no file; empty if there is one."""


class DownloadRecord(Sequence[Download]):
    """The list of all files that pages of a context offer, whether or not the code asked for them.

    Files are saved outside the event handlers, so a download that never ends stays `not finished`
    and blocks nothing.
    """

    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        self._folder, self._redact = folder, redact
        self._files: list[Download] = []
        self._context: BrowserContext | None = None

    def start(self, context: BrowserContext) -> None:
        """Start listening, also to pages that are opened later."""
        self._context = context
        context.on("page", self._attach)
        for page in context.pages:
            self._attach(page)

    def stop(self) -> None:
        """Stop listening."""
        context, self._context = self._context, None
        if context is None or driver_ended(context):
            return
        context.remove_listener("page", self._attach)
        for page in context.pages:
            page.remove_listener("download", self._on_download)

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, index: int) -> Download: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Download]: ...
    def __getitem__(self, index: int | slice) -> Download | Sequence[Download]:
        return self._files[index]

    def _attach(self, page: Page) -> None:
        page.on("download", self._on_download)
        # A link that opens a file in a new tab leaves that tab behind, which never had a document
        # and would be shown to the model in place of the page. Chromium gives it no address at all.
        if self._files and not page.url:
            run_after_event(partial(_close, page))

    def _on_download(self, download: PlaywrightDownload) -> None:
        # A hostile page can offer files without end.
        if len(self._files) >= FILES:
            return
        number = len(self._files)
        name = whole_text(download.suggested_filename)
        begun = Download(name=name, path=None, size=0, url=download.url, problem=NOT_FINISHED)
        self._files.append(begun)
        run_after_event(lambda: self._finish(number, download))

    def _finish(self, number: int, download: PlaywrightDownload) -> None:
        begun = self._files[number]
        try:
            with _on_this_machine(download) as source:
                kept = self._keep(begun, source, number)
        except Exception as error:  # cancelled, refused, or the page is gone
            kept = replace(begun, problem=first_line(error))
        self._files[number] = kept

    def _keep(self, begun: Download, source: Path, number: int) -> Download:
        size, digest = _measured(source)
        if size > FILE_BYTES:
            problem = f"larger than {FILE_BYTES // 1_000_000} MB"
            return replace(begun, size=size, sha256=digest, problem=problem)
        self._folder.mkdir(parents=True, exist_ok=True)
        # The number keeps files of the same name apart.
        path = self._folder / f"{number + 1}-{safe_name(begun.name)}"
        path.write_bytes(_without_secrets(source.read_bytes(), self._redact))
        return replace(begun, path=path, size=size, sha256=digest, problem="")


def _close(page: Page) -> None:
    with suppress(Error):
        page.close()


@contextmanager
def _on_this_machine(download: PlaywrightDownload) -> Iterator[Path]:
    """Yield the file, which a server of Playwright elsewhere sends only when asked to."""
    here: Path | None = None
    try:
        here = Path(download.path())
    except Error as error:
        if "connecting remotely" not in str(error):
            raise
    if here is not None:
        yield here
        return
    with tempfile.TemporaryDirectory(prefix="autoweb-") as folder:
        sent = Path(folder) / "file"
        download.save_as(sent)
        yield sent


def _measured(path: Path) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


def _without_secrets(data: bytes, redact: Callable[[str], str]) -> bytes:
    if len(data) > _TEXT_BYTES:
        return data
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    return redact(text).encode("utf-8")


def downloads_text(files: Sequence[Download], folder: Path, redact: Callable[[str], str]) -> str:
    """Return the list as JSON, with paths relative to `folder`."""
    rows = [
        {
            "name": redact(file.name),
            "path": file.path.relative_to(folder).as_posix() if file.path else None,
            "size": file.size,
            "sha256": file.sha256,
            "url": redact(file.url),
            "problem": redact(file.problem),
        }
        for file in files
    ]
    return json.dumps(rows, ensure_ascii=True, indent=1)


_LIST: TypeAdapter[list[Download]] = TypeAdapter(list[Download])


def read_downloads(text: str, folder: Path) -> tuple[Download, ...]:
    """Read the list that `downloads_text` wrote; a path outside `folder` counts as no file.

    Raises:
        ValueError: the text is not such a list.
    """
    try:
        files = _LIST.validate_json(text)
    except ValidationError as error:
        raise ValueError("not a list of downloads") from error
    return tuple(replace(file, path=_inside(folder, file.path)) for file in files)


def _inside(folder: Path, path: Path | None) -> Path | None:
    if path is None:
        return None
    # The list may come from another machine with a merged run, so its paths are not trusted.
    whole = stored_file((folder / path).resolve())
    return whole if whole.is_relative_to(folder.resolve()) and whole.is_file() else None


class Watch:
    """A listener to a page and its pop-ups that keeps the last lines, redacted."""

    def __init__(self, page: Page, redact: Callable[[str], str] = lambda text: text) -> None:
        self._redact = redact
        self._console: deque[str] = deque(maxlen=_LINES)
        self._requests: deque[str] = deque(maxlen=_LINES)
        self._new_console: deque[str] = deque(maxlen=_LINES)
        self._new_requests: deque[str] = deque(maxlen=_LINES)
        self._events = 0
        self.crashed = False
        """Whether the process that shows the page died."""
        page.on("crash", self._on_crash)
        self._attach(page)

    @property
    def console(self) -> tuple[str, ...]:
        """Return console messages and uncaught errors, oldest first."""
        return tuple(self._console)

    @property
    def failed_requests(self) -> tuple[str, ...]:
        """Return requests that failed or were answered with 400 or more, oldest first."""
        return tuple(self._requests)

    def news(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what came to `console` and to `failed_requests` since the last call."""
        news = tuple(self._new_console), tuple(self._new_requests)
        self._new_console.clear()
        self._new_requests.clear()
        return news

    def _attach(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", self._on_error)
        page.on("requestfailed", self._on_failed)
        page.on("response", self._on_response)
        page.on("popup", self._attach)

    def _on_crash(self, _page: Page) -> None:
        self.crashed = True

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in _TO_DEVELOPERS:
            return
        self._keep(self._console, f"{message.type}: {message.text}")

    def _on_error(self, error: Error) -> None:
        self._keep(self._console, f"uncaught: {error}")

    def _on_failed(self, request: Request) -> None:
        self._keep(self._requests, f"{request.method} {request.url}: {request.failure}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            line = f"{response.request.method} {response.url}: {response.status}"
            self._keep(self._requests, line)

    def _keep(self, lines: deque[str], text: str) -> None:
        self._events += 1
        if self._events == _EVENTS:
            lines.append(f"after {_EVENTS:,} events no more are kept")
        if self._events < _EVENTS:
            # Secrets are removed before the text is cut, because half a secret is not recognised.
            # What is far too long is cut first: the rest of it is not shown in any case.
            line = self._redact(whole_text(text[:_LONGEST]))[:_LINE_CHARS]
            lines.append(line)
            (self._new_console if lines is self._console else self._new_requests).append(line)


def take_scene(
    page: Page,
    watch: Watch,
    *,
    step_index: int,
    mode: CaptureModeName,
    folder: Path,
    redact: Callable[[str], str],
) -> Scene:
    """Record the page: URL, title, snapshot, picture, console and failed requests."""
    picture = folder / f"scene-{step_index}.jpg"
    taken = shot(page, picture, redact)
    return Scene(
        step_index=step_index,
        url=redact(page.url),
        title=redact(_title(page)),
        snapshot=snapshot_text(page, mode, redact),
        screenshot=str(picture) if taken else None,
        console=watch.console,
        failed_requests=watch.failed_requests,
    )


def shot(
    page: Page,
    path: Path,
    redact: Callable[[str], str] | None = None,
    *,
    look: PageLook | None = None,
    drawn: Callable[[], bytes | None] | None = None,
) -> bool:
    """Save a small picture of the viewport with secrets covered; never raises.

    Args:
        page: the page to show.
        path: path of the picture, a PNG if the name ends in `.png`, else a JPEG.
        redact: removes the case's secrets from text; fields that hold one are covered, too.
        look: what `page_look` has just seen, if anything did.
        drawn: what `begin_frame` returned after that look had begun, if it was asked; used if
            nothing is to be prepared.

    Returns:
        Whether the picture was saved.
    """
    png = path.suffix.lower() == ".png"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        bare = not png and redact is None and look is not None and look.bare
        frame = drawn() if drawn else _next_frame(page) if bare else None
        if bare and frame:
            path.write_bytes(frame)
            return True
        page.screenshot(
            path=path,
            type="png" if png else "jpeg",
            # Playwright refuses a quality for PNG.
            quality=None if png else _QUALITY,
            animations="disabled",
            # To hide it, Playwright leaves an attribute on each field, and the page is another one.
            caret="initial",
            scale="css",
            timeout=_SHOT_MS,
            mask=covers(page, redact),
        )
    except (Error, OSError):
        return False
    return True


def begin_frame(page: Page) -> Callable[[], bytes | None]:
    """Let the browser draw the page's next frame meanwhile, for `shot`.

    Returns:
        A function that waits for the frame, and returns None if it may not be kept.
    """
    return waiting.start_call(page, lambda: _next_frame(page))


def _next_frame(page: Page) -> bytes | None:
    """Return the next frame that Chromium draws, as a JPEG, or None if it may not be kept.

    `page.screenshot` prepares the page first and waits for two frames, which takes twice as long.
    """
    if len(page.frames) > 1 or (session := debugging_session(page)) is None:
        return None
    asked = {"format": "jpeg", "quality": _QUALITY, "captureBeyondViewport": False}
    try:
        told = call_within(page, _SHOT_MS, lambda: session.send("Page.captureScreenshot", asked))
        # The page may have changed since it was looked at.
        private = call_within(page, _SHOT_MS, lambda: page.query_selector(PRIVATE_FIELDS))
    except Error:
        forget_session(page)
        return None
    return None if private or len(page.frames) > 1 else base64.b64decode(told["data"])


def _title(page: Page) -> str:
    # `page.title()` has no timeout, so a busy page would block it.
    try:
        return str(read_json(call_function(page, "document.title", timeout_ms=2_000).shown))
    except (Error, ValueError):
        return ""


def snapshot_text(page: Page, mode: CaptureModeName, redact: Callable[[str], str]) -> str:
    """Return the page as a scene shows it, without secrets; empty if it is closed."""
    if page.is_closed():
        return ""
    taken = capture_snapshot(
        page,
        mode,
        url=page.url,
        entry_action="",
        step_indexes=(),
        budget_tokens=_SNAPSHOT_TOKENS,
    )
    return redact(taken.text)
