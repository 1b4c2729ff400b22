"""The `autoweb` command: everything that is not a test run."""

import argparse
import json
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from pytest_autoweb import __version__
from pytest_autoweb.errors import AutowebError

EPILOG = """\
Cells are run by pytest:

  pytest cases --autoweb-models=openai/gpt-5-mini,ollama_chat/qwen3:8b

`pytest --help` lists every --autoweb-* flag under the heading "autoweb".
"""


def build_parser() -> argparse.ArgumentParser:
    """The command line, with help that teaches."""
    from pytest_autoweb.llm import cli_models

    parser = argparse.ArgumentParser(
        prog="autoweb",
        description="Which model can drive my web app? Tools around `pytest --autoweb-models`.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pytest-autoweb {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    schema = commands.add_parser("schema", help="print the JSON Schema of a file format")
    schema.add_argument(
        "format",
        choices=("case", "report"),
        help="case: the YAML case file, for completion in editors; report: report.json",
    )
    schema.set_defaults(run=_schema)

    show = commands.add_parser(
        "show-report",
        help="write the report of a run folder anew, and open it",
        description="Builds index.html, report.json and summary.md from the cells on disk, also "
        "after a run that was killed.",
    )
    show.add_argument("folder", nargs="?", type=Path, default=Path("autoweb-report"))
    show.add_argument("--no-open", action="store_true", help="only print where the report is")
    show.set_defaults(run=_show_report)

    cli_models.add_parser(commands)
    commands.choices["models"].set_defaults(run=cli_models.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; bad input is one sentence and exit code 4, as with pytest."""
    parsed = build_parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except AutowebError as error:
        print(f"autoweb: {error}", file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        return 130


def _schema(parsed: argparse.Namespace) -> int:
    if parsed.format == "case":
        from pytest_autoweb.cases.schema import case_json_schema as schema
    else:
        from pytest_autoweb.report.json_report import report_json_schema as schema
    print(json.dumps(schema(), indent=2, ensure_ascii=False))
    return 0


def _show_report(parsed: argparse.Namespace) -> int:
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.report.write import write_report

    if not (parsed.folder / "cells").is_dir() and not (parsed.folder / "manifest.json").is_file():
        raise SettingsError(
            f"{parsed.folder} is no run folder: it holds neither cells nor manifest"
        )
    write_report(parsed.folder, max_chars=8_000_000, analysis=None)
    page = (parsed.folder / "index.html").resolve()
    print(page)
    if not parsed.no_open:
        webbrowser.open(page.as_uri())
    return 0


if __name__ == "__main__":
    sys.exit(main())
