"""Recompute the numbers of a report from the cells in its report.json, and compare.

    python benchmarks/recompute/recompute.py autoweb-report/report.json
    python benchmarks/recompute/recompute.py -q autoweb-report/report.json

It prints each number with `ok` or `MISMATCH`; with `-q` only what differs, and the totals.

It needs the files beside it, SciPy and statsmodels, and no part of pytest-autoweb: what cells
amount to is written a second time, and the formulas are those of these libraries. Exit code 0:
every number is what the cells say; 1: one is not; 2: there is no report to read.
"""

import json
import math
import sys
from pathlib import Path

from cell_amounts import (
    FIRST,
    GRADED,
    REPAIRED,
    above_chance,
    by_case,
    case_of,
    comparison,
    controls,
    decisions,
    discrimination,
    fair,
    family,
    groups,
    is_control,
    numbers,
    price,
    rates,
    row,
)
from cell_scores import limits, panels, score_difference, scores
from formulas import kappa, percentile, wilson

LETTERS = {
    "P": "passed",
    "H": "healed",
    "F": "failed",
    "B": "broken",
    "U": "ungraded",
    "Q": "needs_input",
    "O": "off_record",
}


def recompute(report):
    """The report's numbers, from its cells, in the report's own places."""
    cells = [cell for case in report["cases"] for cell in case["cells"]]
    held, doubtful = controls(cells)
    contestants = [c for c in cells if not is_control(c)]
    counted = fair(cells)
    whole = report["shortened"] != "attempts"
    summary = report["summary"]
    models = []
    for said in summary["models"]:
        every = [c for c in contestants if c["model"] == said["model"]]
        own = [c for c in counted if c["model"] == said["model"]]
        modes = [
            {"numbers": numbers([c for c in own if c["capture_mode"] == m], doubtful, whole)}
            for m in (each["capture_mode"] for each in said["by_capture"])
        ]
        found = {
            "numbers": numbers(own, doubtful, whole),
            "unfair": len(every) - len(own),
            "above_chance": above_chance(own, held, doubtful),
            "price": price(own, cells) if whole else {},
            "scores": scores(own, doubtful) if whole else {},
            "limits": limits(own) if whole else {},
            "by_capture": modes,
        }
        models.append(found | common_rates(contestants, said["model"], doubtful))
    counts = numbers(contestants, doubtful, whole)["counts"]
    return {
        "summary": {
            "counts": counts,
            "models": models,
            "controls": [held[case_of(said)] for said in summary["controls"]],
            "discrimination": discrimination(contestants),
            "slow": slow(summary["slow"], contestants),
        },
        "comparisons": comparisons(report, cells, doubtful),
        "judges": [judge(said) for said in report["judges"]],
        "judge_panels": panels(cells) if whole else [{} for _ in report["judge_panels"]],
        "history": history(report["history"], contestants),
        # Those of a report whose attempts were left out cannot be told.
        "decision_facts": [
            decisions(said["model"], cells) if whole else {} for said in report["decision_facts"]
        ],
    }


def common_rates(cells, model, doubtful):
    """The rates of a model on the cases of all models, where these are not the same ones."""
    ran = [c for c in cells if c["outcome"] != "skipped"]
    cases = {c["model"]: {case_of(d) for d in ran if d["model"] == c["model"]} for c in ran}
    common = set.intersection(*cases.values()) if cases else set()
    if common == {case_of(c) for c in ran}:
        return {}
    own = [c for c in ran if c["model"] == model and case_of(c) in common]
    return {
        "on_common": {
            "cases": len(common),
            "first_attempt": rates(own, FIRST, doubtful),
            "after_repair": rates(own, REPAIRED, doubtful),
        }
    }


def history(said, cells):
    """The rates of every run, and what is said of the current one."""
    if said is None:
        return None
    own = {tuple(place(group[0])): group for group in groups(cells)}
    return {
        "points": [point(each) for each in said["points"]],
        "slow": [slowness(own[tuple(place(case))]) for case in said["slow"]],
        "steady": [steadiness(case, own[tuple(place(case))]) for case in said["steady"]],
    }


def place(of):
    return [of[name] for name in ("model", "case_path", "case_id", "capture_mode")]


def slowness(group):
    ran = [c for c in group if c["outcome"] != "skipped"]
    median = percentile([c["duration_ms"] / 1000 for c in ran], 0.5)
    return {"median_s": median, "slow_trials": sum(c["slow"] for c in ran), "trials": len(ran)}


def steadiness(said, group):
    """How likely it is that all failures come last, if nothing changed."""
    outcomes = [c["outcome"] for c in group if c["outcome"] in GRADED]
    now, passed = len(outcomes), outcomes.count("passed")
    ways = math.comb(said["trials"] + now, now - passed)
    p = math.comb(now, now - passed) / ways if now else None
    return {"trials_now": now, "passed_now": passed, "p": p}


