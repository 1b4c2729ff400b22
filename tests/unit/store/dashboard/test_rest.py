"""REST has the promised field names, fractions with what they are of, and null for no data."""

import html
import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from dashboard_server import holder
from made_up_runs import attempt, save, tried

from pytest_autoweb.store.dashboard import app
from pytest_autoweb.store.database import Store, read_address
from pytest_autoweb.store.sync import sync_run


def test_the_overview_counts_calls_and_corrections(client: httpx.Client) -> None:
    told = client.get("/api/calibration/dashboard").json()
    kinds = [(one["failureType"], one["webKind"], one["count"]) for one in told["topFailureTypes"]]
    names = [tool["toolName"] for tool in told["toolReliabilityRanking"]]

    assert (told["totalToolCalls"], told["duplicateCalls"], told["failedCalls"]) == (4, 1, 1)
    assert (told["duplicateRate"], told["failureRate"]) == (0.25, 0.25)
    assert (told["correctedCalls"], told["correctionSuccessRate"]) == (1, 1.0)
    assert kinds == [("PARAMETER_ERROR", "strict_mode", 1)]
    assert names == ["locator.click", "locator.fill"]


def test_a_tool_is_told_with_the_promised_names(client: httpx.Client) -> None:
    told = client.get("/api/calibration/tool/locator.fill/stats").json()

    assert {name: told[name] for name in ("toolName", "totalCalls", "successRate")} == {
        "toolName": "locator.fill",
        "totalCalls": 2,
        "successRate": 0.5,
    }
    assert (told["avgExecutionTime"], told["correctionSuccessRate"]) == (10.0, 1.0)
    assert told["lastFailureType"] == "PARAMETER_ERROR"
    assert client.get("/api/calibration/tool/locator.none/stats").status_code == 404


@pytest.mark.parametrize(
    ("message", "failure_type", "recoverable"),
    [
        ("strict mode violation: resolved to 2 elements", "PARAMETER_ERROR", True),
        ("您没有权限执行此操作", "PERMISSION_ERROR", False),
    ],
)
def test_a_failure_is_analysed_in_both_languages(
    client: httpx.Client, message: str, failure_type: str, recoverable: bool
) -> None:
    asked = {"errorType": "Error", "errorMessage": message, "toolName": "locator.click"}
    told = client.post("/api/calibration/analyze", json=asked).json()

    assert (told["failureType"], told["recoverable"]) == (failure_type, recoverable)
    assert message in told["recoveryPrompt"]
    assert told["suggestions"]
    assert "press" in told["alternatives"]


def test_a_failed_call_is_looked_up_in_the_records(client: httpx.Client) -> None:
    asked = {
        "toolName": "locator.fill",
        "params": {"target": "page.get_by_role('button')"},
        "error": "Timeout 5000ms exceeded.",
    }
    known = client.post("/api/calibration/verify", json=asked).json()
    elsewhere = client.post(
        "/api/calibration/verify", json={**asked, "factoryId": "0" * 32, "toolName": "locator.fil"}
    ).json()

    assert known["hasData"] is True
    assert known["contextInfo"]["sameToolSuccessRate"] == 0.5
    assert elsewhere["hasData"] is False
    assert elsewhere["contextInfo"]["sameCallSuccessRate"] is None
    assert elsewhere["suggestion"] == (
        f"The store has no run '{'0' * 32}', so nothing is known about calls in it. "
        "No such tool was ever called; did you mean locator.fill?"
    )


def test_a_call_without_parameters_is_every_call_of_its_tool(client: httpx.Client) -> None:
    told = client.post("/api/calibration/verify", json={"toolName": "locator.fill"}).json()

    assert told["hasData"] is True
    assert told["suggestion"] == "No parameters were given: 1 of 2 calls of this tool worked."


def test_the_calibration_answers_at_the_address_that_other_programs_know(
    client: httpx.Client,
) -> None:
    before, now = "/api/mobile/ai/calibration", "/api/calibration"
    failure = {"errorType": "Error", "errorMessage": "批次不存在", "toolName": "locator.click"}
    asked = {
        "toolName": "locator.fill",
        "params": {"target": 'page.get_by_role("button")', "arguments": "'a\0b'"},
    }

    for address in ("/dashboard?days=7", "/tool/locator.fill/stats"):
        assert client.get(before + address).json() == client.get(now + address).json()
    for address, body in (("/analyze", failure), ("/verify", asked)):
        told = client.post(before + address, json=body)
        assert told.status_code == 200
        assert told.json() == client.post(now + address, json=body).json()
    assert told.json()["hasData"] is True


def test_the_seeds_body_is_taken_and_what_is_not_known_is_said(client: httpx.Client) -> None:
    asked = {
        "factoryId": "F001",
        "toolName": "locator.fill",
        "params": {"batchNumber": "MB-001", "page": 1, "target": "page.get_by_role('button')"},
        "error": "批次不存在",
    }
    told = client.post("/api/calibration/verify", json=asked).json()
    here = client.post("/api/calibration/verify", json={**asked, "factoryId": ""}).json()

    assert (told["hasData"], told["contextInfo"]["sameCall"]) == (False, 0)
    assert told["contextInfo"]["failureType"] == "DATA_NOT_FOUND"
    assert told["contextInfo"]["unknown"] == [
        "The store has no run 'F001', so nothing is known about calls in it.",
        "The records do not have the parameters 'batchNumber', 'page', only 'target' and "
        "'arguments', so they were not compared.",
    ]
    assert told["suggestion"].startswith("The store has no run 'F001'")
    assert "ever called" not in told["suggestion"]
    assert here["hasData"] is False
    assert "worked before" not in here["suggestion"]
    assert len(here["contextInfo"]["unknown"]) == 1


