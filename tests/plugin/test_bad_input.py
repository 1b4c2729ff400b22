"""What a hurried user gets wrong: one clear sentence, exit code 4, nothing lost."""

import os
import re
import socket

import pytest

from pytest_autoweb.cli.command_line import main

ORACLE = "--autoweb-models=builtin/oracle"


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        (
            "--autoweb-capture=ARIA,HTML",
            "--autoweb-capture: unknown capture mode 'HTML'*RAW_HTML*",
        ),
        ("--autoweb-repeat=0", "--autoweb-repeat: '0' is not a whole number of at least 1"),
        ("--autoweb-questions=maybe", "--autoweb-questions: 'maybe' is not allowed*record*"),
        ("--autoweb-record-mode=play", "--autoweb-record-mode: 'play' is not allowed*"),
        ("--autoweb-stdout=perhaps", "--autoweb-stdout: 'perhaps' is neither yes nor no*"),
        ("--autoweb-cases-file=none.yaml", "--autoweb-cases-file: there is no file*none.yaml"),
    ],
)
def test_a_bad_flag_is_one_sentence(project: pytest.Pytester, flag: str, sentence: str) -> None:
    result = project.runpytest("--autoweb-models=builtin/oracle", flag)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{sentence}*"])


@pytest.mark.parametrize("name", ["builtin/orcle", "local/smollm3"])
def test_an_unknown_model_is_an_error_at_the_start(project: pytest.Pytester, name: str) -> None:
    result = project.runpytest("cases", f"--autoweb-models={name}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{name}*"])


def test_a_broken_case_file_names_file_line_and_field(project: pytest.Pytester) -> None:
    path = project.path / "cases/shop.yaml"
    path.write_text(path.read_text().replace('user_task: "Log', 'user_tsak: "Log'))
    result = project.runpytest("cases", "--autoweb-models=builtin/oracle")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*shop.yaml:7: cases[[]0]*user_tsak*did you mean*user_task*"])


@pytest.mark.long
def test_the_environment_and_the_ini_file_are_read_and_the_flag_wins(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOWEB_MODELS", "builtin/noop")
    project.makeini("[pytest]\nautoweb_models = builtin/oracle\nautoweb_repeat = 2\n")

    from_env = project.runpytest("cases", "--collect-only", "-q")
    from_env.stdout.fnmatch_lines(["*login[[]builtin/noop-2]"])
    from_flag = project.runpytest(
        "cases", "--collect-only", "-q", "--autoweb-models=builtin/oracle"
    )
    from_flag.stdout.no_fnmatch_line("*noop*")


@pytest.mark.long
def test_without_models_yaml_is_left_alone(project: pytest.Pytester) -> None:
    project.makepyfile("def test_ordinary(): pass")
    result = project.runpytest_subprocess()

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*autoweb*report*")
    assert not (project.path / "autoweb-report").exists()


def test_yaml_outside_the_patterns_is_never_touched(project: pytest.Pytester) -> None:
    (project.path / "other.yaml").write_text("{not: [yaml")
    result = project.runpytest("--autoweb-models=builtin/oracle", "--collect-only", "-q")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["2 tests collected*"])


def test_inline_cases_and_a_case_file_elsewhere_are_collected(project: pytest.Pytester) -> None:
    inline = project.runpytest(
        "--autoweb-models=builtin/noop",
        "--autoweb-cases=http://127.0.0.1:9/|||Do it;;Open http://127.0.0.1:9/x",
        "--collect-only",
        "-q",
    )
    inline.stdout.fnmatch_lines(["*1[[]builtin/noop]", "*2[[]builtin/noop]", "2 tests collected*"])

    elsewhere = project.mkdir("far") / "cases.json"
    elsewhere.write_text('[{"caseId": "x", "url": "http://127.0.0.1:9/", "task": "Do it"}]')
    from_file = project.runpytest(
        "--autoweb-models=builtin/noop", f"--autoweb-cases-file={elsewhere}", "--collect-only", "-q"
    )
    from_file.stdout.fnmatch_lines(["*x[[]builtin/noop]", "1 test collected*"])


