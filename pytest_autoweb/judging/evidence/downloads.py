"""The files that pages offer for download, kept with the attempt's other evidence."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import overload

from playwright.sync_api import BrowserContext, Error, Page
from playwright.sync_api import Download as PlaywrightDownload
from pydantic import TypeAdapter, ValidationError

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.specs import LATER
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.browser_watch import driver_ended
from pytest_autoweb.judging.evidence.requests_log import run_after_event
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
    """Yield the file's path on this machine; a remote Playwright server sends it on request."""
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


_LIST: TypeAdapter[list[Download]] = TypeAdapter(list[Download], config=LATER)


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
