"""What cells amount to, for `recompute.py`: rates, costs, times, controls, comparisons."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from statistics import fmean

from formulas import (
    change,
    detectable,
    difference_interval,
    holm,
    mcnemar,
    median,
    percentile,
    rate_interval,
    reliability,
    sign_flip,
)

CONTROLS = ("builtin/oracle", "builtin/noop", "builtin/random")
CHANGES = (
    *("banner", "error-once", "language", "layout", "rename", "reorder", "session-end", "slow"),
    "zoom",
)
"""The changes of the page that a model's name may end in."""
GRADED = ("passed", "healed", "failed")
FIRST, REPAIRED = ("passed",), ("passed", "healed")


# --- what a set of cells amounts to ---------------------------------------------------------------


def case_of(cell):
    return cell["case_path"], cell["case_id"]


def by_case(cells):
    """Case -> capture mode -> cells."""
    cases = {}
    for cell in cells:
        cases.setdefault(case_of(cell), {}).setdefault(cell["capture_mode"], []).append(cell)
    return cases


def is_control(cell):
    return cell["model"].split("@")[0] in CONTROLS


def change_of(cell):
    return next((part for part in cell["model"].split("@")[:0:-1] if part in CHANGES), "")


def fair(cells):
    """Cells without those under a change that the case's oracle did not pass."""
    passed = {
        (case_of(c), change_of(c))
        for c in cells
        if c["model"] == f"{CONTROLS[0]}@{change_of(c)}" and c["outcome"] == "passed"
    }
    return [
        c
        for c in cells
        if is_control(c) or not change_of(c) or (case_of(c), change_of(c)) in passed
    ]


def case_mean(cells, value):
    """Averaged over the repeats of a capture mode, then over the modes."""
    modes = next(iter(by_case(cells).values())).values()
    means = [sum((Fraction(value(c)) for c in own), Fraction(0)) / len(own) for own in modes]
    return sum(means, Fraction(0)) / len(means)


def rate(cells, good):
    cases = [[c for own in modes.values() for c in own] for modes in by_case(cells).values()]
    means = [float(case_mean(own, lambda c: c["outcome"] in good)) for own in cases]
    return {
        "value": fmean(means) if means else None,
        "interval": rate_interval(means, [len(own) for own in cases]),
        "passed_trials": sum(c["outcome"] in good for c in cells),
        "trials": len(cells),
        "cases": len(means),
    }


def rates(cells, good, doubtful=()):
    ran = [c for c in cells if c["outcome"] != "skipped"]
    graded = [c for c in ran if c["outcome"] in GRADED and case_of(c) not in doubtful]
    return {"all_trials": rate(ran, good), "graded": rate(graded, good)}


LATER_TOKENS = ("cached_tokens", "reasoning_tokens")
"""Earlier versions did not count these."""


def add_up(usages):
    known = [u["cost_usd"] for u in usages if u["cost_usd"] is not None]
    names = ("calls", "input_tokens", "output_tokens", "unpriced_calls", "replayed_calls")
    names += LATER_TOKENS
    return {name: sum(u.get(name, 0) for u in usages) for name in names} | {
        "usd": sum(known) if known else None
    }


def cost(cells, usages):
    total, lost = add_up(usages), any(was_lost(c) for c in cells)
    if not total["calls"] and not lost:
        return {"usd": 0.0, "complete": True}
    return {"usd": total["usd"], "complete": not total["unpriced_calls"] and not lost}


def was_lost(cell):
    """Killed before its calls were written down."""
    return not cell["attempts"] and (cell["failure"] or {}).get("kind") == "killed"


