"""The files of a cell: what the code may upload, save in the cell's folder, and read there."""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Error

from pytest_autoweb.sandbox.border_values import redacted
from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.rules import Refusal
from pytest_autoweb.sandbox.size_limits import MAX_READ

# In base64 this still fits into one frame of the worker (`MAX_FROM_WORKER`).
MAX_UPLOAD_BYTES = 2_000_000
MAX_SAVED_BYTES = 20_000_000
"""Limit on one file that a page offers for download and the code saves."""
MAX_FILES = 100
"""Limit on the files that one attempt may write."""
_NAME_CHARS = 100
_BARE_NAME = re.compile(r"[\w()+,=@ -][\w()+,=@. -]{0,120}")
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_MIME = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")


def bare_name(name: object) -> str:
    """Return a file name that has no folder and is safe on every system."""
    if not isinstance(name, str):
        raise Refusal("AW502", "a file name must be text")
    # Compatibility forms, such as full-width dots, must not hide a name from the checks below.
    folded = unicodedata.normalize("NFKC", name)
    # Windows drops a dot or a space at the end, and takes `con.txt` for the console.
    if not _BARE_NAME.fullmatch(folded) or folded[-1] in ". " or _DEVICES.fullmatch(folded):
        raise Refusal(
            "AW502", f"{name[:80]!r} is not a bare file name; give one such as 'report.csv'"
        )
    return folded


def artifact_path(name: object, border: SandboxBorder) -> Path:
    """Return the path at which a file of that name may be written in the cell's folder."""
    folder = border.artifacts
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / bare_name(name)
    # A symbolic link could lead out of the folder.
    if path.is_symlink() or path.is_dir():
        raise Refusal("AW502", f"{path.name!r} cannot be overwritten")
    if not path.exists() and sum(1 for _ in folder.iterdir()) >= MAX_FILES:
        raise Refusal("AW505", f"the attempt wrote more than {MAX_FILES} files")
    return path


def keep_saved(_saved: None, path: Path, border: SandboxBorder) -> None:
    """Redact a file that was just saved, or delete it if it is too large."""
    if path.stat().st_size > MAX_SAVED_BYTES:
        path.unlink()
        raise Refusal("AW505", f"the file is larger than {MAX_SAVED_BYTES // 1_000_000} MB")
    data = path.read_bytes()
    if (clean := redacted(data, border.redact)) != data:
        path.write_bytes(clean)


def kept_download(download: Any, border: SandboxBorder) -> str:
    """Save a download in the cell's folder and return the bare name that it has there."""
    suggested = unicodedata.normalize("NFKC", str(download.suggested_filename))
    # Cut at the front, so that the extension remains.
    plain = re.sub(r"[^\w.-]+", "_", suggested).strip("._")[-_NAME_CHARS:] or "download"
    path = artifact_path(plain, border)
    download.save_as(path)
    keep_saved(None, path, border)
    return path.name


def read_saved(name: object, border: SandboxBorder) -> bytes:
    """Return the content of a file that the code saved in the cell's folder.

    Raises:
        Refusal: the name is not a bare one.
        Error: there is no such file, or it is too large to be read.
    """
    path = border.artifacts / bare_name(name)
    if path.is_symlink() or not path.is_file():
        raise Error(f"there is no file {path.name!r}; only files that the code saved can be read")
    if path.stat().st_size > MAX_READ:
        raise Error(f"{path.name!r} has more than the {MAX_READ:,} bytes that can be read")
    return path.read_bytes()


def allowed_uploads(files: object, border: SandboxBorder) -> list[Any]:
    """Return what `set_input_files` may receive: files the case lists, or bytes from the code."""
    items = files if isinstance(files, list | tuple) else [files]
    return [_upload(item, border) for item in items]


def _upload(item: object, border: SandboxBorder) -> Any:
    if isinstance(item, str):
        known = border.files.get(bare_name(item))
        if known is None:
            listed = ", ".join(sorted(border.files)) or "none"
            raise Refusal("AW502", f"the case lists no file {item[:80]!r} (files: {listed})")
        return str(known)
    if isinstance(item, Mapping):
        name, mime, buffer = item.get("name"), item.get("mimeType"), item.get("buffer")
        mime = "application/octet-stream" if mime is None else mime
        if not isinstance(buffer, bytes) or len(buffer) > MAX_UPLOAD_BYTES:
            raise Refusal("AW502", "an upload made by the code needs a `buffer` of at most 2 MB")
        if not isinstance(mime, str) or not _MIME.fullmatch(mime):
            raise Refusal("AW502", "an upload made by the code needs a plain `mimeType`")
        return {"name": bare_name(name), "mimeType": mime, "buffer": buffer}
    raise Refusal("AW502", "uploads are names of files that the case lists, or {name, buffer}")
