"""`autoweb explore`: of the cases that a model proposes, only those that are proven are written."""

import json
import os
import re
import subprocess
from pathlib import Path
from shutil import copy

import pytest
from openai_server import Answer, OpenAIServer, Seen
from order_shop import PROGRAM
from session_server import autoweb_command
from shop_project import LEAN

from pytest_autoweb.base.documents.readers import Unreadable
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.tools.verify.proposed_cases import CaseFileForm, cases_in, check_with_loader

TRUE = """
- id: look
  entry_url: {site}
  user_task: "Order tea."
  expect:
    - http: {{url: "{site}orders", contains: "tea;"}}
    - request: {{method: POST, url: "**/order", contains: tea}}
  oracle: |
    page.get_by_label("{field}").fill("tea")
    page.get_by_role("button", name="{button}").click()
    expect(page.get_by_text("Thank you")).to_be_visible()
"""
NOTICES_NOTHING = """
- id: look
  user_task: "Look at the shop."
  expect: [{{text: Shop}}]
  oracle: 'page.get_by_role("heading").click()'
"""
WRONG = """
- id: coffee
  user_task: "Order coffee."
  expect: [{{text: "Coffee for you"}}{more}]
  oracle: |
    page.get_by_label("{field}").fill("coffee")
    page.get_by_role("button", name="{button}").click()
"""


class ProposingModel(OpenAIServer):
    """Knows only the pages that it is sent; what it writes first is worth little."""

    def answer(self, seen: Seen) -> tuple[Answer, bytes]:
        """Write two cases, and on the second call both of them again, one of them well."""
        super().answer(seen)
        told = str(seen.body["messages"][-1]["content"])
        names = {
            "site": re.findall(r"PAGE (\S+)", told)[0],
            "field": re.findall(r'textbox "(.*?)"', told)[0],
            "button": re.findall(r'button "(.*?)"', told)[0],
        }
        again = "cannot be used" in told
        cases = TRUE + WRONG if again else NOTICES_NOTHING + WRONG
        text = cases.format(**names, more="" if again else ', {python: "os:abort"}')
        answer = Answer(f"<think>hm</think>Here they are:\n```yaml\n{text}\n```")
        return answer, answer.body("writer")


@pytest.mark.long
def test_what_is_refused_goes_back_with_its_reason_and_is_written_once_it_is_proven(
    tmp_path: Path,
) -> None:
    copy(PROGRAM, tmp_path / "app.py")
    with ProposingModel() as server:
        (tmp_path / "pyproject.toml").write_text(
            f'[tool.autoweb.models."openai/writer"]\napi_base = "{server.api_base}"\n'
            "input_cost_per_mtok = 100000\noutput_cost_per_mtok = 100000\n"
            "[tool.pytest.ini_options]\nautoweb_check_timeout = '0.3'\nautoweb_max_steps = '2'\n"
            f"addopts = '-x {LEAN}'\n"
        )
        flags = ("--model=openai/writer", "--keep-refused=no", "--pages=3", "--json")
        started = "--command={python} app.py {port} {data}"
        ran = subprocess.run(
            [*autoweb_command(), "explore", started, *flags],
            cwd=tmp_path,
            env={**os.environ, "OPENAI_API_KEY": "sk-test-0123456789abcdef"},
            capture_output=True,
            text=True,
            check=False,
        )
        first, second = (str(seen.body["messages"][-1]["content"]) for seen in server.requests)

    assert ran.returncode == 0, ran.stderr
    assert "Tea 3 EUR" in first
    assert "/logout" not in "".join(re.findall(r"PAGE \S+", first))
    assert "python: the checks are url, text" in second
    assert "doing nothing passes every check" in second
    assert "asking openai/writer to correct what was refused" in ran.stderr

    document = json.loads(ran.stdout)
    assert document["format"] == "pytest-autoweb/exploration"
    told = {case["case_id"]: case for case in document["cases"]}
    assert {name: case["state"] for name, case in told.items()} == {
        "look": "kept",
        "coffee": "refused",
    }
    assert "the oracle does not pass" in told["coffee"]["reason"]
    noticed = {one["name"]: one["noticed_by"] for one in told["look"]["proof"]["changes"]}
    assert noticed["POST /order suppressed"] == [0, 1]
    assert document["usage"]["calls"] == 2
    assert document["usage"]["cost_usd"] == pytest.approx(2 * 1.8)
    assert "look: POST /order suppressed: failed" in ran.stderr
    assert "look: kept: the checks notice" in ran.stderr

    written = tmp_path / "cases/explored.yaml"
    (case,) = load_case_file(written)
    assert (case.id, case.has_oracle) == ("look", True)
    assert "127.0.0.1" not in written.read_text()
    assert sorted(file.name for file in (tmp_path / "no").iterdir()) == ["coffee.yaml"]
    assert (tmp_path / "autoweb-explore/round-2/mutants/index.html").is_file()


