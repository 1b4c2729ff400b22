"""Saves a run's results: each file as a whole or not at all, under a name that is safe.

A shard also packs everything that a merge needs of its run folder into one zip file.
"""

import hashlib
import json
import math
import os
import re
import shutil
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import SettingsError, first_line
from pytest_autoweb.base.files import whole_file
from pytest_autoweb.base.passing_lock import PassingLock
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.results.records import CellResult, PlannedCell, Record, RunInfo

CELL_FILE = "cell.json"
STARTED_FILE = "started"
"""The name of a file beside `cell.json`, which is written when a cell begins; it is empty unless
something announced that it would end the process."""
REPLACED_FOLDER = "replaced"
"""The folder in a run folder that keeps what was left of cells before they ran again."""
MANIFEST_FILE = "manifest.json"
RUN_FILE = "run.json"

_RUN_FOLDER_SIGNS = (MANIFEST_FILE, RUN_FILE, "cells", "report.json")
# On Windows these names are devices, whatever extension follows.
_DEVICE_NAME = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_DEEPEST = 80

BLOB_FILE = "blob.json"
CELLS_FOLDER = "cells"

MOST_FILES = 200_000
MOST_BYTES = 8 * 1024**3
"""The largest unpacked size of a blob."""
MOST_GROWTH = 200
"""The largest ratio of unpacked to packed size; for the texts of a run it is about 20."""
FREE_GROWTH = 64 * 1024**2
"""The unpacked size below which that ratio is not checked."""

_PACKED_ALREADY = {".png", ".jpg", ".jpeg", ".webp", ".webm", ".zip", ".gz"}
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Manifest(Record):
    """The cells as collected, saved before the first of them runs."""

    format: Literal["pytest-autoweb/manifest"] = "pytest-autoweb/manifest"
    version: int = 1
    cells: tuple[PlannedCell, ...]
    whole: tuple[PlannedCell, ...] = ()
    """In a shard, the cells of all shards together, so that a missing shard is noticed."""
    ts: str = ""
    """The run's `ts`, so that it is known while the run goes on; empty in older files."""


@lru_cache(maxsize=1_000)
def safe_name(text: str) -> str:
    """Return a file name for any text, made of `[A-Za-z0-9._-]` and at most 69 characters.

    A text that had to be changed gets eight digits of its hash, so that two texts never share a
    name.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", unicodedata.normalize("NFKC", text))
    name = name.lstrip(".")[:60].rstrip(".")
    if name and name == text and not _DEVICE_NAME.match(name):
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    if _DEVICE_NAME.match(name):
        name = f"_{name}"[:60]
    return f"{name.strip('-.') or 'x'}-{digest}"


def cell_folder(case_id: str, model: str, capture: str, repeat: int) -> str:
    """Return the cell's folder below the run folder, with `/` as separator."""
    return f"cells/{safe_name(case_id)}/{safe_name(model)}/{safe_name(capture)}-{repeat}"


def write_text_atomic(path: Path, text: str, *, lasting: bool = True) -> None:
    """Write a whole file or leave what was there: a reader never sees half of it.

    Args:
        path: the file's.
        text: what it is to hold.
        lasting: wait until it is on the disk, so that it outlives even a crash of the machine; what
            nothing is judged by need not be.

    Raises:
        OSError: the folder cannot be written or the disk is full; `path` is unchanged.
    """
    with whole_file(path, sync=_to_disk if lasting else None) as file:
        file.write(whole_text(text).encode())


def _to_disk(descriptor: int) -> None:
    # A disk takes milliseconds, which other cells in flight can use.
    waiting.blocking(partial(os.fsync, descriptor))


def json_text(value: Any) -> str:
    """Return strict, indented JSON of any value, models included.

    What JSON cannot hold is kept as text: NaN, lone surrogates (replaced), unknown objects.
    """
    # With an indent, Python's own encoder takes ten times as long.
    return to_json(plain(value), indent=1).decode()


def compact_json(value: Any) -> str:
    """Return a value as JSON without spaces, since programs and not people read large reports."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    """Reduce any value to what JSON can hold: dicts, lists, texts, finite numbers, bools, None."""
    return _plain(value, 0)


def save_cell(folder: Path, result: CellResult) -> Path:
    """Write a cell's result into its folder below the run folder, at once and whole."""
    where = result.folder or cell_folder(
        result.case_id, result.model, result.capture_mode, result.repeat
    )
    path = folder / where / CELL_FILE
    write_text_atomic(path, json_text(result))
    return path


def mark_started(folder: Path, cell: str, doomed: str = "") -> None:
    """Leave the marker that tells a killed cell from one that never began.

    Args:
        folder: the run folder.
        cell: the cell's folder in it.
        doomed: why the process that runs the cell is about to end, if that is known.
    """
    marker = folder / cell / STARTED_FILE
    began = marker.stat().st_mtime_ns if doomed and marker.exists() else None
    write_text_atomic(marker, doomed, lasting=bool(doomed))
    if began is not None:
        # Its time is the cell's start, for reports of cells that left nothing else.
        os.utime(marker, ns=(began, began))


