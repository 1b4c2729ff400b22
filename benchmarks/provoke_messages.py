#!/usr/bin/env python3
"""Provoke the messages that the failure classifier is measured on, and write them down.

    python benchmarks/provoke_messages.py --out benchmarks/messages/corpus.jsonl
    python benchmarks/provoke_messages.py --six --packages FOLDER --out six.jsonl
    python benchmarks/provoke_messages.py --again --packages FOLDER --out six_again.jsonl

Every row was really said: by Playwright, by Chromium (in six languages), by HTTP servers, by forms,
by a database, by Python, by model services through the gateway, and by real applications. What each
provocation means was decided where it is written, before any rule looked at it. For all rows this
needs Chromium with its language packs (Debian: chromium, chromium-l10n) and the packages
django-oscar, pretix, wagtail, djangorestframework, django-allauth, wtforms, weblate, shuup, misago
and django-helpdesk (their catalogues only:
`pip install --no-deps`); without them those rows are missing. The rules were frozen before the rows
of the part `held_out` were chosen and labelled.

`--six` makes the second corpus: the six sources in equal terms, no message of the first one among
them. A hash of the message draws its held-out third, so nobody chooses. `--again` appends a last
collection, made and labelled when the rules were frozen. Both need Chromium with language packs,
requests, httpx, aiohttp and Werkzeug; and a folder named by `--packages`, in which these were run:
`npm i jquery jquery-validation parsleyjs ajv ajv-i18n validatorjs @vee-validate/i18n` and
`pip install --no-deps --target py formencode colander iso8601 translationstring marshmallow
voluptuous cerberus bottle falcon tornado`.
"""

import argparse
import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "messages"))

from browser_errors import lost_errors, network_errors, page_errors, raw_server
from form_texts import browser_texts, django_texts
from held_out_calls import held_out_calls, held_out_errors
from http_statuses import statuses
from playwright.sync_api import sync_playwright
from providers import provider_errors
from provoked import Provoked
from python_errors import database_errors, script_errors, system_errors, unclassified
from python_errors import network_errors as python_network_errors
from shop_texts import held_out_texts, shop_texts
from six_again import (
    SAID,
    STATUSES,
    again_calls,
    again_forms,
    again_frameworks,
    again_pages,
    again_python,
)
from six_browser import chromium_network, playwright_calls
from six_forms import form_messages
from six_providers import provider_refusals
from six_python import python_errors
from six_statuses import browser_statuses, client_statuses, empty_server, framework_statuses

CORPUS = Path(__file__).parent / "messages" / "corpus.jsonl"
SIX = CORPUS.with_name("six_sources.jsonl")
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
    """Yield the messages that need a browser, each with its part of the corpus."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch)
        for source in (page_errors, lost_errors, network_errors):
            yield from (("seen", row) for row in source(browser))
        yield from (("held_out", row) for row in held_out_calls(browser))
        browser.close()
        yield from (("seen", row) for row in browser_texts(playwright, launch))


def six_rows(launch: dict[str, Any], packages: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the second corpus: what the first one does not hold, each message once."""
    known = {json.loads(line)["message"] for line in CORPUS.read_text("utf-8").splitlines()}
    sources: dict[str, list[Provoked]] = {"python": list(python_errors())}
    sources["provider"] = list(provider_refusals())
    with empty_server() as base:
        sources["http"] = [*client_statuses(base), *framework_statuses()]
    with sync_playwright() as playwright, empty_server() as base:
        browser = playwright.chromium.launch(**launch)
        sources["playwright"] = list(playwright_calls(browser))
        sources["http"] += browser_statuses(browser, base)
        browser.close()
        sources["chromium"] = list(chromium_network(playwright, launch, base))
        sources["form"] = list(form_messages(playwright, launch, packages))
    yield from _new(sources, known, lambda row: "held_out" if drawn(row.message) else "tune")


def again_rows(launch: dict[str, Any], packages: Path) -> Iterator[dict[str, Any]]:
    """Yield the last collection: what neither corpus holds; no rule was written after it."""
    sys.path.insert(0, str(packages / "py"))
    lines = CORPUS.read_text("utf-8").splitlines() + SIX.read_text("utf-8").splitlines()
    rows = map(json.loads, lines)
    known = {row["message"] for row in rows if row["part"] != "again"}
    sources = {"python": list(again_python()), "provider": list(provider_refusals(SAID, "again"))}
    sources["form"] = list(again_forms(packages))
    with empty_server() as base:
        sources["http"] = [*client_statuses(base, STATUSES), *again_frameworks()]
    with sync_playwright() as playwright, empty_server() as base, raw_server() as bad:
        browser = playwright.chromium.launch(**launch)
        sources["playwright"] = list(again_calls(browser))
        sources["http"] += browser_statuses(browser, base, STATUSES)
        sources["chromium"] = list(again_pages(browser, bad))
        browser.close()
    yield from _new(sources, known, lambda row: "again")


def _new(
    sources: Mapping[str, Sequence[Provoked]], known: set[str], part: Callable[[Provoked], str]
) -> Iterator[dict[str, Any]]:
    for name, said in sources.items():
        for row in said:
            if row.message in known:
                continue
            known.add(row.message)
            yield {"part": part(row), "of": name, **row._asdict()}


def drawn(message: str) -> bool:
    """Tell whether a message belongs to the third that is held out."""
    # Ports and addresses of this very run must not decide.
    steady = re.sub(r"\d+", "0", message)
    return int(hashlib.sha256(steady.encode()).hexdigest(), 16) % 3 == 0


def row_of(part: str, said: Provoked) -> dict[str, Any]:
    """Return a line of the corpus; languages besides English and Chinese are a separate part."""
    part = "other_language" if FOREIGN.search(said.source) else part
    return {"part": part, **said._asdict()}


def main() -> None:
    """Read the command line, provoke, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--six", action="store_true", help="the second corpus")
    parser.add_argument("--again", action="store_true", help="its last collection, appended")
    parser.add_argument("--packages", type=Path, help="a folder with node_modules and py")
    args = parser.parse_args()
    os.environ["PROVOKED_KEY"] = "none"
    launch = {"executable_path": args.chromium, "args": ["--no-sandbox"]}
    if args.again:
        lines = SIX.read_text("utf-8").splitlines()
        kept = [row for row in map(json.loads, lines) if row["part"] != "again"]
        write(args.out, [*kept, *again_rows(launch, args.packages)])
        return
    if args.six:
        write(args.out, list(six_rows(launch, args.packages)))
        return
    rows = [("seen", row) for source in SEEN for row in source()]
    rows += [("held_out", row) for source in HELD_OUT for row in source()]
    rows += browser_rows(launch)
    distinct = {(row.error_type, row.message, row.status): (part, row) for part, row in rows[::-1]}
    write(args.out, [row_of(part, row) for part, row in reversed(distinct.values())])


def write(out: Path, lines: list[dict[str, Any]]) -> None:
    """Write the rows down, and say how many there are."""
    out.write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
    )
    print(len(lines), "messages;", dict(Counter(line["part"] for line in lines)))


if __name__ == "__main__":
    main()
