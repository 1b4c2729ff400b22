"""The rows of `benchmarks/locator.py`, and the goals they are held against."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.search_trials import SearchTrial

HEAD = "| | noise | targets | mean | p50 | p95 | max | solved | wrong | absent reported |"
RULE = "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
PICTURE_TOKENS = 1229
"""The tokens of a picture of 1280x720, if width * height / 750 are charged."""
MANY = 100
"""The number of searches from which on a bin of confidence counts for the goal."""

Row = dict[str, Any]


def columns(name: str, noise: float | str, calls: Sequence[int], solved: int, wrong: int) -> Row:
    """Return one line of a table; `solved` and `wrong` are counts of targets."""
    calls = sorted(calls)
    count = len(calls)
    return {
        "algorithm": name,
        "noise": noise,
        "targets": count,
        "mean_calls": sum(calls) / count,
        "p50": quantile(calls, 0.5),
        "p95": quantile(calls, 0.95),
        "max": calls[-1],
        "solved": solved / count,
        "wrong_returned": wrong / count,
        "absent_reported": None,
    }


def row_of(
    name: str, noise: float | str, present: Sequence[SearchTrial], gone: Sequence[SearchTrial] = ()
) -> Row:
    """Return one line of a table. Shares are fractions of all targets."""
    calls = [trial.outcome.calls for trial in present]
    solved = sum(trial.solved for trial in present)
    row = columns(name, noise, calls, solved, sum(trial.wrong for trial in present))
    endings = Counter(trial.outcome.status for trial in present)
    row |= {"falsely_not_found": endings["not_found"] / len(calls), "endings": dict(endings)}
    if gone:
        reported = sum(trial.outcome.status == "not_found" for trial in gone)
        row |= {
            "absent_reported": reported / len(gone),
            "absent_wrong_returned": sum(trial.wrong for trial in gone) / len(gone),
            "absent_mean_calls": sum(trial.outcome.calls for trial in gone) / len(gone),
        }
    return row


def quantile(ordered: Sequence[int], share: float) -> int:
    """Return the smallest value that at least this share does not exceed."""
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def print_row(row: Row) -> None:
    """Print a row as a line of Markdown."""
    noise = row["noise"] if isinstance(row["noise"], str) else f"{row['noise']:.0%}"
    absent = "" if row["absent_reported"] is None else f"{row['absent_reported']:.1%}"
    print(
        f"| {row['algorithm']} | {noise} | {row['targets']} | {row['mean_calls']:.2f}"
        f" | {row['p50']} | {row['p95']} | {row['max']} | {row['solved']:.1%}"
        f" | {row['wrong_returned']:.2%} | {absent} |",
        flush=True,
    )


def goals(rows: Sequence[Row], said: Sequence[Row], sizes: Sequence[Row]) -> Iterator[Row]:
    """Yield each goal with what was measured and whether it is reached."""
    at = {(row["algorithm"], row["noise"]): row for row in rows}
    yield _most("mean calls, 5 % noise, lines apart, 0.90", 2.4, at["lines-90", 0.05]["mean_calls"])
    yield _most("the same, 0.95", 2.8, at["lines-95", 0.05]["mean_calls"])
    yield _most("mean calls, 5 % noise, together, 0.95", 1.8, at["mute-95", 0.05]["mean_calls"])
    for name in ("bayes", "bayes-95", "mute-95"):
        yield _most(f"95 % of the searches, 5 % noise, `{name}`", 4, at[name, 0.05]["p95"])
    yield _most("calls of any search", 8, max(r["max"] for r in rows if r["algorithm"] != "seed"))
    for noise, least in ((0.0, 0.999), (0.05, 0.98), (0.10, 0.975), (0.20, 0.96)):
        for name in ("mute-95", "bayes"):
            yield _least(f"solved, {noise:.0%} noise, `{name}`", least, at[name, noise]["solved"])
    for name in ("mute-95", "bayes"):
        yield _most(f"wrong, 10 % noise, `{name}`", 0.025, at[name, 0.10]["wrong_returned"])
    for name in ("bayes", "mute", "bayes-95", "mute-95"):
        off = [
            abs(one["said"] - one["right"])
            for one in said
            if one["algorithm"] == name and one["noise"] in (0.05, 0.10) and one["searches"] >= MANY
        ]
        yield _most(
            f"said and right differ, 5 and 10 % noise, `{name}`", 0.02, max(off, default=0.0)
        )
    for name in ("bayes", "mute"):
        for noise in (0.05, 0.10):
            row, where = at[name, noise], f"{noise:.0%} noise, 0.97, `{name}`"
            yield _least(f"absent reported, {where}", 0.93, row["absent_reported"])
            yield _most(f"calls then, {where}", 4, row["absent_mean_calls"])
            yield _most(f"falsely not found, {where}", 0.005, row["falsely_not_found"])
    slowest = max(row["ms_per_question"] for row in sizes if row["algorithm"] == "bayes")
    yield _most("ms of a decision, 500 candidates at most", 50, slowest)
    spent = PICTURE_TOKENS * at["bayes", 0.10]["mean_calls"]
    yield _most("picture tokens of a search, 10 % noise, `bayes`", 3000, spent)


def _most(goal: str, limit: float, measured: float) -> Row:
    reached = measured <= limit
    return {"goal": goal, "at_most": limit, "measured": measured, "reached": reached}


def _least(goal: str, limit: float, measured: float) -> Row:
    reached = measured >= limit
    return {"goal": goal, "at_least": limit, "measured": measured, "reached": reached}


def print_goal(row: Row) -> None:
    """Print a goal as a line of Markdown."""
    sign, limit = ("<=", row["at_most"]) if "at_most" in row else (">=", row["at_least"])
    share = limit < 1
    shown = f"{row['measured']:.1%}" if share else f"{row['measured']:.2f}"
    wanted = f"{limit:.1%}" if share else f"{limit:g}"
    print(f"| {row['goal']} | {sign} {wanted} | {shown} | {'yes' if row['reached'] else 'NO'} |")
