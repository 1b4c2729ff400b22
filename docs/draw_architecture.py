"""Draw docs/images/architecture.svg: the rooms in rows, as tests/test_architecture.py has them.

Usage: python docs/draw_architecture.py
"""

import ast
from pathlib import Path
from xml.sax.saxutils import escape

DOCS = Path(__file__).parent
PICTURE = DOCS / "images" / "architecture.svg"
PACKAGE = DOCS.parent / "pytest_autoweb"

WIDTH, ROW, BOX, GAP, TOP = 860, 40, 28, 10, 52
CHARACTER = 8.2
"""Pixels that a character of the font takes, roughly."""
SMALL_CHARACTER = 6.1
"""The same for a character of the rooms within a room."""

# Own background and colours for both schemes: a viewer may show either behind the picture.
STYLE = """
  .page { fill: #ffffff } .box { fill: #eef3fb; stroke: #3b6ea5 } text { fill: #1b2733 }
  .quiet { fill: #5a6876 } line { stroke: #5a6876 }
  text { font: 14px ui-sans-serif, system-ui, sans-serif } .inner { font-size: 12px }
  @media (prefers-color-scheme: dark) {
    .page { fill: #10161d } .box { fill: #1d2b3a; stroke: #7fb0e6 } text { fill: #e8eef4 }
    .quiet { fill: #9fb0c0 } line { stroke: #9fb0c0 }
  }
"""


def rows() -> list[list[str]]:
    """Read ROWS, the lowest first, without importing the test."""
    source = (DOCS.parent / "tests" / "test_architecture.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ROWS":
            return [sorted(row) for row in ast.literal_eval(node.value)]
    raise SystemExit("tests/test_architecture.py has no ROWS")


def rooms_in(room: str) -> list[str]:
    """Return the rooms within one, by name; Alembic's folder of migrations is none."""
    found = {init.parent.name for init in (PACKAGE / room).glob("*/__init__.py")}
    return sorted(found - {"migrations"})


def boxes(names: list[str], top: int) -> str:
    """Return the boxes of one row, centred, each with the rooms in it."""
    texts = [(name, " · ".join(rooms_in(name))) for name in names]
    widths = [
        round(len(name) * CHARACTER + len(inner) * SMALL_CHARACTER) + (36 if inner else 24)
        for name, inner in texts
    ]
    left = (WIDTH - sum(widths) - GAP * (len(names) - 1)) // 2
    drawn = []
    for (name, inner), width in zip(texts, widths, strict=True):
        drawn.append(
            f'<rect class="box" x="{left}" y="{top}" width="{width}" height="{BOX}" rx="5"/>'
            f'<text x="{left + 12}" y="{top + 19}">{escape(name)}'
            + (f'<tspan class="quiet inner" dx="12">{escape(inner)}</tspan>' if inner else "")
            + "</text>"
        )
        left += width + GAP
    return "".join(drawn)


def picture(from_below: list[list[str]]) -> str:
    """Return the SVG; the lowest row is at the bottom."""
    height = TOP + ROW * len(from_below) + 12
    title = "The rooms of pytest_autoweb in rows; each imports only from rows below its own"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        '<text class="quiet" x="24" y="30">Started by pytest or from a shell. '
        "Each room imports only from rows below its own.</text>",
        f'<line x1="24" y1="{TOP}" x2="24" y2="{height - 20}" stroke-width="1.5"/>',
        f'<path class="quiet" d="M 19 {height - 22} h 10 l -5 10 z"/>',
    ]
    for number, names in enumerate(reversed(from_below)):
        lines.append(f'<g class="row">{boxes(names, TOP + ROW * number)}</g>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(rows()), encoding="utf-8")
