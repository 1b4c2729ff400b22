"""Kept answers outlive a process, end with their time, and a lost server only makes them fewer."""

import datetime as dt
import logging
import time
from pathlib import Path

import pytest

from pytest_autoweb.agents.correction.call_cache import Cache
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.session.extras import open_cache
from pytest_autoweb.store.database import Store, read_address
from pytest_autoweb.store.session_hooks import StoreCache

KEY = "0" * 64


@pytest.fixture(params=["store", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "store":
        return f"sqlite:///{tmp_path}/runs.db"
    redis: str = request.getfixturevalue("redis_url")
    return redis


def test_an_answer_is_kept_for_others_replaced_and_forgotten_in_time(url: str) -> None:
    one, other = open_cache(url, Path()), open_cache(url, Path())
    one.put(KEY, '"früher"', 300)
    one.put(KEY, '"später"', 300)
    one.put("1" * 64, "brief", 0.05)
    time.sleep(0.1)

    assert other.get(KEY) == '"später"'
    assert other.get("1" * 64) is None
    assert other.get("2" * 64) is None
    for cache in (one, other):
        cache.close()
        cache.close()


def test_the_table_holds_an_answer_for_exactly_its_time(store_url: str) -> None:
    now = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)
    cache = StoreCache(Store(read_address(store_url)), lambda: now)
    cache.put(KEY, "kept", 300)
    now += dt.timedelta(seconds=299.9)
    within = cache.get(KEY)
    now += dt.timedelta(seconds=0.1)
    after = cache.get(KEY)
    cache.close()

    assert (within, after) == ("kept", None)


@pytest.mark.parametrize(
    "lost",
    ["redis://:geheim@127.0.0.1:1/0", "postgresql://ana:geheim@127.0.0.1:1/runs"],
)
def test_a_lost_server_is_an_empty_cache_that_says_so_once_without_its_password(
    lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache: Cache = open_cache(lost, Path())
    with caplog.at_level(logging.WARNING):
        cache.put(KEY, "kept", 300)
        answers = [cache.get(KEY) for _ in range(3)]
    cache.close()

    assert answers == [None] * 3
    assert len(caplog.records) == 1
    assert "no longer used" in caplog.text
    assert "geheim" not in caplog.text


def test_a_url_that_is_none_is_refused_without_its_password() -> None:
    with pytest.raises(SettingsError, match=r"redis://:\*\*\*@h:port/0"):
        open_cache("redis://:geheim@h:port/0", Path())
