"""The one way of text to terminals and CI logs, where nothing in it is obeyed.

What pages, models, case files and runs of others say arrives in messages of many places. So it is
not escaped at each of them, but where all of it passes.
"""

import re
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u061c\u2028-\u202e\u2060-\u2069\ud800-\udfff"
    "\ufeff\ufffe\uffff]"
)
"""Control characters, those that turn the direction of text, and others that nobody sees."""
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Whatever ends a line for some reader, apart from `\\n`."""
_COMMAND = re.compile(r"((?:^|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])\s*:)(?=:)")
_MARKED = re.compile(r"##(?:vso|teamcity)?(?=\[)", re.IGNORECASE)
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
_WHOLE_LINE = 64
_LONGEST_MARK = 16


def without_commands(text: str) -> str:
    """Return the text with nothing in it that a CI runner would take for a command.

    GitHub's runner obeys lines that begin with `::`, and `##[` anywhere. Azure has `##vso[` and
    TeamCity `##teamcity[`. GitLab's commands need control characters.
    """
    return _MARKED.sub(r"\g<0> ", _COMMAND.sub(r"\1 ", text))


def plain_text(text: str) -> str:
    """Return text that neither a terminal nor a CI runner obeys, with its lines."""
    return without_commands(UNSEEN.sub("", _BREAKS.sub(_space_or_line, text)))


def _space_or_line(found: re.Match[str]) -> str:
    return "\n" if found[0] == "\r\n" else " "


class PlainStream:
    """A text stream that passes on what is written to it, without what its reader would obey.

    Args:
        file: the stream that receives everything.
        colours: let through colours.
        returns: let through a first carriage return, with which a writer goes back to the beginning
            of its line.
    """

    def __init__(self, file: Any, *, colours: bool = False, returns: bool = False) -> None:
        self.file = file
        self._colours = colours
        self._returns = returns
        self._line = ""
        """The line so far; of a long one its end, behind a letter."""

    def write(self, text: str) -> int:
        """Write the text without what would be obeyed; commands written in parts are none."""
        lead = ""
        if self._returns and text.startswith("\r") and not text.startswith("\r\n"):
            lead, self._line = "\r", ""
        parts = _COLOUR.split(text[len(lead) :]) if self._colours else [text]
        # Every second part is a colour.
        told = (part if place % 2 else self._filtered(part) for place, part in enumerate(parts))
        self.file.write(lead + "".join(told))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each of the texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream below."""
        self.file.flush()

    def obeyed(self, line: str) -> None:
        """Write a line as it is: a command of our own for the CI runner, or a line redrawn."""
        self.file.write(line)
        self._line = ""

    def _filtered(self, text: str) -> str:
        before = self._line
        clean = UNSEEN.sub("", _BREAKS.sub(_space_or_line, text))
        # What is put in between stands behind `before`, whose own commands were broken up already.
        whole = without_commands(before + clean)
        # However far a command is indented, a runner obeys it.
        line = whole.rpartition("\n")[2].lstrip()
        if len(line) > _WHOLE_LINE:
            line = f"x{line[-_LONGEST_MARK:]}"
        self._line = line
        return whole[len(before) :]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def write_obeyed(text: str, stream: Any = None) -> None:
    """Write text that its reader is to obey: the only way around a `PlainStream`.

    Args:
        text: text of our own; foreign words in it are escaped as its reader demands.
        stream: where to; standard output by default.
    """
    to = sys.stdout if stream is None else stream
    (to.obeyed if isinstance(to, PlainStream) else to.write)(text)


@contextmanager
def plain_streams() -> Iterator[None]:
    """Let everything that is printed meanwhile pass through a `PlainStream`.

    An error that nobody catches is printed through one as well.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", PlainStream(stream)) for stream in before)
    try:
        yield
    except Exception:
        sys.excepthook = _tell_plainly
        raise
    finally:
        sys.stdout, sys.stderr = before


def _tell_plainly(
    kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
) -> None:
    sys.stderr = cast("TextIO", PlainStream(sys.stderr))
    sys.__excepthook__(kind, error, trace)