@pytest.mark.long
def test_a_client_of_the_conftest_is_asked(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("<title>Shop</title><h1>Shop</h1>")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {LEAN}\n")
    (tmp_path / "conftest.py").write_text(
        "from pytest_autoweb import Reply\n"
        "class Shy:\n"
        "    def complete(self, request):\n"
        "        return Reply(text='I would rather not.')\n"
        "def pytest_autoweb_client(spec):\n"
        "    return Shy() if spec.name == 'fake/shy' else None\n"
    )
    command = [*autoweb_command(), "explore", "--static=site", "--model=fake/shy", "--rounds=1"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ran.returncode == 1, ran.stderr
    assert "the reply cannot be read" in ran.stdout


def test_a_file_that_exists_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("mine")
    for flag, said in (("-omine.yaml", "exists"), ("--cases=0", "--cases must be 1 or more")):
        assert main(["explore", "http://127.0.0.1:1/", "--model=openai/x", flag]) == 4
        assert said in capsys.readouterr().err
    assert (tmp_path / "mine.yaml").read_text() == "mine"


SOUND = {
    "id": "a",
    "user_task": "Do it.",
    "expect": [{"text": "Done"}],
    "oracle": 'page.get_by_text("Go").click()',
}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"secrets": {"key": {"env": "HOME"}}}, "fields that nobody asked for: ['secrets']"),
        ({"oracle": ""}, "has no oracle"),
        ({"oracle": "import os"}, "oracle: "),
        ({"entry_url": "https://evil.example/"}, "entry_url must be a page of"),
        ({"expect": [{"sql": {"url": "sqlite:///a", "query": "b"}}]}, "sql: the checks are"),
        ({"expect": [{"judge": {"rubric": "nice"}}]}, "judge: the checks are"),
        ({"expect": [{"http": {"url": "http://169.254.169.254/"}}]}, "http: asks for an address"),
        ({"expect": [{"http": {"url": "/a", "method": "DELETE"}}]}, "http: asks for an address"),
        ({"user_task": "{{ secrets.a }}"}, "stand for expressions"),
        ({"expect": "Done"}, "must be a list of checks"),
        ({"expect": [{"text": "a", "colour": 1}]}, "the checks are"),
    ],
)
def test_what_a_proposal_may_hold(change: dict[str, object], why: str, tmp_path: Path) -> None:
    form = CaseFileForm("", "http://127.0.0.1:5000/shop", {})
    case = check_with_loader(form.proposed({**SOUND, **change}, ["a"]), form, tmp_path / "x.yaml")

    assert case.id == "a-2"
    assert why in case.problem
    assert bool(case.problem) == bool(why)


@pytest.mark.parametrize(
    "reply",
    [
        "```json\n[{\"id\": \"a\"}]\n```",
        "Sure:\n~~~yaml\ncases:\n  - id: a\n~~~\nGood luck!",
        "- id: a",
        "<think>```yaml\n- id: b\n```</think>\n```\nuser_task: x\nid: a\n```",
    ],
)  # fmt: skip
def test_cases_are_read_from_yaml_and_json_with_or_without_a_fence(reply: str) -> None:
    (case,) = cases_in(reply)

    assert isinstance(case, dict)
    assert case["id"] == "a"


@pytest.mark.parametrize("reply", ["", "I cannot.", "```yaml\n- [\n```", "- &a x\n- *a"])
def test_a_reply_without_cases_says_so(reply: str) -> None:
    with pytest.raises(Unreadable):
        cases_in(reply)
