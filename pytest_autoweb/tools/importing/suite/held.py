"""Starts the program that serves the site of one test: the web server of an imported case."""

import runpy
import sys

from pytest_autoweb.base.installation import asset_dir

FOLDER = "suite"
"""The folder of the templates with what runs in the environment of a suite."""
PROGRAM = "autoweb_suite_held.py"


def main() -> None:
    """Run the program with the arguments of this one."""
    program = asset_dir("templates") / FOLDER / PROGRAM
    sys.argv[0] = str(program)
    runpy.run_path(str(program), run_name="__main__")


if __name__ == "__main__":
    main()