def test_causes_of_cells_are_told_apart_from_symptoms_of_calls_and_agree_everywhere(
    full: Store,
) -> None:
    with holder(full) as client:
        overview = client.get("/api/calibration/dashboard?days=90").json()
        points = client.get("/api/trends?days=90").json()
        runs = client.get("/api/runs").json()
        page = client.get("/").text

    causes: dict[str, int] = {}
    for one in overview["topFailureCauses"]:
        causes[one["failureType"]] = causes.get(one["failureType"], 0) + one["count"]
    assert causes
    assert sum(causes.values()) == overview["failedCells"]
    for told in (points, runs):
        summed: dict[str, int] = {}
        for one in told:
            for name, count in one["failureTypes"].items():
                summed[name] = summed.get(name, 0) + count
        assert summed == causes
    assert "Why cells fail" in page
    assert "How calls fail" in page


def test_a_rate_of_nothing_is_null_and_never_0_or_1(tmp_path: Path) -> None:
    with Store(read_address(f"sqlite:///{tmp_path}/none.db")) as store, holder(store) as client:
        told = client.get("/api/calibration/dashboard").json()

        assert [told[name] for name in told if name.endswith("Rate")] == [None] * 3
        assert client.get("/api/trends").json() == []
        assert "The store holds no runs yet" in client.get("/").text


def test_a_run_leads_to_its_cells_and_these_to_their_calls(client: httpx.Client) -> None:
    (run,) = client.get("/api/runs").json()
    detail = client.get(f"/api/runs/{run['id']}").json()
    healed = next(cell for cell in detail["cells"] if cell["outcome"] == "healed")
    cell = client.get(f"/api/cells/{healed['id']}").json()
    first, second = cell["attempts"]
    (point,) = client.get("/api/trends").json()

    assert (run["cells"], run["passed"], run["models"]) == (2, 2, ["m"])
    assert [row["result"]["ok"] for row in first["tool_calls"]] == [False]
    assert second["correction"]["tool_call_id"] == first["tool_calls"][0]["id"]
    assert cell["report"].startswith(f"/runs/{run['id']}/report#two/")
    assert (point["passRate"], point["afterRepairRate"], point["cases"]) == (0.5, 1.0, 2)
    assert point["costUsd"] == pytest.approx(0.03)
    assert client.get(f"/api/cells/{'0' * 32}").status_code == 404


def test_a_large_run_is_shown_in_pages(tmp_path: Path) -> None:
    passed = attempt(1, [], True)
    folder = save(tmp_path / "run", [tried(f"case-{n:03}", "m", passed) for n in range(501)])
    with Store(read_address(f"sqlite:///{tmp_path}/runs.db")) as store:
        run = sync_run(store, folder).run_id
        with holder(store) as client:
            first, second = (client.get(f"/runs/{run}?offset={at}").text for at in (0, 500))
            whole = client.get(f"/api/runs/{run}").json()

    assert "Cells 1 to 500 of 501." in first
    assert (first.count("case-"), second.count("case-")) == (500, 1)
    assert f'href="/runs/{run}?offset=500"' in first
    assert "Cells 501 to 501 of 501." in second
    assert f'href="/runs/{run}?offset=0"' in second
    assert len(whole["cells"]) == 501


def test_the_overview_says_that_a_model_has_more_runs_and_leads_to_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOST", "POINTS"):
        monkeypatch.setattr(app, name, 2)
    model, began = "lab/a&b", datetime.now(UTC)
    cell = tried("one", model, attempt(1, [], True))
    with Store(read_address(f"sqlite:///{tmp_path}/runs.db")) as store:
        runs = [
            sync_run(store, save(tmp_path / f"{n}", [cell], day=n, started=began)).run_id
            for n in range(3)
        ]
        with holder(store) as client:
            home = client.get("/?days=7").text
            (link,) = re.findall(r'href="(/trends[^"]*)">All 3 runs<', home)
            first = client.get(html.unescape(link)).text
            (older,) = re.findall(r'href="(/trends[^"]*)">Older runs<', first)
            second = client.get(html.unescape(older)).text

    # Runs of the same moment are in the order of their ids.
    newest, *rest = sorted(runs, reverse=True)
    assert "Numbers of the newest 2 of 3 runs" in home
    numbers = home.partition("<details>")[2].partition("</details>")[0]
    shown = [re.findall(r'href="/runs/(\w+)"', text) for text in (numbers, first, second)]
    assert shown == [[newest, rest[0]], [newest, rest[0]], [rest[1]]]
    assert "<h1>lab/a&amp;b</h1>" in second


def test_a_lost_store_is_said_as_such(tmp_path: Path) -> None:
    (tmp_path / "none.db").mkdir()
    with Store(read_address(f"sqlite:///{tmp_path}/none.db")) as store, holder(store) as client:
        answer = client.get("/api/runs")

    assert answer.status_code == 503
    assert "unable to open database file" in answer.json()["detail"]
