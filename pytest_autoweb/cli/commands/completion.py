"""`autoweb completion`: print what makes a shell complete this command."""

import argparse

from pytest_autoweb.base.installation import require_extras
from pytest_autoweb.cli.command_line import build_parser

_ABOUT = """\
Prints a script with which a shell completes the commands and options of `autoweb`. Load it where
your shell looks for completions:

  autoweb completion bash > ~/.local/share/bash-completion/completions/autoweb
  autoweb completion zsh > ~/.zfunc/_autoweb
  autoweb completion tcsh > ~/.autoweb-completion.tcsh

It needs `pip install 'pytest-autoweb[completion]'`, and is printed again after an update.

Exit status: 0 printed; 4 invalid input, or the extra is missing.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _ABOUT
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell to print for")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    require_extras("completion")
    # Late, because it is an extra.
    import shtab

    print(shtab.complete(build_parser(), shell=args.shell))
    return 0
