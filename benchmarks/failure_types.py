#!/usr/bin/env python3
"""Measure the failure classifier on the catalogues of applications that it has never met.

    git clone https://github.com/gogs/gogs FOLDER/gogs  # commit eb1054e5432f
    git clone https://github.com/saleor/saleor-dashboard FOLDER/saleor  # f5a84f3afb4f
    git clone https://github.com/jellyfin/jellyfin-web FOLDER/jellyfin  # f330b7bc8b6f
    git clone https://github.com/yiisoft/yii2-framework FOLDER/yii2  # eb236d6f5177
    npm pack devextreme@26.1.5 ajv-i18n@4.2.0  # unpacked as FOLDER/devextreme and FOLDER/ajv
    python benchmarks/failure_types.py FOLDER

`messages/catalogue_texts.py` says how their messages were labelled. The English texts of
applications were labelled a second time, by a language model that was given the definitions of the
types and the messages, nothing else (`messages/second_reader.json`); the last lines compare the two
readers.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from pytest_autoweb.correct.failure_types import classify

sys.path.insert(0, str(Path(__file__).parent / "messages"))
from catalogue_texts import LANGUAGES, hashed, labelled

GROUPS = {
    "texts of applications": ("gogs", "saleor", "jellyfin"),
    "texts of forms": ("yii2", "devextreme", "ajv"),
}


def main() -> None:
    """Read the command line and print a row for each catalogue, and one for each group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    root = parser.parse_args().folder
    print(f"| catalogue | {' | '.join(LANGUAGES)} |\n|---{'|--:' * len(LANGUAGES)}|")
    for group, sources in GROUPS.items():
        right: Counter[tuple[str, str]] = Counter()
        total: Counter[tuple[str, str]] = Counter()
        clear = f"{group}, of which clear"
        for source in sources:
            for language, said, label in labelled(root, source):
                found = classify(said)
                spoken = (clear,) if found.clear and found.type != "UNKNOWN" else ()
                for name in (source, group, *spoken):
                    total[name, language] += 1
                    right[name, language] += found.type == label
        for name in (*sources, group, clear):
            cells = (f"{right[name, it]} of {total[name, it]}" for it in LANGUAGES)
            print(f"| {name} | {' | '.join(cells)} |")
    _compare_readers(root)


def _compare_readers(root: Path) -> None:
    """Print how often the two readers agree, and the rules with the second one."""
    read = json.loads((Path(__file__).parent / "messages/second_reader.json").read_text())
    second = {
        key: (name, sure == "sure")
        for sure, types in read.items()
        for name, keys in types.items()
        for key in keys
    }
    rows = [
        (said, label, *second[hashed(said)])
        for source in GROUPS["texts of applications"]
        for language, said, label in labelled(root, source)
        if language == "en"
    ]
    agreed = sum(label == again for _, label, again, _ in rows)
    sure = [(said, again) for said, _, again, was_sure in rows if was_sure]
    right = sum(classify(said).type == again for said, again in sure)
    print(f"\nThe second reader gives the same type to {agreed} of {len(rows)}.")
    print(f"Of {len(sure)} that the second reader was sure of, the rules have {right}.")


if __name__ == "__main__":
    main()
