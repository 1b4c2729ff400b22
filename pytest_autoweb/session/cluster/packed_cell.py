"""A cell's files in one zip file, as they travel from a node to the session's machine."""

import re
import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.results.runs.saving import (
    CELL_FILE,
    STARTED_FILE,
    files_below,
    why_not_unpackable,
)

MOST_CELL_BYTES = 512 * 1024 * 1024
"""Maximum total size of a cell's files; files beyond it stay on the node."""
MOST_FILES = 5_000
_CELL = re.compile(r"cells/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


def is_cell_folder(text: str) -> bool:
    """Return whether a text is a cell's folder within a run."""
    return bool(_CELL.fullmatch(text)) and not {".", ".."} & set(text.split("/"))


def pack_cell(run: Path, cell: str, target: Path) -> None:
    """Pack a cell's files, small ones first; files beyond the limit are left out.

    Args:
        run: the run folder on this node.
        cell: the cell's folder in it.
        target: the file to write.
    """
    left = MOST_CELL_BYTES
    with zipfile.ZipFile(
        target, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False
    ) as packed:
        found = sorted(files_below(run / cell), key=lambda file: file.stat().st_size)
        first = [file for file in found if file.name in (CELL_FILE, STARTED_FILE)]
        for file in [*first, *(file for file in found if file not in first)][:MOST_FILES]:
            left -= file.stat().st_size
            if left >= 0:
                packed.write(file, file.relative_to(run).as_posix())


def unpack_cell(packed: Path, cell: str, folder: Path) -> None:
    """Unpack the files of a cell below a folder.

    Raises:
        SettingsError: the file is corrupt, or holds entries that no cell has.
    """
    try:
        with zipfile.ZipFile(packed) as source:
            entries = source.infolist()
            size = sum(entry.file_size for entry in entries)
            bad = [entry.filename for entry in entries if not _belongs(entry, cell)]
            if bad or size > MOST_CELL_BYTES or len(entries) > MOST_FILES:
                raise SettingsError(f"the files of {cell} are refused: {bad[:1] or size}")
            for entry in entries:
                target = folder / PurePosixPath(entry.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                with source.open(entry) as file, target.open("wb") as out:
                    shutil.copyfileobj(file, out, 1 << 20)
    except (EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise SettingsError(f"the files of {cell} arrived broken: {error}") from None


def _belongs(entry: zipfile.ZipInfo, cell: str) -> bool:
    regular = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
    inside = entry.filename.startswith(f"{cell}/") and not entry.is_dir()
    return regular and inside and not why_not_unpackable(entry)
