"""Kills processes of running sessions at random times, and looks at each report.

    python benchmarks/kill_sweep.py --kills 40 --seed 1

Each session runs one case on three models that answer from a script. At a random time after the
cells were collected one of its processes gets SIGKILL: pytest itself, an xdist worker, a sandbox
worker, the browser, Playwright's driver, the case's web server; or pytest gets SIGINT. Then
`autoweb run gate` reads the run folder, as one would after a crash. The report must have every
planned cell once, `passed` only with a result on the disk, no model blamed for what was killed (but
for its own sandbox worker), and every file whole; it must not be green unless pytest came to its
end.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
sys.path.append(str(SUPPORT))

from killing import MARK, WORDS, is_kind, ours  # noqa: E402

SITE = """<!doctype html><title>Shop</title><label>Name <input id="name"></label>
<button onclick="out.textContent = 'Welcome, ' + document.getElementById('name').value">Log in
</button><p id="out"></p>"""
CASES = """version: 1
webserver: {static: ../site}
cases:
  - id: login
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Log in as ana."
    expect: [{text: "Welcome, ana"}]
"""
MODELS = ("fake/a:100", "fake/b:100", "fake/c:100")
KINDS = (*WORDS, "main", "interrupt")
BLAMELESS = {"passed", "broken", "skipped", "ungraded"}
PATIENCE_S = 300
GATE = "import sys; from pytest_autoweb.cli.command_line import main; sys.exit(main(sys.argv[1:]))"


def main() -> int:
    """Kill, look, print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--within", type=float, default=6.0, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="PATH")
    parsed = parser.parse_args()
    rng, seen, wrong = random.Random(parsed.seed), Counter[str](), list[str]()
    for number in range(parsed.kills):
        kind, after = KINDS[number % len(KINDS)], rng.uniform(0, parsed.within)
        with tempfile.TemporaryDirectory() as folder:
            outcome, found = one_session(Path(folder), kind, after)
        seen[f"{kind:<10} {outcome}"] += 1
        wrong += [f"{kind} after {after:.1f} s: {text}" for text in found]
        print(f"{kind:<10} {after:5.1f} s  {outcome}{'  WRONG: ' if found else ''}{found or ''}")
    print(f"\n{parsed.kills} kills, {len(wrong)} wrong reports")
    print("\n".join(f"{count:>4}  {what}" for what, count in sorted(seen.items())))
    if parsed.json:
        parsed.json.write_text(json.dumps({"seen": seen, "wrong": wrong}, indent=2) + "\n")
    return 1 if wrong else 0


def one_session(folder: Path, kind: str, after: float) -> tuple[str, list[str]]:
    """Return the end of a session in which something was killed, and the faults of its report."""
    write_project(folder)
    flags = ["-p", "no:cacheprovider", "cases", f"--autoweb-models={','.join(MODELS)}"]
    flags += [
        "--autoweb-max-repairs=0",
        "--autoweb-agent=codegen:once",
        *(["-n", "2"] if kind == "xdist" else []),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *flags],
        cwd=folder, env={**os.environ, MARK: str(folder)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and not (folder / "autoweb-report/manifest.json").is_file():
        time.sleep(0.05)
    try:
        process.wait(timeout=after)
        killed = "ended before"
    except subprocess.TimeoutExpired:
        killed = kill(process.pid, kind, str(folder))
    try:
        process.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return "hung", [f"the session did not end in {PATIENCE_S} s"]
    return judge(folder / "autoweb-report", kind, killed)


def write_project(folder: Path) -> None:
    (folder / "site").mkdir()
    (folder / "cases").mkdir()
    (folder / "site/index.html").write_text(SITE, encoding="utf-8")
    (folder / "cases/shop.yaml").write_text(CASES, encoding="utf-8")
    (folder / "pytest.ini").write_text(
        "[pytest]\nautoweb_check_timeout = 1\naddopts = -p no:hypothesispytest\n"
    )
    (folder / "conftest.py").write_text((SUPPORT / "killing.py").read_text(encoding="utf-8"))


def kill(pid: int, kind: str, mark: str) -> str:
    """Kill one process of that kind; what was killed."""
    if kind in {"main", "interrupt"}:
        os.kill(pid, signal.SIGKILL if kind == "main" else signal.SIGINT)
        return "killed"
    found = [child for child, line in ours(pid, mark) if is_kind(kind, line)]
    if not found:
        return "not there"
    with contextlib.suppress(OSError):
        os.kill(random.choice(found), signal.SIGKILL)
    return "killed"


def judge(report: Path, kind: str, killed: str) -> tuple[str, list[str]]:
    """Read the run folder as a person would after a crash."""
    if not (report / "manifest.json").is_file():
        return f"{killed}, nothing was planned yet", []
    done = subprocess.run(
        [sys.executable, "-c", GATE, "gate", str(report)],
        capture_output=True, text=True, check=False, cwd=report.parent,
    )  # fmt: skip
    ended = kind not in {"main", "interrupt"} or killed == "ended before"
    if done.returncode not in ((0, 1) if ended else (1,)):
        return killed, [f"`autoweb run gate` ended with {done.returncode}: {done.stderr[-300:]}"]
    cells = [
        cell
        for case in json.loads((report / "report.json").read_text(encoding="utf-8"))["cases"]
        for cell in case["cells"]
    ]
    wrong = []
    if sorted(cell["model"] for cell in cells) != sorted(MODELS):
        wrong.append(f"cells of {[cell['model'] for cell in cells]}")
    for cell in cells:
        saved = report / cell["folder"] / "cell.json"
        if cell["outcome"] == "passed" and not saved.is_file():
            wrong.append(f"{cell['model']} passed without a result")
        if cell["outcome"] not in BLAMELESS and kind != "worker":
            wrong.append(f"{cell['model']} is {cell['outcome']}: {cell['reason']}")
    for path in report.rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    outcomes = Counter(cell["outcome"] for cell in cells)
    return f"{killed}: {', '.join(f'{n} {what}' for what, n in sorted(outcomes.items()))}", wrong


if __name__ == "__main__":
    sys.exit(main())
