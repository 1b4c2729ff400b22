"""Shards from collection to the merged report."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.cli.command_line import main

MODELS = "--autoweb-models=builtin/oracle,builtin/noop"


def collected(project: pytest.Pytester, *flags: str) -> set[str]:
    result = project.runpytest("cases", MODELS, "--collect-only", "-q", *flags)
    return {line for line in result.outlines if "::" in line}


def report_of(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def verdicts(report: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (case["id"], cell["model"]): cell["outcome"]
        for case in report["cases"]
        for cell in case["cells"]
    }


def test_every_cell_is_in_one_shard_and_stays_there_whatever_else_selects(
    project: pytest.Pytester,
) -> None:
    every = collected(project, "--autoweb-repeat=3")
    shards = [
        collected(project, "--autoweb-repeat=3", f"--autoweb-shard={number}/5")
        for number in range(1, 6)
    ]
    some = collected(project, "--autoweb-repeat=3", "--autoweb-shard=2/5", "-k", "oracle")

    assert sorted(map(len, shards)) == [2, 2, 2, 3, 3]
    assert set.union(*shards) == every
    assert some == {nodeid for nodeid in shards[1] if "oracle" in nodeid}
    result = project.runpytest("cases", MODELS, "--collect-only", "--autoweb-shard=1/2")
    result.stdout.fnmatch_lines(["*2/4 tests collected (2 deselected)*"])


@pytest.mark.long
def test_shards_are_packed_and_merged_into_the_report_of_the_whole_run(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    # The second shard ends early and goes on with workers.
    for number, flags, counts in (
        (1, ("--autoweb-report=shard",), {"passed": 1, "xfailed": 1}),
        (2, ("--autoweb-report=shard", "-k", "oracle"), {"passed": 1, "deselected": 3}),
        (2, ("--autoweb-resume=shard", "-n", "2"), {"passed": 1, "xfailed": 1}),
    ):
        result = project.runpytest_subprocess(
            "cases", MODELS, f"--autoweb-shard={number}/2", *flags
        )
        result.assert_outcomes(**counts)
        result.stdout.re_match_lines([rf"autoweb: packed as .*report-.*-{number}-of-2\.zip.*"])
    capsys.readouterr()

    blobs = project.path / "autoweb-blobs"
    code = main(["run", "merge", str(blobs), "--output", "merged", "--require-complete"])

    report = report_of(project.path / "merged")
    assert code == 0, capsys.readouterr().out
    (note,) = report["notes"]
    assert note.startswith("shard 2 of 2: resumed on ")
    assert note.endswith(": kept the results of 1, ran 1 (had not run)")
    assert report["settings"]["shard"] == {"value": None, "source": "default"}
    assert verdicts(report) == {
        ("login", "builtin/oracle"): "passed",
        ("login", "builtin/noop"): "failed",
        ("title", "builtin/oracle"): "passed",
        ("title", "builtin/noop"): "failed",
    }
    assert [case["id"] for case in report["cases"]] == ["login", "title"]


def test_a_shard_without_cells_ends_well_and_counts_in_the_merge(
    project: pytest.Pytester,
) -> None:
    result = project.runpytest("cases", "--autoweb-models=builtin/oracle", "--autoweb-shard=3/3")
    assert result.ret == pytest.ExitCode.OK

    nothing = project.runpytest(
        "cases", "--autoweb-models=builtin/oracle", "--autoweb-shard=3/3", "-k", "no-such-case"
    )
    assert nothing.ret == pytest.ExitCode.NO_TESTS_COLLECTED

    (blob,) = (project.path / "autoweb-blobs").glob("report-*-3-of-3.zip")
    code = main(["run", "merge", str(blob), "--output", str(project.path / "merged")])
    assert code == 0
    notes = report_of(project.path / "merged")["notes"]
    assert notes[:2] == ["shard 1 of 3 is missing", "shard 2 of 3 is missing"]
    assert notes[2].startswith("2 of 2 cells without a result")
