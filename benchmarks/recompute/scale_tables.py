"""Compute the tables of scale.md from the figures that its first two tables name.

`python benchmarks/recompute/scale_tables.py` compares the page with what its figures amount to, and
exits with 1 where they differ; `--write` puts the tables right. It needs nothing but Python.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
SIZES = (10_000, 100_000, 1_000_000)
# Machines, processes on each, cells in flight in each process, calls of the model at once.
SETUPS = (
    ("one machine, as installed", 1, 1, 1, 8),
    ("one machine, `-n 4 --autoweb-concurrency=16`", 1, 4, 16, 64),
    ("one machine, `-n 8 --autoweb-concurrency=64`", 1, 8, 64, 512),
    ("10 shards, `-n 4 --autoweb-concurrency=16`", 10, 4, 16, 640),
    ("100 shards, `-n 4 --autoweb-concurrency=16`", 100, 4, 16, 6400),
)
LIMITS = ((500, 200_000), (5_000, 2_000_000), (50_000, 20_000_000))
HEAD = "| | 10,000 cells | 100,000 cells | 1,000,000 cells |\n|---|---|---|---|"


def figures(page):
    """Name -> number, of the rows that begin with a name in backquotes."""
    rows = re.findall(r"^\| `(\w+)` \| ([\d.,]+) \|", page, re.MULTILINE)
    return {name: float(value.replace(",", "")) for name, value in rows}


def row(name, shown):
    return f"| {name} | " + " | ".join(shown(cells) for cells in SIZES) + " |"


def hours(seconds):
    for unit, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"


def size(megabytes):
    for unit, many in (("TB", 1_000_000), ("GB", 1000)):
        if megabytes >= many:
            return f"{megabytes / many:,.1f} {unit}"
    return f"{megabytes:.0f} MB"


def parts(f, cells, setup):
    """Seconds of work and of waiting."""
    _, machines, processes, flight, calls = setup
    slots = min(cells, machines * processes * flight)
    work = cells * f["cell_s"] / min(f["cores"] * machines, slots)
    return work, cells * f["calls"] * f["call_s"] / min(slots, calls)


def time_table(f):
    def shown(setup):
        def cell(cells):
            work, wait = parts(f, cells, setup)
            return f"{hours(work + wait)} ({hours(work)} + {hours(wait)})"

        return cell

    return "\n".join([HEAD, *(row(setup[0], shown(setup)) for setup in SETUPS)])


def money_table(f):
    def dollars(cells):
        given, made = f["input_tokens"] * f["input_price"], f["output_tokens"] * f["output_price"]
        return f"${cells * (given + made) / 1e6:,.0f}"

    tokens = f["input_tokens"] + f["output_tokens"]
    return "\n".join(
        [
            HEAD,
            row("calls", lambda cells: f"{cells * f['calls']:,.0f}"),
            row("tokens", lambda cells: f"{cells * tokens / 1e6:,.0f} million"),
            row("money", dollars),
        ]
    )


def limit_table(f):
    tokens = f["input_tokens"] + f["output_tokens"]

    def least(requests, allowed):
        by_calls, by_tokens = f["calls"] / requests, tokens / allowed
        held = "tokens" if by_tokens > by_calls else "requests"
        return lambda cells: f"{hours(60 * cells * max(by_calls, by_tokens))} ({held})"

    names = [f"{r:,} requests and {t / 1e6:g} million tokens a minute" for r, t in LIMITS]
    rows = [row(name, least(*limit)) for name, limit in zip(names, LIMITS, strict=True)]
    return "\n".join([HEAD, *rows])


def memory_table(f):
    def running(setup):
        slots = setup[2] * setup[3]
        each = setup[2] * f["process_mb"] + slots * f["flight_mb"]
        return lambda cells: size(each)

    def report(cells):
        return size(f["report_mb"] + cells * f["report_cell_mb"])

    return "\n".join(
        [
            HEAD,
            *(row(f"{setup[0]}, while cells run", running(setup)) for setup in SETUPS[:3]),
            row("building the report of all cells", report),
        ]
    )


def storage_table(f):
    def much(name):
        return lambda cells: size(cells * f[name] / 1000)

    return "\n".join(
        [
            HEAD,
            row("cells with pictures", much("cell_kb")),
            row("cells without pictures", much("text_kb")),
            row("files", lambda cells: f"{cells * f['cell_files']:,.0f}"),
            row("packed reports of the shards", much("packed_kb")),
            row("report, beside the cells", much("report_kb")),
            row("store (SQLite)", much("store_kb")),
        ]
    )


TABLES = {
    "time": time_table,
    "limits": limit_table,
    "money": money_table,
    "memory": memory_table,
    "storage": storage_table,
}


def computed(page):
    """The page with its tables computed anew."""
    found = figures(page)
    for name, table in TABLES.items():
        place = re.compile(rf"(<!-- computed: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = table(found)
        page, count = place.subn(lambda m, text=text: f"{m[1]}\n{text}\n\n{m[2]}", page)
        if count != 1:
            raise SystemExit(f"scale.md has {count} places for the table {name!r}")
    return page


def main(arguments):
    page = PAGE.read_text(encoding="utf-8")
    right = computed(page)
    if "--write" in arguments:
        PAGE.write_text(right, encoding="utf-8")
    elif right != page:
        wrong = [line for line in right.splitlines() if line not in page.splitlines()]
        print("scale.md differs from its figures:", *wrong, sep="\n  ")
        return 1
    print(f"{len(TABLES)} tables are what their figures amount to")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