def numbers(cells, doubtful, with_attempts):
    usages = [u for c in cells for u in c["usage"].values()]
    total, money = add_up(usages), cost(cells, usages)
    ran = [c for c in cells if c["outcome"] != "skipped"]
    seconds = [c["duration_ms"] / 1000 for c in cells if c["duration_ms"] > 0]
    outcomes = [c["outcome"] for c in cells]
    graded = [c for c in cells if c["outcome"] in GRADED]
    names = ("passed", "healed", "failed", "broken", "ungraded", "skipped")
    names += ("needs_input", "off_record")
    found = {
        "cells": len(cells),
        "cases": len(by_case(cells)),
        "counts": {name: outcomes.count(name) for name in names},
        "first_attempt": rates(cells, FIRST, doubtful),
        "after_repair": rates(cells, REPAIRED, doubtful),
        "not_graded": {
            "broken": outcomes.count("broken"),
            "ungraded": outcomes.count("ungraded"),
            "controls": sum(case_of(c) in doubtful for c in graded),
            "needs_input": outcomes.count("needs_input"),
            "off_record": outcomes.count("off_record"),
        },
        "repeats": repeats(ran),
        "flaky_cases": len({case_of(group[0]) for group in flaky(cells)}),
        "slow": sum(c["slow"] for c in cells),
        "repairs_healed": outcomes.count("healed"),
        "calls": total["calls"],
        "replayed_calls": total["replayed_calls"],
        "input_tokens": total["input_tokens"],
        "output_tokens": total["output_tokens"],
        "cost": money,
        "cost_per_cell": share(money, len(ran)),
        "cost_per_pass": share(money, sum(c["outcome"] in REPAIRED for c in cells)),
        "median_s": percentile(seconds, 0.5),
        "median_interval": median(seconds)["interval"] if seconds else None,
        "p95_s": percentile(seconds, 0.95),
        "total_s": sum(seconds),
    }
    found |= {name: total[name] for name in LATER_TOKENS if any(name in u for u in usages)}
    return found | attempts(cells) if with_attempts else found


def share(money, cells):
    known = cells and money["complete"] and money["usd"] is not None
    return money["usd"] / cells if known else None


def attempts(cells):
    first = [c["attempts"][0] for c in cells if c["attempts"]]
    last = [c["attempts"][-1] for c in cells if c["attempts"]]
    plans, scripts = [a for a in first if a["plan_steps"]], [a for a in first if a["code"]]
    return {
        "executed": sum(a["executed"] for a in last),
        "checks_passed": sum(a["checks_passed"] is True for a in last),
        "false_success": sum(a["false_success"] for a in last),
        "repairs_tried": sum(len(c["attempts"]) > 1 for c in cells),
        "plans": len(plans),
        "plans_confirmed": sum(a["plan_confirmed"] is True for a in plans),
        "plans_with_question": sum(a["plan_has_question"] is True for a in first),
        "scripts": len(scripts),
        "scripts_lint_clean": sum(not a["lint_errors"] for a in scripts),
        "stages": stages(cells),
    }


def stages(cells):
    began = sum(bool(c["attempts"]) for c in cells)
    times, usages = defaultdict(float), defaultdict(list)
    for cell in cells:
        for each in (*(a["stage_ms"] for a in cell["attempts"]), cell.get("stage_ms", {})):
            for stage, milliseconds in each.items():
                times[stage] += milliseconds
        for stage, usage in cell["usage"].items():
            usages[stage].append(usage)
    found = []
    for stage in dict.fromkeys((*times, *usages)):
        total, seconds = add_up(usages[stage]), times[stage] / 1000
        names = ("calls", "input_tokens", "output_tokens", *LATER_TOKENS)
        counted = {name: total[name] for name in names}
        money = cost([], usages[stage])
        per_cell = seconds / began if began else 0.0
        found.append({"seconds": seconds, "per_cell_s": per_cell, **counted, "cost": money})
    return found


def groups(cells):
    """Cells that differ in nothing but the repeat."""
    found = defaultdict(list)
    for cell in cells:
        found[(*case_of(cell), cell["model"], cell["capture_mode"])].append(cell)
    return [sorted(group, key=lambda c: c["repeat"]) for group in found.values()]


def flaky(cells):
    outcomes = [(group, {c["outcome"] for c in group}) for group in groups(cells)]
    return [group for group, seen in outcomes if "failed" in seen and seen & {*REPAIRED}]