def test_help_lists_the_everyday_flags_and_says_where_the_others_are(
    pytester: pytest.Pytester,
) -> None:
    from pytest_autoweb.settings.run_settings import OPTIONS

    text = pytester.runpytest("--help").stdout.str()

    listed = set(re.findall(r"--autoweb-[a-z-]+", text.partition("autoweb: all other")[0]))
    everyday = {option.flag for option in OPTIONS if option.everyday}
    assert listed == everyday
    assert len(everyday) <= 25
    assert "autoweb_feedback" not in text
    assert "`autoweb debug settings`" in text


@pytest.mark.parametrize("flags", [(), ("-n", "2"), ("--autoweb-concurrency=4",)])
def test_no_browser_ends_the_session_once_and_says_what_to_install(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    monkeypatch.setenv("AUTOWEB_CHROMIUM", str(project.path / "missing"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(project.path))
    result = project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle", *flags)

    result.assert_outcomes()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert said.count("AUTOWEB_CHROMIUM names") == 1


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--browser=firefox"], "no firefox was found; run `playwright install firefox`"),
        (["--browser=webkit", "-n2"], "no webkit was found; run `playwright install webkit`"),
        (
            ["--browser=firefox", "--autoweb-concurrency=2"],
            "no firefox was found; run `playwright install firefox`",
        ),
        (["--browser-channel=msedge-canary"], "run `playwright install msedge-canary`"),
    ],
)
def test_any_browser_that_is_missing_ends_the_session_once(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, flags: list[str], sentence: str
) -> None:
    """And one of another version of Playwright is missing as well."""
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(project.path / "browsers"))
    for old in ("firefox-1", "webkit-1", "chromium-1"):
        (project.path / "browsers" / old).mkdir(parents=True)
    result = project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle", *flags)

    result.assert_outcomes()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert said.count(sentence) == 1


def test_a_misspelt_flag_is_answered_with_the_one_that_was_meant(
    project: pytest.Pytester,
) -> None:
    result = project.runpytest("cases", "--autoweb-model=builtin/oracle")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--autoweb-model; did you mean --autoweb-models?*"])


def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compair", "a", "b"])

    assert ended.value.code == pytest.ExitCode.USAGE_ERROR
    assert "did you mean `autoweb run compare`?" in capsys.readouterr().err


def test_the_rootdir_itself_can_be_named(project: pytest.Pytester) -> None:
    (project.path / "cases/shop.yaml").rename(project.path / "shop.yaml")
    result = project.runpytest(".", "--autoweb-models=builtin/oracle", "--collect-only", "-q")

    result.stdout.fnmatch_lines(["shop.yaml::login*", "2 tests collected*"])


LOST = """
version: 1
cases:
  - {id: first, entry_url: /a, user_task: Look., expect: [{text: x}]}
  - {id: second, entry_url: "{{ base_url }}/b", user_task: Look., expect: [{text: x}]}
"""


@pytest.mark.long
@pytest.mark.session
def test_nothing_that_answers_is_said_once_with_what_would_start_it(
    project: pytest.Pytester,
) -> None:
    (project.path / "cases/shop.yaml").write_text(LOST)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        site = f"http://127.0.0.1:{free.getsockname()[1]}"
    result = project.runpytest_subprocess(
        *("cases", "-n", "2", "--autoweb-models=builtin/noop", f"--base-url={site}")
    )

    result.assert_outcomes(failed=2)
    said = f"nothing answers at {site} (2 cells): start the application, or let the case"
    assert result.stdout.str().count(said) == 1
    result.stdout.fnmatch_lines(["control in doubt: first, second: *nothing answers at*"])


NEEDY = """
version: 1
cases:
  - id: signed-in
    entry_url: http://127.0.0.1:9/
    user_task: Look.
    files: [there.txt, gone.pdf]
    setup:
      storage_state: auth.json
  - id: secret
    entry_url: http://127.0.0.1:9/
    user_task: Log in with {{ secrets.password }}.
    secrets:
      password:
        env: NEEDY_PASSWORD
  - id: plain
    entry_url: http://127.0.0.1:9/
    user_task: Look.
    secrets: {word: {env: NEEDY_WORD, default: x}}
"""


