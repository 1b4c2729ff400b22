"""Questions to the person at the keyboard, and the numbers that an answer chooses."""

import queue
import re
import sys
import threading
from collections.abc import Sequence

from pytest_autoweb.base.errors import SettingsError

_CLOSED = None


class Questions:
    """Lines from the keyboard, read by one thread for as long as the command runs.

    There is one thread because reading cannot be cancelled: a recording that ends when its page is
    closed would otherwise leave a reader behind that takes the first answer.

    Args:
        silent: ask nothing, even at a terminal.
    """

    def __init__(self, *, silent: bool) -> None:
        self.possible = sys.stdin is not None and sys.stdin.isatty()
        """Whether there is a keyboard at all."""
        self._silent = silent
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._started = False

    @property
    def asking(self) -> bool:
        return self.possible and not self._silent

    def start(self) -> None:
        """Begin to read, where there is a keyboard."""
        if self.possible and not self._started:
            self._started = True
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(_CLOSED)

    def entered(self) -> bool:
        """Tell whether Enter was pressed; a keyboard that is gone does not count."""
        try:
            return self._lines.get_nowait() is not _CLOSED
        except queue.Empty:
            return False

    def ask(self, question: str) -> str:
        """Return the person's answer; "" if questions are off."""
        if not self.asking:
            return ""
        self.start()
        print(question, end=" ", flush=True)
        return (self._lines.get() or "").strip()


def chosen_numbers(said: str, suggested: Sequence[int], count: int) -> list[int]:
    """Return the numbers, from 1 up, of a choice such as `1,3`, `all`, or "" for the suggestion.

    Raises:
        SettingsError: it is not a valid choice.
    """
    words = [word for word in re.split(r"[,;\s]+", said.strip().lower()) if word]
    if not words:
        return list(suggested)
    if words == ["all"]:
        return list(range(1, count + 1))
    if any(not word.isdecimal() or not 1 <= int(word) <= count for word in words):
        raise SettingsError(
            f"{said.strip()!r} is no choice: write numbers from 1 to {count} with commas, or `all`"
        )
    return sorted({int(word) for word in words})
