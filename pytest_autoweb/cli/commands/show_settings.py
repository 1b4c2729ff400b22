"""`autoweb debug settings`: list every setting with its names, default and meaning."""

import argparse

from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.report.plain_stream import plain_text
from pytest_autoweb.session.help_texts import filled
from pytest_autoweb.session.project_variants import project_variants
from pytest_autoweb.settings.run_settings import OPTIONS

_ABOUT = """\
Lists every setting: its flag for pytest, its ini key, its variable, its default and what it means.
Those that `pytest --help` lists are marked with *. What the project adds (checks, agents, capture
modes) is in the texts.

  autoweb debug settings
  autoweb debug settings --json

Exit status: 0 listed; 4 a conftest of the project cannot be used.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _ABOUT
    add_json_argument(parser)
    parser.set_defaults(run=run)


@project_variants()
def run(args: argparse.Namespace) -> int:
    """Print the settings, those of earlier versions left out."""
    settings = [option for option in OPTIONS if not option.instead]
    if args.json:
        rows = [
            {
                "flag": option.flag,
                "ini": option.dest,
                "env": option.env,
                "default": option.default,
                "everyday": option.everyday,
                "help": filled(option.help),
            }
            for option in settings
        ]
        print_json("settings", {"settings": rows})
        return 0
    for option in settings:
        mark = "*" if option.everyday else " "
        print(f"{mark} {option.usage}  [ini: {option.dest}, env: {option.env}]")
        if option.default:
            print(f"    default: {option.default}")
        for line in plain_text(filled(option.help)).splitlines():
            print(f"    {line}")
    return 0
