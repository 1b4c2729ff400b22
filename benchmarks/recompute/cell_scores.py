"""What cells earn of their points, what limits ended, and how judges vote, for `recompute.py`."""

from collections import Counter
from statistics import fmean

from cell_amounts import GRADED, by_case, case_mean, case_of, pairs
from formulas import alpha, difference_interval, score_interval, wilson

# --- points ---------------------------------------------------------------------------------------


def points(cell, which):
    """The share of all points that the first (0) or the last (-1) attempt earned."""
    if "attempts" not in cell:  # A row of an earlier run.
        return cell["first_score" if which == 0 else "score"] or 0.0
    checks = [c for a in cell["attempts"][which:][:1] for c in a["checks"] if not c["advisory"]]
    if all(c["passed"] is None for c in checks):
        return 0.0
    earned = sum(c["weight"] * credit(c) for c in checks)
    return earned / sum(c["weight"] for c in checks)


def credit(check):
    if check["passed"] is None:
        return 0.0
    return float(check["passed"]) if check["credit"] is None else check["credit"]


def mean_score(cells, which):
    cases = [[c for own in modes.values() for c in own] for modes in by_case(cells).values()]
    means = [float(case_mean(own, lambda c: points(c, which))) for own in cases]
    if not means:
        return None
    interval = score_interval(means)
    return {
        "value": fmean(means),
        "interval": interval,
        "trials": len(cells),
        "cases": len(means),
    }


def scores(cells, doubtful):
    ran = [c for c in cells if c.get("with_points") and c["outcome"] != "skipped"]
    graded = [c for c in ran if c["outcome"] in GRADED and case_of(c) not in doubtful]
    if not ran:
        return None
    return {
        "first_attempt": mean_score(ran, 0),
        "first_attempt_graded": mean_score(graded, 0),
        "after_repair": mean_score(ran, -1),
        "after_repair_graded": mean_score(graded, -1),
    }


def score_difference(a, b, doubtful, across):
    """On the cases with points that both sides were graded on."""
    both = [
        tuple(float(case_mean(cells, lambda c: points(c, 0))) for cells in sides)
        for sides in pairs(a, b, doubtful, across)
        if all(c.get("with_points") for cells in sides for c in cells)
    ]
    if not both:
        return None
    differences = [y - x for x, y in both]
    return {
        "cases": len(both),
        "a": fmean(x for x, _ in both),
        "b": fmean(y for _, y in both),
        "difference": fmean(differences),
        "interval": difference_interval(differences),
    }


# --- limits ---------------------------------------------------------------------------------------

LIMITS = {
    ("timeout", None): "time",
    ("limit", None): "steps",
    ("model", "timeout"): "time",
    ("model", "truncated"): "tokens",
    ("model", "context_window"): "tokens",
    ("model", "budget"): "cost",
}


def limits(cells):
    attempts = [a for c in cells for a in c["attempts"]]
    if not attempts:
        return None
    failures = [a["failure"] for a in attempts if a["failure"] and not a["checks_passed"]]
    kinds = [(f["kind"], f["cause"] if f["kind"] == "model" else None) for f in failures]
    found = Counter(LIMITS[kind] for kind in kinds if kind in LIMITS)
    return {
        "attempts": len(attempts),
        **{name: found[name] for name in ("time", "steps", "tokens", "cost")},
        "share": found.total() / len(attempts),
        "interval": wilson(found.total(), len(attempts)),
    }


# --- judges ---------------------------------------------------------------------------------------


def panels(cells):
    """How far judges agree that voted together."""
    found = {}
    for check in (c for cell in cells for a in cell["attempts"] for c in a["checks"]):
        if votes := check.get("votes"):
            judges = tuple(sorted(v["judge"] for v in votes))
            found.setdefault(judges, []).append([v["verdict"] for v in votes])
    return [panel(judges, own) for judges, own in sorted(found.items())]


def panel(judges, votes):
    most = [Counter(own).most_common(1)[0][1] for own in votes]
    rated = [[v for v in own if v not in ("no_verdict", "unfounded")] for own in votes]
    return {
        "judges": [*judges],
        "checks": len(votes),
        "unanimous": sum(count == len(judges) for count in most),
        "undecided": sum(2 * count <= len(judges) for count in most),
        "alpha": alpha(rated),
    }
