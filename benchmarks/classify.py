#!/usr/bin/env python3
"""Measure the failure classifier on messages that were really said.

    python benchmarks/classify.py
    python benchmarks/classify.py --corpus corpus --part seen --wrong
    python benchmarks/classify.py --corpus languages --part fifth

Prints accuracy with a Wilson interval, for every source, and the confusion matrix as Markdown. Of
the corpus `six_sources` the rules were written against the part `tune`, and later against the part
`held_out`, which a hash had drawn and which was measured once before; against `again` none was
written. Of the older `corpus` they were written against both parts in the end, and against German,
French and Spanish of `other_language`. `benchmarks/provoke_messages.py` makes both.

The corpus `languages` has five languages. Its part `first` was written and labelled before its
rules; `second`, `third`, `fourth`, `sixth`, `seventh` and `eighth` were each measured once and then
learnt from. `fifth` and `ninth` were each measured last, and no rule has learnt from them.

A last line says how many messages the rules speak of clearly, and how many of these they get right.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

from pytest_autoweb.analysis.statistics import wilson
from pytest_autoweb.correct.failure_types import classify
from pytest_autoweb.results.record import Classification, FailureType

MESSAGES = Path(__file__).parent / "messages"
CORPORA = ("six_sources", "corpus", "languages")


def rows_of(corpus: str, part: str) -> list[dict[str, Any]]:
    """Return the rows of one part of a corpus."""
    lines = (MESSAGES / f"{corpus}.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["part"] == part]


def classified(row: dict[str, Any]) -> Classification:
    """Return what the classifier makes of a row."""
    return classify(row["message"], error_type=row["error_type"], status=row["status"])


def verdict(row: dict[str, Any]) -> str:
    """Return the type that the classifier gives a row."""
    return classified(row).type


def table(counts: Counter[tuple[str, str]]) -> str:
    """Return the confusion matrix: a row per true type, a column per given one."""
    types = get_args(FailureType)
    short = [name.split("_")[0].title() for name in types]
    lines = [f"| true \\ given | {' | '.join(short)} |", "|---" * (len(types) + 1) + "|"]
    for name, label in zip(types, short, strict=True):
        cells = (str(counts[name, given] or "") for given in types)
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", choices=CORPORA, default="six_sources")
    parser.add_argument("--part", default="again")
    parser.add_argument("--wrong", action="store_true", help="list what was taken for another type")
    args = parser.parse_args()
    rows = rows_of(args.corpus, args.part)
    counts = Counter((row["label"], verdict(row)) for row in rows)
    right = sum(number for (true, given), number in counts.items() if true == given)
    interval = wilson(right, len(rows))
    assert interval is not None, f"no rows of part {args.part}"
    print(f"{args.part}: {right} of {len(rows)} right, {right / len(rows):.1%} ", end="")
    print(f"(95 % interval {interval.low:.1%} to {interval.high:.1%})\n")
    for source in dict.fromkeys(row["of"] for row in rows if "of" in row):
        own = [row for row in rows if row["of"] == source]
        print(f"{source}: {sum(verdict(row) == row['label'] for row in own)} of {len(own)}")
    print(f"\n{table(counts)}\n")
    known = [(row, classified(row)) for row in rows]
    clear = [(row, found) for row, found in known if found.clear and found.by != "none"]
    exact = sum(found.type == row["label"] for row, found in clear)
    print(f"clear: {exact} of {len(clear)} right")
    if args.wrong:
        for row in rows:
            if (given := verdict(row)) != row["label"]:
                text = row["message"][:160].replace("\n", " / ")
                print(f"{row['label']} -> {given}: {row['error_type']} [{row['source']}] {text}")


if __name__ == "__main__":
    main()
