"""Where a run writes: the last report, read-only folders, odd terminals and closed pipes."""

import json
import os
import subprocess
import sys

import pytest
from session_server import session_command

ORACLE = "--autoweb-models=builtin/oracle"


def report_of(project: pytest.Pytester) -> str:
    return (project.path / "autoweb-report/report.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (
            ("cases", "--autoweb-models=openai/gpt-x"),
            pytest.ExitCode.USAGE_ERROR,
            "openai/gpt-x*OPENAI_API_KEY",
        ),
        (("cases", ORACLE, "-k", "nothing"), pytest.ExitCode.NO_TESTS_COLLECTED, "2 deselected"),
        (("bad", ORACLE), pytest.ExitCode.USAGE_ERROR, "bad.yaml"),
        (("bad", ORACLE, "-n", "2"), pytest.ExitCode.USAGE_ERROR, "bad.yaml"),
    ],
    ids=["key", "nothing selected", "bad file", "bad file n2"],
)
@pytest.mark.long
def test_a_start_that_runs_nothing_leaves_the_last_report_where_it_is(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: pytest.ExitCode,
    told: str,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    project.makeini((project.path / "tox.ini").read_text() + "\nautoweb_files = */*.yaml\n")
    bad = project.mkdir("bad") / "bad.yaml"
    bad.write_text("version: 1\ncases:\n  - {id: x}\n")
    last = project.path / "autoweb-report"
    last.mkdir()
    (last / "report.json").write_text('{"the last": "report"}')

    # Only what imports litellm or starts workers needs a process of its own.
    alone = "-n" in arguments or "openai" in arguments[1]
    result = (project.runpytest_subprocess if alone else project.runpytest)(*arguments)

    assert result.ret == code
    pytest.LineMatcher(result.outlines + result.errlines).fnmatch_lines([f"*{told}*"])
    assert report_of(project) == '{"the last": "report"}'
    assert list(project.path.glob("autoweb-report.*")) == []


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("file/report", "*file is a file"),
        ("dangling", "it is a link to something that does not exist"),
        ("loop", "its links lead back to themselves"),
        ("x" * 300, "File name too long"),
        ("/proc/nowhere/report", "No such file or directory"),
    ],
)
def test_a_report_folder_that_cannot_be_made_is_one_sentence(
    project: pytest.Pytester, folder: str, why: str
) -> None:
    (project.path / "file").touch()
    (project.path / "dangling").symlink_to("nowhere/gone")
    (project.path / "loop").symlink_to("loop")

    result = project.runpytest("cases", ORACLE, f"--autoweb-report={folder}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [*result.outlines, *result.errlines]
    pytest.LineMatcher(lines).fnmatch_lines([f"ERROR: *cannot be made ({why}); name another one*"])
    assert not any("Traceback" in line or "INTERNALERROR" in line for line in lines)


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can make a small disk"
)
@pytest.mark.parametrize(
    ("size", "flags"),
    [
        ("40k,nr_inodes=6", ()),
        ("60k", ()),
        ("60k", ("-n", "2")),
        ("40k,nr_inodes=6", ("--autoweb-concurrency=4",)),
    ],
    ids=str,
)
@pytest.mark.long
def test_a_full_disk_breaks_cells_in_a_sentence_each(
    project: pytest.Pytester, size: str, flags: tuple[str, ...]
) -> None:
    disk = project.mkdir("disk")
    mount = ("mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(disk))
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this container may not mount anything")
    try:
        result = project.runpytest_subprocess(
            "cases", ORACLE, "--autoweb-report=disk/report", "--junitxml=disk/junit.xml", *flags
        )
    finally:
        subprocess.run(("umount", "-l", str(disk)), check=True)

    text = result.stdout.str() + result.stderr.str()
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.USAGE_ERROR), text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert "No space left on device" in text
    assert len(text.splitlines()) < 60


READ_ONLY = """
import os
access = os.access
def read_only(path, mode, **rest):
    return not mode & os.W_OK and access(path, mode, **rest)
os.access = read_only
"""


def test_a_rootdir_that_is_read_only_is_a_sentence(project: pytest.Pytester) -> None:
    # Root may write anywhere, whatever the bits of a folder say.
    project.makeconftest(READ_ONLY)
    result = project.runpytest_subprocess("cases", ORACLE, "-n", "2")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*the report folder *autoweb-report cannot be made (* is read-only); name another*"]
    )
    assert "Traceback" not in result.stderr.str()


