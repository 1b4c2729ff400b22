"""The strategy `act` on real pages, with models that follow a script."""

import json
from pathlib import Path

import pytest
from acting import Reply, act, do, on, prompt
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.models.messages import Request

SECRET = "hunter2-hunter2"
LOGIN = """<title>Shop</title><h1>Shop</h1>
<label>User <input id=u></label><label>Password <input type=password id=p></label>
<button onclick="out.textContent='Welcome, '+u.value+' '+p.value.length">Log in</button>
<button onclick="out.textContent='bad'">Log out</button><p id=out></p>"""


def statuses(result: object) -> list[str]:
    return [d.status for d in result.attempts[-1].decisions]  # type: ignore[attr-defined]


@pytest.mark.long
def test_wrong_numbers_are_put_right_wrong_texts_refused_and_told(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    case = {
        "entry_url": site.put("/", LOGIN),
        "secrets": {"pw": {"default": SECRET}},
        "expect": [{"text": "Welcome, ana 15"}],
    }

    result, client = act(
        browser,
        tmp_path,
        case,
        [
            on("type", "User", text="ana"),
            '{"action": "fly"}',
            on("type", "Password", text="<secret:pw>"),
            on("click", "Buy", mark=3),
            on("click", "Log in", mark=4),
            do("done"),
        ],
    )

    attempt = result.attempts[0]
    assert result.outcome == "passed"
    assert attempt.executed
    assert statuses(result) == ["performed", "performed", "refused", "performed", "performed"]
    assert [d.calls for d in attempt.decisions] == [1, 2, 1, 1, 1]
    assert "'fly' is no action" in prompt(client.requests[2])
    refused, righted = attempt.decisions[2:4]
    assert refused.error == "[3] does not match: expected 'Buy', but it reads 'Log in'"
    assert righted.feedback == (refused.error,)
    assert righted.failed_marks == (3,)
    assert "  - " + refused.error in prompt(client.requests[4])
    assert refused.error not in prompt(client.requests[5])
    assert (righted.chosen[0].mark, righted.chosen[0].taken) == (4, 3)
    assert attempt.code.splitlines()[-1] == (
        'page.get_by_mark(3, expected_text="Log in").click(timeout=5000)'
    )
    assert [c.method for c in attempt.tool_calls if c.acting] == ["fill", "fill", "click"]
    assert all((tmp_path / "run/cells/one" / str(d.picture)).is_file() for d in attempt.decisions)
    saved = [f.read_bytes() for f in (tmp_path / "run").rglob("*") if f.is_file()]
    assert not any(SECRET.encode() in content for content in saved)
    assert not any(SECRET in prompt(request) for request in client.requests)


@pytest.mark.long
def test_one_of_many_alike_is_looked_at_a_second_time(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    rows = "".join(
        f"<p>{name} <button onclick=\"out.textContent='{name} gone'\">Delete</button></p>"
        for name in ("Pear", "Plum")
    )
    url = site.put("/", f"<button>Add</button>{rows}<p id=out></p>")

    result, client = act(
        browser,
        tmp_path,
        {"entry_url": url, "expect": [{"text": "Plum gone"}]},
        [on("click", "Delete", mark=1), on("click", "Delete", mark=2, near="Plum"), do("done")],
    )

    assert result.outcome == "passed"
    first = result.attempts[0].decisions[0]
    assert (first.second_look, first.calls, first.status) == (True, 2, "performed")
    assert (first.chosen[0].mark, first.chosen[0].taken) == (1, 3)
    again = prompt(client.requests[1])
    assert 'Several elements fit "Delete"' in again
    assert '[2] button "Delete" near "Plum"' in again
    assert "[3]" not in again
    assert '"Add"' not in "".join(line for line in again.splitlines() if line.startswith("["))


@pytest.mark.long
def test_what_the_browser_cannot_do_is_no_success_and_is_told(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    url = site.put(
        "/",
        "<button onclick=\"out.textContent='ok'\">Buy</button><button>Other</button><p id=out></p>"
        "<script>addEventListener('mousemove', () => {"
        "const veil = document.createElement('div'); veil.id = 'veil';"
        "veil.style = 'position:fixed;inset:0'; document.body.append(veil)}, {once: true})"
        "</script>",
    )

    result, _ = act(
        browser,
        tmp_path,
        {"entry_url": url, "expect": [{"text": "ok"}]},
        [
            on("click", "Buy"),
            do("navigate", url="http://elsewhere.test/"),
            do("press", key="Enter"),
        ],
        max_decisions=3,
    )

    attempt = result.attempts[0]
    assert result.outcome == "failed"
    assert statuses(result) == ["failed", "failed", "performed"]
    assert attempt.failure is not None
    assert attempt.failure.message == "3 decisions were not enough"
    assert "veil" in attempt.decisions[1].feedback[0]
    assert "blocked: http://elsewhere.test" in attempt.decisions[2].feedback[0]
    assert not attempt.tool_calls[1].ok
    assert not attempt.step_results[0].ok


@pytest.mark.long
def test_tabs_are_followed_dialogs_accepted_and_data_is_the_answer(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    tab = site.put(
        "/tab",
        "<table><tr><th>Total</th><td>42 EUR</td></tr></table><a href=/>Home</a>"
        "<table><tr><th tabindex=0>Tax</th><td>8 EUR</td></tr></table>",
    )
    url = site.put(
        "/",
        f"<button onclick=\"if (confirm('Really?')) window.open('{tab}')\">Details</button>",
    )

    result, client = act(
        browser,
        tmp_path,
        {"entry_url": url, "expect": [{"answer": {"equals": "8 EUR"}}]},
        [on("click", "Details"), on("extract", "Tax"), do("done")],
    )

    assert result.outcome == "passed", result.reason
    assert [d.url for d in result.attempts[0].decisions] == [url, tab, tab]
    assert 'a dialog said "Really?" and was accepted' in prompt(client.requests[1])
    assert "extract \"Tax\": '8 EUR'" in prompt(client.requests[2])


@pytest.mark.long
def test_an_element_that_changes_after_the_look_is_not_acted_on(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    url = site.put("/", "<button onclick=\"out.textContent='pressed'\">Keep</button><p id=out></p>")
    pages: list[Page] = []

    def change_and_click(request: Request) -> str:
        pages[0].evaluate("document.querySelector('button').textContent = 'Delete all'")
        return json.dumps({"action": "click", "mark_id": 1, "expected_text": "Keep"})

    result, _ = act(
        browser,
        tmp_path,
        {"entry_url": url, "expect": [{"text": "pressed"}]},
        [change_and_click],
        pages=pages,
        max_decisions=1,
    )

    assert result.outcome == "failed"
    first = result.attempts[0].decisions[0]
    refusal = "[1] does not match: expected 'Keep', but it reads 'Delete all'"
    assert (first.status, first.error) == ("refused", refusal)


@pytest.mark.long
def test_circles_and_vain_decisions_end_an_attempt(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    url = site.put("/", "<button>Buy</button>")
    runs: dict[str, list[Reply]] = {
        "circles": [on("click", "Buy")],
        "in a row": ["no json at all"],
    }

    for why, replies in runs.items():
        (tmp_path / why).mkdir()
        result, client = act(browser, tmp_path / why, {"entry_url": url}, replies)
        failure = result.attempts[0].failure
        assert failure is not None
        assert (failure.kind, why in failure.message) == ("limit", True)
        assert not result.attempts[0].executed
        assert len(client.requests) <= 8


@pytest.mark.parametrize("told", [True, False])
def test_models_that_see_get_the_picture_and_the_control_arm_no_message(
    browser: Browser, tmp_path: Path, site: Site, told: bool
) -> None:
    result, client = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", "<button>Buy</button><button>Sell</button>")},
        [on("click", "Rent", mark=1), do("done")],
        spec={"vision": True, "constrained": "json_schema"},
        feedback=told,
    )

    message = client.requests[1].messages[-1]
    assert message.images[0].startswith("data:image/png;base64,")
    assert '"Buy"' not in message.content
    assert ("does not match" in message.content) == told
    assert (result.attempts[0].decisions[1].failed_marks == (1,)) == told
    schema = client.requests[0].json_schema
    assert schema is not None
    # Services compile a schema and cache a prompt from its beginning, so both stay the same.
    assert schema == client.requests[1].json_schema
    assert schema["properties"]["decision"]["anyOf"][0]["properties"]["mark_id"] == {
        "type": "integer"
    }
    first, second = (request.messages[0].content for request in client.requests)
    assert first == second


@pytest.mark.long
def test_scripts_find_elements_by_mark_and_text(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    plan = "Step 1: Log in\n- Target URL: CURRENT_PAGE\n- Status: CONFIRMED"
    script = (
        "```python\n# Step 1\npage.get_by_mark(1, expected_text='User').fill('ana')\n"
        "page.get_by_mark(9, expected_text='Log in').click()\n"
        "try:\n    page.get_by_mark(4, expected_text='Buy').click()\n"
        "except Error as error:\n    answer(str(error))\n```"
    )

    result, _ = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", LOGIN), "expect": [{"text": "Welcome, ana 0"}]},
        [],
        strategy="codegen",
        plan=plan,
        generate=script,
    )

    assert result.outcome == "passed", result.attempts[0].formatted_errors
    assert "expected 'Buy', but it reads 'Log out'" in str(result.attempts[0].answer)


@pytest.mark.long
def test_a_retry_is_told_what_became_of_the_attempt_but_not_what_was_expected(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    case = {
        "entry_url": site.put("/", "<h1>3 sheets</h1><button>More</button>"),
        "user_task": "Press More. Return how many sheets there are.",
        "expect": [{"answer": {"equals": "three sheets"}}],
    }
    pressed = on("click", "More")

    result, client = act(
        browser,
        tmp_path,
        case,
        [pressed, do("done", answer="two"), pressed, do("done", answer="three sheets")],
        max_repairs=1,
    )

    told, later = prompt(client.requests[2]), prompt(client.requests[3])
    assert "Not as it should be: the answer." in told
    assert '- click "More"' in told
    assert '=== answer ===\n"two"' in told
    assert "=== address at the end ===" in told
    # As the attempt ended as done: the parts of the task, and once the page in few words.
    for parts in (told, later):
        assert "1. Press More.\n2. Return how many sheets there are." in parts
    assert 'heading "3 sheets"' in told
    assert "The page at its end was:" not in later
    assert "three sheets" not in told
    assert result.outcome == "healed"
