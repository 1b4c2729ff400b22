"""Variants that a project adds are known wherever the built-in ones are.

One class for each kind; the project's conftest, or an installed package, adds one of it.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from session_server import autoweb_command

TITLE_CHECK = '''
import fnmatch

from pytest_autoweb.checks import Check, CheckProbe, Evidence, Verdict


class TitleCheck(Check):
    """The title of the page at the end, by a glob."""

    name = "title"
    rests_on = "page"

    title: str

    def probe(self, evidence: Evidence) -> CheckProbe:
        def look(seconds: float) -> Verdict:
            seen = evidence.page.title()
            return Verdict(fnmatch.fnmatchcase(seen, self.title), seen, where=evidence.page.url)

        return CheckProbe(f"title {self.title!r}", look)


def pytest_autoweb_register(registry):
    registry.add_check(TitleCheck)
'''
CASES = """
version: 1
webserver: {static: ../site}
defaults:
  entry_url: "{{ webserver.url }}index.html"
  user_task: "Look."
  oracle: "# Step 1\\nanswer(1)"
cases:
  - {id: right, expect: [{title: "Sh*"}]}
  - {id: wrong, expect: [{title: "Bank*"}, {text: Shop}]}
"""


@pytest.fixture
def shop(project: pytest.Pytester) -> pytest.Pytester:
    """A project whose cases use a check type that nobody registered yet."""
    (project.path / "cases" / "shop.yaml").write_text(CASES, encoding="utf-8")
    return project


def autoweb(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.run(*autoweb_command(), *arguments)


def cells_of(project: pytest.Pytester, folder: str = "autoweb-report") -> dict[str, dict[str, Any]]:
    report = json.loads((project.path / folder / "report.json").read_text(encoding="utf-8"))
    return {case["id"]: case["cells"][0] for case in report["cases"]}


class TestCheckType:
    @pytest.mark.long
    def test_it_judges_is_reported_and_judges_a_saved_run_again(
        self, shop: pytest.Pytester
    ) -> None:
        shop.makeconftest(TITLE_CHECK)

        # In workers: each of them has to know it, and the controller too.
        result = shop.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle", "-n", "2")

        result.assert_outcomes(passed=1, failed=1)
        checks = {case: cell["attempts"][-1]["checks"] for case, cell in cells_of(shop).items()}
        assert [(c["type"], c["passed"], c["actual"]) for c in checks["right"]] == [
            ("title", True, "Shop")
        ]
        assert [(c["type"], c["passed"]) for c in checks["wrong"]] == [
            ("title", False),
            ("text", True),
        ]

        cases = shop.path / "cases" / "shop.yaml"
        cases.write_text(CASES.replace("Bank*", "S?op"), encoding="utf-8")

        result = autoweb(shop, "run", "rejudge", "autoweb-report")

        assert result.ret == 0
        result.stdout.fnmatch_lines(["*wrong*failed*passed*"])
        again = cells_of(shop, "autoweb-report-verified")
        assert {cell["outcome"] for cell in again.values()} == {"passed"}

    def test_the_schema_and_the_help_name_it(self, shop: pytest.Pytester) -> None:
        shop.makeconftest(TITLE_CHECK)

        schema = autoweb(shop, "debug", "schema", "case")
        settings = autoweb(shop, "debug", "settings")

        fields = json.loads(schema.stdout.str())["$defs"]["TitleCheck"]
        assert fields["description"].startswith("The title of the page at the end")
        assert fields["required"] == ["title"]
        settings.stdout.fnmatch_lines(
            ["*text: Text that is visible on*", "*title: The title of the page at the end*"]
        )

    def test_an_unknown_check_is_told_beside_it(self, shop: pytest.Pytester) -> None:
        shop.makeconftest(TITLE_CHECK)
        cases = shop.path / "cases" / "shop.yaml"
        cases.write_text(CASES.replace('{title: "Bank*"}', "{titel: a}"), encoding="utf-8")

        result = shop.runpytest_inprocess("cases", "--autoweb-models=builtin/oracle")

        result.stdout.fnmatch_lines(
            [
                "*unknown check 'titel'; did you mean 'title'?*answer,"
                "*url, webmcp, writes, title, points, weight*"
            ]
        )

    @pytest.mark.parametrize(
        ("code", "sentence"),
        [
            (TITLE_CHECK.replace("title", "url"), "there is already a check type named 'url'"),
            (TITLE_CHECK.replace('"title"', '"page title"'), "must declare a field of that name"),
            (TITLE_CHECK.replace("def probe", "def look"), "TitleCheck must define probe()"),
            (TITLE_CHECK.replace('"""The', '# """The'), "TitleCheck lacks a docstring"),
            (TITLE_CHECK.replace("(TitleCheck)", "(3)"), "a class derived from Check, got 3"),
            (TITLE_CHECK + "    registry.add_chek()", "'Registry' object has no attribute"),
        ],
        ids=["taken", "bad name", "no probe", "no docstring", "no class", "no such method"],
    )
    def test_a_bad_one_ends_the_session(
        self, shop: pytest.Pytester, code: str, sentence: str
    ) -> None:
        shop.makeconftest(code)

        result = shop.runpytest_inprocess("cases", "--autoweb-models=builtin/oracle")

        assert result.ret == 4
        told = result.stderr.str()
        assert "pytest_autoweb_register (" in told
        assert "conftest.py, line " in told
        assert sentence in told

    def test_a_bad_one_ends_a_command(self, shop: pytest.Pytester) -> None:
        shop.makeconftest(TITLE_CHECK.replace("title", "url"))

        result = autoweb(shop, "debug", "schema", "case")

        assert result.ret == 4
        result.stderr.fnmatch_lines(
            ["autoweb: *conftest.py, line *already a check type named 'url'*"]
        )


