#!/usr/bin/env python3
"""Provoke the messages that the failure classifier is measured on, and write them down.

    python benchmarks/provoke_messages.py --out benchmarks/messages/corpus.jsonl

Every row was really said: by Playwright, by Chromium (in six languages), by HTTP servers, by forms,
by a database, by Python, by model services through the gateway, and by real applications. What each
provocation means was decided where it is written, before any rule looked at it. For all rows this
needs Chromium with its language packs (Debian: chromium, chromium-l10n) and the packages
django-oscar, pretix, wagtail, djangorestframework, django-allauth, wtforms, weblate, shuup, misago
and django-helpdesk (their catalogues only:
`pip install --no-deps`); without them those rows are missing. The rules were frozen before the rows
of the part `held_out` were chosen and labelled.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "messages"))

from browser_errors import lost_errors, network_errors, page_errors
from form_texts import browser_texts, django_texts
from held_out_calls import held_out_calls, held_out_errors
from http_statuses import statuses
from playwright.sync_api import sync_playwright
from providers import provider_errors
from provoked import Provoked
from python_errors import database_errors, script_errors, system_errors, unclassified
from python_errors import network_errors as python_network_errors
from shop_texts import held_out_texts, shop_texts

FOREIGN = re.compile(r": (de|es|ja|fr|ar)\b")
SEEN: tuple[Callable[[], Iterator[Provoked]], ...] = (
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
HELD_OUT = (held_out_texts, held_out_errors)


def browser_rows(launch: dict[str, Any]) -> Iterator[tuple[str, Provoked]]:
    """What needs a browser, with its part."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch)
        for source in (page_errors, lost_errors, network_errors):
            yield from (("seen", row) for row in source(browser))
        yield from (("held_out", row) for row in held_out_calls(browser))
        browser.close()
        yield from (("seen", row) for row in browser_texts(playwright, launch))


def row_of(part: str, said: Provoked) -> dict[str, Any]:
    """A line of the corpus; what is neither English nor Chinese is a part of its own."""
    part = "other_language" if FOREIGN.search(said.source) else part
    return {"part": part, **said._asdict()}


def main() -> None:
    """Read the command line, provoke, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    args = parser.parse_args()
    os.environ["PROVOKED_KEY"] = "none"
    launch = {"executable_path": args.chromium, "args": ["--no-sandbox"]}
    rows = [("seen", row) for source in SEEN for row in source()]
    rows += [("held_out", row) for source in HELD_OUT for row in source()]
    rows += browser_rows(launch)
    distinct = {(row.error_type, row.message, row.status): (part, row) for part, row in rows[::-1]}
    lines = [row_of(part, row) for part, row in reversed(distinct.values())]
    args.out.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
    )
    print(len(lines), "messages;", dict(Counter(line["part"] for line in lines)))


if __name__ == "__main__":
    main()
