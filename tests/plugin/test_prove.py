"""`autoweb prove`: what the checks of a case notice, and what they do not."""

import json
import re
import subprocess
from pathlib import Path
from shutil import copy

import pytest
from order_shop import PROGRAM
from session_server import autoweb_command
from shop_project import LEAN

from pytest_autoweb.cell.mutants import parts_of
from pytest_autoweb.cli.case_proofs import proof_lines
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.tools.verify.prove_cases import CaseProof, ChangeResult, each_has_own_state

CASES = """
version: 1
webserver: {command: "{python} app.py {port} {data}", reset: restart}
defaults: {entry_url: "{{ webserver.url }}"}
cases:
  - id: strong
    user_task: "Order tea, and add a gift."
    expect:
      - text: Thank you
      - http: {url: "{{ webserver.url }}orders", contains: "tea;gift;"}
      - request: {url: "**/order", method: POST, contains: tea}
    oracle: |
      # Step 1: the tea
      page.get_by_label("Item").fill("tea")
      page.get_by_role("button").click()
      expect(page.get_by_text("Thank you")).to_be_visible()
      # Step 2: the gift
      page.request.post("{{ webserver.url }}order", data="gift")
  - id: trusting
    user_task: "Order."
    expect: [{text: Thank you}]
    oracle: |
      # Step 1
      page.get_by_role("button").click()
      expect(page.get_by_text("Thank you")).to_be_visible()
  - id: flaky
    user_task: "Is the number of visits to /luck odd?"
    expect: [{answer: {equals: odd}}]
    # Only the oracle comes there: the other controls may be played between its plays.
    oracle: |
      page.goto("{{ webserver.url }}luck")
      answer(page.locator("body").inner_text())
  - id: bare
    user_task: "Look."
    expect: [{text: Thank you}]
"""


@pytest.mark.long
def test_each_case_is_proven_or_named_with_what_its_checks_do_not_notice(tmp_path: Path) -> None:
    copy(PROGRAM, tmp_path / "app.py")
    (tmp_path / "cases.yaml").write_text(CASES)
    (tmp_path / "tox.ini").write_text(
        f"[pytest]\nautoweb_check_timeout = 0.3\nautoweb_max_steps = 2\naddopts = -q -x {LEAN}\n"
    )
    command = [*autoweb_command(), "prove", "cases.yaml", "--json"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ran.returncode == 1, ran.stderr
    assert "strong: the oracle, time 3: passed" in ran.stderr
    assert "trusting: POST /order suppressed: passed" in ran.stderr
    # One counter for the controls and the changes, with several plays at once.
    counted = re.findall(r"^\[(.*?)\] ", ran.stderr, re.MULTILINE)
    assert re.fullmatch(r"1 of at least 34 done, \d running, at least \d+ \w+ left", counted[0])
    assert re.fullmatch(r"38 of 39 done, \d running, about \d+ s left", counted[-2])
    assert counted[-1] == "39 of 39 done, 0 running"
    assert any(" 2 running" in one or " 3 running" in one for one in counted)
    document = json.loads(ran.stdout)
    assert document["format"] == "pytest-autoweb/proof"
    told = {case["case_id"]: case for case in document["cases"]}
    assert {name: case["verdict"] for name, case in told.items()} == {
        "strong": "proven",
        "trusting": "blind",
        "flaky": "refused",
        "bare": "no oracle",
    }
    assert "it passed 2 of 3 times" in told["flaky"]["reason"]
    assert "no `oracle`" in told["bare"]["reason"]
    noticed = {change["name"]: change["noticed_by"] for change in told["strong"]["changes"]}
    # The page thanks for what never arrived; the server and the record of requests know better.
    assert noticed == {
        "doing nothing": [0, 1, 2],
        "without step 1: the tea": [0, 1, 2],
        "without step 2: the gift": [1],
        "POST /order suppressed": [1, 2],
        "POST /order (2) suppressed": [1],
    }
    *_, suppressed = told["trusting"]["changes"]
    assert suppressed["state"] == "unnoticed"
    assert (tmp_path / "autoweb-proof" / suppressed["folder"] / "cell.json").is_file()


def test_what_does_not_exist_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", str(tmp_path / "none.yaml::login")]) == 4
    assert "there is no case file or folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("server", "own"),
    [
        ("{static: site}", True),
        ("{command: ./serve, reset: restart}", True),
        ("{command: ./serve}", False),
        ("{running: true, url: 'http://127.0.0.1:9/', reset: {url: '{{ webserver.url }}'}}", True),
    ],
)
def test_plays_share_the_time_only_where_each_has_its_own_state(
    server: str, own: bool, tmp_path: Path
) -> None:
    (tmp_path / "cases.yaml").write_text(
        f"version: 1\nwebserver: {server}\n"
        'cases: [{id: a, entry_url: "{{ webserver.url }}", user_task: Look., expect: [{text: a}]}]'
    )

    assert each_has_own_state((str(tmp_path),)) is own
    assert each_has_own_state((f"{tmp_path}/cases.yaml::a",)) is own


def test_no_play_at_all_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "cases.yaml", "-n", "0"]) == 4
    assert "-n must be 1 or more" in capsys.readouterr().err


def test_the_table_says_what_notices_what_and_what_to_do() -> None:
    changes = (
        ChangeResult(name="doing nothing", state="noticed", noticed_by=(1,)),
        ChangeResult(name="POST /save suppressed", state="unnoticed"),
        ChangeResult(name="POST /log suppressed", state="not tried", why="it did not come again"),
    )
    proof = CaseProof(
        case_id="save",
        case_path="cases/a.yaml",
        verdict="blind",
        reason="the checks notice none of 1 change",
        checks=("url", "text"),
        changes=changes,
    )

    assert list(proof_lines(proof)) == [
        "save (cases/a.yaml) BLIND: the checks notice none of 1 change",
        "                         1 url  2 text",
        "  doing nothing          ·      notices",
        "  POST /save suppressed  ·      ·        NOT NOTICED",
        "  POST /log suppressed                   not tried: it did not come again",
        "  check 1 (url) notices none of these",
        "  Add a check of what the request changes (sql, http, file) or of the request itself; if "
        "it decides nothing, name its address with --ignore.",
        "",
    ]


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("# Step 1: a\nf()\n# Step 2\nexpect(x).to_be_visible()\n# Step 3\ng()",
         ["step 1: a", "step 3: g()"]),
        ("# Step 1\npage.wait_for_url('x')\nrow = f()\nrow.click()\nfor a in b:\n    a.click()",
         ["line 4: row.click()", "line 5: for a in b:"]),
        ("page.get_by_role('button').click()\nlog('done')", []),
    ],
)  # fmt: skip
def test_what_only_looks_is_not_left_out(script: str, names: list[str]) -> None:
    assert [part.name for part in parts_of(script)] == names