class TestLoading:
    @pytest.mark.long
    def test_an_installed_package_adds_a_check_type(
        self, shop: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        installed = shop.mkdir("installed")
        code = TITLE_CHECK.replace("pytest_autoweb_register", "register")
        (installed / "shop_checks.py").write_text(code, encoding="utf-8")
        about = installed / "shop_checks-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-checks\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("[pytest_autoweb]\nshop = shop_checks:register\n")
        monkeypatch.setenv("PYTHONPATH", str(installed))

        result = shop.runpytest_subprocess(
            "cases", "--autoweb-models=builtin/oracle", "-k", "right"
        )
        schema = autoweb(shop, "debug", "schema", "case")

        result.assert_outcomes(passed=1, deselected=1)
        assert "TitleCheck" in json.loads(schema.stdout.str())["$defs"]

    def test_a_session_without_models_loads_nothing(self, shop: pytest.Pytester) -> None:
        shop.makeconftest("def pytest_autoweb_register(registry):\n    raise ValueError('loaded')")
        shop.makepyfile("def test_one():\n    pass")

        shop.runpytest_subprocess().assert_outcomes(passed=1)

    def test_a_session_leaves_nothing_to_the_next_of_its_process(
        self, shop: pytest.Pytester
    ) -> None:
        shop.makeconftest(TITLE_CHECK)
        models = "--autoweb-models=builtin/oracle"

        sessions = [
            shop.runpytest_inprocess("cases", models, "--collect-only", "-q") for _ in range(2)
        ]

        assert [session.ret for session in sessions] == [0, 0]

    def test_a_broken_conftest_is_told_by_the_commands(self, shop: pytest.Pytester) -> None:
        shop.makeconftest("import nowhere_at_all")

        result = autoweb(shop, "debug", "schema", "case")

        assert result.ret == 4
        assert "No module named 'nowhere_at_all'" in result.stderr.str()
        assert result.stdout.str() == ""

    def test_commands_need_no_project(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester
    ) -> None:
        monkeypatch.chdir(tmp_path)

        result = autoweb(pytester, "debug", "schema", "case")

        assert result.ret == 0
        assert "UrlCheck" in json.loads(result.stdout.str())["$defs"]
