"""What is written for coding agents: the skill, followed to the letter, and llms.txt."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from session_server import autoweb_command
from walkthrough import blocks, environment, follow

from pytest_autoweb.cli.command_line import COMMANDS

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "pytest-autoweb" / "SKILL.md"
LLMS = ROOT / "llms.txt"
INI = (
    "[pytest]\nautoweb_check_timeout = 1\nautoweb_max_steps = 2\n"
    "addopts = -p no:anyio -p no:hypothesispytest -p no:schemathesis\n"
)

pytestmark = pytest.mark.skipif(
    not LLMS.is_file(), reason="the tests of the wheel run without the whole checkout"
)


@pytest.mark.long
def test_an_agent_that_does_what_the_skill_says_gets_from_nothing_to_a_proven_case(
    tmp_path: Path,
) -> None:
    # Checks that fail wait less long for what never comes; everything else is as for anybody.
    (tmp_path / "pytest.ini").write_text(INI, encoding="utf-8")
    done = [block.order for block in blocks(SKILL.read_text(encoding="utf-8"))]
    for block in blocks(SKILL.read_text(encoding="utf-8")):
        follow(block, tmp_path)

    # First a check that proves nothing, and how that shows; then a better one.
    assert done == ["Write", "Write", "Run", "Change", "Run", "Run", "Run"]
    # An agent reads documents and not lines: the proof is one, and so is the run.
    command = [*autoweb_command(), "run", "show", "--json"]
    printed = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=True
    ).stdout
    outcomes = {cell["cell"]: cell["outcome"] for cell in json.loads(printed)["cells"]}
    assert outcomes == {"add-tea[builtin/oracle]": "passed", "add-tea[builtin/noop]": "failed"}


def test_the_skill_has_the_head_that_agents_look_for() -> None:
    _, head, body = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    fields = yaml.safe_load(head)

    assert set(fields) == {"name", "description"}
    assert fields["name"] == SKILL.parent.name
    assert len(fields["description"]) <= 1024
    assert len(body.splitlines()) < 200


def test_every_command_that_agents_are_told_of_exists() -> None:
    told = SKILL.read_text(encoding="utf-8") + LLMS.read_text(encoding="utf-8")
    named = set(re.findall(r"autoweb ((?:(?:run|benchmark|db|debug) )?[a-z][a-z-]+)", told))
    named -= {"when"}

    assert named <= set(COMMANDS)
    assert {"prove", "run rerun", "run trace", "run compare", "models", "debug prompts"} <= named


def test_llms_txt_has_its_form_and_every_page() -> None:
    text = LLMS.read_text(encoding="utf-8")
    head, *sections = text.split("\n## ")

    assert re.match(r"# pytest-autoweb\n\n> [^\n]+\n\n", head)
    assert "#" not in head.removeprefix("#")
    assert sections[-1].startswith("Optional\n")
    for section in sections:
        title, _, links = section.partition("\n\n")
        assert title
        assert [
            line for line in links.splitlines() if not re.match(r"- \[[^]]+\]\(\S+\)", line)
        ] == []
    linked = re.findall(r"\]\((\S+?)\)", text)
    assert [path for path in linked if not (ROOT / path).is_file()] == []
    assert len(linked) == len(set(linked))
    pages = {page.relative_to(ROOT).as_posix() for page in ROOT.glob("docs/*.md")}
    assert pages - set(linked) == set()