def unmark_started(folder: Path, cell: str) -> None:
    """Take the marker away from a cell that was cancelled and counts as never begun."""
    if not (folder / cell / CELL_FILE).exists():
        (folder / cell / STARTED_FILE).unlink(missing_ok=True)


def move_to_replaced(folder: Path, cell: str, stamp: str) -> None:
    """Move what an earlier session left of a cell to `replaced/`, so that the cell can run again.

    Args:
        folder: the run folder.
        cell: the cell's folder in it.
        stamp: when this session began, as part of a file name.
    """
    target = folder / REPLACED_FOLDER / stamp / cell
    target.parent.mkdir(parents=True, exist_ok=True)
    (folder / cell).replace(target)


def save_manifest(
    folder: Path,
    cells: Iterable[PlannedCell],
    *,
    whole: Iterable[PlannedCell] = (),
    ts: str = "",
) -> None:
    """Write what was collected, so that cells that never report are still counted."""
    manifest = Manifest(cells=tuple(cells), whole=tuple(whole), ts=ts)
    write_text_atomic(folder / MANIFEST_FILE, json_text(manifest))


def save_run_info(folder: Path, info: RunInfo) -> None:
    """Write the facts of the run as a whole."""
    write_text_atomic(folder / RUN_FILE, json_text(info))


def reopen_run(folder: Path) -> None:
    """Mark a saved run as running again; without a later end it counts as killed."""
    with suppress(OSError, ValueError):
        info = RunInfo.model_validate_json((folder / RUN_FILE).read_bytes())
        save_run_info(folder, info.model_copy(update={"exit_status": None}))


def check_run_folder(path: Path) -> None:
    """Make sure that a run folder can be made at `path`, and change nothing.

    Raises:
        SettingsError: something other than a run folder is there, or it cannot be written.
    """
    try:
        _check_place(path)
    except OSError as error:
        raise _unwritable(path, _why_not(error)) from None


def _check_place(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise SettingsError(f"the report folder {path} is a file")
    if path.is_symlink() and not path.exists():
        raise _unwritable(path, "it is a link to something that does not exist")
    is_run = any((path / sign).exists() for sign in _RUN_FOLDER_SIGNS)
    if path.is_dir() and any(path.iterdir()) and not is_run:
        raise SettingsError(
            f"the report folder {path} holds files that are not a report of pytest-autoweb; "
            "choose an empty or a new folder"
        )
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise _unwritable(path, f"{parent} is a file")
    for folder in (parent, path):
        if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
            raise _unwritable(path, f"{folder} is read-only")


def _why_not(error: OSError) -> str:
    return error.strerror or first_line(error)


def _unwritable(path: Path, why: str) -> SettingsError:
    return SettingsError(
        f"the report folder {path} cannot be made ({why}); name another one with --autoweb-report"
    )


def fresh_run_folder(path: Path) -> Path:
    """Make an empty folder at `path`; an earlier run there is renamed to `<name>.<ts>`, not erased.

    Raises:
        SettingsError: something other than a run folder is at `path`, or it cannot be written.
    """
    check_run_folder(path)
    try:
        if path.is_dir() and any(path.iterdir()):
            path.rename(_free_name(path, _timestamp(path)))
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, _why_not(error)) from None
    return path


def hold_run_folder(path: Path) -> PassingLock:
    """Keep other sessions out of a run folder until the returned lock is released.

    A second session would move the folder of the first aside while its cells still end, or run the
    same cells of a resumed run once more. The lock ends with its process, however that ends; it
    lies outside the folder, which does not exist yet and may be renamed.

    Raises:
        SettingsError: another session holds the folder.
    """
    try:
        lock = PassingLock("run", path)
        lock.acquire()
    except RuntimeError:
        # What `Path.resolve` makes of it.
        raise _unwritable(path, "its links lead back to themselves") from None
    except TimeoutError:
        raise SettingsError(
            f"another session is writing to the report folder {path}; wait until it has ended, or "
            "name another folder with --autoweb-report"
        ) from None
    except OSError as error:
        raise SettingsError(
            f"the report folder {path} cannot be locked: {_why_not(error)}"
        ) from None
    return lock


def _timestamp(folder: Path) -> str:
    """Return the earlier run's own `ts`, or else the time its folder last changed."""
    with suppress(OSError, ValueError):
        info = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        if isinstance(info, dict) and re.fullmatch(r"[0-9_]{8,32}", str(info.get("ts"))):
            return str(info["ts"])
    changed = datetime.fromtimestamp(folder.stat().st_mtime)
    return f"{changed:%Y%m%d_%H%M%S}_{changed.microsecond // 1000:03d}"


