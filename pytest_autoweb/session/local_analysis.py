"""The optional analysis of a run by a local model, through Ollama's chat API.

The input is compact, because local models have small contexts: facts per case and run, no page
text.
"""

from pytest_autoweb.base.errors import ModelError, first_line
from pytest_autoweb.models.client import Client, ask_once
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import strip_reasoning
from pytest_autoweb.report.json_report import Analysis, Report
from pytest_autoweb.results.records import Attempt, CellResult

MAX_INPUT_CHARS = 24_000
MAX_ERROR_LINES = 4


def analyse(report: Report, model: str, client: Client) -> Analysis:
    """Ask a model about the run; if there is no answer, `error` has the reason.

    Args:
        report: the facts.
        model: the model's full name.
        client: asks it.
    """
    messages = render("analysis", report=fence(compact_input(report), "run"))
    prompt = "\n\n".join(message.content for message in messages)
    request = Request(model=model, messages=messages, stage="analysis")
    # A reply that was cut off is still worth reading.
    answer = ask_once(client, request, str, usable=strip_reasoning).outcome
    if isinstance(answer, ModelError):
        model = _short_name(model)
        problem = f"{model} gave no answer ({answer.cause}: {first_line(answer.detail or answer)})"
        return Analysis(prompt=prompt, model=model, text=None, error=problem)
    return Analysis(prompt=prompt, model=_short_name(model), text=strip_reasoning(answer.text))


def full_name(name: str) -> str:
    """Return the full name of a model that analyses runs; a bare name is one of Ollama's."""
    return name if "/" in name else f"ollama_chat/{name}"


def _short_name(name: str) -> str:
    return name.removeprefix("ollama_chat/")


def compact_input(report: Report) -> str:
    """Describe the run in a few lines per cell, cut to a local model's context."""
    lines = [
        f"ts={report.ts}",
        f"models={','.join(report.models)}",
        f"captureMode={','.join(report.capture_modes)}",
    ]
    for case in report.cases:
        lines += [f"CASE {case.id}", f"entryUrl={case.entry_url}", f"task={case.user_task[:300]}"]
        for cell in case.cells:
            lines += _cell_lines(cell)
    text = "\n".join(lines)
    if len(text) <= MAX_INPUT_CHARS:
        return text
    return text[:MAX_INPUT_CHARS] + "\n...(truncated)"


def _cell_lines(cell: CellResult) -> list[str]:
    if not cell.attempts:
        return [f"- model={cell.model} outcome={cell.outcome} {cell.reason}"]
    return [line for attempt in cell.attempts for line in _attempt_lines(cell, attempt)]


_PLAN = {True: "true", False: "false", None: "not asked"}


def _attempt_lines(cell: CellResult, attempt: Attempt) -> list[str]:
    checks = f"{sum(c.passed is True for c in attempt.checks)}/{len(attempt.checks)}"
    head = (
        f"- model={cell.model} attempt={attempt.attempt_index}"
        f" repair={str(attempt.repair_attempt).lower()}"
        f" planConfirmed={_PLAN[attempt.plan_confirmed]}"
        f" steps={len(attempt.plan_steps or attempt.step_results)}"
        f" ok={str(attempt.executed).lower()} checks={checks}"
        f" lintErrors={len(attempt.lint_errors)} outcome={cell.outcome}"
    )
    return [head, *(f"    {line}" for line in attempt.formatted_errors[:MAX_ERROR_LINES])]
