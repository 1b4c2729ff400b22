"""Controls that do nothing share a page where their cases begin alike, with the same verdicts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

CASES = 18
"""One for each of the checks: with more, pairs of them come again."""
PAGE = """<!doctype html><title>Board</title><h1>Board</h1><ul id=list></ul>
<script>
for (let i = 1; i <= 30; i += 1) {
  const li = document.createElement('li');
  li.textContent = `Task ${i} of the board`;
  document.querySelector('#list').append(li);
}
window.board = {open: 30, done: 0};
</script>"""
FUNCTIONS = """
from pytest_autoweb.checks import CheckVerdict

def opened(context, wanted):
    count = context.evaluate("() => window.board.open")
    return CheckVerdict(count == wanted, f"{count} are open")

def raising(context):
    raise ValueError("no such board")
"""
CHECKS = (
    "text: Task 7 of the board",
    "text: Nobody wrote this",
    "url: '**/index.html'",
    "url: '**/elsewhere'",
    "element: {role: heading, name: Board}",
    "element: {role: button, name: Save}",
    'js: "() => window.board.done === 1"',
    'js: "() => window.board.open === 30"',
    "answer: {equals: 42}",
    "{python: 'checks:opened', with: {wanted: 30}}",
    "{python: 'checks:opened', with: {wanted: 29}}",
    "python: checks:raising",
    "assertion: 'expect(page.get_by_role(\"listitem\")).to_have_count(30)'",
    "http: {url: '{{ webserver.url }}index.html', contains: 'no such text'}",
    "file: {path: '{{ webserver.data }}/made.txt', contains: total}",
    # These need more than the page: what it asked for, what appeared on it, what was downloaded.
    "request: {method: POST, url: '**/tasks'}",
    "seen: {text: Task 3 of the board}",
    "download: {name: '*.csv'}",
)
ALONE = ("request", "seen", "download")


def case_file() -> str:
    head = "version: 1\nwebserver: {static: ../site}\ndefaults:\n"
    lines = ['  entry_url: "{{ webserver.url }}index.html"', "cases:"]
    for number in range(CASES):
        one, two = CHECKS[number % len(CHECKS)], CHECKS[(3 * number + 1) % len(CHECKS)]
        lines += [f"  - id: task-{number}", f"    user_task: Do task {number}.", "    expect:"]
        lines += [f"      - {one}", *([f"      - {two}"] if number % 2 and two != one else [])]
    # This one begins elsewhere.
    lines += ["  - id: other", '    entry_url: "{{ webserver.url }}index.html#other"']
    lines += ["    user_task: Look.", "    expect: [{text: Board}]"]
    return head + "\n".join(lines) + "\n"


@pytest.fixture
def board(project: pytest.Pytester) -> pytest.Pytester:
    (project.path / "site/index.html").write_text(PAGE)
    (project.path / "cases/shop.yaml").write_text(case_file())
    (project.path / "cases/checks.py").write_text(FUNCTIONS)
    return project


def played(board: pytest.Pytester, folder: str, *more: str) -> pytest.RunResult:
    flags = ("--autoweb-models=builtin/noop", "--autoweb-check-timeout=1")
    return board.runpytest_subprocess("cases", *flags, f"--autoweb-report={folder}", *more)


def cells(folder: Path) -> dict[str, dict[str, Any]]:
    found = [json.loads(file.read_bytes()) for file in folder.glob("cells/**/cell.json")]
    return {cell["case_id"]: cell for cell in found}


def verdict(cell: dict[str, Any]) -> str:
    """Return all of a cell that must not depend on whose page its checks were asked of."""
    (attempt,) = cell["attempts"]
    told = ("index", "type", "passed", "expected", "actual", "message", "finding", "checksum")
    said = json.dumps(
        [
            *(cell[name] for name in ("outcome", "reason", "checksums", "user_task")),
            *(attempt[name] for name in ("checks_passed", "score", "false_success", "executed")),
            *(attempt[name] for name in ("failure", "classification", "final_url", "prompt")),
            [{name: check[name] for name in told} for check in attempt["checks"]],
        ],
        indent=1,
    )
    # The two runs have servers of their own.
    return re.sub(r"127\.0\.0\.1:\d+|/[^ \"]*(?=/made\.txt)", "HERE", said)


@pytest.mark.long
def test_verdicts_are_those_of_a_cell_for_each_case(
    board: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = played(board, "shared")
    # In workers each cell opens its own page.
    played(board, "apart", "-n", "1")

    one, other = cells(board.path / "shared"), cells(board.path / "apart")
    assert len(one) == CASES + 1
    with_own = {name for name, cell in one.items() if not cell["attempts"][0]["page_of"]}
    assert with_own == {"other"} | {
        name
        for name, cell in one.items()
        if {check["type"] for check in cell["attempts"][0]["checks"]} & set(ALONE)
    }
    assert not any(cell["attempts"][0]["page_of"] for cell in other.values())
    assert {name: verdict(cell) for name, cell in one.items()} == {
        name: verdict(cell) for name, cell in other.items()
    }
    told = f"1 page was opened for {len(one) - len(with_own)} cases that begin alike"
    shared.stdout.fnmatch_lines([f"*doing nothing: {told}*"])
    assert {cell["outcome"] for cell in one.values()} >= {"passed", "failed"}


@pytest.mark.long
def test_a_page_that_does_not_stay_the_same_is_shared_by_nobody(board: pytest.Pytester) -> None:
    text = case_file().replace(
        'js: "() => window.board.done === 1"',
        "js: \"() => { document.body.append('x'); return window.board.done === 1; }\"",
    )
    (board.path / "cases/shop.yaml").write_text(text)

    played(board, "run", "-k", "task-6 or task-2 or task-0 or task-4 or task-1")

    found = cells(board.path / "run")
    assert len(found) > 8
    assert not any(cell["attempts"][0]["page_of"] for cell in found.values())
    assert {cell["outcome"] for cell in found.values()} <= {"passed", "failed", "ungraded"}