def _free_name(path: Path, ts: str) -> Path:
    candidate, number = path.with_name(f"{path.name}.{ts}"), 2
    while candidate.exists():
        candidate, number = path.with_name(f"{path.name}.{ts}-{number}"), number + 1
    return candidate


def _plain(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        return "…"
    match value:
        case None | bool() | int():
            return value
        case str():
            return whole_text(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime():
            return value.isoformat()
        case BaseModel():
            return _plain(value.model_dump(), depth)
        case dict():
            return {whole_text(str(k)): _plain(v, depth + 1) for k, v in value.items()}
        case list() | tuple():
            return [_plain(item, depth + 1) for item in value]
        case set() | frozenset():
            return [_plain(item, depth + 1) for item in sorted(value, key=repr)]
    return whole_text(repr(value))


class Blob(Record):
    """`blob.json`: what marks a zip file as a packed report."""

    format: Literal["pytest-autoweb/blob"] = "pytest-autoweb/blob"
    version: Literal[1] = 1
    ts: str
    """The `ts` of the run."""
    shard: tuple[int, int]
    """The number of the shard, and how many shards there are."""


def pack(folder: Path, blobs: Path, *, ts: str, shard: tuple[int, int]) -> Path:
    """Pack a shard's run folder as `report-<ts>-x-of-y.zip`; a partial file is never left behind.

    Raises:
        OSError: the folder cannot be written.
    """
    number, of = shard
    path = blobs / f"report-{ts}-{number}-of-{of}.zip"
    with (
        whole_file(path, sync=_to_disk) as file,
        # ZIP knows no dates before 1980, which some file systems give; such a file gets the first
        # one.
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as packed,
    ):
        packed.writestr(BLOB_FILE, json_text(Blob(ts=ts, shard=shard)))
        for source in files_of_run(folder):
            name = source.relative_to(folder).as_posix()
            stored = source.suffix.lower() in _PACKED_ALREADY
            kind = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            packed.write(source, name, compress_type=kind)
    return path


def files_of_run(folder: Path) -> Iterator[Path]:
    """Yield the files that make up a run: its two records and all files of its cells, no links."""
    for name in (MANIFEST_FILE, RUN_FILE):
        if _is_file(folder / name):
            yield folder / name
    yield from files_below(folder / CELLS_FOLDER)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, sorted, without following or yielding links."""
    for where, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        yield from (path for name in sorted(names) if _is_file(path := Path(where, name)))


def unpack(path: Path, folder: Path) -> Blob:
    """Unpack a blob into an empty folder.

    Raises:
        SettingsError: the file is broken, is not a blob, or contains something that no blob has.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            entries = _trusted(path, packed)
            blob = Blob.model_validate_json(packed.read(BLOB_FILE))
            for entry in entries:
                # Reading an entry gives no more bytes than it declares, so the sizes that were
                # checked hold.
                target = folder / PurePosixPath(entry.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(entry) as source, target.open("wb") as out:
                    shutil.copyfileobj(source, out, 1 << 20)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise SettingsError(f"{path} is broken: {_why_unreadable(error)}") from None
    return blob


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _trusted(path: Path, packed: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    entries = [entry for entry in packed.infolist() if not entry.is_dir()]
    names = [entry.filename for entry in entries]
    if BLOB_FILE not in names:
        raise SettingsError(f"{path} is not a packed report of pytest-autoweb: no {BLOB_FILE}")
    if len(set(names)) < len(names):
        raise SettingsError(f"{path} is refused: it contains a file twice")
    for entry in packed.infolist():
        if reason := why_not_unpackable(entry):
            raise SettingsError(f"{path} is refused: {entry.filename!r} {reason}")
    size = sum(entry.file_size for entry in entries)
    grown = size > FREE_GROWTH and size > MOST_GROWTH * path.stat().st_size
    if len(entries) > MOST_FILES or size > MOST_BYTES or grown:
        raise SettingsError(
            f"{path} is refused: {len(entries)} files of {size} bytes would come out of it"
        )
    return entries


def why_not_unpackable(entry: zipfile.ZipInfo) -> str:
    """Return why `pack` cannot have written this entry; empty when it can."""
    name = entry.filename
    parts = name.removesuffix("/").split("/")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device"
    if entry.flag_bits & 0x1 or entry.compress_type not in _PACKINGS:
        return "is encrypted or packed in a way that `autoweb` does not use"
    if any(part in ("", ".", "..") or _DEVICE_NAME.match(part) for part in parts):
        return "leads elsewhere"
    if re.search(r'[\\:\x00-\x1f<>"|?*]', name):
        return "has a character that no file of a report has"
    if parts[0] != CELLS_FOLDER and name not in (BLOB_FILE, MANIFEST_FILE, RUN_FILE):
        return "is not part of a report"
    return ""


def _why_unreadable(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return f"{BLOB_FILE} cannot be read"
    return first_line(error)
