"""The recipe of an image and the jobs for Kubernetes: checked, and run as Kubernetes would."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from session_server import autoweb_command, python_command

FOLDER = Path(__file__).parents[2] / "templates" / "kubernetes"
pytestmark = [
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the tests of the wheel run without it"),
    pytest.mark.skipif(sys.platform == "win32", reason="the jobs are for a shell of Linux"),
]


@pytest.mark.journeys
def test_shards_of_the_job_survive_a_lost_pod_and_are_merged(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    oracle = {"AUTOWEB_MODELS": "builtin/oracle", "SHARDS": "2"}
    lost = cluster.run("autoweb-shards", JOB_COMPLETION_INDEX="0", **oracle)
    again = cluster.run("autoweb-shards", JOB_COMPLETION_INDEX="0", **oracle)

    assert lost.returncode == 137
    assert again.returncode == 0, again.stdout + again.stderr
    assert "1 of its 3 cells have ended" in again.stdout

    early = cluster.run("autoweb-merge")
    second = cluster.run("autoweb-shards", JOB_COMPLETION_INDEX="1", **oracle)
    merged = cluster.run("autoweb-merge")

    assert early.returncode == 1, "a shard is missing"
    assert (second.returncode, merged.returncode) == (0, 0), merged.stdout + merged.stderr
    (report,) = cluster.runs.glob("*/merged/report.json")
    outcomes = [
        c["outcome"] for case in json.loads(report.read_text())["cases"] for c in case["cells"]
    ]
    assert outcomes == ["passed"] * 5

    wrong = cluster.run(
        "autoweb-shards",
        JOB_COMPLETION_INDEX="0",
        **{**oracle, "RUN": "wrong", "CASES": "no-cases"},
    )
    (rule,) = (one for one in fail_rules() if one["action"] == "FailJob")
    assert wrong.returncode in rule["onExitCodes"]["values"]


def fail_rules() -> list[dict[str, Any]]:
    (job,) = (one for one in documents() if one["metadata"]["name"] == "autoweb-shards")
    return list(job["spec"]["podFailurePolicy"]["rules"])


def test_kubernetes_would_take_the_jobs() -> None:
    jobs = {one["metadata"]["name"]: one for one in documents()}
    shards = jobs["autoweb-shards"]["spec"]
    environ = {e["name"]: e["value"] for e in container_of("autoweb-shards")["env"]}

    assert str(shards["completions"]) == environ["SHARDS"]
    assert all(isinstance(value, str) for value in environ.values())
    claims = [
        volume["persistentVolumeClaim"]["claimName"]
        for name in ("autoweb-shards", "autoweb-merge")
        for volume in jobs[name]["spec"]["template"]["spec"]["volumes"]
    ]
    assert set(claims) == {"autoweb-runs"}
    merge = {e["name"]: e["value"] for e in container_of("autoweb-merge")["env"]}
    assert {name: merge[name] for name in ("RUN", "RUNS")} == {
        name: environ[name] for name in ("RUN", "RUNS")
    }

    schemas = pytest.importorskip("kubernetes_validate", reason="its schemas take 22 MB")
    for found in documents():
        schemas.validate(found, "1.33", strict=True)


def instructions() -> list[tuple[str, str]]:
    """The instructions of the recipe, each with its text in one line."""
    text = (FOLDER / "Containerfile").read_text(encoding="utf-8")
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = plain.replace("\\\n", " ")
    return [
        (word, " ".join(rest.split()) if word != "RUN" else rest)
        for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())
    ]


@pytest.mark.skipif(not shutil.which("sh"), reason="the steps are written for a shell")
@pytest.mark.long
def test_each_line_of_the_recipe_is_what_it_says(tmp_path: Path) -> None:
    """Programs that need root or a network are noted, the others run."""
    lines = instructions()
    assert [word for word, _ in lines] == [
        *("ARG", "FROM", "RUN", "ARG", "WORKDIR", "COPY", "RUN", "RUN", "USER", "RUN", "CMD")
    ]
    runs = [rest for word, rest in lines if word == "RUN"]
    log, programs = tmp_path / "log", tmp_path / "bin"
    programs.mkdir()
    note = f"printf '%s\\n' \"$(basename $0) $*\" >>{shlex.quote(str(log))}\n"
    real = f'exec {shlex.quote(sys.executable)} "$@"\n'
    pip = f'if [ "$1 $2" = "-m pip" ]; then {note.strip()}; else {real.strip()}; fi\n'
    scripts = {
        "python3": pip,
        **dict.fromkeys(("apt-get", "rm", "useradd", "mkdir", "chown"), note),
    }
    for name, script in scripts.items():
        (programs / name).write_text("#!/bin/sh\n" + script, encoding="utf-8")
        (programs / name).chmod(0o755)
    environ = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PACKAGE": "it"}
    for command in runs:
        ran = subprocess.run(
            ["sh", "-c", command], env=environ, cwd=tmp_path, capture_output=True, text=True
        )
        assert ran.returncode == 0, (command, ran.stderr)

    called = log.read_text(encoding="utf-8").splitlines()
    assert called[1].startswith(
        "apt-get install -y --no-install-recommends chromium-headless-shell"
    )
    assert "python3 -m pip install --no-cache-dir it" in called
    setup = (FOLDER.parents[1] / "scripts" / "setup").read_text(encoding="utf-8")
    installed = {*called[1].split()[4:]} - {"libatomic1"}
    assert installed <= {*re.findall(r"[a-z-]+", setup)}, "as `make setup` installs"
    user = next(rest for word, rest in lines if word == "USER")
    ids = {c["spec"]["template"]["spec"]["securityContext"]["runAsUser"] for c in documents()[1:]}
    assert {int(user)} == ids
    assert f"--uid {user}" in runs[2]


CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: tea
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Order tea."
    matrix: {n: [1, 2, 3, 4, 5]}
    expect: [{text: "Ordered"}]
    oracle: |
      # Step 1
      page.get_by_role("button", name="Order").click()
"""
PAGE = "<button onclick=\"document.body.append('Ordered')\">Order</button>"
# The pod is lost after its first cell, as on a node that loses its power.
LOST = """
import os
def pytest_autoweb_cell_finished(result):
    if not os.path.exists("was-lost"):
        open("was-lost", "w").close()
        os._exit(137)
"""


