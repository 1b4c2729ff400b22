"""Measure what cells take on disk: `python benchmarks/cell_bytes.py autoweb-report [STORE.db]`.

Prints, for each cell of a run folder on average: files, bytes with and without pictures, what the
packed report of a shard takes, and the report's own files; with a SQLite store, its bytes too.
"""

import sys
import tempfile
from pathlib import Path

from pytest_autoweb.results.runs.run_folder import read_manifest
from pytest_autoweb.results.runs.saving import pack

PICTURES = frozenset((".png", ".webp", ".jpg", ".jpeg"))


def main(folder: Path, store: Path | None) -> None:
    """Print one line for each measured figure."""
    cells = [file.parent for file in (folder / "cells").rglob("cell.json")]
    files = [one for one in (folder / "cells").rglob("*") if one.is_file()]
    pictures = [one for one in files if one.suffix in PICTURES]
    report = [one for one in folder.rglob("*") if one.is_file() and one not in set(files)]
    with tempfile.TemporaryDirectory() as place:
        packed = pack(folder, Path(place), ts=read_manifest(folder).ts, shard=(1, 1))
        zipped = packed.stat().st_size
    count = len(cells)
    print(f"{count} cells")
    for name, value in (
        ("files", len(files)),
        ("bytes with pictures", _bytes(files)),
        ("bytes without pictures", _bytes(files) - _bytes(pictures)),
        ("bytes packed", zipped),
        ("bytes of the report", _bytes(report)),
        *([("bytes in the store", store.stat().st_size)] if store else ()),
    ):
        print(f"{name:24} {value / count:12,.1f} a cell")


def _bytes(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
