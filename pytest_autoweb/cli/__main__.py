"""Lets `python -m pytest_autoweb.cli` be the `autoweb` command."""

import sys

from pytest_autoweb.cli.command_line import main

if __name__ == "__main__":
    sys.exit(main())
