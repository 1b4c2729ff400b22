"""`autoweb init`: from an empty folder to a proven case."""

import ast
import html
import os
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from own_thread import in_own_thread
from session_server import autoweb_command
from shop_project import LEAN

from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.cli.commands.init import CONTROLS, add_job, add_setting, ignore_runs

LINKED = (
    '<h1>Shop</h1><a href="https://elsewhere.example/">Partners</a>'
    '<a href="cart.html">Cart</a><a href="cart.html">Cart</a>'
    '<a href="gone.html" onclick="return false">Stays</a><a href="prices.html">Prices</a>'
)


def init(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return autoweb(root, "init", *arguments)


def autoweb(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [*autoweb_command(), *arguments]
    return subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "PYTEST_ADDOPTS": LEAN},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.long
def test_a_folder_becomes_a_project_with_a_proven_case_and_a_second_time_changes_nothing(
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(LINKED)
    (site / "prices.html").write_text("<h1>Prices</h1>")
    everything = ("--static", "site", "index.html", "--ci", "gitlab", "--skill", ".claude/skills")
    ran = init(tmp_path, *everything)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Proven" in ran.stdout
    assert "1 passed, 1 xfailed" in ran.stdout
    case = yaml.safe_load((tmp_path / "cases/first.yaml").read_text())["cases"][0]
    # The link that leaves the site, the one that is there twice and the dead one are of no use.
    assert case["expect"] == [{"url": "**/prices.html"}]
    assert "Prices" in case["user_task"]

    skill = tmp_path / ".claude/skills/pytest-autoweb/SKILL.md"
    assert skill.read_text().startswith("---\nname: pytest-autoweb\n")

    # What was run can be run again by its name alone.
    named = ("first[builtin/oracle]", "--", "--collect-only", "-q")
    rerun = autoweb(tmp_path, "run", "rerun", *named)
    assert rerun.returncode == 0, rerun.stderr
    assert "cases/first.yaml::first[builtin/oracle]\n\n1 test collected" in rerun.stdout

    files = [file for file in tmp_path.rglob("*") if file.is_file() and "report" not in str(file)]
    before = {
        file: file.read_text() for file in files if file.suffix in (".yaml", ".toml", ".yml", ".md")
    }
    (tmp_path / "cases/first.yaml").write_text(
        (tmp_path / "cases/first.yaml").read_text().replace("**/prices.html", "**/nowhere.html")
    )
    again = init(tmp_path, *everything)
    assert again.returncode == 1
    assert "not proven" in again.stdout
    assert again.stdout.count("kept") == 5
    del before[tmp_path / "cases/first.yaml"]
    assert {file: file.read_text() for file in before} == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name the page to start on"),
        (("shop.example",), "is not an http or https URL"),
        (("--static", "nowhere"), "nowhere is not a folder"),
        (("--command", "npm start", "/"), "{port}"),
        (("--static", ".", "http://shop.example/"), "name a path"),
        (("http://127.0.0.1:1/",), "cannot be opened"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_leaves_no_file(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    ran = init(tmp_path, *arguments)
    assert ran.returncode == 4
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not any(file.is_file() for file in tmp_path.rglob("*"))


def test_settings_that_exist_keep_their_values_and_comments(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.pytest.ini_options]  # ours\ntestpaths = ["tests"]\n\n[tool.x]\ny = 1\n')
    add_setting(tmp_path, "cases")
    text = file.read_text()
    settings = tomllib.loads(text)["tool"]
    assert settings["pytest"]["ini_options"] == {
        "testpaths": ["tests", "cases"],
        "autoweb_models": CONTROLS,
    }
    assert settings["x"] == {"y": 1}
    assert "# ours" in text
    file.write_text('[tool.pytest.ini_options]\nautoweb_models = "openai/gpt-5-mini"\n')
    add_setting(tmp_path, "cases")
    assert "gpt-5-mini" in file.read_text()
    assert CONTROLS not in file.read_text()


def test_where_pytest_reads_another_file_that_one_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tox.ini").write_text("[pytest]\naddopts = -q\n")
    add_setting(tmp_path, "cases")
    assert not (tmp_path / "pyproject.toml").exists()
    assert "tox.ini" in capsys.readouterr().out


def test_lines_and_jobs_are_added_once(tmp_path: Path) -> None:
    file = tmp_path / ".gitignore"
    file.write_text(".venv/")
    ignore_runs(file)
    ignore_runs(file)
    assert file.read_text().splitlines()[:2] == [".venv/", "autoweb-report/"]
    assert file.read_text().count("autoweb-report/") == 1
    add_job(tmp_path, "github", "e2e")
    job = yaml.safe_load((tmp_path / ".github/workflows/autoweb.yml").read_text())
    assert {"run": "pytest e2e"} in job["jobs"]["cases"]["steps"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("a", "{{ 7*7 }}"),
        ("h1", "{{ vars.missing }}"),
        ("a", "{% if 1 %} {# a }}{{ b"),
        ("h1", "{% if 1 %} {# a }}{{ b"),
        ("a", 'a"b\\c \U0001f6d2 \u6f22'),
        ("h1", 'a"b\\c \U0001f6d2 \u6f22'),
        ("a", "<secret:pw> and more"),
    ],
)
def test_what_a_page_says_is_no_expression_of_the_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = SimpleNamespace(run=lambda *_, **__: SimpleNamespace(returncode=0))
    monkeypatch.setattr("pytest_autoweb.cli.commands.init.subprocess", ended)
    (tmp_path / "site").mkdir()
    link = "<a href=b.html>Plain</a>" if "secret" in name else ""
    page = f"<meta charset=utf-8><{tag} href=b.html>{html.escape(name)}</{tag}>{link}"
    (tmp_path / "site/index.html").write_text(page, encoding="utf-8")
    (tmp_path / "site/b.html").write_text("b")

    assert in_own_thread(main, ["init", "--static", "site", "index.html"]) == 0

    (loaded,) = load_case_file(tmp_path / "cases/first.yaml")
    case = loaded.resolve(ServerHandle(url="http://x.invalid/", data=tmp_path))
    wanted = "Plain" if link else name
    if tag == "a" or link:
        assert case.user_task == f"Follow the link \u201c{wanted}\u201d."
        (call,) = ast.parse(case.oracle or "").body
        texts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
        assert wanted in texts
    else:
        (check,) = case.expect
        assert check.model_dump(exclude_unset=True)["answer"] == {"equals": wanted}