def repeats(ran):
    """pass@k and pass^k, unbiased."""
    most = max((len(group) for group in groups(ran)), default=0)
    found = []
    for k in range(1, most + 1 if most > 1 else 1):
        chances = defaultdict(list)
        for group in (g for g in groups(ran) if len(g) >= k):
            n, c = len(group), sum(cell["outcome"] in FIRST for cell in group)
            ways = math.comb(n, k)
            chances[case_of(group[0])].append(
                (1 - math.comb(n - c, k) / ways, math.comb(c, k) / ways)
            )
        any_of, all_of = ([fmean(m[i] for m in own) for own in chances.values()] for i in (0, 1))
        averages = {"any_of_k": fmean(any_of), "all_of_k": fmean(all_of)}
        found.append({"k": k, **averages, "cases": len(chances)})
    return found


# --- two sides on the same cases ------------------------------------------------------------------


def row(cell):
    """A cell as kept for comparisons; a baseline holds such rows."""
    if "usage" not in cell:
        return cell
    money = cost([cell], list(cell["usage"].values()))
    return cell | {"cost_usd": money["usd"], "cost_complete": money["complete"]}


def pairs(a, b, doubtful, across):
    """Of each case that both sides were graded on: the graded cells of both."""
    ours, theirs, found = by_case(a), by_case(b), []
    for key in dict.fromkeys((*ours, *theirs)):
        one, two = ours.get(key, {}), theirs.get(key, {})
        common = [mode for mode in one if mode in two]
        if key in doubtful or not one or not two or question(one) != question(two):
            continue
        shown_none = any(all(c.get("any_capture") for c in flat(m.values())) for m in (one, two))
        if (not common and across) or shown_none:
            one, two, common = {"": flat(one.values())}, {"": flat(two.values())}, [""]
        graded = [(in_verdict(one[mode]), in_verdict(two[mode])) for mode in common]
        kept = [both for both in graded if all(both)]
        if kept:
            found.append(tuple(flat(both[i] for both in kept) for i in (0, 1)))
    return found


def flat(lists):
    return [item for one in lists for item in one]


def in_verdict(cells):
    return [c for c in cells if c["outcome"] in GRADED]


def question(modes):
    cells = [c for own in modes.values() for c in own]
    return [{c["checksums"].get(name) for c in cells} for name in ("case", "checks")]


def comparison(a, b, doubtful, across):
    found = pairs(a, b, doubtful, across)
    passed = [
        tuple(case_mean(cells, lambda c: c["outcome"] in FIRST) for cells in both) for both in found
    ]
    differences = [y - x for x, y in passed]
    in_order = sorted(passed, key=lambda means: (means[1] > means[0]) + 2 * (means[1] == means[0]))
    single = all(len(one) == len(two) == 1 for one, two in found)
    gained, lost = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    p, test = (mcnemar(lost, gained), "exact McNemar") if single else sign_flip(differences)
    sides = [side(cells, [both[i] for both in found], doubtful) for i, cells in enumerate((a, b))]
    spent = [side.pop("spent") for side in sides]
    took = [side.pop("took") for side in sides]
    return {
        "a": sides[0],
        "b": sides[1],
        "cases": [{"mean_a": float(x), "mean_b": float(y)} for x, y in in_order],
        "gained": gained,
        "lost": lost,
        "same": len(differences) - gained - lost,
        "test": test,
        "p": p if found else None,
        "difference": float(sum(differences) / len(differences)) if found else None,
        "interval": difference_interval([float(d) for d in differences]),
        "cost_change": change(*spent),
        "time_change": change(*took),
        "differences": differences,
        "single": single,
    }


