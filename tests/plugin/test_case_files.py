"""Which files become cells, and what a session says that cannot have any."""

from pathlib import Path

import pytest

ORACLE = "--autoweb-models=builtin/oracle"


def listed(project: pytest.Pytester, *arguments: str) -> list[str]:
    """The cells that a session collects, by file and case."""
    result = project.runpytest(*arguments, ORACLE, "--collect-only", "-q")
    return [line.partition("[")[0] for line in result.outlines if "[builtin" in line]


def copied(project: pytest.Pytester, path: str) -> Path:
    """The cases of the project, at another place."""
    target = project.path / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text((project.path / "cases/shop.yaml").read_text().replace("../site", "site"))
    return target


@pytest.mark.parametrize("named", [(), ("cases",), ("cases/deep",), ("cases/deep/er/x.yaml",)])
def test_files_in_subfolders_are_read(project: pytest.Pytester, named: tuple[str, ...]) -> None:
    copied(project, "cases/deep/er/x.yaml")

    assert "cases/deep/er/x.yaml::login" in listed(project, *named)


def test_data_and_cassettes_in_subfolders_are_left_alone(project: pytest.Pytester) -> None:
    copied(project, "cases/cassettes/model/one.yaml")
    (project.path / "cases/data").mkdir()
    (project.path / "cases/data/prices.yaml").write_text("tea: 4\nin: {cases: 12}\n")

    assert listed(project) == ["cases/shop.yaml::login", "cases/shop.yaml::title"]


@pytest.mark.parametrize("named", ["e2e", "e2e/sub", "e2e/sub/x.yaml"])
def test_a_folder_that_is_named_is_searched_wherever_it_is(
    project: pytest.Pytester, named: str
) -> None:
    copied(project, "e2e/sub/x.yaml")
    copied(project, "other/y.yaml")

    assert listed(project, named) == ["e2e/sub/x.yaml::login", "e2e/sub/x.yaml::title"]


@pytest.mark.parametrize(
    ("arguments", "asking"),
    [
        (["cases/shop.yaml"], "cases/shop.yaml"),
        (["cases/shop.yaml::login"], "cases/shop.yaml"),
        (["--autoweb-cases-file=cases/shop.yaml"], "--autoweb-cases-file"),
        (["--autoweb-cases=http://x.example|||Look."], "--autoweb-cases"),
        (["cases", "--autoweb-controls"], "--autoweb-controls"),
        (["--autoweb-models=", "--autoweb-min-pass-rate=80"], "--autoweb-min-pass-rate"),
        (["--autoweb-models=", "--autoweb-compare-fail=pass_rate:5%"], "--autoweb-compare-fail"),
        (["--autoweb-models= ", "cases/shop.yaml"], "cases/shop.yaml"),
    ],
)
def test_what_can_only_be_meant_for_cells_asks_for_models(
    project: pytest.Pytester, arguments: list[str], asking: str
) -> None:
    project.makepyfile("def test_other(): pass")

    result = project.runpytest(*arguments)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {asking} needs --autoweb-models*builtin/oracle*"])


@pytest.mark.parametrize("arguments", [("--autoweb-models=", "cases"), ("cases",), ("-n", "1")])
def test_a_session_with_nothing_but_unread_cases_asks_for_models(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    if "-n" in arguments:
        monkeypatch.setenv("AUTOWEB_MODELS", "")

    result = project.runpytest_subprocess(*arguments)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = result.stdout if "-n" in arguments else result.stderr
    told.fnmatch_lines(["ERROR: cases/shop.yaml needs --autoweb-models*builtin/oracle*"])


def test_cases_beside_the_named_folder_are_not_asked_about(project: pytest.Pytester) -> None:
    (project.path / "cases/empty").mkdir()

    assert project.runpytest("cases/empty").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.long
def test_an_empty_variable_with_gates_in_the_ini_file_is_told(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makeini("[pytest]\nautoweb_min_pass_rate = 80\n")
    project.makepyfile("def test_other(): pass")

    assert project.runpytest("--collect-only").ret == pytest.ExitCode.OK
    monkeypatch.setenv("AUTOWEB_MODELS", "")
    result = project.runpytest("--collect-only")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --autoweb-min-pass-rate needs --autoweb-models*"])


def test_yaml_of_others_and_other_sessions_are_left_alone(project: pytest.Pytester) -> None:
    project.makepyfile("def test_other(): pass")
    (project.path / "data.yaml").write_text("prices: {tea: 4}\n")

    assert project.runpytest("--collect-only").ret == pytest.ExitCode.OK
    result = project.runpytest("data.yaml", "--collect-only")

    result.stderr.no_fnmatch_line("*--autoweb-models*")
    # On the way to a folder that is named, pytest also shows what lies beside it.
    project.mkdir("empty")
    (project.path / "cases/shop.yaml").rename(project.path / "shop.yaml")
    assert project.runpytest("empty").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    (project.path / "shop.yaml").rename(project.path / "cases/shop.yaml")
    (project.path / "test_yaml_of_others_and_other_sessions_are_left_alone.py").unlink()
    assert project.runpytest().ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize("tag", ["smoke-fast", "v1.2", "a-b.c_d", "größe"])
def test_every_tag_of_the_schema_is_a_mark(project: pytest.Pytester, tag: str) -> None:
    path = project.path / "cases/shop.yaml"
    path.write_text(path.read_text().replace("[smoke]", f'["{tag}"]'))

    # With `-W error`, as an unknown mark is a warning.
    cells = listed(
        project, "cases", "-m", tag, "--strict-markers", "-W", "error::pytest.PytestWarning"
    )

    assert cells == ["cases/shop.yaml::login"]
