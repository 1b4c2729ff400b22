"""`autoweb benchmark pack`: what is packed runs elsewhere, and is told apart from what it was."""

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from session_server import autoweb_command, session_command

from pytest_autoweb.cli.command_line import main

PAGE = """<!doctype html><button>tea</button><button>cake</button><p id="out"></p>
<script>onclick = (e) => { out.textContent = 'sold ' + e.target.textContent }</script>"""


@pytest.mark.long
def test_a_packed_benchmark_runs_elsewhere_and_tells_what_was_changed(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    pytest_here = [*session_command(), "cases", "--autoweb-models=builtin/oracle,builtin/noop"]
    subprocess.run(pytest_here, cwd=root, check=False, capture_output=True)
    pin = "4821-8830-7719"
    said = autoweb(root, "cases", "-o", "shop.zip", "--run", "autoweb-report", pin=pin)
    autoweb(root, "cases", "-o", "again.zip", "--run", "autoweb-report")

    assert "packed 2 cases in 9 files" in said
    assert "1 hidden file of served folders" in said
    assert "needs environment: SHOP_PIN" in said
    archive = (root / "shop.zip").read_bytes()
    assert archive == (root / "again.zip").read_bytes()
    with zipfile.ZipFile(root / "shop.zip") as packed:
        every = b"".join(map(packed.read, packed.namelist()))
        manifest = json.loads(packed.read("benchmark.json"))
        packed.extractall(tmp_path / "there")
    assert pin.encode() not in every
    roles = {file["path"]: file["role"] for file in manifest["files"]}
    assert roles == ROLES
    assert manifest["schema_version"] == 1
    # Models and money are for those to choose who run it.
    assert manifest["settings"] == {"autoweb_check_timeout": "2"}
    held = {(row["case_id"], row["oracle"], row["noop"]) for row in manifest["controls"]}
    assert held == {("buy-tea", "holds", "holds"), ("buy-cake", "holds", "holds")}

    there = tmp_path / "there"
    shutil.rmtree(root)
    pytest_there = [*session_command(), "cases", "--autoweb-models=builtin/oracle"]
    subprocess.run(pytest_there, cwd=there, check=False, capture_output=True)
    said = autoweb(there, "check", ".", "--run", "autoweb-report")
    assert "every file is as it was packed" in said
    assert "autoweb-report is a run of exactly these cases and checks" in said
    outcomes = [
        json.loads(file.read_bytes())["outcome"] for file in there.glob("**/*oracle*/*/cell.json")
    ]
    assert outcomes == ["passed", "passed"]

    (there / "site/index.html").write_text(PAGE.replace("sold ", "sold  "))
    (there / "cases/shop_checks/deep.py").unlink()
    write(there, {"cases/more.yaml": CASES})
    cell = next(there.glob("autoweb-report/cells/buy-tea/*oracle*/*/cell.json"))
    other = json.loads(cell.read_bytes())
    other["checksums"]["checks"] = "0" * 64
    cell.write_text(json.dumps(other))
    said = autoweb(there, "check", ".", "--run", "autoweb-report", code=1)
    lines = said.splitlines()
    assert "changed  site/index.html" in lines
    assert "missing  cases/shop_checks/deep.py" in lines
    assert "added    cases/more.yaml" in lines
    assert "changed  cases/shop.yaml, buy-tea: checks" in lines
    assert "every file" not in said


@pytest.mark.long
def test_what_cannot_be_packed_is_told_at_once_with_a_way_out(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    write(tmp_path, {"elsewhere/price.txt": "1"})
    write(
        root,
        {
            "cases/more.yaml": """
version: 1
webserver: {command: "{python} serve.py {port}"}
cases:
  - id: signed-in
    entry_url: "{{ webserver.url }}"
    user_task: Look.
    files: [../../elsewhere/price.txt]
    setup: {storage_state: auth.json}
    expect: [{text: Hello}]
""",
            "cases/auth.json": '{"cookies": [], "origins": []}',
            "site/a.js": "const key = 'sk-abcdefghijklmnopqrstuvwx'",
            "site/b.txt": "the pin is 4821-8830-7719",
            "serve.py": "",
        },
    )
    pin = "4821-8830-7719"

    said = autoweb(root, "cases", "-o", "out.zip", code=4, pin=pin)

    for sentence in (
        "cases/more.yaml: its web server is a program ({python} serve.py {port})",
        "price.txt lies outside of",
        "auth.json is a storage state, which holds a login",
        "site/a.js, line 1 holds a secret, or what looks like a key",
        "site/b.txt, line 1 holds a secret",
    ):
        assert sentence in said
    assert pin not in said
    assert not (root / "out.zip").exists()
    (root / "cases/more.yaml").write_text(
        (root / "cases/more.yaml")
        .read_text()
        .replace("    files: [../../elsewhere/price.txt]\n", "")
    )
    (root / "site/b.txt").unlink()
    said = autoweb(
        root,
        *("cases", "-o", "out", "--include", "serve.py", "--leave-out", "cases/auth.json"),
        *("--not-secret", "site/a.js", "--needs", "log in once"),
        pin=pin,
    )
    assert "needs file: cases/auth.json" in said
    assert not (root / "out/cases/auth.json").exists()
    assert (root / "out/serve.py").is_file()
    assert "there already" in autoweb(root, "cases", "-o", "out", code=4, pin=pin)


def test_an_archive_that_leads_elsewhere_is_not_a_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def verified(name: str, files: dict[str, str]) -> str:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for path, text in files.items():
                archive.writestr(path, text)
        assert main(["benchmark", "check", str(tmp_path / name)]) == 4
        return capsys.readouterr().err

    assert "lead elsewhere" in verified("a.zip", {"../x": "", "benchmark.json": "{}"})
    assert "lead elsewhere" in verified("b.zip", {"/etc/x": "", "benchmark.json": "{}"})
    assert "it has no benchmark.json" in verified("c.zip", {"x": ""})
    assert "newer pytest-autoweb" in verified("d.zip", {"benchmark.json": '{"schema_version": 9}'})
    assert "cannot be read" in verified("e.zip", {"benchmark.json": "[" * 100_000})
    (tmp_path / "f.zip").write_text("no archive")
    assert main(["benchmark", "check", str(tmp_path / "f.zip")]) == 4
    assert "cannot be read as a benchmark" in capsys.readouterr().err


CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: buy
    matrix: {item: [tea, cake]}
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Buy {{ matrix.item }}."
    secrets: {pin: {env: SHOP_PIN, default: demo}}
    expect:
      - python: shop_checks.words:says
        with: {item: "{{ matrix.item }}"}
    oracle: page.get_by_role("button", name="{{ matrix.item }}").click()
"""
ROLES = {
    "BENCHMARK.md": "guide",
    "cases/shop.yaml": "cases",
    "cases/shop_checks/__init__.py": "check",
    "cases/shop_checks/deep.py": "check",
    "cases/shop_checks/words.py": "check",
    "conftest.py": "hooks",
    "project_words.py": "hooks",
    "pytest.ini": "settings",
    "site/index.html": "pages",
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def shop(root: Path) -> Path:
    """A project with a check of its own, which imports its neighbours, and a conftest."""
    write(
        root,
        {
            "cases/shop.yaml": CASES,
            "cases/shop_checks/__init__.py": "",
            "cases/shop_checks/words.py": "from .deep import SOLD\ndef says(context, item):\n"
            "    return f'{SOLD} {item}' in context.text()\n",
            "cases/shop_checks/deep.py": "SOLD = 'sold'\n",
            "cases/unused.py": "",
            "conftest.py": "import project_words\n",
            "project_words.py": "",
            "site/index.html": PAGE,
            "site/.env": "TOKEN=1",
            "pytest.ini": "[pytest]\nautoweb_check_timeout = 2\nautoweb_max_cost = 5\n"
            "autoweb_models = openai/mine\n",
        },
    )
    return root


def autoweb(root: Path, *words: str, code: int = 0, pin: str = "") -> str:
    action = ("check",) if words[:1] == ("check",) else ("pack", *words[:1])
    done = subprocess.run(
        [*autoweb_command(), "benchmark", *action, *words[1:]],
        cwd=root,
        env={**os.environ, "SHOP_PIN": pin},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr
