"""Each extra works without the packages of the others, and a missing one is named in a sentence."""

import os
import subprocess
from collections.abc import Callable

import pytest
from session_server import python_command

STORES = ("sqlalchemy", "alembic", "psycopg", "redis")
OPTIONAL = (*STORES, "fastapi", "uvicorn", "PIL", "xllamacpp", "ray")
BRINGS = {
    "store": ("sqlalchemy", "alembic"),
    "postgres": ("sqlalchemy", "alembic", "psycopg"),
    "redis": ("redis",),
    "dashboard": ("sqlalchemy", "alembic", "fastapi", "uvicorn"),
    "testing": ("PIL",),
    "local": ("xllamacpp",),
}
ORACLE = ("cases", "-k", "title", "--autoweb-models=builtin/oracle")
AUTOWEB = ("-m", "pytest_autoweb.cli")
LOST = "postgresql://127.0.0.1:1/runs"


@pytest.fixture
def install(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Leaves only the packages of some extras to the processes that a test starts."""

    def only(*extras: str) -> None:
        there = {name for extra in extras for name in BRINGS[extra]}
        blocked = [name for name in OPTIONAL if name not in there]
        folder = pytester.mkdir("blocked")
        (folder / "sitecustomize.py").write_text(
            f"import sys\nsys.modules.update(dict.fromkeys({blocked}))\n", encoding="utf-8"
        )
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)

    return only


def python(project: pytest.Pytester, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*python_command(), *arguments]
    return subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.parametrize(
    ("extra", "flags", "says"),
    [
        ("redis", "--autoweb-cache=redis://127.0.0.1:1/0", ""),
        (
            "store",
            "--autoweb-store=sqlite:///runs.db --autoweb-cache=sqlite:///runs.db",
            "stored as * in sqlite:///*runs.db",
        ),
        ("postgres", f"--autoweb-store={LOST}", "the run is not in the store yet (the store *"),
    ],
)
def test_a_run_needs_only_the_extra_that_it_uses(
    project: pytest.Pytester, install: Callable[..., None], extra: str, flags: str, says: str
) -> None:
    install(extra)
    result = project.runpytest_subprocess(*ORACLE, *flags.split())

    result.assert_outcomes(passed=1, deselected=1)
    if says:
        result.stdout.fnmatch_lines([f"*{says}*"])


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ("dashboard", "import pytest_autoweb.store.dashboard.app"),
        ("testing", "import pytest_autoweb.testing.pixels"),
        ("local", "import pytest_autoweb.models.engine_pool, xllamacpp"),
        (
            "redis",
            "from pytest_autoweb.store.redis_cache import open_redis_cache as o; o('redis:')",
        ),
    ],
)
def test_a_module_needs_only_its_own_extra(
    project: pytest.Pytester, install: Callable[..., None], extra: str, code: str
) -> None:
    install(extra)
    done = python(project, "-c", code)

    assert "ModuleNotFoundError" not in done.stderr
    assert "not installed" not in done.stderr


@pytest.mark.parametrize(
    ("there", "flag", "needed"),
    [
        ((), "--autoweb-store=sqlite:///runs.db", "sqlalchemy and alembic * [[]store]'"),
        ((), f"--autoweb-store={LOST}", "sqlalchemy, alembic and psycopg * [[]postgres]'"),
        (("redis",), f"--autoweb-cache={LOST}", "sqlalchemy, alembic and psycopg * [[]postgres]'"),
        (("store",), f"--autoweb-store={LOST}", "psycopg * [[]postgres]'"),
        (("store",), "--autoweb-cache=redis://127.0.0.1:1/0", "redis * [[]redis]'"),
        ((), "--autoweb-cluster", "ray * [[]cluster]'"),
        (("store",), "--autoweb-models=local/smollm2-135m", "xllamacpp * [[]local]'"),
    ],
)
def test_a_session_that_lacks_an_extra_names_it_at_once(
    project: pytest.Pytester,
    install: Callable[..., None],
    there: tuple[str, ...],
    flag: str,
    needed: str,
) -> None:
    install(*there)
    result = project.runpytest_subprocess(*ORACLE, flag)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    wanted = needed.replace("* ", "* not installed: pip install 'pytest-autoweb")
    result.stderr.fnmatch_lines([f"*{wanted}*"])
    result.stderr.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("there", "arguments", "needed"),
    [
        ((), (*AUTOWEB, "db", "sync"), "[store]"),
        ((), (*AUTOWEB, "db", "serve"), "[dashboard]"),
        ((), (*AUTOWEB, "db", "serve", "--database", LOST), "[dashboard,postgres]"),
        (("store",), (*AUTOWEB, "db", "serve"), "[dashboard]"),
        (("dashboard",), (*AUTOWEB, "db", "serve", "--database", LOST), "[postgres]"),
        (("store",), ("-c", "import pytest_autoweb.testing.pixels"), "[testing]"),
    ],
)
def test_a_command_that_lacks_an_extra_names_it_at_once(
    project: pytest.Pytester,
    install: Callable[..., None],
    there: tuple[str, ...],
    arguments: tuple[str, ...],
    needed: str,
) -> None:
    install(*there)
    done = python(project, *arguments)

    assert f"not installed: pip install 'pytest-autoweb{needed}'" in done.stderr
    assert done.returncode == (4 if arguments[0] == "-m" else 1)
    assert "ModuleNotFoundError" not in done.stderr
