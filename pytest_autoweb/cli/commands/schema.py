"""`autoweb debug schema`: print the JSON Schema of a file format, for editors."""

import argparse
import json

from pytest_autoweb.cases.file_layout import case_json_schema
from pytest_autoweb.report.json_report import report_json_schema
from pytest_autoweb.session.project_variants import project_variants

_SCHEMA_ABOUT = """\
Prints the JSON Schema of a file format, with the meaning of each field. Checks and strategies that
the project adds are in it.

  autoweb debug schema case > case.schema.json
  autoweb debug schema report | jq '.properties | keys'

Editors complete case files that begin with `# yaml-language-server: $schema=case.schema.json`.

Exit status: 0 printed; 4 invalid input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _SCHEMA_ABOUT
    parser.add_argument(
        "format",
        choices=("case", "report"),
        help="case: YAML case files, for completion in editors; report: report.json",
    )
    parser.set_defaults(run=run)


@project_variants()
def run(args: argparse.Namespace) -> int:
    schema = case_json_schema() if args.format == "case" else report_json_schema()
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0
