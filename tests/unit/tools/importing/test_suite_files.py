"""What a recorded test becomes before it is proven: limits, advice, reasons to leave it out."""

from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from pytest_autoweb.tools.importing.suite.recorded_tests import (
    RecordedStep,
    RecordedSuite,
    RecordedTest,
    SuiteOrder,
    TypedSecret,
    Unsaid,
)
from pytest_autoweb.tools.importing.suite.suite_cases import (
    NotImportable,
    SuiteSecrets,
    candidate,
    take_secrets,
)
from pytest_autoweb.tools.importing.suite.suite_files import SuiteFiles, SuiteSite

SITE = "http://localhost:5000"
ORDER = RecordedTest(
    nodeid="e2e/test_shop.py::test_order", where="e2e/test_shop.py:3", name="test_order",
    variant="", doc="", fixtures=("shop",), outcome="passed", why="",
    steps=(
        RecordedStep("act", f"page.goto('{SITE}/')", "e2e/test_shop.py:4"),
        RecordedStep("act", "page.get_by_role('button').click()", "e2e/test_shop.py:5"),
        RecordedStep("expect", "expect(page.locator('p')).to_be_visible()", "e2e/test_shop.py:6"),
    ),
    unsaid=(), secrets={}, files=(), context={}, given_state=False, took_s=2.0,
)  # fmt: skip


def files(test: RecordedTest) -> SuiteFiles:
    suite, site = RecordedSuite((test,), Path.cwd(), ""), SuiteSite({})
    return SuiteFiles(suite, SuiteOrder(("e2e",)), site, SuiteSecrets("E2E"), Path("cases"))


@pytest.mark.parametrize(("took_s", "starts", "plays"), [(2.0, 120, 60), (64.2, 642, 642)])
def test_a_slow_test_has_as_much_time_in_its_proof_as_it_may_need(
    took_s: float, starts: int, plays: int
) -> None:
    one = candidate(replace(ORDER, took_s=took_s), SuiteSecrets("E2E"), ())
    drafted = yaml.safe_load(files(one.test).text([one], draft=True))
    assert drafted["webserver"]["timeout"] == starts
    assert drafted["defaults"]["timeout"] == plays
    assert "defaults" not in yaml.safe_load(files(one.test).text([one]))


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (SuiteSite({}), ""),
        (SuiteSite({"static": "public"}), ""),
        (SuiteSite({"command": "shop --port {port} --data {data}"}), ""),
        (SuiteSite({"command": "shop --port {port}"}), "let --command give it the folder {data}"),
        (SuiteSite({}, frozenset({f"{SITE}/"})), "let --command start it"),
    ],
)
def test_where_a_site_may_keep_what_plays_did_it_is_said_how_to_help(
    site: SuiteSite, said: str
) -> None:
    advice = site.advice(candidate(ORDER, SuiteSecrets("E2E"), ()))
    assert said in advice
    assert bool(said) == bool(advice)


def test_what_no_check_can_tell_is_named_without_the_secrets_in_it() -> None:
    typed = {"open sesame 7": TypedSecret("password", "")}
    asked = Unsaid("assert api.password() == 'open sesame 7'", "e2e/test_shop.py:6")
    test = replace(ORDER, steps=ORDER.steps[:2], unsaid=(asked,), secrets=typed)
    secrets = SuiteSecrets("E2E")
    take_secrets((test,), secrets)
    said = (
        "it expects nothing that a check could tell, such as "
        "`assert api.password() == '<secret:password>'` (e2e/test_shop.py:6)"
    )
    with pytest.raises(NotImportable) as why:
        candidate(test, secrets, ())
    assert str(why.value) == said
    failed = replace(test, outcome="failed", why="Locator.fill: 'open sesame 7' …")
    with pytest.raises(NotImportable, match=r"itself: Locator[.]fill: '<secret"):
        candidate(failed, secrets, ())
