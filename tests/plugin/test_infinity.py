"""`autoweb benchmark import webarena-infinity`, with a board of the same form as the real one."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from threading import Thread

import pytest
from session_server import autoweb_command, session_command

from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.tools.importing.infinity.app_server import AppServer
from pytest_autoweb.tools.importing.infinity.changes import beyond
from pytest_autoweb.tools.importing.infinity.verifying import VerifierHangs, ruling_on

BENCHMARK = Path(__file__).parents[2] / "benchmarks/infinity.py"
PAGE = """<!doctype html><title>Notes</title><link rel=stylesheet href=css/app.css>
<ul id=notes></ul><script src=js/state.js></script>"""
STATE = """const AppState = {
  notes: [{id: 1, text: 'Milk', done: false}, {id: 2, text: 'Bread', done: false}],
  settings: {theme: 'light'},
  _pushStateToServer() {
    fetch('/api/state', {method: 'PUT', headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({notes: this.notes, settings: this.settings})}).catch(() => {});
  },
};
new EventSource('/api/events');
for (const note of AppState.notes) {
  const button = document.createElement('button');
  button.textContent = note.text;
  button.onclick = () => { note.done = true; AppState._pushStateToServer(); };
  document.querySelector('#notes').append(button);
}
AppState._pushStateToServer();
"""
VERIFIER = """import requests
def verify(server_url):
    state = requests.get(f"{server_url}/api/state").json()
    {body}
"""
BODIES = {
    "task_e1": "return state['notes'][0]['done'], f\"Milk: {state['notes'][0]['done']}\"",
    "task_e2": "return state['settings']['theme'] == 'light', 'the theme is light'",
    "task_m1": "return state['missing'], 'never said'",
}
SOLUTIONS = """import requests
def solve_task_e1(state):
    state['notes'][0]['done'] = True
SOLVERS = {'task_e1': solve_task_e1}
"""
CLICK = 'page.get_by_role("button", name="Milk").click()'
REPLIES = {
    "as a person": CLICK,
    "more": f'{CLICK}\npage.get_by_role("button", name="Bread").click()',
    "forged": """page.evaluate("fetch('/a' + 'pi/state', {method: 'PUT', headers: {'Content-Type': \
'application/json'}, body: JSON.stringify({notes: [{id: 1, done: true}], settings: {}})})")""",
    "hidden": """page.evaluate("window['fe' + 'tch']('/a' + 'pi/state', {method: 'PUT', body: \
JSON.stringify({notes: [{id: 1, done: true}], settings: {}})})")""",
    "reached in": 'page.evaluate("AppState.notes[0].done = true; AppState._pushStateToServer()")',
    "asked": """page.request.put(page.url + "api/state", \
data={"notes": [{"id": 1, "done": True}]})""",
}
CONFTEST = """
from pytest_autoweb.testing import ScriptedClient, scripted_plan
REPLIES = {replies!r}
def pytest_autoweb_client(spec):
    if spec.name in REPLIES:
        code = "```python\\n# Step 1\\n" + REPLIES[spec.name] + "\\n```"
        return ScriptedClient({{"plan": scripted_plan("Do it"), "generate": code}})