def slow(rows, cells):
    found, by_folder = [], {c["folder"]: c for c in cells}
    for said in rows:
        cell = by_folder[said["folder"]]
        times = [c["duration_ms"] for c in cells if c["model"] == cell["model"]]
        median = percentile([t / 1000 for t in times if t > 0], 0.5)
        seconds = cell["duration_ms"] / 1000
        found.append({"repeat": cell["repeat"], "seconds": seconds, "median_s": median})
    return found


def comparisons(report, cells, doubtful):
    now = [row(cell) for cell in cells]
    before = (report["baseline"] or {"rows": []})["rows"]
    both = doubtful | controls(before)[1]
    found = {"models": [], "modes": [], "runs": []}
    for said in report["comparisons"]:
        runs = said["kind"] == "runs"
        a = side_of(before if runs else now, said["a"])
        b = side_of(now, said["b"])
        sides = a, b, both if runs else doubtful, said["kind"] != "models"
        again = comparison(*sides)
        if report["shortened"] != "attempts":
            again["score"] = score_difference(*sides)
        if report["shortened"] in ("same_cases", "attempts"):
            again["cases"] = again["cases"][: again["gained"] + again["lost"]]
        found[said["kind"]].append(again)
    return [each for kind in found.values() for each in family(kind)]


def side_of(cells, said):
    """The cells of a side: of its model, and of its capture mode if modes are compared."""
    mode = said.get("capture_mode")
    return [
        c
        for c in cells
        if c["model"] == said["model"]
        and (mode is None or (c["capture_mode"] == mode and not c.get("any_capture")))
    ]


def judge(said):
    tp, tn, fp, fn = (said[n] for n in ("true_pass", "true_fail", "false_pass", "false_fail"))
    n = tp + tn + fp + fn
    return {
        "n": n,
        "accuracy": (tp + tn) / n if n else None,
        "interval": wilson(tp + tn, n),
        "kappa": kappa(tp, tn, fn, fp) if n else None,
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / (tp + fn) if tp + fn else None,
    }


def point(said):
    """The rates of an earlier run, from the tally of its cases."""
    cells = [
        {"case_path": tally, "case_id": i, "capture_mode": m, "outcome": LETTERS[letter]}
        for tally, count in said["tally"].items()
        for i in range(count)
        for m, letters in enumerate(tally.split("|"))
        for letter in letters
    ]
    return {
        "first_attempt": rates(cells, FIRST),
        "after_repair": rates(cells, REPAIRED),
        "cases": len(by_case(cells)),
        "cells": len(cells),
    }


def compare(said, found, path=""):
    """Place, `ok` or `MISMATCH`, and both values, of everything that was recomputed."""
    if isinstance(found, dict) and isinstance(said, dict):
        for name in found:
            yield from compare(said.get(name), found[name], f"{path}.{name}".lstrip("."))
    elif isinstance(found, list) and isinstance(said, list) and len(found) == len(said):
        for i, (one, two) in enumerate(zip(said, found, strict=True)):
            yield from compare(one, two, f"{path}[{i}]")
    else:
        numeric = all(isinstance(v, int | float) for v in (said, found))
        same = math.isclose(said, found, rel_tol=1e-9, abs_tol=1e-9) if numeric else said == found
        yield path, same, said, found


def leaves(node, path=""):
    """The places of all numbers."""
    if isinstance(node, dict | list):
        for name, value in node.items() if isinstance(node, dict) else enumerate(node):
            step = f"[{name}]" if isinstance(node, list) else f".{name}"
            yield from leaves(value, f"{path}{step}".lstrip("."))
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield path


def main(arguments):
    quiet, files = "-q" in arguments, [a for a in arguments if a != "-q"]
    try:
        report = json.loads(Path(*files).read_text(encoding="utf-8"))
        if report["schema_version"] != 2 or report["shortened"] in ("cells", "everything"):
            raise ValueError("its cells were left out, or another version wrote it")
        found = recompute(report)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"no report to recompute: {error}", file=sys.stderr)
        return 2
    results = list(compare(report, found))
    for path, same, said, again in results:
        if not (same and quiet):
            print("ok" if same else "MISMATCH", path, said if same else f"{said}, but {again}")
    wrong, known = sum(not same for _, same, _, _ in results), {path for path, *_ in results}
    parts = {name: report[name] for name in found}
    parts["summary"] = parts["summary"] | {"matrix": []}
    rest = [path for path in leaves(parts) if path not in known]
    print(f"{len(results) - wrong} of {len(results)} are what the cells say, {wrong} are not")
    for path in rest:
        if not quiet:
            print("not recomputed", path)
    if rest:
        print(
            f"{len(rest)} more tell of earlier runs, of labels, or of attempts that were left out"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
