"""`autoweb run analyze`: ask a model what went wrong; facts and opinion stay apart."""

import argparse
import sys
from pathlib import Path

from pytest_autoweb.cli.arguments import add_max_cost, add_models_file
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.run_arguments import add_run_argument
from pytest_autoweb.models.gateway import temporary_gateway
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.named_specs import load_project_specs
from pytest_autoweb.report.json_report import Analysis, build_report
from pytest_autoweb.report.terminal import terminal_lines
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.runs.run_folder import read_run, refuse_other_folders
from pytest_autoweb.session.local_analysis import analyse, full_name
from pytest_autoweb.session.project_variants import project_variants

_ANALYZE_ABOUT = """\
Prints the facts of a saved run (rates, outcomes, cost, the verdict of the paired tests), and below
them what a model makes of it. The model sees a few lines for each attempt: outcome, steps, checks
and errors, but no page and no prompt. Nobody checks what it says.

  autoweb run analyze autoweb-report
  autoweb run analyze autoweb-report --model openai/gpt-5-mini --max-cost 0.05

A bare name is a model of Ollama. The answer is also written into the run's report, where it
replaces an earlier one, unless --only-print is given.

Exit status: 0 the model answered; 1 it gave no answer; 4 the run or the model cannot be used.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _ANALYZE_ABOUT
    add_run_argument(parser)
    parser.add_argument(
        "--model", default="qwen3:8b", metavar="NAME", help="who is asked; default: qwen3:8b"
    )
    add_models_file(parser)
    add_max_cost(parser, "the call")
    parser.add_argument("--only-print", action="store_true", help="leave the run's report as it is")
    add_json_argument(parser)
    parser.set_defaults(run=run)


@project_variants()
def run(args: argparse.Namespace) -> int:
    """Print the facts, ask the model, and keep its answer with the run.

    Raises:
        SettingsError: the folder is not a run folder, or the model is unknown.
    """
    refuse_other_folders(args.folder)
    report = build_report(read_run(args.folder))
    spec = _spec(args)
    if not args.json:
        print("Facts, from the files of the run\n")
        for line, _ in terminal_lines(report):
            print(f"  {line}")
        sys.stdout.flush()
    with temporary_gateway(args.max_cost) as client:
        client.add(spec)
        analysis = analyse(report, spec.name, client)
    if args.json:
        said = {"model": analysis.model, "text": analysis.text, "error": analysis.error}
        print_json("analysis", {"summary": report.summary, "notes": report.notes, **said})
    if analysis.text is None:
        print(f"\nautoweb: {analysis.error}", file=sys.stderr)
        return 1
    if not args.json:
        _print_opinion(analysis)
    if not args.only_print:
        write_report(args.folder, max_chars=8_000_000, analysis=analysis)
        if not args.json:
            print(f"\nreport: {args.folder / 'index.html'}")
    return 0


def _print_opinion(analysis: Analysis) -> None:
    print(f"\nThe opinion of {analysis.model}, which nobody checked\n")
    for line in _readable(analysis.text or "").splitlines():
        print(f"  {line}")


def _spec(args: argparse.Namespace) -> ModelSpec:
    """Return the model of the project's settings, or else of a service, or else of Ollama."""
    named = load_project_specs((args.model,), Path(), args.models_file)[args.model]
    if "/" in named.litellm_model:
        return named
    name = full_name(args.model)
    return load_project_specs((name,), Path(), args.models_file)[name]


def _readable(text: str) -> str:
    """Return a model's text without characters that steer a terminal."""
    return "".join(char for char in text if char.isprintable() or char == "\n")