def documents() -> list[dict[str, Any]]:
    texts = [(FOLDER / name).read_text(encoding="utf-8") for name in ("job.yaml", "merge.yaml")]
    return [found for text in texts for found in yaml.safe_load_all(text)]


def container_of(job: str) -> dict[str, Any]:
    (found,) = (one for one in documents() if one["metadata"]["name"] == job)
    (container,) = found["spec"]["template"]["spec"]["containers"]
    return dict(container)


class Cluster:
    """Runs the container of a job in a project, with the environment that Kubernetes would set."""

    def __init__(self, folder: Path) -> None:
        self.project, self.runs = folder / "project", folder / "runs"
        (self.project / "cases").mkdir(parents=True)
        (self.project / "site").mkdir()
        (self.project / "cases" / "tea.yaml").write_text(CASES, encoding="utf-8")
        (self.project / "site" / "index.html").write_text(PAGE, encoding="utf-8")
        (self.project / "conftest.py").write_text(LOST, encoding="utf-8")
        self._programs = folder / "bin"
        self._programs.mkdir()
        self._add("python3", python_command())
        self._add("autoweb", autoweb_command())

    def _add(self, name: str, command: tuple[str, ...]) -> None:
        program = self._programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        program.chmod(0o755)

    def run(self, job: str, **changed: str) -> subprocess.CompletedProcess[str]:
        container = container_of(job)
        given = {one["name"]: one["value"] for one in container["env"]}
        environ = {n: v for n, v in os.environ.items() if not n.startswith("AUTOWEB_")}
        addopts = "-p no:anyio -p no:hypothesispytest -p no:schemathesis"
        path = f"{self._programs}{os.pathsep}{os.environ['PATH']}"
        environ |= given | {"RUNS": str(self.runs), "PYTEST_ADDOPTS": addopts, "PATH": path}
        return subprocess.run(
            [*container["command"], *container["args"]],
            cwd=self.project, env={**environ, **changed},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
