#!/usr/bin/env python3
"""Measure the processor time of short sessions: refused ones, and two trivial cells.

    python benchmarks/short_sessions.py
    python benchmarks/short_sessions.py --rounds 9

Each session is a process of its own in a small project with a static page. Its time is what the
process and the children that it waited for used, as `time` prints it (user + sys). Bytecode is
compiled once, before the first round, into a temporary folder. The table gives the median and the
smallest of the rounds, and the median as a multiple of that of `pytest --version`, which says more
on a machine that is busy.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# Plugins of the developers' environment that are slow to start; a user does not have them.
BESIDE_THE_POINT = ("-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:anyio")
PAGE = '<!doctype html><title>Tea</title><h1>Tea</h1><a href="two.html">Two</a>'
CASE = """version: 1
webserver: {static: site}
cases:
  - id: first
    entry_url: "{{ webserver.url }}"
    user_task: Follow the link.
    expect: [{url: "**/two.html"}]
    oracle: page.get_by_role("link").click()
"""
SECRET = CASE.replace("    user_task", "    secrets: {word: {env: NEVER_SET}}\n    user_task")
DOWN = CASE.replace("webserver: {static: site}\n", "").replace(
    '"{{ webserver.url }}"', "http://127.0.0.1:9876/"
)
CONTROLS = "--autoweb-models=builtin/oracle,builtin/noop"
SESSIONS = {
    "`pytest --version`": ("--version",),
    "refused: an unknown flag": ("case.yaml", "--autoweb-modles=x"),
    "refused: no key for the model": ("case.yaml", "--autoweb-models=openai/gpt-5-mini"),
    "refused: an unknown provider": ("case.yaml", "--autoweb-models=nobody/model"),
    "refused: a secret is missing": ("secret.yaml", CONTROLS),
    "no server answers, one cell": ("down.yaml", "--autoweb-models=builtin/noop"),
    "two trivial cells": ("case.yaml", CONTROLS),
}


def processor_time(arguments: tuple[str, ...], folder: Path, environ: dict[str, str]) -> float:
    """Run one session and return the seconds of processor time that it took."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before = used()
    command = [sys.executable, "-m", "pytest", "-q", *BESIDE_THE_POINT, *arguments]
    subprocess.run(command, cwd=folder, env=environ, capture_output=True, check=False)
    return used() - before


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="autoweb-short-") as name:
        folder = Path(name)
        (folder / "site").mkdir()
        (folder / "site/index.html").write_text(PAGE, encoding="utf-8")
        (folder / "site/two.html").write_text("<!doctype html><title>Two</title>", "utf-8")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        for file, text in (("case", CASE), ("secret", SECRET), ("down", DOWN)):
            (folder / f"{file}.yaml").write_text(text, encoding="utf-8")
        environ = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        for arguments in SESSIONS.values():
            processor_time(arguments, folder, environ)
        took: dict[str, list[float]] = {what: [] for what in SESSIONS}
        for _ in range(rounds):
            for what, arguments in SESSIONS.items():
                took[what].append(processor_time(arguments, folder, environ))
    bare = statistics.median(took["`pytest --version`"])
    print("| session | median, s | best, s | of the first row |\n|---|--:|--:|--:|")
    for what, times in took.items():
        middle = statistics.median(times)
        print(f"| {what} | {middle:.2f} | {min(times):.2f} | {middle / bare:.1f} |")


if __name__ == "__main__":
    main()
