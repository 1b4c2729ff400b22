"""`autoweb verify --controls`: run the controls of a saved run's cases, or of case files."""

import argparse
from pathlib import Path


def add_argument(verify: argparse.ArgumentParser) -> None:
    """Declare `--controls`."""
    verify.add_argument(
        "--controls",
        action="store_true",
        help="instead, run the controls of the run's cases in a browser, three times each: the "
        "oracle must pass, and doing nothing must fail. The results go into the run's folder "
        "`controls`, and its report is written again. RUN may also be a case file or a folder of "
        "case files; --output (default: autoweb-controls) then takes the results. Exits with 1 "
        "when a control is broken",
    )


def run_controls(args: argparse.Namespace) -> int:
    """Run the controls and print the results; return 1 when a control is broken, else 0.

    Raises:
        AutowebError: a case file is missing, or pytest could not run them.
    """
    from pytest_autoweb.controls_run import control_files, control_lines, control_run
    from pytest_autoweb.report.run_folder import is_run_folder

    rootdir = args.rootdir.resolve()
    if is_run_folder(args.folder):
        folder = args.folder
        done = control_run(folder, rootdir=rootdir)
    else:
        folder = args.output or Path("autoweb-controls")
        done = control_files([args.folder, *args.cases], folder, rootdir=rootdir)
    for line in (*control_lines(done.rows), *done.notes):
        print(line)
    print(f"report: {folder / 'index.html'}")
    return int(done.failed)
