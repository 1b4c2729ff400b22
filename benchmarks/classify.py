#!/usr/bin/env python3
"""Measure the failure classifier on messages from which nothing has learnt.

    python benchmarks/classify.py
    python benchmarks/classify.py --part ninth --wrong
    python benchmarks/classify.py --catalogues FOLDER

Prints a Markdown table: how many messages of each part, and of each source or language in it, are
right, and how many of those whose type is clear. `held_out.jsonl` has three parts, each labelled
before any rule or weight saw it: `again` was provoked in the six sources that a run meets, `fifth`
is from catalogues in five languages, `ninth` has rare wording of other trades.

With a folder, it also measures the catalogues of applications that were never learnt from:

    git archive cee2f779 benchmarks/messages | tar x -C FOLDER
    git clone https://github.com/gogs/gogs FOLDER/gogs  # commit eb1054e5432f
    git clone https://github.com/saleor/saleor-dashboard FOLDER/saleor  # f5a84f3afb4f
    git clone https://github.com/jellyfin/jellyfin-web FOLDER/jellyfin  # f330b7bc8b6f
    git clone https://github.com/yiisoft/yii2-framework FOLDER/yii2  # eb236d6f5177
    npm pack devextreme@26.1.5 ajv-i18n@4.2.0  # unpacked as FOLDER/devextreme and FOLDER/ajv

The first line fetches their labels, and what reads them, from this repository's history; the texts
themselves belong to others.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_autoweb.agents.correction.failure_types import classify
from pytest_autoweb.results.analysis.statistics import wilson
from pytest_autoweb.results.records.record import Classification

HELD_OUT = Path(__file__).with_name("held_out.jsonl")
CATALOGUES = {
    "applications": ("gogs", "saleor", "jellyfin"),
    "forms": ("yii2", "devextreme", "ajv"),
}
Row = dict[str, Any]


def rows_of(part: str) -> list[Row]:
    """Return the held-out messages of one part, or of all if it is empty."""
    rows = map(json.loads, HELD_OUT.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if part in ("", row["part"])]


def catalogue_rows(root: Path) -> Iterable[Row]:
    """Yield the labelled texts of the catalogues in a folder."""
    sys.path.insert(0, str(root / "benchmarks/messages"))
    catalogues = importlib.import_module("catalogue_texts")
    for part, names in CATALOGUES.items():
        for name in names:
            for language, said, label in catalogues.labelled(root, name):
                yield {"part": part, "of": language, "message": said, "label": label}


def classified(row: Row) -> Classification:
    """Return what the classifier makes of a row."""
    return classify(row["message"], error_type=row.get("error_type", ""), status=row.get("status"))


def counted(rows: Sequence[Row]) -> tuple[int, int, int]:
    """Return how many types are right, how many are clear, and how many of these are right."""
    found = [(classified(row), row["label"]) for row in rows]
    clear = [one.type == label for one, label in found if one.clear and one.by != "none"]
    return sum(one.type == label for one, label in found), len(clear), sum(clear)


def table_row(name: str, rows: Sequence[Row]) -> str:
    """Return a line of the table."""
    right, clear, right_clear = counted(rows)
    interval = wilson(right, len(rows))
    assert interval is not None, f"no messages of {name}"
    share = f"{right / len(rows):.1%} ({interval.low:.1%} to {interval.high:.1%})"
    return f"| {name} | {right} of {len(rows)} | {share} | {right_clear} of {clear} |"


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="", help="only this part")
    parser.add_argument("--catalogues", type=Path, metavar="FOLDER")
    parser.add_argument("--wrong", action="store_true", help="list what was taken for another type")
    args = parser.parse_args()
    rows = rows_of(args.part)
    if args.catalogues:
        rows += catalogue_rows(args.catalogues)
    print("| messages | right | in percent, and 95 % interval | of the clear ones |")
    print("|---|--:|--:|--:|")
    for part in dict.fromkeys(row["part"] for row in rows):
        own = [row for row in rows if row["part"] == part]
        print(table_row(f"**{part}**", own))
        for source in dict.fromkeys(row["of"] for row in own):
            print(table_row(f"{part}: {source}", [row for row in own if row["of"] == source]))
    if args.wrong:
        for row in rows:
            if (given := classified(row).type) != row["label"]:
                print(row["label"], "->", given, repr(row["message"][:160]))


if __name__ == "__main__":
    main()