def side(cells, compared, doubtful):
    every = flat(compared)
    keys = {case_of(c) for c in every}
    known = all(c["cost_complete"] and c["cost_usd"] is not None for c in every)
    spent = [float(case_mean(case, lambda c: c["cost_usd"])) for case in compared] if known else []
    took = [float(case_mean(case, lambda c: c["duration_ms"] / 1000)) for case in compared]
    ran = [c for c in cells if case_of(c) in keys and c["outcome"] != "skipped"]
    return {
        "first_attempt": rates(cells, FIRST, doubtful),
        "after_repair": rates(cells, REPAIRED, doubtful),
        "compared": rate(every, FIRST),
        "compared_all": rate(ran, FIRST),
        "total_cost": cost_of_rows(cells),
        "cost": cost_of_rows(every),
        "cost_per_cell": fmean(spent) if spent else None,
        "seconds_per_cell": fmean(took) if took else None,
        "median_s": median(took) if took else None,
        "spent": spent,
        "took": took,
    }


def cost_of_rows(cells):
    known = [c["cost_usd"] for c in cells if c["cost_usd"] is not None]
    complete = all(c["cost_complete"] for c in cells)
    return {"usd": sum(known) if known or not cells else None, "complete": complete}


def family(found):
    """Holm's correction over comparisons made together, and what each could have shown."""
    tested = [each for each in found if each["p"] is not None]
    for each, p in zip(tested, holm([each["p"] for each in tested]), strict=True):
        each["p_holm"], each["decisive"] = p, p <= 0.05
    for each in found:
        each["family"] = len(tested)
        each["detectable"] = detectable(each.pop("differences"), each.pop("single"), len(tested))
    return found


# --- controls ---


def controls(cells):
    """Of each case, how often its controls were run and held; and the cases where one is broken."""
    found, doubtful = {}, set()
    for key, modes in by_case(cells).items():
        own = [c for group in modes.values() for c in group]
        others = [c for c in own if c["model"] not in CONTROLS]
        states = {
            model: [control(c, others) for c in own if c["model"] == model] for model in CONTROLS
        }
        oracle, noop, _ = states.values()
        tried = [c["outcome"] for c in own if c["model"] == CONTROLS[2]]
        tried = [outcome for outcome in tried if outcome in ("passed", "failed")]
        if any(c["model"] in CONTROLS for c in own):
            found[key] = {
                "oracle_held": oracle.count("holds"),
                "oracle_runs": len(oracle),
                "noop_held": noop.count("holds"),
                "noop_runs": len(noop),
                "random_passed": tried.count("passed"),
                "random_runs": len(tried),
            }
        if "broken" in (*oracle, *noop):
            doubtful.add(key)
    return found, doubtful


def control(cell, others):
    for other in others:
        sums = [(cell["checksums"].get(n), other["checksums"].get(n)) for n in ("case", "checks")]
        if any(a and b and a != b for a, b in sums):
            return "unproven"
    passed = cell["outcome"] in REPAIRED
    if cell["model"] == CONTROLS[0]:
        right, wrong = cell["outcome"] == "passed", cell["outcome"] in ("failed", "healed")
    else:
        right, wrong = cell["outcome"] == "failed" and was_judged(cell), passed
    return "holds" if right else "broken" if wrong else "unproven"


def was_judged(cell):
    last = cell.get("attempts", [])[-1:]
    return last[0]["checks_passed"] is False if last else cell.get("score", 0) is not None


def above_chance(cells, held, doubtful):
    """A model's first attempts beside the random actions on the same cases."""
    floors = {
        key: row["random_passed"] / row["random_runs"]
        for key, row in held.items()
        if row["random_runs"] and key not in doubtful
    }
    means = {key: mean for key, mean in first_means(cells).items() if key in floors}
    if not means:
        return None
    differences = [mean - floors[key] for key, mean in means.items()]
    return {
        "cases": len(means),
        "rate": fmean(means.values()),
        "floor": fmean(floors[key] for key in means),
        "difference": fmean(differences),
        "interval": difference_interval(differences),
    }


