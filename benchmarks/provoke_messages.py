#!/usr/bin/env python3
"""Provoke the messages that the failure classifier is measured on, and write them down.

    python benchmarks/provoke_messages.py --out benchmarks/messages/corpus.jsonl

Every row was really said: by Playwright, by Chromium (in six languages), by HTTP servers, by forms,
by a database, by Python, by model services through the gateway, and by real applications. What each
provocation means was decided where it is written, before any rule looked at it. For all rows this
needs Chromium with its language packs (Debian: chromium, chromium-l10n) and the package
django-oscar; without them those rows are missing.
"""

import argparse
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "messages"))

from browser_errors import lost_errors, network_errors, page_errors
from form_texts import browser_texts, django_texts
from http_statuses import statuses
from playwright.sync_api import sync_playwright
from providers import provider_errors
from provoked import Provoked
from python_errors import database_errors, script_errors, system_errors, unclassified
from python_errors import network_errors as python_network_errors
from shop_texts import shop_texts

FOREIGN = re.compile(r": (de|es|ja|fr|ar)\b")
SOURCES: tuple[Callable[[], Iterator[Provoked]], ...] = (
    script_errors,
    database_errors,
    system_errors,
    python_network_errors,
    unclassified,
    statuses,
    django_texts,
    shop_texts,
    provider_errors,
)


def browser_rows(launch: dict[str, Any]) -> Iterator[Provoked]:
    """What needs a browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch)
        for source in (page_errors, lost_errors, network_errors):
            yield from source(browser)
        browser.close()
        yield from browser_texts(playwright, launch)


def is_foreign(row: Provoked) -> bool:
    """Whether a row is neither English nor Chinese, as its source says."""
    return bool(FOREIGN.search(row.source))


def _in_order(rows: Iterable[Provoked]) -> list[Provoked]:
    return sorted(rows, key=lambda row: (row.source, row.error_type, row.message))


def split(rows: list[Provoked], seed: int) -> list[dict[str, Any]]:
    """Each row with `part`: a third of every label is held out, drawn once by the seed.

    The classifier knows English and Chinese; what was said in other languages is a part of its own.
    """
    drawn = random.Random(seed)
    parts: list[dict[str, Any]] = []
    for label in sorted({row.label for row in rows}):
        foreign = _in_order(row for row in rows if row.label == label and is_foreign(row))
        parts += [{"part": "other_language", **row._asdict()} for row in foreign]
        of_label = _in_order(row for row in rows if row.label == label and not is_foreign(row))
        drawn.shuffle(of_label)
        for number, row in enumerate(of_label):
            part = "held_out" if number % 3 == 0 else "seen"
            parts.append({"part": part, **row._asdict()})
    return parts


def main() -> None:
    """Read the command line, provoke, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.environ["PROVOKED_KEY"] = "none"
    launch = {"executable_path": args.chromium, "args": ["--no-sandbox"]}
    rows = [row for source in SOURCES for row in source()] + list(browser_rows(launch))
    distinct = {(row.error_type, row.message, row.status): row for row in rows}
    lines = split(list(distinct.values()), args.seed)
    args.out.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
    )
    print(len(lines), "messages;", dict(Counter(line["label"] for line in lines)))


if __name__ == "__main__":
    main()
