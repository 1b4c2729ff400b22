"""Where a store is, and that its password is never told."""

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_autoweb.base.errors import SettingsError, StoreError
from pytest_autoweb.base.values.normal_forms import without_password
from pytest_autoweb.store.database import Store, display_url, read_address


@example("00://")
@given(password=st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs"]), min_size=5))
@pytest.mark.long
def test_no_password_is_shown_however_it_is_written(password: str) -> None:
    secret = f"7z{password}"
    for written in (quote(secret, safe=""), secret):
        assert secret not in without_password(f"postgresql://ana:{written}@db.example/runs")
        assert written not in without_password(f"redis://:{written}@db.example/0")
        assert written not in without_password(f"postgresql:ana:{written}@db.example/runs")
    assert "hidden" not in without_password("hidden@db.example/runs")
    asked = f"postgresql://db.example/runs?user=ana&password={quote(secret)}"
    assert quote(secret) not in without_password(asked)


def test_what_is_shown_still_says_which_store_it_is() -> None:
    url = read_address("postgres://ana:secret@db.example:5432/runs?sslmode=require")

    assert display_url(url) == "postgresql://ana:***@db.example:5432/runs?sslmode=***"


def test_a_relative_path_is_relative_to_the_given_folder(tmp_path: Path) -> None:
    assert read_address("sqlite:///a/b.db", base=tmp_path).database == str(tmp_path / "a/b.db")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("runs.db", "'runs.db' is not the URL of a store"),
        ("sqlite:///a\udcffb.db", r"'sqlite:///a\\udcffb.db' is not the URL of a store"),
        ("mysql://ana:geheim@h/d", r"'mysql://ana:\*\*\*@h/d': a store is kept in SQLite"),
        ("sqlite://", "names no file"),
        ("postgresql://ana:geheim@h:port/d", r"'postgresql://ana:\*\*\*@h:port/d' is not the URL"),
    ],
)
def test_another_url_is_refused_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read_address(text)


@pytest.mark.long
def test_a_wrong_password_is_said_without_saying_it(postgres_url: str) -> None:
    url = read_address(postgres_url).set(password="geheim-geheim")

    with Store(url) as store, pytest.raises(StoreError) as refused, store.read():
        pass

    assert "password authentication failed" in str(refused.value)
    assert "geheim" not in str(refused.value)
