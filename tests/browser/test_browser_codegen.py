"""What a model that writes a script is shown, and where its steps work."""

from pathlib import Path

from acting import act
from local_site import Site
from playwright.sync_api import Browser

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
