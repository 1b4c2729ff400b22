#!/usr/bin/env python3
"""Learn what parts of a message weigh for each type of failure: `failure_weights.json`.

    pip install scikit-learn==1.9.1 opencc-python-reimplemented==0.1.7
    git archive cee2f779 benchmarks/messages | tar x -C FOLDER
    pip download --no-deps calibreweb==0.6.27 indico==3.2.9 apache-superset==6.1.0 \
        home-assistant-frontend==20250109.2 plone.app.locales==7.0.4  # unpacked in FOLDER
    git clone https://github.com/monicahq/monica FOLDER/monica  # commit e08e91734170
    git clone https://github.com/FluentValidation/FluentValidation \
        FOLDER/fluentvalidation  # commit ea299fe5
    python benchmarks/learn_weights.py FOLDER

The labelled messages were in this repository until that commit; its `docs/calibration.md` says how
each was collected and labelled. What is learnt from:

* the messages of `six_sources`, `corpus` and `languages` of up to 400 characters, but for the parts
  that are kept for measuring (`held_out.jsonl`: `again`, `fifth` and `ninth`);
* `common_messages.jsonl`: what browsers, frameworks and applications often say, in six languages;
* the labelled texts of the catalogues above, in six languages;
* 250 other texts of theirs, in each language, which report no failure, and, five times each, the
  messages of `SAYS_NOTHING` below.

Logistic regression over all parts that occur twice finds those that weigh most, and then once more
their weights; that takes half a minute. `benchmarks/classify.py` measures the result.
"""

import argparse
import importlib
import json
import random
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from opencc import OpenCC
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from pytest_autoweb.agents.correction import failure_weights

LABELLED = ("monica", "calibreweb", "indico", "superset", "home-assistant", "plone",
            "fluentvalidation")  # fmt: skip
PLAIN = ("superset", "plone", "home-assistant")
MEASURED = ("again", "fifth", "ninth")
COMMON = Path(__file__).with_name("common_messages.jsonl")
KEPT = 12_000
"""How many parts are kept."""
A_LINE = 100
"""How many parts the file has in a line."""
SAYS_NOTHING = (
    "Provider returned error (after 3 tries)", "An error has occurred", "Error", "Failed",
    "Failure", "Something went wrong", "Oops! Something went wrong.", "Sorry, that did not work",
    "It failed", "Operation failed", "The action could not be completed",
    "The request did not succeed", "Hmm", "blub", "未分类错误", "系统异常", "操作失败",
    "提交失败", "执行出现错误", "抱歉，出错了", "对不起，没有成功", "哎呀", "嗯", "Fehler",
    "Ein Fehler ist aufgetreten", "Ups, das hat leider nicht geklappt", "Fehlgeschlagen", "Tja",
    "Erreur", "Échec", "Désolé, une erreur est survenue", "Oups, ça n'a pas fonctionné", "Fallo",
    "Lo sentimos, algo ha salido mal", "Ups, algo ha fallado", "No ha funcionado",
)  # fmt: skip
"""Messages that only state that something failed."""
_FAILURE = re.compile(
    r"\bnot?\b|n't|cannot|invalid|error|fail|must|already|unable|require|missing|too |only|denied"
    r"|forbid|expire|unavail|wrong|incorrect|unexpected|time|lock|disabled|exceed|exist|limit|valid"
    r"|problem|please",
    re.IGNORECASE,
)


class Row(NamedTuple):
    """A message that is learnt from."""

    source: str
    text: str
    label: str


