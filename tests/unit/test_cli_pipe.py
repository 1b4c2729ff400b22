import subprocess
import sys


def test_a_reader_that_leaves_early_gets_no_traceback() -> None:
    ran = subprocess.Popen(
        [sys.executable, "-m", "pytest_autoweb.cli", "schema", "report"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ran.stdout is not None
    assert ran.stderr is not None
    # More than a pipe holds is still to come.
    assert ran.stdout.readline() == "{\n"
    ran.stdout.close()

    said = ran.stderr.read()
    ran.stderr.close()
    assert (ran.wait(30), said) == (1, "")