@pytest.mark.long
def test_what_selected_cases_need_and_do_not_find_is_told_at_collection(
    project: pytest.Pytester, workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEEDY_PASSWORD", "")  # as CI systems set a missing secret
    (project.path / "cases/needy.yaml").write_text(NEEDY)
    (project.path / "cases/there.txt").write_text("x")
    flags = ("cases", "--autoweb-models=builtin/noop")

    run = project.runpytest_subprocess if workers else project.runpytest

    result = run(*flags, *workers)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting cases/needy.yaml*",
            "bad case file",
            "*needy.yaml:7: cases[[]0].files[[]1]: there is no file *gone.pdf",
            "*needy.yaml:9: cases[[]0].setup.storage_state: there is no file *auth.json",
            "*needy.yaml:15: cases[[]1].secrets.password.env: needs the environment variable "
            "NEEDY_PASSWORD, which is not set",
        ],
        consecutive=True,
    )
    result.stdout.no_fnmatch_line("*secret[[]builtin/noop]*")
    # Like after any error of collection, xdist alone runs what else there is.
    assert (project.path / "autoweb-report").exists() is bool(workers)


@pytest.mark.long
def test_cases_that_are_left_out_need_nothing(project: pytest.Pytester) -> None:
    (project.path / "cases/needy.yaml").write_text(NEEDY)
    flags = ("cases/needy.yaml", "--autoweb-models=builtin/noop", "--collect-only", "-q")

    project.runpytest(*flags, "-k", "plain").assert_outcomes()
    assert project.runpytest(*flags, "-k", "plain").ret == pytest.ExitCode.OK
    assert project.runpytest(*flags, "-k", "secret").ret == pytest.ExitCode.USAGE_ERROR
    preview = project.runpytest(*flags[:2], "--autoweb-preview")
    assert preview.ret == pytest.ExitCode.OK


@pytest.mark.parametrize("options", [(), ("-n", "2"), ("--collect-only",)], ids=" ".join)
@pytest.mark.parametrize("name", [b"cases/\xff.yaml", b"cases/caf\xe9/shop.yml"], ids=ascii)
def test_a_case_file_whose_name_is_no_utf_8_is_one_sentence(
    project: pytest.Pytester, name: bytes, options: tuple[str, ...]
) -> None:
    path = project.path / os.fsdecode(name)
    path.parent.mkdir(exist_ok=True)
    (project.path / "cases/shop.yaml").rename(path)

    result = project.runpytest_subprocess("cases", ORACLE, *options)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = name.decode("utf-8", "replace").replace("\ufffd", "?")
    result.stdout.fnmatch_lines([f"{told}: its path is not valid UTF-8: rename it"])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_what_workers_cannot_be_told_is_one_sentence(project: pytest.Pytester) -> None:
    (project.path / "cases").rename(project.path / "c\udcff")
    argument = "c\udcff/shop.yaml"

    result = project.runpytest_subprocess(argument, ORACLE, "-n", "2")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *c?/shop.yaml is not valid UTF-8, and xdist *without -n"])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


@pytest.mark.long
def test_cases_below_a_folder_that_is_no_utf_8_run_and_are_proven(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project.path / "pr\udcff"
    root.mkdir()
    for name in ("cases", "site"):
        (project.path / name).rename(root / name)
    monkeypatch.chdir(root)

    result = project.runpytest_subprocess("cases", ORACLE, "--rootdir=.")
    result.assert_outcomes(passed=2)
    assert main(["prove", "autoweb-report", "--quick"]) == 0


@pytest.mark.parametrize(
    "words",
    [
        ["init", "http://127.0.0.1:1/", "--folder", "c\udcff"],
        ["export", "autoweb-report", "--output", "c\udcff"],
        ["explore", "http://127.0.0.1:1/", "--model", "m", "--output", "c\udcff.yaml"],
        ["record", "http://127.0.0.1:1/", "--output", "c\udcff.yaml"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_refuses_to_write_below_a_name_that_is_no_utf_8(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 4
    assert "is not valid UTF-8" in capsys.readouterr().err
