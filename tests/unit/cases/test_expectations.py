"""What a case expects of answers is clear, and the functions it names are there, or it is told."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.cases.loader import LoadedCase

CASE = """\
version: 1
vars: {day: 2026-04-03, n: 2}
cases:
  - id: a
    entry_url: http://shop.test/
    user_task: Look.
    secrets: {pin: {env: PIN}}
    expect:
      - text: Shop
"""


def with_check(text: str) -> str:
    return f"{CASE}      - {text}\n"


@pytest.mark.parametrize(
    ("check", "field", "reason"),
    [
        (
            "answer: {equals: 03/04/2026, type: date}",
            ".answer.equals",
            "'03/04/2026' may be 2026-03-04 or 2026-04-03; write it in another way, or give a loc",
        ),
        ("answer: {equals: soon, type: date}", ".answer.equals", "'soon' cannot be read as date"),
        ("answer: {equals: 8.5, type: money}", ".answer.equals", "8.5 names no currency; give the"),
        ("answer: {equals: $8, type: money}", ".answer.equals", "or give a locale or a currency"),
        (
            "answer: {equals: [1h, 90], type: duration}",
            ".answer.equals[1]",
            "90 cannot be read as duration",
        ),
        (
            "answer: {equals: {due: {at: x}}, type: {due: date}}",
            ".answer.equals.due.at",
            "'x' cannot be read as date",
        ),
        ("answer: {contains: x, type: url}", ".answer.contains", "'x' cannot be read as url"),
        (
            "answer: {equals: 2026-04-03, type: date, locale: xx}",
            ".answer.locale",
            "'xx' is not a locale such as de_DE or en",
        ),
        (
            "answer: {equals: 1, type: {n: {type: money, currency: EURO}}}",
            ".answer.type.n.currency",
            "'EURO' is not the ISO code of a currency, such as EUR",
        ),
        (
            "answer: {records: {where: {due: {min: may, type: date}}}}",
            ".answer.records.where.due.min",
            "'may' cannot be read as date",
        ),
        (
            "answer: {records: {where: {due: {in: [2026-04-03, x]}}, type: date}}",
            ".answer.records.where.due.in[1]",
            "'x' cannot be read as date",
        ),
        (
            "answer: {records: {where: {due: x}, type: {due: date}}}",
            ".answer.records.where.due",
            "'x' cannot be read as date",
        ),
        ("answer: {records: {where: {n: {max: x}}}}", ".answer.records.where.n.max", "as number"),
        ("answer: {urls: [http://a.test/, a]}", ".answer.urls[1]", "is not a URL with http://"),
        ("answer: {urls: {want: [a]}}", ".answer.urls.want[0]", "is not a URL with http://"),
        ("python: nowhere:check", ".python", "there is no module 'nowhere'"),
        ("python: own.checks:chek", ".python", "module 'own.checks' has no function 'chek'"),
        ("python: own.checks:LIMIT", ".python", "has no function 'LIMIT'"),
        ("python: own.checks:later", ".python", "'later' must not be async"),
        (
            "python: own.checks:is_paid",
            ".python",
            "cannot be called as is_paid(context): missing a required argument: 'order'",
        ),
        (
            "{python: own.checks:is_paid, with: {order: 1, ordr: 2}}",
            ".python",
            "cannot be called as is_paid(context, order=…, ordr=…): got an unexpected keyword",
        ),
        ("python: broken:check", ".python", "'broken' cannot be imported: ZeroDivisionError"),
        ("python: needs:check", ".python", "'needs' cannot be imported: No module named 'nowhere'"),
        ("python: json:dumps", ".python", "another module 'json' is imported already"),
    ],
)
def test_what_nothing_can_be_compared_with_is_told_at_its_line(
    load: Any, own_code: Path, check: str, field: str, reason: str
) -> None:
    with pytest.raises(CaseError) as caught:
        load(with_check(check), "cases/shop.yaml")

    assert (caught.value.line, caught.value.field) == (10, f"cases[0].expect[1]{field}")
    assert reason in caught.value.reason


@pytest.fixture
def own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a package, above the folder of its cases."""
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "own"
    package.mkdir()
    (tmp_path / "cases").mkdir()
    (tmp_path / "pytest.ini").touch()
    (package / "__init__.py").touch()
    (package / "checks.py").write_text(
        "LIMIT = 5\n"
        "def is_paid(context, order, *, late=False): return True\n"
        "async def later(context): return True\n"
    )
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "needs.py").write_text("import nowhere\n")
    (tmp_path / "json.py").touch()
    for name in ("own", "own.checks", "broken", "needs"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    "check",
    [
        'answer: {equals: "{{ vars.day }}", type: date}',
        "answer: {equals: <secret:pin>, type: number}",
        'answer: {records: {where: {n: "{{ vars.n }}", due: {max: 2026-04-03, type: date}}}}',
        "answer: {urls: [/a, 'http://a.test/']}",
        '{python: "own.checks:is_paid", with: {order: "{{ vars.n }}"}}',
    ],
)
def test_what_is_clear_is_accepted(load: Any, own_code: Path, check: str) -> None:
    (case,) = load(with_check(check), "cases/shop.yaml")

    assert len(case.resolve(None).expect) == len(case.check_checksums) == 2


def sums(case: LoadedCase) -> tuple[str, str, tuple[str, ...]]:
    return case.checksum, case.checks_checksum, case.check_checksums


def test_case_and_checks_have_checksums_of_their_own(load: Any, own_code: Path) -> None:
    text = with_check("{python: own.checks:is_paid, with: {order: 1}}")
    (case,) = load(text, "cases/shop.yaml")

    (same,) = load(f"# comment\n{text}", "cases/other.yaml")
    (heavier,) = load(text.replace("text: Shop", "{text: Shop, weight: 2}"), "cases/a.yaml")
    (other,) = load(text.replace("text: Shop", "text: Store"), "cases/a.yaml")
    (task,) = load(text.replace("Look.", "Look around."), "cases/a.yaml")

    assert sums(same) == sums(case)
    assert heavier.check_checksums == case.check_checksums
    assert heavier.checks_checksum != case.checks_checksum
    assert other.checksum == case.checksum
    assert [a == b for a, b in zip(other.check_checksums, case.check_checksums, strict=True)] == [
        False,
        True,
    ]
    assert (task.checksum == case.checksum, task.checks_checksum == case.checks_checksum) == (
        False,
        True,
    )
    assert re.fullmatch("[0-9a-f]{64}", case.checks_checksum)


def test_the_checksum_of_a_check_follows_the_code_it_calls(
    load: Any, own_code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = with_check("{python: own.checks:is_paid, with: {order: 1}}")
    (before,) = load(text, "cases/shop.yaml")
    checks = own_code / "own" / "checks.py"
    checks.write_text(checks.read_text().replace("late=False", "late=True"))
    monkeypatch.delitem(sys.modules, "own.checks")

    (after,) = load(text, "cases/shop.yaml")

    assert after.checksum == before.checksum
    assert after.check_checksums[0] == before.check_checksums[0]
    assert after.check_checksums[1] != before.check_checksums[1]
