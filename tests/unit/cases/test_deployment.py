"""One suite for local, staging and preview sites: `--base-url` and the environment."""

from pathlib import Path

import pytest

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.cases.deployment import Deployment
from pytest_autoweb.cases.loader import load_case_file

CASES = """
version: 1
vars:
  user: "{{ env.SHOP_USER | default('ana') }}"
cases:
  - id: login
    entry_url: %s
    user_task: Log in as {{ vars.user }}.
"""


def entry_url(folder: Path, url: str, base_url: str = "", **environ: str) -> str:
    path = folder / "shop.yaml"
    path.write_text(CASES % url, encoding="utf-8")
    (case,) = load_case_file(path, Deployment(base_url, environ))
    return case.resolve(None).entry_url


@pytest.mark.parametrize(
    ("url", "base_url", "opened"),
    [
        ("/login", "https://staging.test", "https://staging.test/login"),
        ("login", "https://staging.test/shop/", "https://staging.test/shop/login"),
        ("?q=1", "https://staging.test/shop", "https://staging.test/shop?q=1"),
        ('"{{ base_url }}/login"', "https://staging.test", "https://staging.test/login"),
        ("http://shop.test/", "https://staging.test", "http://shop.test/"),
    ],
)
def test_an_entry_url_is_resolved_against_the_base_url(
    tmp_path: Path, url: str, base_url: str, opened: str
) -> None:
    assert entry_url(tmp_path, url, base_url) == opened


def test_the_environment_may_hold_the_address(tmp_path: Path) -> None:
    assert entry_url(tmp_path, '"{{ env.SITE }}/a"', SITE="http://a.test") == "http://a.test/a"


def test_a_variable_with_a_default_need_not_be_set(tmp_path: Path) -> None:
    entry_url(tmp_path, "http://shop.test/", SHOP_USER="")
    (case,) = load_case_file(tmp_path / "shop.yaml", Deployment("", {"SHOP_USER": "eve"}))

    assert case.resolve(None).user_task == "Log in as eve."


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("env.SITE", "the environment variable SITE is not set; set it, or write a default"),
        ("env.SHOP_TOKEN", "holds a secret by its name; declare it under `secrets`"),
        ("env", "name one of them"),
        ("base_url", "base_url is not known; give --base-url"),
    ],
)
def test_what_is_not_there_is_one_sentence(tmp_path: Path, expression: str, reason: str) -> None:
    with pytest.raises(CaseError) as caught:
        entry_url(tmp_path, f'"{{{{ {expression} }}}}"', SHOP_TOKEN="t-123456789")

    assert reason in str(caught.value)
    assert "t-123456789" not in str(caught.value)


def test_the_same_suite_on_two_sites_is_the_same_case(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(CASES % "/login", encoding="utf-8")
    (local,) = load_case_file(path, Deployment("http://127.0.0.1:8000", {}))
    (staging,) = load_case_file(path, Deployment("https://staging.test", {}))

    assert local.checksum == staging.checksum


def test_ids_and_numbers_print_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(
        "version: 1\nvars: {zip: 00123}\ncases:\n"
        "  - id: 007\n    entry_url: http://a.test/\n    user_task: 'Find {{ vars.zip }}.'\n"
        "  - id: 0x10\n    entry_url: http://a.test/\n    user_task: Two\u2028lines.\n",
        encoding="utf-8",
    )
    first, second = load_case_file(path)

    assert (first.id, second.id) == ("007", "0x10")
    assert first.resolve(None).user_task == "Find 00123."
    assert second.resolve(None).user_task == "Two\u2028lines."
