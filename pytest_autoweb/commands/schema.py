"""`autoweb schema`: print the JSON Schema of a file format."""

import argparse
import json
from typing import TYPE_CHECKING

# Late imports: every `autoweb` command loads this module, and only this one needs the rest.

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


_ABOUT = """\
Prints the JSON Schema of a file format, with the meaning of each field. Checks and strategies that
the project adds are in it.

  autoweb schema case > case.schema.json
  autoweb schema report | jq '.properties | keys'

Editors complete case files that begin with `# yaml-language-server: $schema=case.schema.json`.

Exit status: 0 printed; 4 invalid input.
"""


def add_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb schema`."""
    schema = subparsers.add_parser(
        "schema", help="print the JSON Schema of a file format", description=_ABOUT
    )
    schema.add_argument(
        "format",
        choices=("case", "report"),
        help="case: YAML case files, for completion in editors; report: report.json",
    )
    schema.set_defaults(run=run, with_variants=True)


def run(args: argparse.Namespace) -> int:
    """Print the schema of the chosen format."""
    if args.format == "case":
        from pytest_autoweb.cases.file_layout import case_json_schema as schema
    else:
        from pytest_autoweb.report.json_report import report_json_schema as schema
    print(json.dumps(schema(), indent=2, ensure_ascii=False))
    return 0
