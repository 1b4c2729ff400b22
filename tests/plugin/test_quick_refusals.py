"""Sessions that are refused before anything large is loaded, and keys in `.env`."""

import json
import os
import sys

import pytest
from openai_server import Answer, OpenAIServer

from pytest_autoweb.models.providers import PROVIDERS
from pytest_autoweb.testing import scripted_plan

LARGE = ("litellm", "openai", "httpx", "jinja2", "jsonschema", "pytest_autoweb.session.cell_hooks")
KEY = "filed-key-0123456789"
SCRIPT = """```python
# Step 1
page.get_by_label("Name").fill("ana")
page.get_by_role("button").click()
```"""


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        for name in (*provider.keys, *provider.addresses):
            monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ("openai/gpt-5-mini,builtin/noop", "no key for provider openai: set OPENAI_API_KEY in the"),
        ("nobody/knows-it", "litellm knows no provider for 'nobody/knows-it'; write it as"),
    ],
)
def test_a_refused_session_loads_neither_litellm_nor_what_runs_cells(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, models: str, says: str
) -> None:
    temporary = project.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    ran = project.run(
        sys.executable, "-X", "importtime", "-m", "pytest", "cases", f"--autoweb-models={models}"
    )

    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines([f"*{says}*"])
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.lines if "|" in line}
    assert "pytest_autoweb.hookspecs" in loaded
    assert loaded & set(LARGE) == set()
    assert not any(project.path.glob("autoweb-report*"))
    # The gateway, which had been started meanwhile, has ended, and its log is gone.
    assert not any(temporary.iterdir())


def test_a_users_own_client_needs_no_provider(project: pytest.Pytester) -> None:
    project.makeconftest(
        "from pytest_autoweb.testing import ScriptedClient\n"
        "def pytest_autoweb_client(spec):\n    return ScriptedClient({})\n"
    )
    ran = project.runpytest("cases", "-k", "nothing", "--autoweb-models=nobody/knows-it")

    assert ran.ret == pytest.ExitCode.NO_TESTS_COLLECTED


CONFTEST = f"""
import os, subprocess, sys
def pytest_runtest_logfinish():
    assert {KEY!r} not in os.environ.values()
    assert {KEY!r} not in subprocess.run(["env"], capture_output=True, text=True).stdout
"""


@pytest.mark.long
def test_keys_of_the_env_file_reach_the_model_and_nothing_else(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makeconftest(CONFTEST)
    # The server of an application may read the same file, and its page may log the key.
    index = project.path / "site/index.html"
    index.write_text(
        index.read_text(encoding="utf-8") + f"<script>console.error('{KEY}')</script>",
        encoding="utf-8",
    )
    with OpenAIServer([Answer(scripted_plan("log in")), Answer(SCRIPT)]) as server:
        monkeypatch.setenv("GROQ_API_BASE", server.api_base)
        (project.path / ".env").write_text(f"GROQ_API_KEY={KEY}\n", encoding="utf-8")
        ran = project.runpytest_subprocess(
            "cases", "-k", "login", "--autoweb-models=groq/any", "--autoweb-sandbox=auto"
        )
        keys = {seen.headers["Authorization"] for seen in server.requests}

    report = project.path / "autoweb-report"
    cells = [
        cell
        for case in json.loads((report / "report.json").read_text(encoding="utf-8"))["cases"]
        for cell in case["cells"]
    ]
    assert [cell["outcome"] for cell in cells] == ["passed"], ran.stdout.str()
    assert keys == {f"Bearer {KEY}"}
    assert KEY not in ran.stdout.str() + ran.stderr.str()
    assert KEY not in os.environ.values()
    leaks = [
        path for path in report.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert leaks == []
