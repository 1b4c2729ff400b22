"""`--json` of every reading command: it parses, it stands alone, and it says what the text says."""

import argparse
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from made_up_run import CellKey, cell, save_run
from openai_server import Answer, OpenAIServer
from session_server import autoweb_command
from shop_project import SharedProject

from pytest_autoweb.cli.command_line import build_parser
from pytest_autoweb.results.records import Attempt, CheckResult

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `autoweb (.+?)` \| `(.+?)` \| (.+) \|$", re.MULTILINE)
ROWS = ("agents", "calls", "cells", "comparisons", "controls", "embedded", "gates", "models")
"""What must not be empty, since an empty list says whatever one wants."""


class Reading(NamedTuple):
    """A command that reads, and what its text has of its JSON."""

    command: str
    arguments: tuple[str, ...]
    said: Callable[[dict[str, Any]], list[str]]
    code: int = 0


def in_summary(document: dict[str, Any]) -> list[str]:
    models = [row["model"] for row in document["summary"]["models"]]
    assert models
    return [*models, *([document["report"]] if "report" in document else [])]


def judged_again(cell: dict[str, Any]) -> str:
    assert cell["before"] == cell["after"]
    name = f"{cell['case_id']}[{cell['model']}-{cell['capture_mode']}-{cell['repeat']}]"
    return f"{name}: {cell['after']}"


READINGS = [
    Reading("agents list", (), lambda d: [agent["name"] for agent in d["agents"]]),
    Reading("run show", ("--no-open",), lambda d: [d["report"]]),
    Reading(
        "run analyze",
        ("made-up", "--model=openai/wise", "--only-print"),
        lambda d: [*in_summary(d), "of openai/wise", "longer"],
    ),
    Reading("run compare", ("made-up",), lambda d: [each["verdict"] for each in d["comparisons"]]),
    Reading(
        "benchmark check",
        ("packed",),
        lambda d: [d["manifest"]["digest"], *(each["where"] for each in d["differences"])],
        code=1,
    ),
    Reading(
        "run gate",
        ("made-up", "--min-pass-rate=50"),
        lambda d: [d["report"], *(text for g in d["gates"] for text in (g["name"], g["message"]))],
    ),
    Reading(
        "run labels",
        ("made-up", "--labels=labels.yaml"),
        lambda d: [f"{d['file']}: {d['entries']} entries", f"{d['waiting']} need a human verdict"],
    ),
    Reading(
        "debug locate",
        ("{page}", "the button", "--model=openai/eyes"),
        lambda d: [d["location"]["status"], d["location"]["element"], d["film"]],
    ),
    Reading("run merge", ("made-up", "--output=merged"), in_summary),
    Reading("models list", (), lambda d: [d["folder"], *(m["name"] for m in d["embedded"])]),
    Reading(
        "models check",
        ("openai/wise", "local/smollm2-135m"),
        lambda d: [
            *(f"{model['name']}: {model['detail']}" for model in d["models"]),
            *(row["value"] for model in d["models"] for row in model["settings"]),
        ],
        code=1,
    ),
    Reading(
        "debug prompts show",
        ("cases/shop.yaml::title", "openai/wise"),
        lambda d: (
            [message["content"] for call in d["calls"] for message in call["messages"]]
            + [f"{name} (version {of})" for name, of in d["prompt_versions"].items()]
        ),
    ),
    Reading("validate", ("cases", "broken.yaml"), lambda d: d["mistakes"], code=1),
    Reading("debug settings", (), lambda d: [setting["flag"] for setting in d["settings"]]),
    Reading(
        "run rejudge",
        ("autoweb-report", "--output=again"),
        lambda d: [d["report"], *map(judged_again, d["cells"])],
    ),
]


@pytest.mark.parametrize("reading", READINGS, ids=[each.command for each in READINGS])
def test_the_json_of_a_command_is_documented_and_says_what_its_text_says(
    ran: SharedProject, reading: Reading
) -> None:
    text, printed = read(ran, reading), read(ran, reading, "--json")

    assert printed.isascii()
    assert set(re.findall(r"[\x00-\x1f\x7f]", printed)) == {"\n"}
    document = json.loads(printed)
    kind, fields = documented()[reading.command]
    assert (document.pop("format"), document.pop("version")) == (f"pytest-autoweb/{kind}", 1)
    assert [name for name in document if f"`{name}`" not in fields] == []
    assert [name for name in ROWS if name in document and not document[name]] == []
    words = plain(text)
    assert [said for said in map(plain, reading.said(document)) if said not in words] == []


