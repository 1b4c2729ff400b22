"""The action for GitHub and the component for GitLab: their steps, run here as a runner runs them.

Programs that would reach a network (pip, Playwright's installer, gh, curl) are replaced by one that
writes down how it was called; pytest, autoweb, bash and jq are the real ones.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from session_server import autoweb_command, python_command

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
COMPONENT = ROOT / "templates" / "cells" / "template.yml"
PAGE = "<button onclick=\"document.body.append('Ordered')\">Order</button>"

pytestmark = [
    pytest.mark.skipif(not ACTION.is_file(), reason="the tests of the wheel run without it"),
    pytest.mark.skipif(not shutil.which("bash"), reason="the steps are written for bash"),
]


@pytest.mark.journeys
@pytest.mark.skipif(not shutil.which("jq"), reason="GitHub's machines have jq")
def test_the_action_installs_runs_comments_uploads_and_then_fails_by_the_gate(
    machine: Machine,
) -> None:
    inputs = {"models": "builtin/oracle", "args": "-q -k tea;touch${IFS}hostile"}
    job = Job(machine, inputs, PULL)
    job.run()

    assert not (machine.project / "hostile").exists()
    assert job.done == ["Install", "Install the browser", "Run", "Upload", "Gate"]
    assert job.values["steps.run.outputs.status"] == "4"

    # The same without the mistake; somebody has commented already, and so has the job.
    job = Job(machine, {"models": "builtin/oracle", "browser": "false"}, PULL)
    job.run()
    assert (job.failed, job.done) == (False, ["Install", "Run", "Comment", "Upload", "Gate"])
    body = (machine.log.parent / "comment.md").read_text(encoding="utf-8")
    assert machine.calls()[-1].startswith("gh api repos/tea/shop/issues/7/comments -F body=@")
    assert "https://github.example/tea/shop/actions/runs/99" in body
    comments = [
        {"id": 5, "user": {"login": "mallory"}, "body": body},
        {"id": 6, "user": {"login": "github-actions[bot]"}, "body": body},
    ]
    machine.found.write_text(json.dumps(comments), encoding="utf-8")

    # A gate that fails: everything is written before the job turns red.
    inputs = {"models": "builtin/oracle", "args": "-q --autoweb-check-timeout=1"}
    page = machine.project / "site" / "index.html"
    page.write_text(PAGE.replace("Ordered", "Sold out"), encoding="utf-8")
    job = Job(machine, {**inputs, "compare-fail": "pass_rate:5%"}, PULL)
    job.run()
    assert job.failed
    assert job.done == [
        *("Install", "Install the browser", "Fetch the saved runs"),
        *("Run", "Comment", "Upload", "Gate"),
    ]
    assert "--method PATCH repos/tea/shop/issues/comments/6 " in machine.calls()[-1]
    assert (machine.project / "autoweb-report" / "index.html").is_file()
    assert machine.calls()[:2] == [
        "python -m pip install pytest-autoweb",
        "python -m playwright install --with-deps chromium",
    ]


@pytest.mark.long
def test_on_the_main_branch_the_action_keeps_the_run_and_writes_no_comment(
    machine: Machine,
) -> None:
    job = Job(machine, {"models": "builtin/oracle", "compare-fail": "cost:20%"}, PUSH)
    job.run()

    assert not job.failed, job.said
    assert "Keep the saved runs" in job.done
    assert "Comment" not in job.done
    assert len(list((machine.project / ".autoweb").glob("*.json"))) == 1


def component(inputs: dict[str, str]) -> dict[str, Any]:
    """The one job of the component, with its inputs put in as GitLab does."""
    head, body = COMPONENT.read_text(encoding="utf-8").split("\n---\n")
    about = yaml.safe_load(head)["spec"]["inputs"]
    values = {name: str(field["default"]) for name, field in about.items()} | inputs
    text = re.sub(
        r"\$\[\[ inputs\.([a-z-]+) \]\]",
        lambda found: {"True": "true", "False": "false"}.get(values[found[1]], values[found[1]]),
        body,
    )
    (job,) = yaml.safe_load(text).values()
    return dict(job)


@pytest.mark.journeys
def test_the_component_installs_runs_gates_comments_and_keeps_the_report(machine: Machine) -> None:
    gitlab = {
        "CI_API_V4_URL": "https://gitlab.example/api/v4",
        "CI_COMMIT_BRANCH": "main",
        "CI_DEFAULT_BRANCH": "main",
        "CI_JOB_NAME": "autoweb",
        "CI_JOB_URL": "https://gitlab.example/job/1",
        "CI_MERGE_REQUEST_IID": "3",
        "CI_PROJECT_ID": "8",
        "NOTES_TOKEN": "token",
    }
    job = component({"models": "builtin/oracle", "compare-fail": "pass_rate:5%"})
    settings = {**gitlab, **{name: str(value) for name, value in job["variables"].items()}}

    lines = "\n".join([*job["before_script"], *job["script"]])
    ran = machine.run(lines, settings, "-eo pipefail")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    after = machine.run("\n".join(job["after_script"]), settings, "-eo pipefail")

    assert after.returncode == 0, after.stderr
    assert [call.split(" -H ")[0] for call in machine.calls()] == [
        "python -m pip install pytest-autoweb",
        "python -m playwright install --with-deps chromium",
        *("curl -sf", "curl -sf"),
    ]
    assert machine.calls()[-1].endswith(
        "-X POST " + "https://gitlab.example/api/v4/projects/8/merge_requests/3/notes"
    )
    assert len(list((machine.project / ".autoweb").glob("*.json"))) == 1
    for kept in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
        assert (machine.project / kept).exists()

    # A case that cannot pass: the exit code of pytest is that of the job.
    page = machine.project / "site" / "index.html"
    page.write_text("<p>Closed</p>", encoding="utf-8")
    quick = settings | {"AUTOWEB_STEP_TIMEOUT": "1"}
    assert machine.run(lines, quick, "-eo pipefail").returncode == 1


@pytest.mark.parametrize("name", ["ci", "release"])
def test_a_workflow_runs_only_pinned_actions_and_may_do_little(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    used = re.findall(r"uses: (\S+)(.*)", text)

    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+(\.\d+)+", comment), action
    assert workflow["permissions"] == {}
    assert all("permissions" in job and "timeout-minutes" in job for job in ci_jobs(workflow))


def ci_jobs(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    """The jobs but the last of a release, which waits for people."""
    return [job for job in workflow["jobs"].values() if "environment" not in job]


def test_the_lock_holds_each_declared_package_with_a_checksum_and_names_no_index() -> None:
    lock = (ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *(n for e in ("dev", "demo", "local") for n in extras[e])]
    names = {re.split(r"[^A-Za-z0-9-]", name)[0].lower() for name in declared}

    locked = re.findall(r"^([a-z0-9.-]+)(?:\[[^]]*\])?==\S+.*\\\n    --hash=", lock, re.MULTILINE)
    assert names - {"pytest-autoweb", "types-pyyaml"} <= set(locked)
    assert "://" not in lock


def test_the_workflow_that_releases_holds_no_key_and_signs() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    publish = workflow["jobs"]["publish"]

    assert workflow["permissions"] == {}
    assert "secrets." not in text
    assert publish["permissions"]["id-token"] == "write"
    used = " ".join(step.get("uses", "") for step in publish["steps"])
    for action in ("attest-build-provenance", "gh-action-pypi-publish", "gh-action-sigstore"):
        assert action in used


CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: tea
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Order tea."
    expect: [{text: "Ordered"}]
    oracle: |
      # Step 1
      page.get_by_role("button", name="Order").click()
"""


