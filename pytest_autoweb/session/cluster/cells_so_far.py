"""What going cells have done until now, on its way from a node to whoever watches the run.

It travels only while somebody watches: for each cell that has told more, a small zip file with its
pictures that have not been sent yet.
"""

import io
import re
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.files import whole_file
from pytest_autoweb.results.runs.saving import CELL_FILE
from pytest_autoweb.results.runs.watched import SO_FAR_FILE, SoFar, is_watched, touch_watched
from pytest_autoweb.session.shared_run import OPENED_FILE

MOST_BYTES = 4 * 1024 * 1024
"""The most that travels at once; pictures beyond it do not."""
_WRITTEN_S = 3.0
"""How long a picture may take to be written, which is done beside the cell."""
_PLACES = (f"cells/*/*/*/{SO_FAR_FILE}", f"cells/*/*/*/again-*/{SO_FAR_FILE}")
_NAME = re.compile(r"attempt-\d{1,6}/[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.(jpg|jpeg|png)", re.ASCII)


class SoFarOfCells:
    """What the cells of a node have written of themselves and has not been sent yet.

    Args:
        run: the run folder on the node.
        session: the folder of the session's files there.
    """

    def __init__(self, run: Path, session: Path) -> None:
        self._run, self._session = run, session
        self._sent: dict[Path, int] = {}

    def ask_for_more(self) -> None:
        """Let cells tell what they do for a while, because somebody watches the run."""
        # Until its test process has opened it, the run folder has to be empty.
        if (self._session / OPENED_FILE).exists():
            touch_watched(self._run)

    def news(self) -> Iterator[tuple[str, bytes]]:
        """Yield the folders of cells that have told more, with the files to send of each."""
        if not is_watched(self._run):
            return
        for file in chain.from_iterable(map(self._run.glob, _PLACES)):
            # The attempt may end meanwhile, which removes the file.
            with suppress(OSError, ValueError):
                if self._is_new(file) and (packed := self._packed(file)):
                    yield file.parent.relative_to(self._run).as_posix(), packed

    def _is_new(self, file: Path) -> bool:
        changed = file.stat().st_mtime_ns
        is_new = self._sent.get(file) != changed
        self._sent[file] = changed
        return is_new

    def _packed(self, file: Path) -> bytes:
        """Return the files to send of a cell; none yet if its latest picture is still written."""
        text, cell = file.read_bytes(), file.parent
        pictures = [cell / frame.picture for frame in SoFar.model_validate_json(text).film]
        if pictures and not pictures[-1].is_file() and _age_s(file) < _WRITTEN_S:
            del self._sent[file]
            return b""
        left = MOST_BYTES - len(text)
        with io.BytesIO() as packed:
            with zipfile.ZipFile(packed, "w") as files:
                # The latest first, because it is the one that the overview shows.
                for picture in filter(Path.is_file, reversed(pictures)):
                    size = picture.stat().st_size
                    if size <= left and self._is_new(picture):
                        name = picture.relative_to(cell).as_posix()
                        files.writestr(name, picture.read_bytes())
                        left -= size
                files.writestr(SO_FAR_FILE, text)
            return packed.getvalue()


def _age_s(file: Path) -> float:
    return time.time() - file.stat().st_mtime


def take_so_far(run: Path, cell: str, packed: bytes) -> None:
    """Put what a cell has done until now into the run folder.

    Args:
        run: the run folder.
        cell: the folder of a cell in it that a worker is running.
        packed: what was sent of it.

    Raises:
        SettingsError: it is corrupt, or holds what is neither told so far nor a picture.
        OSError: the folder cannot be written.
    """
    if (run / cell / CELL_FILE).exists():
        # A resumed run keeps the result of its earlier session until there is another.
        return
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as files:
            entries = files.infolist()
            good = all(
                each.filename == SO_FAR_FILE or _NAME.fullmatch(each.filename) for each in entries
            )
            if not good or sum(each.file_size for each in entries) > 2 * MOST_BYTES:
                raise SettingsError(f"what {cell} has done so far is refused")
            for entry in entries:
                with whole_file(run / cell / entry.filename) as file:
                    file.write(files.read(entry))
    except (EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise SettingsError(f"what {cell} has done so far arrived broken: {error}") from None
