#!/usr/bin/env python3
"""Learn what words weigh for each type of failure: `failure_weights.json`.

    pip install scikit-learn==1.9.1
    pip download --no-deps calibreweb==0.6.27 indico==3.2.9 apache-superset==6.1.0 \
        home-assistant-frontend==20250109.2 plone.app.locales==7.0.4  # unpacked in FOLDER
    git clone https://github.com/monicahq/monica FOLDER/monica  # commit e08e91734170
    git clone https://github.com/FluentValidation/FluentValidation \
        FOLDER/fluentvalidation  # commit ea299fe5
    python benchmarks/learn_weights.py FOLDER

The file in the package was learnt in this way before anything was measured with it, from
yup-locales as well. It learns from the messages in `messages/` but for the parts that are kept for
measuring (`again` and `fifth`), from the labelled texts of these catalogues, and from other texts
of theirs, which are no failures. Logistic regression over all words that occur twice finds those
that weigh most, and then once more their weights; that takes a few seconds.
"""

import argparse
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import numpy
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from pytest_autoweb.correct import failure_families, failure_words

sys.path.insert(0, str(Path(__file__).parent / "messages"))
from catalogue_texts import LANGUAGES, filled, labelled, texts_of

LABELLED = ("monica", "calibreweb", "indico", "superset", "home-assistant", "plone",
            "fluentvalidation")  # fmt: skip
PLAIN = ("superset", "plone", "home-assistant")
KEPT = 10_000
"""How many words are kept."""
_FAILURE = re.compile(
    r"\bnot?\b|n't|cannot|invalid|error|fail|must|already|unable|require|missing|too |only|denied"
    r"|forbid|expire|unavail|wrong|incorrect|unexpected|time|lock|disabled|exceed|exist|limit|valid"
    r"|problem|please",
    re.IGNORECASE,
)
_SAYS_NOTHING = ("未分类错误", "Provider returned error (after 3 tries)")

Rows = list[tuple[str, str]]


def corpus() -> Rows:
    """Return the labelled messages of this folder that rules may learn from."""
    rows: Rows = []
    for name in ("six_sources", "corpus", "languages"):
        path = Path(__file__).parent / f"messages/{name}.jsonl"
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            measured = row["part"] in ("again", "fifth") or row["label"] == "UNKNOWN"
            if not measured and not row.get("status") and len(row["message"]) < 400:
                rows.append((row["message"], row["label"]))
    return rows


def no_failures(root: Path) -> Rows:
    """Return texts of applications in six languages that do not look like failures."""
    found: list[list[str]] = []
    for source in PLAIN:
        every = [texts_of(root / source, source, at) for at in range(len(LANGUAGES))]
        english = every[0] or {key: key for texts in every[1:] for key in texts}
        for key, text in english.items():
            if 3 < len(text) < 120 and not _FAILURE.search(text):
                others = {texts[key] for texts in every[1:] if texts.get(key)} - {text}
                if len(others) >= 3:
                    found.append([text, *sorted(others)])
    random.Random(5).shuffle(found)
    return [(filled(text), "UNKNOWN") for texts in found[:250] for text in texts]


def learn(rows: Rows) -> dict[str, Any]:
    """Return the types, and what each word weighs for them and how rare it is."""
    types = [label for _, label in rows]
    parts = [_parts(text) for text, _ in rows]

    def fit(**options: Any) -> tuple[Any, Any, Any]:
        vectors = TfidfVectorizer(analyzer=lambda it: it, binary=True, **options)
        seen = vectors.fit_transform(parts)
        return vectors, seen, LogisticRegression(C=10, max_iter=300, tol=1e-3).fit(seen, types)

    vectors, seen, model = fit(min_df=2)
    often = numpy.minimum(numpy.asarray((seen > 0).sum(0)).ravel(), 30)
    order = numpy.argsort(-numpy.abs(model.coef_).max(0) * numpy.sqrt(often))[:KEPT]
    vectors, _, model = fit(vocabulary=sorted(vectors.get_feature_names_out()[order]))
    rows_of = numpy.vstack([model.coef_ * vectors.idf_, vectors.idf_]).T * 10
    return {
        "types": list(model.classes_),
        "bias": [round(float(value), 3) for value in model.intercept_],
        "weights": dict(
            zip(vectors.get_feature_names_out(), rows_of.round().astype(int).tolist(), strict=True)
        ),
    }


def _parts(text: str) -> list[str]:
    chinese = bool(re.search("[\u4e00-\u9fff]", text))
    own = failure_words.of_mainland(text) if chinese else text
    return sorted(failure_families.parts_of(own, chinese))


def main() -> None:
    """Read the command line, learn, and write the file, a word a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    root = parser.parse_args().folder
    rows = corpus()
    rows += [(said, label) for name in LABELLED for _, said, label in labelled(root, name)]
    rows = list(dict.fromkeys(rows + no_failures(root)))
    learnt = learn(rows + [(text, "UNKNOWN") for text in _SAYS_NOTHING] * 8)
    lines = [f"{json.dumps(part, ensure_ascii=False)}: {json.dumps(own, separators=(',', ':'))}"
             for part, own in learnt["weights"].items()]  # fmt: skip
    head = "".join(f"{json.dumps(key)}: {json.dumps(learnt[key])},\n" for key in ("types", "bias"))
    path = Path(failure_families.__file__).with_suffix(".json")
    text = "{\n" + head + '"weights": {\n' + ",\n".join(lines) + "\n}\n}\n"
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
