"""Stores in SQLite and in a real Postgres, the same tests for both."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

import psycopg
import pytest
import real_servers

from pytest_autoweb.store.database import Store, read_address


def absent(program: str) -> NoReturn:
    """Skips the test; where servers are required (`.ci/run` says so), fails it."""
    end = pytest.fail if os.environ.get("REQUIRE_SERVERS") else pytest.skip
    end(f"{program} is not installed; scripts/setup --test installs it")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    for program in ("initdb", "postgres"):
        if real_servers.postgres_program(program) is None:
            absent(program)
    with real_servers.postgres() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """A new database."""
    name = f"store_{uuid4().hex}"
    with psycopg.connect(f"{postgres_server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{postgres_server}/{name}"


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    if shutil.which("redis-server") is None:
        absent("redis-server")
    with real_servers.redis() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/stores/runs.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with Store(read_address(store_url)) as store:
        yield store
