"""`autoweb verify --controls`: run the controls of a saved run's cases, or of case files."""

import argparse
from pathlib import Path


def add_argument(verify: argparse.ArgumentParser) -> None:
    """Declare `--controls`."""
    verify.add_argument(
        "--controls",
        action="store_true",
        help="run the controls of the run's cases instead, three fresh times each, in a browser: "
        "the oracle must pass, doing nothing must fail. They go into the run's folder "
        "`controls`, and its report is written anew. RUN may also be a case file or a folder of "
        "such; then --output (default autoweb-controls) takes the results. Ends with 1 when a "
        "control is broken",
    )


def run_controls(args: argparse.Namespace) -> int:
    """Run the controls and print what they prove; 1 when one does not hold.

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
