"""Judges a case by the state of its web server alone, where the browser is gone.

It is the verifier of tasks that `autoweb benchmark pack --as harbor` packs; it runs there as
`python -m pytest_autoweb.tools.publishing.server_verdict CASES FOLDER`, and writes into the folder
`reward.txt`, with 1 or 0, and `checks.json`, with the result of each check.
"""

import sys
from pathlib import Path
from typing import cast

from playwright.sync_api import Page

from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.verdicts import judge_checks, score
from pytest_autoweb.results.runs.saving import json_text


def passes(case_file: Path, folder: Path) -> bool:
    """Write the verdict on the only case of a file; return whether all its checks hold.

    Raises:
        CaseError: the file cannot be read as cases.
        OSError: the verdict cannot be written.
    """
    (case,) = load_case_file(case_file)
    # No check of a web server looks at a page, and who looks only once waits for none.
    evidence = Evidence(page=cast(Page, None), answered=False, answer=None)
    results = judge_checks(case.resolve(None).expect, evidence, timeout_s=0)
    # One that could not be evaluated earns nothing: who stops the web server must not get away.
    passed = score(results)[0] is True
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "checks.json").write_text(json_text(results) + "\n", encoding="utf-8")
    (folder / "reward.txt").write_text(f"{int(passed)}\n", encoding="utf-8")
    return passed


if __name__ == "__main__":
    print("all checks hold" if passes(*map(Path, sys.argv[1:3])) else "not all checks hold")