def start(project: pytest.Pytester, *arguments: str, **environ: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*session_command(), "cases", ORACLE, *arguments],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environ},
    )


ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.long
def test_a_terminal_that_knows_only_ascii_gets_a_report_all_the_same(
    project: pytest.Pytester,
) -> None:
    path = project.path / "cases/shop.yaml"
    text = path.read_text().replace("equals: Shop", "equals: 店铺 – ✓")
    path.write_text(text, encoding="utf-8")
    session = start(project, "-v", "--autoweb-stdout", "--autoweb-language=zh", **ASCII)
    out, errors = session.communicate(timeout=300)

    assert b"UnicodeEncodeError" not in out + errors
    assert session.returncode == pytest.ExitCode.TESTS_FAILED
    assert b"report: " in out


def test_a_command_prints_what_ascii_cannot_hold_in_another_form(
    project: pytest.Pytester,
) -> None:
    folder = project.mkdir("店铺")
    shown = subprocess.run(
        [sys.executable, "-m", "pytest_autoweb.cli", "models", "list"],
        cwd=project.path,
        capture_output=True,
        env={**os.environ, **ASCII, "AUTOWEB_MODELS_DIR": str(folder)},
        check=False,
    )
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert rb"model files: " in shown.stdout


@pytest.mark.long
@pytest.mark.parametrize("options", [("-v", "--autoweb-stdout"), ("-n", "2")])
def test_a_reader_that_leaves_early_loses_no_cell(
    project: pytest.Pytester, options: tuple[str, ...]
) -> None:
    session = start(project, *options)
    assert session.stdout is not None
    session.stdout.readline()
    session.stdout.close()
    assert session.stderr is not None
    errors = session.stderr.read()
    session.wait(300)

    cells = [cell for case in json.loads(report_of(project))["cases"] for cell in case["cells"]]
    assert [cell["outcome"] for cell in cells] == ["passed", "passed"]
    assert b"Traceback" not in errors


def test_tests_and_hooks_in_a_run_folder_are_not_collected(project: pytest.Pytester) -> None:
    evil = "import pathlib\npathlib.Path('pwned').touch()\ndef test_evil(): pass\n"
    run = project.path / "unpacked" / "from-a-fork"
    (run / "cells/a/b/c-1").mkdir(parents=True)
    for name in ("conftest.py", "test_evil.py", "cells/conftest.py", "cells/a/test_more.py"):
        (run / name).write_text(evil)
    (run / "cells/a/b/c-1/cell.json").write_text("{}")
    project.makepyfile(test_own="def test_own(): pass")

    result = project.runpytest("--collect-only", "-q", ".")

    result.stdout.fnmatch_lines(["test_own.py::test_own", "", "1 test collected*"])
    assert not (project.path / "pwned").exists()


def test_colours_of_pytest_stay_and_commands_of_others_do_not(project: pytest.Pytester) -> None:
    hostile = "\\x1b]0;owned\\x07\\u202e\\r\\n::error::forged\\n##vso[x]\\x1b[32mgreen"
    project.makeconftest(
        "def pytest_terminal_summary(terminalreporter):\n"
        f"    terminalreporter.write_line('{hostile}')\n"
    )

    result = project.runpytest("cases", ORACLE, "--color=yes", "-k", "nothing")

    said = result.stdout.str()
    assert "\x1b[33m" in said  # "2 deselected" is yellow
    assert "\x1b[32mgreen" in said
    assert ": :error::forged\n##vso [x]" in said
    assert not {"\x07", "\u202e", "\r"} & set(said)


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["bare", "n2"])
def test_nothing_of_others_is_obeyed_in_what_pytest_itself_prints(
    project: pytest.Pytester, options: tuple[str, ...]
) -> None:
    hostile = "\x1b[2J\x1b[31mred\x9b31m\u202e\r\n::error::forged\n##vso[x]\x85::warning::n"
    project.makeconftest(
        "import logging, pytest\n"
        "@pytest.fixture(autouse=True)\n"
        "def broken():\n"
        f"    print({hostile!r}); logging.warning({hostile!r}); raise RuntimeError({hostile!r})\n"
    )

    failed = project.runpytest("cases", ORACLE, "-v", "-rA", *options)
    usage = project.runpytest("cases/none::error::\r::x##vso[y]", ORACLE)

    assert (failed.ret, usage.ret) == (1, pytest.ExitCode.USAGE_ERROR)
    for said in (failed.stdout.str(), usage.stdout.str(), usage.stderr.str()):
        assert not {"\x1b", "\x9b", "\u202e", "\r", "\x85"} & set(said)
        assert "\n::" not in said
        assert "##vso[" not in said
    assert ": :error::forged" in failed.stdout.str()
