"""The optional analysis of a run by a local model, through Ollama's chat API.

The input is compact (row 4.1.27 of the seed): facts per case and run, no page text.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Request
from pytest_autoweb.llm.gateway import GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.llm.prompts import fence, render
from pytest_autoweb.llm.registry import load_specs
from pytest_autoweb.llm.replies import strip_reasoning
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.options import Settings
from pytest_autoweb.report.json_report import Analysis, Report
from pytest_autoweb.results import Attempt, CellResult

if TYPE_CHECKING:
    from pytest_autoweb.llm.client import Message

MAX_INPUT_CHARS = 24_000
MAX_ERROR_LINES = 4


def analyse(report: Report, settings: Settings) -> Analysis:
    """Ask the local model about the run; without an answer, `error` says why."""
    messages = render("analysis", report=fence(compact_input(report), "run"))
    prompt = "\n\n".join(message.content for message in messages)
    model = settings.local_model
    try:
        text = strip_reasoning(_ask(messages, settings))
    except ModelError as error:
        first = (error.detail.splitlines() or [""])[0]
        problem = f"{model} gave no answer ({error.cause}: {first})"
        return Analysis(prompt=prompt, model=model, text=None, error=problem)
    return Analysis(prompt=prompt, model=model, text=text)


def local_spec(settings: Settings) -> ModelSpec:
    """The model of the analysis; a bare name is one of Ollama's."""
    name = settings.local_model
    full = name if "/" in name else f"ollama_chat/{name}"
    pyproject = settings.rootdir / "pyproject.toml"
    models_file = settings.rootdir / settings.models_file if settings.models_file else None
    known = pyproject if pyproject.is_file() else None
    return load_specs((full,), pyproject=known, models_file=models_file)[full]


def _ask(messages: "tuple[Message, ...]", settings: Settings) -> str:
    spec = local_spec(settings)
    with tempfile.TemporaryDirectory(prefix="autoweb-analysis-") as folder:
        address = start_gateway(
            {spec.name: spec},
            record_mode="off",
            cassettes=settings.rootdir / settings.cassettes,
            run_dir=Path(folder),
        )
        try:
            request = Request(model=spec.name, messages=messages, stage="analysis")
            return GatewayClient(address).complete(request).text
        finally:
            stop_gateway(address)


def compact_input(report: Report) -> str:
    """The run in a few lines a cell, cut to what a local model can read."""
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


def _attempt_lines(cell: CellResult, attempt: Attempt) -> list[str]:
    checks = f"{sum(c.passed is True for c in attempt.checks)}/{len(attempt.checks)}"
    head = (
        f"- model={cell.model} attempt={attempt.attempt_index}"
        f" repair={str(attempt.repair_attempt).lower()}"
        f" planConfirmed={str(attempt.plan_confirmed).lower()} steps={len(attempt.plan_steps)}"
        f" ok={str(attempt.executed).lower()} checks={checks}"
        f" lintErrors={len(attempt.lint_errors)} outcome={cell.outcome}"
    )
    return [head, *(f"    {line}" for line in attempt.formatted_errors[:MAX_ERROR_LINES])]
