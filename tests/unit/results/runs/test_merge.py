"""Shards put together: the same report as one run, whatever the split and the order."""

import json
import random
import stat
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_run import BEGAN, CellKey, cell, planned, realistic_cells, run_info, save_run

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.report.merge import Merged, merge_reports
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.records import CellResult, Outcome
from pytest_autoweb.results.runs.saving import pack, save_cell, save_manifest, save_run_info

TIMES = ("ts", "started", "duration_s")
"""What a merged report says of its own: the first shard's beginning, the longest duration."""

LIMIT = 8_000_000


def save_shard(
    folder: Path,
    cells: list[CellResult],
    whole: list[CellResult],
    number: int,
    of: int,
    **info: Any,
) -> Path:
    save_manifest(folder, map(planned, cells), whole=map(planned, whole))
    for result in cells:
        save_cell(folder, result)
    late = {"ts": f"20261121_0930{number:02d}_000", "started": BEGAN + timedelta(seconds=number)}
    save_run_info(folder, run_info(whole, **{**late, "shard": (number, of), **info}))
    return folder


def packed(folder: Path, number: int, of: int) -> Path:
    return pack(folder, folder.parent / "blobs", ts=f"t{number}", shard=(number, of))


def report_of(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    for comparison in report["comparisons"]:
        del comparison["a"]["run"], comparison["b"]["run"]  # the run's time, too
    return {name: value for name, value in report.items() if name not in TIMES}


def exit_status(cells: list[CellResult]) -> int:
    return int(any(c.outcome in ("failed", "broken") for c in cells))


def merge(paths: list[Path], output: Path) -> Merged:
    return merge_reports(paths, output, max_chars=LIMIT)


def two_shards(folder: Path, *, of: int = 2) -> tuple[list[CellResult], list[Path]]:
    whole = [cell(CellKey(case, model)) for case in ("a", "b") for model in ("m", "n")]
    shards = [save_shard(folder / f"shard-{n}", whole[n - 1 :: 2], whole, n, of) for n in (1, 2)]
    return whole, shards


def some_cells(chance: random.Random) -> list[CellResult]:
    if chance.random() < 0.2:
        return realistic_cells(chance.randrange(99))
    cases = [f"case {i}" for i in range(chance.randint(1, 4))]
    models = chance.sample(["m", "n/o", "builtin/oracle", "builtin/noop"], chance.randint(1, 4))
    outcomes: list[Outcome] = list(get_args(Outcome))
    return [
        cell(
            CellKey(case, model, repeat=repeat),
            chance.choice(outcomes),
            started=BEGAN + timedelta(minutes=chance.randrange(60)),
            checksums={"case": case, "prompts": "p"},
        )
        for case in cases
        for model in models
        for repeat in range(1, chance.randint(1, 3) + 1)
    ]


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.randoms(use_true_random=False))
@pytest.mark.long
def test_shards_merged_in_any_order_give_the_report_of_the_whole_run(
    tmp_path_factory: pytest.TempPathFactory, chance: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    cells = some_cells(chance)
    save_run(folder / "whole", cells, exit_status=exit_status(cells))
    write_report(folder / "whole", max_chars=LIMIT)
    of = chance.randint(1, 4)
    shard_of = [chance.randint(1, of) for _ in cells]
    inputs = []
    for number in range(1, of + 1):
        own = [c for c, shard in zip(cells, shard_of, strict=True) if shard == number]
        status = exit_status(own)
        shard = save_shard(folder / f"s{number}", own, cells, number, of, exit_status=status)
        inputs.append(packed(shard, number, of) if chance.random() < 0.5 else shard)
    chance.shuffle(inputs)

    merged = merge(inputs, folder / "merged")

    assert report_of(folder / "merged") == report_of(folder / "whole")
    assert merged.notes == ()


def test_a_missing_shard_is_named_with_its_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, (first, _) = two_shards(tmp_path)
    output = str(tmp_path / "out")

    assert main(["run", "merge", str(first), "--output", output]) == 0
    assert main(["run", "merge", str(first), "--output", output, "--require-complete"]) == 1
    said = capsys.readouterr().out
    assert "shard 2 of 2 is missing" in said
    assert "2 of 4 cells without a result: a on n ARIA_SNAPSHOT, b on n ARIA_SNAPSHOT" in said
    report = report_of(tmp_path / "out")
    assert [c["outcome"] for case in report["cases"] for c in case["cells"]] == [
        *("passed", "skipped"),
        *("passed", "skipped"),
    ]
    assert "shard 2 of 2 is missing" in report["notes"]


def test_of_several_results_the_latest_that_came_to_its_end_counts(tmp_path: Path) -> None:
    whole, shards = two_shards(tmp_path)
    again = [
        whole[1].model_copy(update={"outcome": "failed", "started": BEGAN + timedelta(hours=1)}),
        whole[3],
    ]
    shards.append(save_shard(tmp_path / "again", again, whole, 2, 2, ts="20261121_103000_000"))
    unfinished = save_shard(tmp_path / "unfinished", [], whole, 1, 2)
    save_manifest(unfinished, map(planned, whole), whole=map(planned, whole))

    merged = merge([*shards, unfinished], tmp_path / "out")

    outcomes = [
        c["outcome"] for case in report_of(tmp_path / "out")["cases"] for c in case["cells"]
    ]
    assert outcomes == ["passed", "failed", "passed", "passed"]
    assert merged.missing == 0
    (different,) = [note for note in merged.notes if "different outcomes" in note]
    assert "a on n ARIA_SNAPSHOT (passed / skipped, now failed)" in different


def test_what_differs_between_the_inputs_is_said(tmp_path: Path) -> None:
    whole, _ = two_shards(tmp_path)
    one = [c.model_copy(update={"checksums": {"case": "1", "prompts": "1"}}) for c in whole[:1]]
    two = [c.model_copy(update={"checksums": {"case": "2", "prompts": "1"}}) for c in whole[1:]]
    first = save_shard(tmp_path / "1", one, whole, 1, 2, environment={"python": "3.11"})
    second = save_shard(
        *(tmp_path / "2", two, whole, 2, 2),
        environment={"python": "3.12"},
        settings={"max_repairs": {"value": 2, "source": "flag"}},
    )

    notes = merge([first, second], tmp_path / "out").notes

    assert any("the settings differ: " in note and "max_repairs (1 / 2)" in note for note in notes)
    assert "the environments differ: python (3.11 / 3.12)" in notes
    assert "cells of one case ran on different versions of it: a" in notes


def test_runs_of_different_files_keep_cells_of_the_same_name_apart(tmp_path: Path) -> None:
    one, two = cell(CellKey("a", "m")), cell(CellKey("a", "m"), "failed", case_path="cases/b.yaml")
    folders = [save_run(tmp_path / name, [c]) for name, c in (("one", one), ("two", two))]

    merge(folders, tmp_path / "out")

    cases = report_of(tmp_path / "out")["cases"]
    assert [(c["case_path"], c["cells"][0]["outcome"]) for c in cases] == [
        ("cases/shop.yaml", "passed"),
        ("cases/b.yaml", "failed"),
    ]


def test_an_earlier_run_at_the_output_is_moved_aside_and_an_input_there_refused(
    tmp_path: Path,
) -> None:
    _, shards = two_shards(tmp_path)
    output = tmp_path / "out"

    merge(shards, output)
    merge(shards, output)

    assert len([path for path in tmp_path.iterdir() if path.name.startswith("out")]) == 2
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    with pytest.raises(SettingsError, match="one of the runs to merge"):
        merge([output, *shards], output)


def link(entries: dict[str, bytes], packed: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("cells/a/m/ARIA-1/cell.json")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    packed.writestr(info, "/etc/hostname")


def named(name: str) -> Callable[[dict[str, bytes], zipfile.ZipFile], None]:
    return lambda entries, packed: packed.writestr(name, b"x")


def bomb(entries: dict[str, bytes], packed: zipfile.ZipFile) -> None:
    packed.writestr("cells/a/m/ARIA-1/run.log", bytes(80 << 20), zipfile.ZIP_DEFLATED)


def twice(entries: dict[str, bytes], packed: zipfile.ZipFile) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        packed.writestr("run.json", b"x")


@pytest.mark.parametrize(
    ("attack", "reason"),
    [
        (named("../outside.txt"), "leads elsewhere"),
        (named("cells/../../outside.txt"), "leads elsewhere"),
        (named("/outside.txt"), "leads elsewhere"),
        (named("cells/c:/outside.txt"), "has a character"),
        (named("cells\\..\\outside.txt"), "has a character"),
        (named("cells/aux.txt"), "leads elsewhere"),
        (named("sitecustomize.py"), "is not part of a report"),
        (link, "is a link or a device"),
        (bomb, "would come out of it"),
        (twice, "contains a file twice"),
    ],
)
def test_a_hostile_zip_is_refused_before_anything_is_written(
    tmp_path: Path,
    attack: Callable[[dict[str, bytes], zipfile.ZipFile], None],
    reason: str,
) -> None:
    whole, _ = two_shards(tmp_path)
    blob = packed(save_shard(tmp_path / "inner" / "shard", whole[:1], whole, 1, 1), 1, 1)
    with zipfile.ZipFile(blob, "a") as zipped:
        attack({}, zipped)

    with pytest.raises(SettingsError, match=reason):
        merge([blob], tmp_path / "inner" / "out")

    assert {path.name for path in tmp_path.iterdir()} == {"inner", "shard-1", "shard-2"}
    assert {path.name for path in (tmp_path / "inner").iterdir()} == {"shard", "blobs"}


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "foreign"])
def test_a_broken_zip_is_one_sentence_and_costs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    _, shards = two_shards(tmp_path)
    blobs = [packed(shard, number, 2) for number, shard in enumerate(shards, 1)]
    content = bytearray(blobs[1].read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        content[60:90] = bytes(30)
    elif damage == "text":
        content = bytearray(b"no zip at all")
    blobs[1].write_bytes(content)
    if damage == "foreign":
        with zipfile.ZipFile(blobs[1], "w") as other:
            other.writestr("readme.txt", "hello")
    merge([shards[0]], tmp_path / "out")

    code = main(["run", "merge", str(tmp_path / "blobs"), "--output", str(tmp_path / "out")])

    said = capsys.readouterr().err
    assert code == 4
    assert said.count("\n") == 1
    assert blobs[1].name in said
    assert (tmp_path / "out" / "report.json").is_file()
    assert len([path for path in tmp_path.iterdir() if path.name.startswith("out")]) == 1


def test_links_in_a_run_folder_are_not_followed(tmp_path: Path) -> None:
    whole, (first, second) = two_shards(tmp_path)
    (tmp_path / "secret.txt").write_text("secret")
    (first / whole[0].folder / "run.log").symlink_to(tmp_path / "secret.txt")
    (first / "cells" / "more").symlink_to(tmp_path, target_is_directory=True)

    blob = packed(first, 1, 2)
    merge([first, second], tmp_path / "out")

    assert b"secret" not in blob.read_bytes()
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_symlink()]
    assert not (tmp_path / "out" / whole[0].folder / "run.log").exists()


@pytest.mark.parametrize("folder", ["", "../../outside", "run.json", "/outside", "cells/a"])
def test_a_cell_never_chooses_where_it_is_copied_to(tmp_path: Path, folder: str) -> None:
    run = save_run(tmp_path / "inner" / "run", [cell(CellKey("a", "m"))])
    strange = planned(cell(CellKey("b", "m"))).model_copy(update={"folder": folder})
    save_manifest(run, [strange])

    merge([run], tmp_path / "inner" / "out")

    assert {path.name for path in tmp_path.iterdir()} == {"inner"}
    assert {path.name for path in (tmp_path / "inner").iterdir()} == {"run", "out"}
    assert (tmp_path / "inner" / "out" / "cells/a/m/ARIA_SNAPSHOT-1/cell.json").is_file()
    merged = report_of(tmp_path / "inner" / "out")
    assert {case["id"] for case in merged["cases"]} == {"a", "b"}
