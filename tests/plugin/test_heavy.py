"""Whatever a page or its code throws at the test process: the next cell passes.

A sample runs with the other tests. All probes, bare and with workers, take many minutes; they are
marked `probes` and run by `make probes`.
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from attacks.heavy import (
    ARGUMENTS,
    BUSY,
    FRAMES,
    PATTERNS,
    PROBES,
    RESULTS,
    SHAPES,
    TALK,
    TRAFFIC,
    Probe,
)

from pytest_autoweb.browser.egress.browser_watch import CALL_S


def test_the_corpus_is_large_enough() -> None:
    assert len(PROBES) >= 80
    assert len({probe.name for probe in PROBES}) == len(PROBES)
    assert sum(map(len, KINDS.values())) == len(PROBES)
    assert all(len(SAMPLE & {probe.name for probe in kind}) == 1 for kind in KINDS.values())


@pytest.fixture
def heavy(project: pytest.Pytester) -> pytest.Pytester:
    """The project without its ordinary cases."""
    (project.path / "cases/shop.yaml").unlink()
    return project


def wrong(heavy: pytest.Pytester, probes: Sequence[Probe], *flags: str) -> list[str]:
    """What went wrong in a session of these probes; each half is a file, so a worker's own."""
    half = len(probes) // 2
    files = {"first": probes[:half], "second": probes[half:]}
    for file, some in files.items():
        write_cases(heavy, file, some)
    cells = ran(heavy, *flags)
    return [c for file, some in files.items() for c in complaints(cells, file, some)]


BESIDE = ("-n", "2", "--dist", "loadfile")
"""Beside a probe, the cells of another worker are in flight."""

IN_FLIGHT = ("--autoweb-concurrency=16",)
"""In the same browser as a probe, and in the same process, other cells are in flight."""

SOME_IN_FLIGHT = ("--autoweb-concurrency=4",)
"""So many that a machine which runs other tests beside this one still answers in time."""


@pytest.mark.long
def test_a_probe_of_each_kind_costs_itself_alone(heavy: pytest.Pytester) -> None:
    probes = [probe for probe in PROBES if probe.name in SAMPLE]
    assert len(probes) == len(SAMPLE)

    assert wrong(heavy, probes, *BESIDE, *SOME_IN_FLIGHT) == []


KINDS = {
    "talk": TALK,
    "traffic": TRAFFIC,
    "shapes": SHAPES,
    "frames": FRAMES,
    "busy": BUSY,
    "results": RESULTS,
    "arguments": ARGUMENTS,
    "patterns": PATTERNS,
}


@pytest.mark.probes
@pytest.mark.parametrize("flags", [(), BESIDE, IN_FLIGHT], ids=["bare", "n2", "flight"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_probe_costs_itself_alone(
    heavy: pytest.Pytester, kind: str, flags: tuple[str, ...]
) -> None:
    assert wrong(heavy, KINDS[kind], *flags) == []


PAGE = """<!doctype html><title>Shop</title><h1>Shop</h1><input><select><option>a</select>
<script>addEventListener('load', () => {{ {} }})</script>"""
STEPS_S = 4
"""What the steps of a probe may take."""
MOST_S = 2 * CALL_S + 30
"""What a probe may cost: twice, because its attempt may be made again, the longest call that the
watch lets wait, and what is looked at afterwards."""
LOOK = "page.locator('h1').count()"
SAMPLE = {
    "console flood",
    "POST megabytes",
    "deep document",
    "large frame text",
    "a large alert",
    "a large list",
    "a repetition in a title",
    "a script without an end",
}
"""One probe of each kind."""
VICTIM = "answer(page.get_by_role('heading').inner_text())"


def write_cases(project: pytest.Pytester, file: str, probes: Sequence[Probe]) -> None:
    """Each probe with a page of its own, and behind it a cell like any other."""
    cases: list[dict[str, Any]] = []
    for number, probe in enumerate(probes):
        page = f"{file}-{number}.html"
        (project.path / "site" / page).write_text(PAGE.format(probe.page), encoding="utf-8")
        code = f"{probe.code or LOOK}\nanswer('done')"
        probed = _case(f"probe-{file}-{number}", page, code, "done")
        cases.append(probed | {"timeout": STEPS_S})
        cases.append(_case(f"victim-{file}-{number}", "calm.html", VICTIM, "Shop"))
    (project.path / "site/calm.html").write_text(PAGE.format(""), encoding="utf-8")
    text = json.dumps({"version": 1, "webserver": {"static": "../site"}, "cases": cases})
    (project.path / f"cases/{file}.yaml").write_text(text, encoding="utf-8")


def _case(name: str, page: str, code: str, answer: str) -> dict[str, Any]:
    return {
        "id": name,
        "entry_url": "{{ webserver.url }}" + page,
        "user_task": "Do it.",
        "expect": [{"answer": {"equals": answer}}],
        "oracle": f"# Step 1\n{code}",
    }


def ran(project: pytest.Pytester, *flags: str) -> dict[str, dict[str, Any]]:
    """The cells of a session, by the ids of their cases."""
    result = project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle", *flags)
    report = json.loads((project.path / "autoweb-report/report.json").read_text(encoding="utf-8"))
    assert "INTERNALERROR" not in result.stdout.str()
    assert result.parseoutcomes().get("errors", 0) == 0
    return {
        case["id"]: cell for case in report["cases"] for cell in case["cells"] if case["id"] != "x"
    }


def complaints(cells: dict[str, dict[str, Any]], file: str, probes: Sequence[Probe]) -> list[str]:
    """What went wrong with which probe."""
    found = []
    for number, probe in enumerate(probes):
        cell, victim = cells[f"probe-{file}-{number}"], cells[f"victim-{file}-{number}"]
        failure = cell["failure"] or {}
        said = f"{probe.name}: {cell['outcome']}, {failure.get('rule')}, {cell['reason']}"
        if victim["outcome"] != "passed" or victim["attempts"][0]["rerun_because"]:
            found.append(f"{said}: the next one: {victim['outcome']}, {victim['reason']}")
        if probe.rule and failure.get("rule") != probe.rule:
            found.append(f"{said}: not refused by {probe.rule}")
        if cell["outcome"] == "broken" and not probe.may_break:
            found.append(said)
        if cell["duration_ms"] > MOST_S * 1000:
            found.append(f"{said}: {cell['duration_ms'] / 1000:.0f} s")
    return found
