"""What the demo's run shows, in three lines: who won, what the loser did wrong, what it costs."""

from collections.abc import Sequence
from pathlib import Path

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.models.model_facts import facts_of
from pytest_autoweb.report.foreign_text import one_line, whole_words
from pytest_autoweb.report.summary import ModelSummary, Summary, summarise
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.analysis.cell_numbers import run_rows
from pytest_autoweb.results.analysis.comparison import compare_models
from pytest_autoweb.results.records import CellResult, Usage
from pytest_autoweb.results.runs.run_folder import RecordedRun, read_run

PRICED = "openai/gpt-5-mini"
"""The model at whose prices the tokens are counted, since the recorded ones cost nothing."""


def conclude(folder: Path) -> tuple[str, ...]:
    """Return who won and how surely, what the loser did wrong in a case, and what it would cost.

    Raises:
        AutowebError: a cell has no verdict, or not that of its recording, so that the run shows
            nothing of the models.
    """
    run = read_run(folder)
    if not run.cells:
        raise AutowebError("no cell of the demo was run")
    if lost := _lost(run):
        why = f"{lost[0].test_name}: {lost[0].reason}"
        raise AutowebError(
            one_line(f"{count_of(len(lost), 'cell')} of the demo could not be run. {why}", 600)
        )
    summary = summarise(run, compare_models(run_rows(run.info, run.cells)))
    return who_won(summary), what_went_wrong(summary, run.cells), what_it_costs(run)


def _lost(run: RecordedRun) -> list[CellResult]:
    verdicts = ("passed", "healed", "failed")
    return [cell for cell in run.cells if cell.outcome not in verdicts or _has_no_reply(cell)]


def _has_no_reply(cell: CellResult) -> bool:
    failures = (attempt.failure for attempt in cell.attempts)
    return any(failure is not None and failure.kind == "model" for failure in failures)


def who_won(summary: Summary) -> str:
    """Return whether the difference is decided, each model's passes, and the numbers behind."""
    counts = ", ".join(map(_counts, summary.models))
    if summary.decisive:
        return whole_words(f"{summary.models[0].model}. {counts}. {summary.verdict}", 600)
    # What a larger difference would have shown stands in the report.
    why = (summary.verdict.partition("Not decisive: ")[2] or summary.verdict).partition(";")[0]
    return whole_words(f"not decided. {counts}; {why}", 600)


def _counts(row: ModelSummary) -> str:
    first = row.numbers.first_attempt.all_trials
    healed = row.numbers.after_repair.all_trials.passed_trials - first.passed_trials
    repaired = f" (and {healed} more after a repair)" if healed else ""
    return f"{row.model} passed {first.passed_trials} of {first.trials}{repaired}"


def what_went_wrong(summary: Summary, cells: Sequence[CellResult]) -> str:
    """Return why a case failed, by preference one that only the worse model failed, in a check."""
    worst = summary.models[-1].model
    solved = {cell.case_id for cell in cells if cell.passed and cell.model != worst}
    failed = [cell for cell in cells if cell.outcome == "failed" and cell.model == worst]
    if not failed:
        return f"{worst} failed no case"

    def telling(cell: CellResult) -> tuple[bool, bool]:
        checked = cell.failure is not None and cell.failure.kind == "check"
        return checked, cell.case_id in solved

    cell = max(failed, key=telling)
    return whole_words(f"{cell.case_id} on {worst}, “{cell.user_task}”: {cell.reason}", 600)


def what_it_costs(run: RecordedRun) -> str:
    """Return the tokens of the run, and what a priced model would have taken for as many."""
    usage = Usage.total(cell.total_usage for cell in run.cells)
    tokens = f"{usage.input_tokens:,} tokens in and {usage.output_tokens:,} out"
    used = f"nothing, since both models run locally: {count_of(usage.calls, 'call')}, {tokens}"
    facts = facts_of(PRICED)
    if facts is None or not {"input", "output"} <= facts.prices.keys():
        return used
    per_in, per_out = facts.prices["input"], facts.prices["output"]
    usd = (usage.input_tokens * per_in + usage.output_tokens * per_out) / 1e6
    prices = f"${per_in:.2f} and ${per_out:.2f} per million"
    return f"{used}. As many tokens of {PRICED} ({prices}) would cost ${usd:.3f}"


def tally(cells: Sequence[tuple[str, bool]], planned: int) -> str:
    """Return how far a run is: ended cells, and how many of them each model solved.

    Args:
        cells: the model of each cell that ended, and whether it passed, if only after a repair.
        planned: the number of all cells.
    """
    models = sorted({model for model, _ in cells}, reverse=True)
    own = {model: [passed for each, passed in cells if each == model] for model in models}
    solved = ", ".join(f"{model} {sum(own[model])} of {len(own[model])}" for model in models)
    return f"{len(cells)} of {planned} done" + (f", solved: {solved}" if solved else "")
