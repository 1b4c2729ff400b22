#!/usr/bin/env python3
"""Measure the failure classifier on the catalogues of applications that it has never met.

    git clone https://github.com/gogs/gogs FOLDER/gogs  # commit eb1054e5432f
    git clone https://github.com/saleor/saleor-dashboard FOLDER/saleor  # f5a84f3afb4f
    git clone https://github.com/jellyfin/jellyfin-web FOLDER/jellyfin  # f330b7bc8b6f
    git clone https://github.com/yiisoft/yii2-framework FOLDER/yii2  # eb236d6f5177
    npm pack devextreme@26.1.5 ajv-i18n@4.2.0  # unpacked as FOLDER/devextreme and FOLDER/ajv
    python benchmarks/failure_types.py FOLDER

`messages/catalogue_texts.py` says how their messages were labelled.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from pytest_autoweb.correct.failure_types import classify

sys.path.insert(0, str(Path(__file__).parent / "messages"))
from catalogue_texts import LANGUAGES, labelled

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
        for source in sources:
            for language, said, label in labelled(root, source):
                for name in (source, group):
                    total[name, language] += 1
                    right[name, language] += classify(said).type == label
        for name in (*sources, group):
            cells = (f"{right[name, it]} of {total[name, it]}" for it in LANGUAGES)
            print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
