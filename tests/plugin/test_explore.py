"""`autoweb explore`: of the cases that a model proposes, only those that are proven are written."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from openai_server import Answer, OpenAIServer, Seen
from session_server import autoweb_command

from pytest_autoweb.cases.file_formats import Unreadable
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cli import main
from pytest_autoweb.verify.proposed_cases import CaseFileForm, cases_in, check_with_loader

APP = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ORDERS = Path(sys.argv[2], "orders")
PAGE = '''<h1>Shop</h1><label>Item <input id="item"></label><p id="out"></p>
<button onclick="fetch('/order', {method: 'POST', body: item.value})
  .then(reply => out.textContent = reply.ok ? 'Thank you' : 'Sorry')">Order</button>
<a href="/logout">Log out</a> <a href="/prices">Prices</a> <a href="//example.com/">Away</a>'''

class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/logout":
            raise SystemExit("nobody should come here")
        pages = {"/prices": "<h1>Prices</h1><p>Tea 3 EUR</p>", "/": PAGE}
        orders = ORDERS.read_text() if ORDERS.exists() else "none"
        self.reply(pages.get(self.path, orders))
    def do_POST(self):
        item = self.rfile.read(int(self.headers["content-length"])).decode()
        with ORDERS.open("a") as stream:
            stream.write(item + ";")
        self.reply("ordered")
    def reply(self, text):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())
    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
"""
LEAN = "-p no:anyio -p no:hypothesispytest -p no:schemathesis"
"""Plugins of the developers' environment, whose imports would double what a session costs."""
TRUE = """
- id: order tea
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


class Writer(OpenAIServer):
    """Knows only the pages that it is sent; one case is none until it is told so."""

    def answer(self, seen: Seen) -> tuple[Answer, bytes]:
        """Write three cases, and on the second call the one that is asked for again."""
        super().answer(seen)
        told = str(seen.body["messages"][-1]["content"])
        names = {
            "site": re.findall(r"PAGE (\S+)", told)[0],
            "field": re.findall(r'textbox "(.*?)"', told)[0],
            "button": re.findall(r'button "(.*?)"', told)[0],
        }
        again = "cannot be used" in told
        cases = WRONG if again else TRUE + NOTICES_NOTHING + WRONG
        text = cases.format(**names, more="" if again else ', {python: "os:abort"}')
        answer = Answer(f"<think>hm</think>Here they are:\n```yaml\n{text}\n```")
        return answer, answer.body("writer")


@pytest.mark.long
def test_of_three_proposals_the_proven_one_is_written_and_the_others_are_refused_with_a_reason(
    tmp_path: Path,
) -> None:
    (tmp_path / "app.py").write_text(APP)
    with Writer() as server:
        (tmp_path / "pyproject.toml").write_text(
            f'[tool.autoweb.models."openai/writer"]\napi_base = "{server.api_base}"\n'
            "input_cost_per_mtok = 100000\noutput_cost_per_mtok = 100000\n"
            f"[tool.pytest.ini_options]\nautoweb_check_timeout = '0.3'\naddopts = '-x {LEAN}'\n"
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
    assert "order-tea" not in second

    document = json.loads(ran.stdout)
    assert document["format"] == "pytest-autoweb/exploration"
    told = {case["case_id"]: case for case in document["cases"]}
    assert {name: case["state"] for name, case in told.items()} == {
        "order-tea": "kept",
        "look": "refused",
        "coffee": "refused",
    }
    assert told["look"]["reason"] == "doing nothing passes every check"
    assert "the oracle does not pass" in told["coffee"]["reason"]
    noticed = {one["name"]: one["noticed_by"] for one in told["order-tea"]["proof"]["changes"]}
    assert noticed["POST /order suppressed"] == [0, 1]
    assert document["usage"]["calls"] == 2
    assert document["usage"]["cost_usd"] == pytest.approx(2 * 1.8)
    assert "[1/3] order-tea: POST /order suppressed: failed" not in ran.stdout
    assert "kept: the checks notice" in ran.stderr

    written = tmp_path / "cases/explored.yaml"
    (case,) = load_case_file(written)
    assert (case.id, case.has_oracle) == ("order-tea", True)
    assert "127.0.0.1" not in written.read_text()
    assert sorted(file.name for file in (tmp_path / "no").iterdir()) == ["coffee.yaml", "look.yaml"]
    assert (tmp_path / "autoweb-explore/order-tea/mutants/index.html").is_file()


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
