"""Record docs/images/terminal.svg: the comparison of the tutorial, as it came over a terminal.

Usage: python docs/record_terminal.py

Writes the files of docs/tutorial.md into a fresh folder, runs its `pytest` with two stand-ins in a
pseudo terminal, and draws what was printed, when it was printed, at four times the speed. Of the
folder's path only `~/shop` is shown.
"""

import os
import pty
import re
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

DOCS = Path(__file__).parent
PICTURE = DOCS / "images" / "terminal.svg"
COMMAND = "pytest cases/tea.yaml --autoweb-models=fake/reads,fake/hasty --autoweb-max-repairs=0"
LEAN = "-p no:anyio -p no:hypothesispytest -p no:schemathesis"
"""Without plugins that only the tests of this repository install."""
TITLE = "A run of pytest: seven cases on two stand-ins, and which of the two is better"

COLUMNS, FONT, CHARACTER, LINE, MARGIN = 120, 13, 7.85, 18, 16
SPEED, PAUSE = 4.0, 8.0
"""How much faster than it was, and how many seconds the end stays before it begins again."""
PLAIN = "#d7dde4"
COLOURS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 36: "#76e3ea"}

_FILE = re.compile(r"^Write `([^`]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PIECE = re.compile(r"\x1b\[([\d;?]*)([A-Za-z])|\x1b([78])|(\r)|(\n)|([^\x1b\r\n]+)")


class Shown(NamedTuple):
    """What stood in a row from a moment on."""

    at: float
    row: int
    spans: str


class Terminal:
    """As much of a terminal as pytest and this package use: colours, and one line written anew."""

    def __init__(self) -> None:
        self._rows: list[list[tuple[str, str]]] = [[]]
        self._column = 0
        self._saved = 0
        self._style: dict[str, str] = {}

    @property
    def row(self) -> int:
        """The row of the cursor."""
        return len(self._rows) - 1

    def write(self, text: str) -> None:
        """Take what a program prints."""
        for numbers, letter, saving, back, new, plain in _PIECE.findall(text):
            if letter == "m":
                self._set_style([int(number) for number in numbers.split(";") if number])
            elif letter == "K":
                del self._rows[-1][self._column :]
            elif saving == "7":
                self._saved = self._column
            elif saving == "8":
                self._column = self._saved
            elif back:
                self._column = 0
            elif new:
                self._rows.append([])
                self._column = 0
            for character in plain:
                self._rows[-1][self._column : self._column + 1] = [(character, self._attributes())]
                self._column += 1

    def spans(self, row: int) -> str:
        """Return a row as SVG."""
        parts = groupby(self._rows[row], key=lambda cell: cell[1])
        return "".join(
            f"<tspan{style}>{escape(''.join(character for character, _ in cells))}</tspan>"
            for style, cells in parts
        )

    def _attributes(self) -> str:
        return "".join(f' {name}="{value}"' for name, value in self._style.items())

    def _set_style(self, numbers: list[int]) -> None:
        for number in numbers or [0]:
            if number == 0:
                self._style = {}
            elif number == 1:
                self._style["font-weight"] = "bold"
            elif number in COLOURS:
                self._style["fill"] = COLOURS[number]


def record(folder: Path) -> list[Shown]:
    """Run the command, and return each state of each row."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ |= {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "PYTEST_ADDOPTS": LEAN}
        arguments = COMMAND.split()[1:]
        os.execv(sys.executable, [sys.executable, "-m", "pytest", "--color=yes", *arguments])
    begin, screen, shown = time.monotonic(), Terminal(), {}
    screen.write(f"$ {COMMAND}\r\n")
    states = [Shown(0.0, 0, screen.spans(0))]
    while True:
        try:
            received = os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            break
        first = screen.row
        screen.write(received.replace(str(folder), "~/shop"))
        for row in range(first, screen.row + 1):
            if shown.get(row, "") != (spans := screen.spans(row)):
                shown[row] = spans
                states.append(Shown(time.monotonic() - begin, row, spans))
    os.waitpid(process, 0)
    return states


def picture(states: list[Shown]) -> str:
    """Return the SVG: every state is shown from its moment to the next of its row."""
    total = states[-1].at / SPEED + PAUSE
    last = {state.row: number for number, state in enumerate(states)}
    width = round(COLUMNS * CHARACTER + 2 * MARGIN)
    height = LINE * (max(last) + 1) + 2 * MARGIN
    rules, texts = [], []
    for number, state in enumerate(states):
        ends = [later.at for later in states[number + 1 :] if later.row == state.row]
        begin, end = (100 * at / SPEED / total for at in (state.at, ends[0] if ends else 0.0))
        hidden = f" {end:.2f}%, 100% {{ opacity: 0 }}" if ends else ""
        rules.append(
            f"@keyframes k{number} {{ 0% {{ opacity: 0 }} {begin:.2f}% {{ opacity: 1 }}{hidden} }}"
            f" #l{number} {{ animation: k{number} {total:.1f}s step-end infinite }}"
        )
        # Without motion the last state of each row is seen.
        still = "" if last[state.row] == number else ' class="passing"'
        top = MARGIN + LINE * state.row + FONT
        texts.append(f'<text id="l{number}"{still} x="{MARGIN}" y="{top}">{state.spans}</text>')
    rules.append(
        "@media (prefers-reduced-motion: reduce) {"
        " text { animation: none !important } .passing { display: none } }"
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{TITLE}</title>",
        f"<style>text {{ font: {FONT}px ui-monospace, Menlo, Consolas, monospace;",
        f"white-space: pre; fill: {PLAIN} }}",
        *rules,
        "</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#10161d"/>',
        *texts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Record, and write the picture."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        for path, content in _FILE.findall((DOCS / "tutorial.md").read_text(encoding="utf-8")):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, encoding="utf-8")
        PICTURE.write_text(picture(record(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
