#!/usr/bin/env python3
"""Measure the failure classifier on the catalogues of applications that it has never met.

    pip download --no-deps calibreweb==0.6.27 indico==3.2.9
    unzip -d FOLDER/calibreweb calibreweb-*.whl; unzip -d FOLDER/indico indico-*.whl
    git clone https://github.com/monicahq/monica FOLDER/monica  # commit e08e91734170
    python benchmarks/failure_types.py FOLDER

The texts stay with their owners: `messages/catalogues.json` holds only the type of each message,
under a hash of its English text. They were labelled in English, before any rule looked at them and
before a translation was read, so that a message has the same type in all languages.
"""

import argparse
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from babel.messages.pofile import read_po

from pytest_autoweb.correct.failure_types import classify

LABELS = Path(__file__).parent / "messages/catalogues.json"
LANGUAGES = ("en", "zh-Hans", "zh-Hant", "de", "fr", "es")
_PO = "{}/LC_MESSAGES/{}.po"
_HOLE = re.compile(r"%\(\w+\)[sd]|\{\w*\}|(?<!\w):[a-z]+\b|%[sd]|<[^<>]{1,60}>")
"""What a program fills in: `%(name)s`, `{name}`, `:name`, `%s`, and markup."""


class Catalogue(NamedTuple):
    """Where an application keeps its translations."""

    folder: str
    names: tuple[str, ...]
    """The folder's names for the languages after English; empty where there is none."""
    domains: tuple[str, ...] = ("messages",)


_WHEEL = ("zh_Hans_CN", "zh_Hant_TW", "de", "fr", "es")
CATALOGUES = {
    "monica": Catalogue("lang", ("zh_CN", "zh_TW", "de", "fr", "es"), ()),
    "calibreweb": Catalogue("calibreweb/cps/translations", _WHEEL),
    "indico": Catalogue(
        "indico/translations",
        ("zh_Hans_CN", "", "de_DE", "fr_FR", "es_ES"),
        ("messages", "messages-js", "messages-react"),
    ),
}


def pairs(folder: Path, catalogue: Catalogue, name: str) -> Iterator[tuple[str, str]]:
    """Return every English text of a catalogue with its translation, which may be empty."""
    if not catalogue.domains:
        yield from json.loads((folder / f"{name}.json").read_text(encoding="utf-8")).items()
    for domain in catalogue.domains:
        with (folder / _PO.format(name, domain)).open("rb") as file:
            for entry in read_po(file):
                # Where a text has a plural, all its forms are given: the last one is the plural.
                english = entry.id if isinstance(entry.id, str) else entry.id[0]
                said = entry.string if isinstance(entry.string, str) else (entry.string or [""])[-1]
                if not entry.fuzzy:
                    yield english, said or ""


def count(labels: dict[str, str], texts: Iterator[tuple[str, str]]) -> tuple[int, int]:
    """Return how many of the labelled messages are given their type, and how many there are."""
    found: dict[str, bool] = {}
    for english, said in texts:
        label = labels.get(hashlib.sha256(english.encode()).hexdigest()[:12])
        if label:
            filled = _HOLE.sub("3", said).strip()
            found[filled] = classify(filled).type == label
    return sum(found.values()), len(found)


def main() -> None:
    """Read the command line and print a row for each catalogue, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    root = parser.parse_args().folder
    types = json.loads(LABELS.read_text(encoding="utf-8"))
    right: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    print(f"| catalogue | {' | '.join(LANGUAGES)} |\n|---{'|--:' * len(LANGUAGES)}|")
    for source, catalogue in CATALOGUES.items():
        labels = {key: label for label, keys in types[source].items() for key in keys}
        folder, cells = root / source / catalogue.folder, []
        for language, name in zip(LANGUAGES, (catalogue.names[-1], *catalogue.names), strict=True):
            texts = pairs(folder, catalogue, name) if name else iter(())
            if language == "en":
                said = ((english, english) for english, _ in texts)
            else:
                said = ((english, own) for english, own in texts if own not in ("", english))
            hit, total = count(labels, said)
            right[language] += hit
            all_of[language] += total
            cells.append(f"{hit} of {total}" if total else "")
        print(f"| {source} | {' | '.join(cells)} |")
    sums = (f"{right[name]} of {all_of[name]}" for name in LANGUAGES)
    print(f"| all | {' | '.join(sums)} |")


if __name__ == "__main__":
    main()