def plain(text: str) -> str:
    """The text in one line, without what differs each time: ports, and the names of fences."""
    return re.sub(r"(?<=127\.0\.0\.1):\d+| [0-9a-f]{8}(?=>>)", "", " ".join(text.split()))


def documented() -> dict[str, tuple[str, str]]:
    page = (ROOT / "docs/json.md").read_text(encoding="utf-8")
    return {command: (kind, fields) for command, kind, fields in ROW.findall(page)}


def test_every_command_that_has_the_flag_is_shown_here_and_documented() -> None:
    have = set(with_json(build_parser()))

    # They play or pack something themselves, so that their own tests read their documents.
    playing = {
        *("prove", "explore", "heal", "prove --quick", "run blame"),
        *("benchmark pack", "benchmark stress"),
    }
    assert playing | {reading.command for reading in READINGS} == set(documented())
    assert have | {"prove --quick"} == set(documented())


def with_json(parser: argparse.ArgumentParser, name: str = "") -> Iterator[str]:
    for action in parser._actions:
        if "--json" in action.option_strings:
            yield name
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield from with_json(below, f"{name} {word}".strip())


FOUND = '{"found": true, "v": "crossed", "h": "crossed", "mark": 1, "text": "Save"}'
HOSTILE = "wait \x1b[31m\x7f\x9b longer \u202e"
TALKATIVE = """
from pytest_autoweb import Gate, GateResult
print("a conftest talks")

def talks(context):
    print("a gate talks")
    yield GateResult(name="talks", passed=True, message="it talks")

def pytest_autoweb_register(registry):
    registry.add_gate(Gate(name="talks", summary="it talks", evaluate=talks))
"""


@pytest.fixture(scope="module")
def ran(shared_project: SharedProject) -> Iterator[SharedProject]:
    """A project with a run, a made-up run with a judge, and models that answer."""
    project = shared_project
    project.run("cases", "--autoweb-models=builtin/oracle,builtin/noop").assert_outcomes(
        passed=2, xfailed=2
    )
    pack = [*autoweb_command(), "benchmark", "pack", "cases", "-o", "packed"]
    subprocess.run(pack, cwd=project.path, check=True, capture_output=True)
    (project.path / "packed/conftest.py").write_text(TALKATIVE)
    (project.path / "conftest.py").write_text(TALKATIVE)
    (project.path / "one.html").write_text("<button>Save</button>")
    (project.path / "broken.yaml").write_text(
        "version: 1\ncases:\n- {id: a, entry_url: 'http://a.test/', user_tusk: b}\n"
    )
    judged = CheckResult(index=0, type="judge", passed=True, expected="rubric: a", actual="yes")
    attempts = (Attempt(attempt_index=1, checks=(judged,)),)
    cells = [cell(CellKey("a", model), attempts=attempts) for model in ("x/m", "x/n")]
    save_run(project.path / "made-up", cells)
    answers = {"wise": [Answer(HOSTILE)], "eyes": [Answer(FOUND)]}
    with OpenAIServer(by_model=answers) as server:
        settings = [
            f'[tool.autoweb.models."openai/{name}"]\napi_base = "{server.api_base}"\nvision = true'
            for name in answers
        ]
        (project.path / "pyproject.toml").write_text("\n".join(settings))
        yield project


def read(project: SharedProject, reading: Reading, *flags: str) -> str:
    page = (project.path / "one.html").as_uri()
    arguments = [text.replace("{page}", page) for text in reading.arguments]
    done = subprocess.run(
        [*autoweb_command(), *reading.command.split(), *arguments, *flags],
        cwd=project.path,
        env={
            **{name: value for name, value in os.environ.items() if "GITHUB" not in name},
            "OPENAI_API_KEY": "sk-test-0123456789abcdef",
            "AUTOWEB_MODELS_DIR": str(project.path / "weights"),
        },
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == reading.code, done.stdout + done.stderr
    assert "sk-test" not in done.stdout
    return done.stdout