"""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("infinity")
    app = root / "board/apps/notes"
    for name, text in {
        "index.html": PAGE,
        "js/state.js": STATE,
        "css/app.css": "button { color: teal }",
        "sanity_check_real.py": SOLUTIONS,
        **{
            f"real-tasks/{task}.py": VERIFIER.replace("{body}", body)
            for task, body in BODIES.items()
        },
        "real-tasks.json": json.dumps(
            [
                {
                    "id": task,
                    "difficulty": "easy",
                    "instruction": f"{{{{ {task} }}}}: tick milk",
                    "verify": f"real-tasks/{task}.py",
                }
                for task in BODIES
            ]
        ),
    }.items():
        (app / name).parent.mkdir(parents=True, exist_ok=True)
        (app / name).write_text(text)
    return root / "board"


def run(root: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def imported(board: Path) -> "subprocess.CompletedProcess[str]":
    command = (*autoweb_command(), "benchmark", "import", "webarena-infinity", "board")
    return run(board.parent, *command, "-o", "cases", "--overwrite")


@pytest.mark.long
def test_checks_are_proven_at_the_import_and_defects_named(
    board: Path, imported: "subprocess.CompletedProcess[str]"
) -> None:
    done = imported

    assert done.returncode == 0, done.stderr
    assert "1 of 3 checks hold for the board's own solutions" in done.stdout
    assert "1 pass when nothing is done: notes-real-e2" in done.stdout
    cases = {case.id: case for case in load_case_file(board.parent / "cases/notes.yaml")}
    assert {
        name: set(case.tags) & {"board-defect", "unproven"} for name, case in cases.items()
    } == {
        "notes-real-e1": set(),
        "notes-real-e2": {"board-defect", "unproven"},
        "notes-real-m1": {"unproven"},
    }
    case = cases["notes-real-e1"].resolve(ServerHandle(url="http://127.0.0.1:1/", data=board))
    assert case.user_task == "{{ task_e1 }}: tick milk"

    other = run(
        board.parent,
        *(*autoweb_command(), "benchmark", "import", "webarena-infinity", "board"),
        *("--apps", "nots"),
    )
    assert other.returncode == 4
    assert "did you mean 'notes'?" in other.stderr


@pytest.mark.long
def test_a_state_counts_only_when_the_page_reached_it(
    board: Path, imported: "subprocess.CompletedProcess[str]"
) -> None:
    assert imported.returncode == 0
    root = board.parent
    (root / "conftest.py").write_text(CONFTEST.format(replies=REPLIES))
    ran = run(
        root,
        *(*session_command(), "cases", "-k", "notes-real-e1"),
        f"--autoweb-models={','.join(REPLIES)},builtin/noop",
        *("--autoweb-agents=codegen:once", "--autoweb-check-timeout=1", "--autoweb-max-repairs=0"),
    )

    cells = [
        json.loads(file.read_bytes()) for file in root.glob("autoweb-report/cells/**/cell.json")
    ]
    assert {cell["model"]: cell["outcome"] for cell in cells} == {
        "as a person": "passed",
        "more": "passed",
        "forged": "failed",
        "hidden": "failed",
        "reached in": "failed",
        "asked": "failed",
        "builtin/noop": "failed",
    }, ran.stdout
    checks = {cell["model"]: cell["attempts"][-1]["checks"] for cell in cells}
    assert checks["more"][0]["finding"] == "changed_more"
    assert "notes[2].done" in checks["more"][0]["actual"]
    assert "reached into the application" in checks["reached in"][0]["actual"]
    assert "the page itself holds another state" in checks["hidden"][0]["actual"]


@pytest.mark.journeys
def test_the_benchmark_runs_models_on_the_sound_tasks_of_its_sample(board: Path) -> None:
    root = board.parent
    (root / "out").mkdir()
    (root / "out/conftest.py").write_text(CONFTEST.format(replies=REPLIES))
    (root / "out/pytest.ini").write_text("[pytest]\nautoweb_agent = codegen:once\n")

    done = run(
        root,
        *(sys.executable, str(BENCHMARK), "board", "--out=out", "--per-app=3"),
        *("--models", "builtin/noop", "as a person"),
    )

    assert done.returncode == 0, done.stderr
    # Of the three tasks, the import finds one sound.
    assert "| as a person | 1/1 = 100% |" in done.stdout
    assert "| builtin/noop | 0/1 = 0% |" in done.stdout


def test_the_server_hands_out_the_page_and_nothing_else(board: Path, tmp_path: Path) -> None:
    with AppServer(board / "apps/notes", tmp_path, 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"

        def status(path: str, method: str = "GET", **headers: str) -> int:
            body = b"{}" if method == "PUT" else None
            asked = urllib.request.Request(url + path, body, headers, method=method)
            try:
                with urllib.request.urlopen(asked) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as error:
                return error.code

        served = {path: status(path) for path in ("/", "/index.html", "/js/state.js?v=2")}
        closed = (
            *("/real-tasks.json", "/sanity_check_real.py", "/real-tasks/task_e1.py", "/api/state"),
            *("/js/../sanity_check_real.py", "/js/%2e%2e/real-tasks.json", "/js/", "/js"),
        )
        assert served == dict.fromkeys(served, 200)
        assert {path: status(path) for path in closed} == dict.fromkeys(closed, 404)
        assert status("/api/state", "PUT") == 403
        assert status("/api/state", "PUT", **{"Sec-Fetch-Site": "cross-site"}) == 403
        assert status("/api/state", "PUT", **{"Sec-Fetch-Site": "same-origin"}) == 200
        server.shutdown()


def test_a_change_beyond_the_solution_is_named_by_its_place() -> None:
    seed = {
        "mails": [{"id": 1, "read": False, "at": 3}, {"id": 2, "read": False}],
        "settings": {"lastName": "May", "dueDate": "today"},
        "nextId": 3,
    }
    solution = {**seed, "mails": [{"id": 2, "read": False}, {"id": 7, "new": True}]}
    same = {**seed, "mails": [{"id": 2, "read": False}, {"id": 9, "other": True}], "nextId": 9}
    more = {
        **solution,
        "mails": [{"id": 2, "read": True}],
        "settings": {"lastName": "June", "dueDate": "later"},
    }

    assert beyond(seed, solution, same) == []
    assert beyond(seed, solution, more) == [
        "mails[2].read",
        "settings.lastName",
        "settings.dueDate",
    ]


def test_a_verifier_that_hangs_is_ended(tmp_path: Path) -> None:
    verifier = tmp_path / "task.py"
    verifier.write_text("def verify(server_url):\n    while True: pass\n")

    with pytest.raises(VerifierHangs, match="no verdict within"):
        ruling_on(verifier, {}, 0.5)


def test_a_verifier_that_raises_has_refused(board: Path) -> None:
    ruling = ruling_on(board / "apps/notes/real-tasks/task_m1.py", {"notes": []}, 20)

    assert (ruling.passed, ruling.words) == (False, "KeyError: 'missing'")
