"""Run mutmut over the groups of `mutation_groups` and say what the tests noticed.

    scripts/mutants                       a sample of every module
    scripts/mutants statistics gates      of these groups
    scripts/mutants --all                 everything, which takes an hour or more
    scripts/mutants --survivors           once more, what nothing noticed the last time
    scripts/mutants --report              the table of the last run, without running anything

In build/mutants/run mutmut finds the project by links and makes its changed copy. The table is
written to build/mutants/table.md, and what nothing noticed, as diffs, to
build/mutants/survivors.diff.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from mutation_groups import GROUPS, Group

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "mutants"
RUN = BUILD / "run"
LINKED = ("pytest_autoweb", "tests", "prompts", "templates", "docs", "cases", "benchmarks")
"""What mutmut finds by links and copies."""
PER_MODULE = 30
"""How many changes of each module are drawn where nothing else is asked."""
SEEN = ("killed", "timeout", "segfault")
UNSEEN = ("survived", "no tests", "suspicious")
"""What mutmut says of a change that no test noticed."""


def main() -> int:
    """Run what was asked for, then print the table."""
    asked = _arguments()
    if asked.all:
        asked.per_module = 0
    os.environ["AUTOWEB_MUTANTS_PER_MODULE"] = str(asked.per_module)
    os.environ["AUTOWEB_MUTANTS_SEED"] = str(asked.seed)
    began = time.monotonic()
    done = asked.report or run(asked.groups or list(GROUPS), only_survivors=asked.survivors)
    report()
    if not asked.report:
        print(f"{time.monotonic() - began:.0f} s")
    return 0 if done else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("groups", nargs="*", metavar="group", help=f"of {', '.join(GROUPS)}")
    parser.add_argument(
        "--per-module", type=int, default=PER_MODULE, help="changes drawn of each module"
    )
    parser.add_argument("--all", action="store_true", help="try every change")
    parser.add_argument("--seed", default="3", help="of the sample")
    parser.add_argument("--survivors", action="store_true", help="only what survived the last time")
    parser.add_argument("--report", action="store_true", help="only print the last table")
    asked = parser.parse_args()
    if unknown := [name for name in asked.groups if name not in GROUPS]:
        parser.error(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    return asked


def run(names: list[str], *, only_survivors: bool) -> bool:
    """Run mutmut once over all these groups; False when it could not run."""
    survivors: list[str] = []
    if only_survivors and RUN.is_dir():
        survivors = [mutant for mutant, status in results() if status in UNSEEN]
        if not survivors:
            return True
    else:
        shutil.rmtree(RUN, ignore_errors=True)
    prepare([GROUPS[name] for name in names])
    command = [sys.executable, str(ROOT / "scripts" / "mutmut_sampled.py"), "run"]
    done = subprocess.run([*command, "--max-children=1", *survivors], cwd=RUN, check=False)
    return done.returncode == 0


def prepare(groups: list[Group]) -> None:
    """Lay out the project for mutmut: links to the sources, and its settings."""
    RUN.mkdir(parents=True, exist_ok=True)
    for linked in LINKED:
        if not (link := RUN / linked).is_symlink():
            link.symlink_to(ROOT / linked)
    # Which test covers what is found out anew, for the tests may have changed.
    (RUN / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    shutil.rmtree(RUN / "mutants" / "tests", ignore_errors=True)
    lines = [f"{key} = {json.dumps(value)}" for key, value in _settings(groups).items()]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (RUN / "pyproject.toml").write_text("\n".join([text, "[tool.mutmut]", *lines, ""]), "utf-8")


def _file(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"


def _settings(groups: list[Group]) -> dict[str, object]:
    files = [_file(module) for group in groups for module in group.modules]
    tests = [test for group in groups for test in group.tests]
    mypy = ["-m", "mypy", "--output=json", "--follow-imports=silent", "--no-warn-unused-ignores"]
    # mutmut keeps all changed copies of a method in one class: what mypy says of that is no fault.
    mypy += ["--disable-error-code=no-redef", "--disable-error-code=has-type"]
    return {
        "source_paths": ["pytest_autoweb"],
        "only_mutate": files,
        "also_copy": [linked for linked in LINKED if linked != "pytest_autoweb"],
        # Drawn examples take long, and the next run draws others.
        "pytest_add_cli_args_test_selection": [*tests, "-m", "not hypothesis"],
        "pytest_add_cli_args": ["-p", "no:cacheprovider"],
        # A fork of a process that has run the tests would find its caches filled.
        "process_isolation": "forkserver",
        "type_check_command": [sys.executable, *mypy, f"--cache-dir={BUILD / 'mypy'}", *files],
        "track_dependencies": False,
        "use_git_change_detection": False,
    }


def results() -> list[tuple[str, str]]:
    """Each change of the last run with what mutmut says of it."""
    from mutmut.stats import status_by_exit_code  # with mutmut comes libcst, which is slow to load

    found: list[tuple[str, str]] = []
    for group in GROUPS.values():
        for module in group.modules:
            meta = RUN / "mutants" / f"{_file(module)}.meta"
            if meta.is_file():
                codes = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
                found += [(mutant, status_by_exit_code[code]) for mutant, code in codes.items()]
    return found


def report() -> None:
    """Print and write the table and the survivors of the last run."""
    found = results()
    counts: dict[str, Counter[str]] = {}
    for mutant, status in found:
        counts.setdefault(mutant.rpartition(".")[0], Counter())[status] += 1
    if not counts:
        print("Nothing was run yet.")
        return
    counts["all"] = sum(counts.values(), Counter())
    table = "\n".join(
        [
            "| module | changes | refused by mypy | noticed | unnoticed | untested | score |",
            "|---|--:|--:|--:|--:|--:|--:|",
            *(row(module, own) for module, own in counts.items()),
        ]
    )
    diffs = diffs_of([mutant for mutant, status in found if status in UNSEEN])
    (BUILD / "table.md").write_text(table + "\n", "utf-8")
    (BUILD / "survivors.diff").write_text("\n\n".join(diffs) + "\n", "utf-8")
    print(f"mutmut {version('mutmut')}\n\n{table}\n")
    print(f"What nothing noticed: {(BUILD / 'survivors.diff').relative_to(ROOT)}")


def row(module: str, counts: Counter[str]) -> str:
    """One line of the table. What mypy refuses is no part of the score.

    Of the unnoticed, those that no named test even calls are counted once more as untested: there
    a test is missing, or its name is.
    """
    seen, unseen = (sum(counts[each] for each in kind) for kind in (SEEN, UNSEEN))
    refused = counts["caught by type check"]
    share = f"{seen / (seen + unseen):.0%}" if seen + unseen else "–"
    name = module.removeprefix("pytest_autoweb.")
    untested = counts["no tests"]
    return f"| `{name}` | {counts.total()} | {refused} | {seen} | {unseen} | {untested} | {share} |"


def diffs_of(mutants: list[str]) -> list[str]:
    """The changes that nothing noticed, as diffs."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant  # as above

    os.chdir(RUN)  # mutmut looks for its files below the working folder
    return [
        f"# {mutant}\n"
        + get_diff_for_mutant(mutant, path=f"{mutant.rpartition('.')[0].replace('.', '/')}.py")
        for mutant in mutants
    ]


if __name__ == "__main__":
    raise SystemExit(main())