def corpus(messages: Path) -> list[Row]:
    """Return the labelled messages that were collected for learning."""
    found = []
    for name in ("six_sources", "corpus", "languages"):
        for line in (messages / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kept = row["part"] not in MEASURED and not row.get("status")
            if kept and len(row["message"]) < 400:
                found.append(Row(f"{name} {row['part']}", row["message"], row["label"]))
    return found


def no_failures(root: Path, catalogues: Any) -> list[Row]:
    """Return texts of applications in six languages that do not look like failures."""
    found: list[list[str]] = []
    languages = range(len(catalogues.LANGUAGES))
    for source in PLAIN:
        every = [catalogues.texts_of(root / source, source, at) for at in languages]
        english = every[0] or {key: key for texts in every[1:] for key in texts}
        for key, text in english.items():
            if 3 < len(text) < 120 and not _FAILURE.search(text):
                others = {texts[key] for texts in every[1:] if texts.get(key)} - {text}
                if len(others) >= 3:
                    found.append([text, *sorted(others)])
    random.Random(5).shuffle(found)
    return [
        Row("plain", catalogues.filled(text), "UNKNOWN") for texts in found[:250] for text in texts
    ]


def rows_of(root: Path) -> list[Row]:
    """Return all that is learnt from; it reads the catalogues in `root`."""
    messages = root / "benchmarks/messages"
    sys.path.insert(0, str(messages))
    catalogues = importlib.import_module("catalogue_texts")
    rows = corpus(messages)
    for line in COMMON.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows.append(Row("common", row["message"], row["label"]))
    for name in LABELLED:
        rows += [Row(name, said, label) for _, said, label in catalogues.labelled(root, name)]
    rows += no_failures(root, catalogues)
    rows = list({(row.text, row.label): row for row in rows}.values())
    return rows + [Row("plain", text, "UNKNOWN") for text in SAYS_NOTHING] * 5


def simplified(rows: list[Row]) -> tuple[str, str]:
    """Return the traditional characters of all messages, and their simplified ones."""
    convert = OpenCC("t2s").convert
    signs = sorted({sign for row in rows for sign in row.text if "\u4e00" <= sign <= "\u9fff"})
    pairs = [(sign, convert(sign)) for sign in signs if convert(sign) != sign]
    return "".join(sign for sign, _ in pairs), "".join(simple for _, simple in pairs)


def learn(rows: list[Row]) -> dict[str, Any]:
    """Return the contents of the file: types, their bias, and what each part weighs for them.

    The last weight of a part says how rare it is.
    """
    signs = simplified(rows)
    table = str.maketrans(*signs)
    types = [row.label for row in rows]
    parts = [sorted(failure_weights.parts_of(row.text.translate(table))) for row in rows]

    def fit(tolerance: float, **options: Any) -> tuple[Any, Any, Any]:
        vectors = TfidfVectorizer(analyzer=lambda it: it, binary=True, **options)
        seen = vectors.fit_transform(parts)
        return vectors, seen, LogisticRegression(C=10, max_iter=300, tol=tolerance).fit(seen, types)

    vectors, seen, model = fit(1e-2, min_df=2)
    often = numpy.minimum(numpy.asarray((seen > 0).sum(0)).ravel(), 30)
    order = numpy.argsort(-numpy.abs(model.coef_).max(0) * numpy.sqrt(often))[:KEPT]
    vectors, _, model = fit(1e-3, vocabulary=sorted(vectors.get_feature_names_out()[order]))
    weights = (numpy.vstack([model.coef_ * vectors.idf_, vectors.idf_]).T * 10).round()
    names = vectors.get_feature_names_out()
    return {
        "types": list(model.classes_),
        "bias": [round(float(value), 3) for value in model.intercept_],
        "simplified": signs,
        "weights": dict(zip(names, weights.astype(int).tolist(), strict=True)),
    }


def write(learnt: dict[str, Any], path: Path) -> None:
    """Write the file, many parts in a line."""
    parts = [
        f"{json.dumps(part, ensure_ascii=False)}:{json.dumps(own, separators=(',', ':'))}"
        for part, own in learnt["weights"].items()
    ]
    lines = [",".join(parts[at : at + A_LINE]) for at in range(0, len(parts), A_LINE)]
    head = "".join(
        f"{json.dumps(key)}: {json.dumps(learnt[key], ensure_ascii=False)},\n"
        for key in ("types", "bias", "simplified")
    )
    text = "{\n" + head + '"weights": {\n' + ",\n".join(lines) + "\n}\n}\n"
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Read the command line, learn, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    rows = rows_of(parser.parse_args().folder)
    write(learn(rows), Path(failure_weights.__file__).with_suffix(".json"))


if __name__ == "__main__":
    main()
