"""Copies of runs, merged, published or judged again: nothing in them is a page or a program."""

import json
from pathlib import Path

import pytest
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.judging.evidence.downloads import read_downloads
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.results.runs.saving import pack
from pytest_autoweb.tools.verify.rejudge import read_stored

HOSTILE = "<!doctype html><script>alert('stranger')</script>"
KEPT = {
    "cell.json", "started", "attempt-1/run.log", "attempt-1/final.html.txt", "attempt-1/wire.har",
    "attempt-1/script.py.txt", "attempt-1/step-1.png", "attempt-1/downloads.json",
    "attempt-1/downloads/1-page.svg.txt", "attempt-1/downloads/2-list.csv",
}  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n0000"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run folder with the files that a run makes, and with those of a stranger."""
    monkeypatch.chdir(tmp_path)
    key = CellKey("price", "a/x")
    evidence = {"dom": "attempt-1/final.html", "wire": "attempt-1/wire.har"}
    evidence["downloads"] = "attempt-1/downloads.json"
    done = Attempt(attempt_index=1, evidence=evidence)
    folder = save_run(tmp_path / "mine", [cell(key, attempts=(done,))])
    downloads = [
        {"name": name, "path": f"downloads/{name}", "size": 1, "sha256": "", "url": "",
         "problem": ""}
        for name in ("1-page.svg", "2-list.csv")
    ]  # fmt: skip
    own: dict[str, str | bytes] = {
        "started": "", "attempt-1/run.log": "<b>", "attempt-1/final.html": HOSTILE,
        "attempt-1/wire.har": "{}", "attempt-1/script.py": "page", "attempt-1/step-1.png": PNG,
        "attempt-1/downloads.json": json.dumps(downloads),
        "attempt-1/downloads/1-page.svg": HOSTILE,
        "attempt-1/downloads/2-list.csv": "a,b",
    }  # fmt: skip
    foreign: dict[str, str | bytes] = {
        "x.html": HOSTILE, "x.htm": HOSTILE, "attempt-1/x.svg": HOSTILE, "conftest.py": HOSTILE,
        "test_x.py": HOSTILE, "x.js": HOSTILE, "a.json": HOSTILE, "b.har": HOSTILE,
        "pic.png": HOSTILE, "pic.jpg": HOSTILE, "attempt-1/started": HOSTILE, "y.txt": b"\xff\xfe<",
        "no_suffix": HOSTILE, "x.xhtml": HOSTILE, "x.yaml": HOSTILE, "scalar.json": '"<b>"',
        "attempt-1/script.py.exe": HOSTILE, "t.zip": HOSTILE, "u.zip": b"PK\x03\x04" + b"<script>",
    }  # fmt: skip
    for name, content in (own | foreign).items():
        file = folder / key.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / key.folder / "link.txt").symlink_to("/etc/passwd")
    for name in ("index.html", "x.html", "conftest.py", "summary.md", "details/0.js"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(HOSTILE)
    return folder


def files(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def is_clean(folder: Path) -> bool:
    pages = [file for file in folder.rglob("*") if file.suffix != ".txt" and file.is_file()]
    return not any(b"alert('stranger')" in file.read_bytes() for file in pages)


def test_a_published_run_is_written_anew(run: Path, tmp_path: Path) -> None:
    assert main(["run", "publish", str(run), "-o", "site"]) == 0

    site = tmp_path / "site" / "runs" / "mine"
    assert is_clean(tmp_path / "site")
    assert files(site / CellKey("price", "a/x").folder) == KEPT
    assert {name for name in files(site) if "/" not in name} == {
        "index.html", "report.json", "report.full.sha256", "summary.md", "run.json",
        "manifest.json",
    }  # fmt: skip
    assert "pytest-autoweb" in (site / "index.html").read_text()


def test_a_merged_run_has_no_pages_of_others(run: Path, tmp_path: Path) -> None:
    pack(run, tmp_path / "blobs", ts="x", shard=(1, 1))
    for source, output in ((str(run), "one"), ("blobs", "two")):
        assert main(["run", "merge", source, "--output", output]) == 0
        assert is_clean(tmp_path / output)
        assert files(tmp_path / output / CellKey("price", "a/x").folder) == KEPT


def test_the_evidence_in_a_copy_is_still_found(run: Path, tmp_path: Path) -> None:
    assert main(["run", "publish", str(run), "-o", "site"]) == 0

    home = tmp_path / "site/runs/mine" / CellKey("price", "a/x").folder
    attempt = json.loads((home / "cell.json").read_text())["attempts"][0]
    assert read_stored(home, Attempt(**attempt)).page == HOSTILE
    listed = read_downloads((home / "attempt-1/downloads.json").read_text(), home / "attempt-1")
    assert [file.path.read_text() if file.path else None for file in listed] == [HOSTILE, "a,b"]


def test_a_run_judged_again_takes_over_no_pages(run: Path, tmp_path: Path) -> None:
    assert main(["run", "rejudge", str(run), "--output", "again"]) == 0
    assert is_clean(tmp_path / "again")


def test_a_benchmark_holds_nothing_of_run_folders(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = (
        "version: 1\nwebserver: {static: .}\ncases:\n- {id: a, entry_url: '{{ webserver.url }}', "
        "user_task: Do., expect: [{text: a}]}\n"
    )
    (tmp_path / "own.yaml").write_text(case)
    (run / "cells" / "stranger.yaml").write_text(case)
    assert main(["benchmark", "pack", ".", "-o", "packed"]) == 0
    assert {"own.yaml", "benchmark.json"} <= files(tmp_path / "packed")
    assert not (tmp_path / "packed" / "mine").exists()

    assert main(["benchmark", "pack", "mine/cells/stranger.yaml", "-o", "other"]) == 4
    assert "lies in the run folder" in capsys.readouterr().err
