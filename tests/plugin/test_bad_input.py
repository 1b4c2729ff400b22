"""What a hurried user gets wrong: one clear sentence, exit code 4, nothing lost."""

import pytest


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


def test_a_broken_case_file_names_file_line_and_field(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    path = project.path / "cases/shop.yaml"
    path.write_text(path.read_text().replace('user_task: "Log', 'user_tsak: "Log'))
    result = project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle", *workers)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*shop.yaml:7: cases[[]0]*user_tsak*did you mean*user_task*"])


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


def test_help_lists_every_flag_with_its_default(pytester: pytest.Pytester) -> None:
    from pytest_autoweb.options import OPTIONS

    text = pytester.runpytest("--help").stdout.str()

    assert [option.flag for option in OPTIONS if option.flag not in text] == []


def test_no_browser_is_one_broken_cell_that_says_what_to_install(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOWEB_CHROMIUM", str(project.path / "missing"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(project.path))
    result = project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle", "-k", "title")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*BROKEN*missing*"])