class Machine:
    """A runner: a project, a folder of programs, and a log of what would have left the machine."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        (self.project / "cases").mkdir(parents=True)
        (self.project / "site").mkdir()
        (self.project / "cases" / "tea.yaml").write_text(CASES, encoding="utf-8")
        (self.project / "site" / "index.html").write_text(PAGE, encoding="utf-8")
        self.log = folder / "log"
        self.log.touch()
        self.found = folder / "found.json"
        self.found.write_text("[]", encoding="utf-8")
        self.programs = folder / "bin"
        self.programs.mkdir()
        note = f"printf '%s\\n' \"$(basename $0) $*\" >>{shlex.quote(str(self.log))}"
        real = shlex.join(python_command())
        self._add(
            "python",
            f'case "$1 $2" in "-m pip" | "-m playwright") {note} ;; *) exec {real} "$@" ;; esac',
        )
        self._add("autoweb", f'exec {shlex.join(autoweb_command())} "$@"')
        answer = f'case "$*" in *--paginate* | *per_page*) cat {self.found} ;; esac'
        self._add("gh", f"{note}\n{answer}")
        self._add("curl", f"{note}\n{answer}")

    def _add(self, name: str, script: str) -> None:
        program = self.programs / name
        program.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    def run(
        self, script: str, variables: dict[str, str], flags: str
    ) -> subprocess.CompletedProcess[str]:
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("AUTOWEB_", "GITHUB_"))}
        env = {
            **kept,
            "AUTOWEB_CHECK_TIMEOUT": "1",
            "PYTEST_ADDOPTS": "-p no:anyio -p no:hypothesispytest -p no:schemathesis",
            **variables,
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", *flags.split(), "-c", script],
            cwd=self.project,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def calls(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


class Job:
    """The steps of the action, with GitHub's expressions filled in from a table."""

    def __init__(self, machine: Machine, inputs: dict[str, str], event: dict[str, str]) -> None:
        self.action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
        defaults = {name: about["default"] for name, about in self.action["inputs"].items()}
        assert set(inputs) <= set(defaults)
        self.machine = machine
        self.values = {f"inputs.{name}": value for name, value in {**defaults, **inputs}.items()}
        self.values |= event
        self.done: list[str] = []
        self.failed = False
        self.said = ""

    def expression(self, text: str) -> str:
        """The value of an expression: names, strings, numbers, ==, !=, <, && and always()."""
        if text.strip() in self.values:
            return str(self.values[text.strip()])
        python = re.sub(
            r"'[^']*'|[a-z][\w.-]*(?:\(\))?",
            lambda found: (
                found[0] if found[0][0] == "'" else repr(self.values.get(found[0], "unknown!"))
            ),
            text.replace("always()", "'true'"),
        ).replace("&&", " and ")
        assert "unknown!" not in python, f"{text} names what no runner has"
        python = re.sub(r"('\d+') < (\d)", r"int(\1) < \2", python)
        return str(bool(eval(python))).lower()

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(self.expression(found[1])), text)

    def run(self) -> None:
        output = self.machine.log.with_name("output")
        output.touch()
        runner = {
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REPOSITORY": self.values["github.repository"],
            "RUNNER_TEMP": str(output.parent),
        }
        for step in self.action["runs"]["steps"]:
            if self.failed and step.get("if") != "always()":
                continue
            if "if" in step and self.expression(step["if"]) != "true":
                continue
            self.done.append(step["name"])
            if "run" not in step:
                continue
            assert "${{" not in step["run"], "an input could become a command"
            assert step["shell"] == "bash"
            env = {name: self.filled(value) for name, value in step.get("env", {}).items()}
            ended = self.machine.run(step["run"], {**runner, **env}, "-eo pipefail")
            self.said += ended.stdout + ended.stderr
            self.failed |= ended.returncode != 0
            for name, _, value in (s.partition("=") for s in output.read_text().splitlines()):
                self.values[f"steps.{step.get('id')}.outputs.{name}"] = value
            output.write_text("")


PULL = {
    "github.event_name": "pull_request",
    "github.event.number": "7",
    "github.event.repository.default_branch": "main",
    "github.ref_name": "7/merge",
    "github.repository": "tea/shop",
    "github.run_attempt": "1",
    "github.run_id": "99",
    "github.server_url": "https://github.example",
    "github.token": "token",
}
PUSH = {**PULL, "github.event_name": "push", "github.ref_name": "main"}
