"""What a model that writes a script is shown, and where its steps work."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from acting import act, run_one, settings
from local_site import Site
from playwright.sync_api import Browser

from pytest_autoweb.models.messages import Request
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.testing import ScriptedClient

BIG = "style='width:600px;height:400px'"
PLAN = """Step 1: Press the button
- Description: Press the "{button}" button
- Target URL: {url}
- Entry Point Action: Direct URL
Status: CONFIRMED
"""


def test_a_step_works_in_the_frame_it_is_about_whatever_its_button_is_called(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    pressed = "<button onclick='parent.document.title = \"pressed\"'>New frame</button>"
    site.put("/inner", pressed)
    url = site.put("/", f"<h1>Rooms</h1><iframe name=app {BIG} src=/inner></iframe>")

    result, _ = act(
        browser,
        tmp_path,
        {"entry_url": url, "expect": [{"js": "document.title == 'pressed'"}]},
        (),
        strategy="codegen",
        plan=PLAN.format(button="New frame", url="CURRENT_PAGE"),
        generate="```python\n# Step 1\npage.get_by_role('button', name='New frame').click()\n```",
    )

    assert (result.outcome, result.reason) == ("passed", "")


def test_the_entry_page_is_shown_whatever_a_plan_names_and_what_is_missing_is_told(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    url = site.put("/", "<button>Order tea</button>")

    result, client = act(
        browser,
        tmp_path,
        {"entry_url": url},
        (),
        strategy="codegen",
        plan=PLAN.format(button="Order tea", url="https://far.example/x"),
        generate="```python\n# Step 1\npage.get_by_role('button').click()\n```",
    )

    (prompt,) = [r.messages[-1].content for r in client.requests if r.stage == "generate"]
    assert f"[Entry page] URL: {url}" in prompt
    assert 'button "Order tea"' in prompt
    assert "[Step 1] URL: https://far.example/x" in prompt
    assert "NOT SHOWN: https://far.example/x is outside the case's origins" in prompt
    assert len(result.attempts[0].snapshots) == 2


def test_steps_on_the_current_page_belong_to_the_page_that_was_named_last(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    url, other = site.put("/", "<button>Order tea</button>"), site.put("/menu", "<h1>Menu</h1>")
    steps = ("CURRENT_PAGE", other, "CURRENT_PAGE")
    plan = "\n".join(
        f"Step {n}: Look\n- Target URL: {where}\n- Status: CONFIRMED"
        for n, where in enumerate(steps, 1)
    )

    _, client = act(
        browser,
        tmp_path,
        {"entry_url": url},
        (),
        strategy="codegen",
        plan=plan,
        generate="```python\n# Step 1\npage.get_by_role('button').click()\n```",
    )

    (prompt,) = [r.messages[-1].content for r in client.requests if r.stage == "generate"]
    assert f"[Step 1] URL: {url}" in prompt
    assert f"[Step 2, 3] URL: {other}" in prompt


LOST = (
    "```python\n# Step 1\n{first}\npage.get_by_role('button', name='Gone').click(timeout=200)\n```"
)
FOUND = (
    "```python\n# Step 1\npage.get_by_role('link', name='Rooms').click()\n"
    "page.get_by_role('button', name='Book').click()\n```"
)


def repaired(
    browser: Browser,
    folder: Path,
    site: Site,
    first: str,
    repairs: Sequence[str] = (FOUND,),
    **more: Any,
) -> tuple[CellResult, list[Request]]:
    """A cell whose script fails after its first line; the result, and what repairs were told."""
    site.put("/rooms", "<button onclick=\"document.title = 'booked'\">Book</button>")
    url = site.put("/", "<p>Welcome</p><a href=/rooms>Rooms</a>")
    client = ScriptedClient(
        {
            "plan": PLAN.format(button="Gone", url="CURRENT_PAGE"),
            "generate": LOST.format(first=first),
            "repair": list(repairs),
            "visual": "A page with a green link.",
        }
    )
    result = run_one(
        browser,
        {"entry_url": url, "user_task": "Go.", "expect": [{"js": "document.title == 'booked'"}]},
        client,
        settings(folder, max_repairs=len(repairs), check_timeout=0.5, **more),
        strategy="codegen",
        spec={"vision": "visual_supplement" in more},
        opened=lambda page: None,
    )
    return result, [request for request in client.requests if request.stage == "repair"]


@pytest.mark.long
def test_a_repair_is_shown_the_entry_page_and_the_page_of_the_failure(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, (request,) = repaired(
        browser, tmp_path, site, "page.get_by_role('link', name='Rooms').click()"
    )

    assert result.outcome == "healed"
    prompt = request.messages[-1].content
    entry, failure = prompt.index("<<entry page "), prompt.index("<<page at the failure ")
    assert entry < prompt.index('link "Rooms"') < failure < prompt.index('button "Book"')
    assert prompt.count("\nURL: ") == 2


@pytest.mark.long
def test_after_a_refused_repair_the_next_one_is_told_of_the_run_before_it(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    first = "page.get_by_role('link', name='Rooms').click()"
    refused = "```python\n# Step 1\nimport os\n```"
    result, (_, last) = repaired(browser, tmp_path, site, first, [refused, FOUND])

    assert [each.failure and each.failure.kind for each in result.attempts] == [
        *("step", "lint", None),
    ]
    prompt = last.messages[-1].content
    parts = ["<<entry page ", "<<page at the failure ", 'button "Book"', "import os", "AW101"]
    parts += ["The script before it did run", "name='Gone'", "TimeoutError"]
    assert parts == sorted(parts, key=prompt.index)


@pytest.mark.long
def test_where_the_failure_is_on_the_entry_page_it_is_shown_once(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    _, (request,) = repaired(browser, tmp_path, site, "page.title()")

    prompt = request.messages[-1].content
    assert "<<entry page " not in prompt
    assert prompt.count('link "Rooms"') == 1
    assert "picture" not in prompt
    assert request.messages[-1].images == ()


@pytest.mark.long
def test_a_repair_has_the_visual_supplement_where_it_is_on(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    _, (request,) = repaired(browser, tmp_path, site, "page.title()", visual_supplement=True)

    prompt, images = request.messages[-1].content, request.messages[-1].images
    assert "<<picture of the entry page " in prompt
    assert "A page with a green link." in prompt
    assert len(images) == 1
    assert 'link "Rooms"' in prompt