def price(cells, every):
    """What the passed cells took, and their actions beside those of the oracles."""
    passed = [c for c in cells if c["outcome"] in REPAIRED and c["attempts"]]
    if not passed:
        return None
    oracles = defaultdict(list)
    for cell in every:
        count = actions(cell) if cell["model"] == CONTROLS[0] else None
        if cell["outcome"] in REPAIRED and count is not None:
            oracles[case_of(cell)].append(count)
    usages = [add_up(list(c["usage"].values())) for c in passed]
    counted = [(case_of(c), actions(c)) for c in passed if actions(c) is not None]
    ratios = [n / fmean(oracles[k]) for k, n in counted if k in oracles and fmean(oracles[k])]
    known = not any(u["unpriced_calls"] for u in usages)
    return {
        "passed": len(passed),
        "usd": median([u["usd"] or 0.0 for u in usages]) if known else None,
        "tokens": median([u["input_tokens"] + u["output_tokens"] for u in usages]),
        "calls": median([u["calls"] for u in usages]),
        "seconds": median([c["duration_ms"] / 1000 for c in passed]),
        "actions": median([n for _, n in counted]) if counted else None,
        "beside_oracle": median(ratios) if ratios else None,
    }


def actions(cell):
    last = cell["attempts"][-1] if cell["attempts"] else {}
    if last.get("actions") is not None or not last.get("tool_calls"):
        return last.get("actions")
    return sum(call["acting"] and call["ok"] for call in last["tool_calls"])


def first_means(cells):
    graded = defaultdict(list)
    for cell in in_verdict(cells):
        graded[case_of(cell)].append(cell["outcome"] in FIRST)
    return {key: fmean(passed) for key, passed in graded.items()}


def discrimination(cells):
    """The ids of the cases by what models make of them."""
    means = defaultdict(list)
    for model in dict.fromkeys(c["model"] for c in cells):
        for key, mean in first_means([c for c in cells if c["model"] == model]).items():
            means[key].append(mean)
    shared = {key: seen for key, seen in means.items() if len(seen) > 1}
    found = {"apart": [], "all_pass": [], "none_pass": [], "alike": []}
    for (_, name), seen in sorted(shared.items()):
        same = {1: "all_pass", 0: "none_pass"}.get(seen[0], "alike")
        found["apart" if len(set(seen)) > 1 else same].append(name)
    return found if shared else None


# --- acting by sight ------------------------------------------------------------------------------


def decisions(model, cells):
    """What a model's decisions amount to."""
    turns = [a["decisions"] for c in cells if c["model"] == model for a in c["attempts"]]
    made = [d for attempt in turns for d in attempt]
    chosen = [mark for d in made for mark in d["chosen"]]
    status = [d["status"] for d in made]
    retries = [d for t in turns for b, d in pairwise(t) if stopped_by_verification(b)]
    kinds = {}
    for mark in chosen:
        if mark["kind"]:
            kinds.setdefault(mark["kind"], []).append(mistaken(mark))
    kinds = sorted(kinds.items(), key=lambda kind: (-sum(kind[1]), kind[0]))
    return {
        "decisions": len(made),
        **{word: status.count(word) for word in ("performed", "failed", "invalid")},
        "refused": sum(map(stopped_by_verification, made)),
        "circles": sum(d.get("refused_for") == "circle" for d in made),
        "gave_up": sum(d.get("refused_for") == "gave_up" for d in made),
        "chosen": len(chosen),
        **{
            word: sum(mark["verdict"] == word for mark in chosen)
            for word in ("match", "incomplete", "mismatch", "unverifiable")
        },
        "overridden": sum(mark["taken"] not in (None, mark["mark"]) for mark in chosen),
        "second_looks": sum(d["second_look"] for d in made),
        "retries": len(retries),
        "retries_performed": sum(d["status"] == "performed" for d in retries),
        "kinds": [{"chosen": len(wrong), "wrong": sum(wrong)} for _, wrong in kinds],
        "reliability": reliability(
            [
                (d["confidence"], not any(map(mistaken, d["chosen"])))
                for d in made
                if d["confidence"] is not None
                and d["chosen"]
                and all(mark["verdict"] in ("match", "mismatch") for mark in d["chosen"])
            ]
        ),
    }


def stopped_by_verification(decision):
    return decision["status"] == "refused" and decision.get("refused_for", "") in ("", "choice")


def mistaken(mark):
    return mark["verdict"] == "mismatch" or mark["taken"] not in (None, mark["mark"])
