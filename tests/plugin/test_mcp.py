"""`autoweb mcp`: a real client lists, runs, reads and stops, within the limits of the server."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent
from session_server import autoweb_command

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.tools.mcp_server.agent_server import build_server
from pytest_autoweb.tools.mcp_server.bounds import LIST_ITEMS, TEXT_CHARS, ServerLimits, bounded

T = TypeVar("T")
TEA = """
version: 1
webserver: {static: ../site}
cases:
  - id: add-tea
    entry_url: "{{ webserver.url }}tea.html"
    user_task: "Put green tea into the basket."
    expect: [{text: "Basket: 1"}]
    oracle: |
      # Step 1
      page.get_by_role("button", name="Add").click()
"""
SLOW = """
version: 1
webserver: {static: ../site}
cases:
  - id: waits
    entry_url: "{{ webserver.url }}tea.html"
    user_task: "Wait."
    expect: [{text: "Basket: 1"}]
    oracle: |
      # Step 1
      page.get_by_text("never there").click(timeout=60_000)
"""
PAGE = """<!doctype html><title>Tea</title><p id="basket">Basket: 0</p>
<button onclick="basket.textContent = 'Basket: 1'">Add</button>"""


@pytest.fixture
def tea(tmp_path: Path) -> Path:
    for name, text in {
        "site/tea.html": PAGE,
        "cases/tea.yaml": TEA,
        "slow/slow.yaml": SLOW,
        "broken/typo.yaml": TEA.replace("user_task", "user_tusk"),
        "pytest.ini": "[pytest]\nautoweb_check_timeout = 0.5\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def used(server: Any, use: Callable[[Client], Awaitable[T]]) -> T:
    """What a client makes of a server, which may be in this process."""

    async def connected() -> T:
        async with Client(server) as client:
            return await use(client)

    # In a thread of its own, since Playwright keeps a loop running in the one of the tests.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(asyncio.wait_for(connected(), 240))).result()


def started(root: Path) -> Any:
    """A server that the client starts itself, as coding agents do."""
    words = [*autoweb_command(), "mcp", "--rootdir", str(root)]
    return stdio_client(StdioServerParameters(command=words[0], args=words[1:]))


async def said(client: Client, tool: str, **arguments: Any) -> str:
    """What a call is refused with."""
    refused = await client.call_tool(tool, arguments)
    assert refused.is_error
    return " ".join(block.text for block in refused.content if isinstance(block, TextContent))


@pytest.mark.long
def test_a_client_runs_cases_reads_why_a_cell_failed_and_stops_a_run(tea: Path) -> None:
    told: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async def use(client: Client) -> dict[str, Any]:
        listed = await client.call_tool("list_cases", {"paths": ["cases", "broken"]})
        order = {"models": ["builtin/oracle", "builtin/noop"], "wait_seconds": 120}
        ran = await client.call_tool("run_cells", order, progress_callback=note)
        failed = await client.call_tool("read_cell", {"cell": "noop", "picture": True})
        has_listed(listed.structured_content)
        has_run(ran.structured_content)
        has_told(failed.structured_content)
        assert told[-1] == (2, 2)
        assert [block.type for block in failed.content] == ["text", "image"]
        return await stopped_run(client)

    stopped = used(started(tea), use)

    assert (stopped["state"], stopped["cells_planned"]) == ("stopped", 2)
    # It was told to end as by Ctrl-C, so the cell that had ended is in its report.
    assert "add-tea" in (tea / "autoweb-report/report.json").read_text()


def has_listed(document: dict[str, Any]) -> None:
    assert [case["task"] for case in document["cases"]] == ["Put green tea into the basket."]
    assert "user_tusk" in document["mistakes"][0]


def has_run(job: dict[str, Any]) -> None:
    assert (job["state"], job["exit_status"], job["cells_done"]) == ("finished", 0, 2)
    outcomes = {cell["model"]: cell["outcome"] for cell in job["document"]["cells"]}
    assert outcomes == {"builtin/oracle": "passed", "builtin/noop": "failed"}


def has_told(story: dict[str, Any]) -> None:
    assert [check["passed"] for check in story["checks"]] == [False]
    assert "Basket: 1" in story["checks"][0]["expected"]


async def stopped_run(client: Client) -> dict[str, Any]:
    """Start a run of which one cell ends at once and one never, and stop it in between."""
    order = {"models": ["builtin/oracle"], "cases": ["cases", "slow"], "wait_seconds": 0}
    begun = (await client.call_tool("run_cells", order)).structured_content
    assert begun["state"] == "running"
    assert "under way" in await said(client, "prove_cases", cases=["cases"])
    while not begun["cells_done"]:
        begun = (await client.call_tool("wait_for_job", {"wait_seconds": 1})).structured_content
    return dict((await client.call_tool("stop_job", {})).structured_content)


def test_what_the_server_does_not_allow_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        model = {"models": ["openai/gpt-5-mini"]}
        assert "allows 0 to 2" in await said(client, "run_cells", **model, max_cost_usd=3)
        other = {"models": ["openai/other"]}
        assert "allows openai/gpt-5-mini" in await said(client, "run_cells", **other)
        assert "lies outside" in await said(client, "list_cases", paths=["../elsewhere"])
        assert "is no path" in await said(client, "list_cases", paths=["--help"])
        assert "no run" in await said(client, "read_cell", cell="add-tea")

    used(build_server(ServerLimits(tmp_path, 2.0, ("openai/gpt-5-mini",))), use)

    async def tools(client: Client) -> set[str]:
        return {tool.name for tool in (await client.list_tools()).tools}

    only_reads = used(build_server(ServerLimits(tmp_path, 2.0, read_only=True)), tools)
    assert only_reads == {"list_cases", "read_run", "read_cell", "compare_runs"}


def test_a_link_out_of_the_project_is_no_way_out(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    limits = ServerLimits(root, 1.0)

    assert limits.inside("cases/a.yaml::login") == "cases/a.yaml::login"
    for named in ("out/other.yaml", str(tmp_path), "", "-o"):
        with pytest.raises(SettingsError):
            limits.inside(named)


def test_long_answers_are_cut_and_say_so() -> None:
    cut = bounded({"text": "x" * (TEXT_CHARS + 5), "rows": list(range(LIST_ITEMS + 3))})

    assert cut["text"].endswith("… (5 more characters)")
    assert cut["rows"][-1] == "… and 3 more"
