"""How an attempt by turns goes on and ends, on a real page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from acting import run_one, settings
from local_site import Site
from playwright.sync_api import Browser

from pytest_autoweb.agents.attempt.execute import TOLD_CALL_S
from pytest_autoweb.agents.attempt.tools import Clock
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.settings.run_settings import Source
from pytest_autoweb.testing import ScriptedClient, scripted_plan

PAGE = """<h1>Shop</h1><button onclick="document.title = 'bought'">Buy</button>"""
BUY = "```python\npage.get_by_role('button', name='Buy').click()\n```\nDONE"
SELL = "```python\npage.get_by_role('button', name='Sell').click(timeout=200)\n```"


def take(
    browser: Browser,
    folder: Path,
    site: Site,
    replies: Sequence[str],
    case: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    sources: dict[str, Source] | None = None,
    **more: Any,
) -> tuple[CellResult, list[str]]:
    """A cell whose model gives these replies; the result, and the last message of each prompt."""
    client = ScriptedClient({"generate": list(replies), "repair": BUY})
    result = run_one(
        browser,
        {
            "entry_url": site.put("/", PAGE),
            "user_task": "Buy one.",
            "expect": [{"js": "document.title == 'bought'"}],
            **(case or {}),
        },
        client,
        settings(folder, sources=sources or {}, check_timeout=0.5, **more),
        strategy="codegen",
        spec={"codegen": "turns", **(spec or {})},
        opened=lambda page: None,
    )
    return result, [request.messages[-1].content for request in client.requests]


def test_code_that_the_lint_refuses_is_told_and_not_run(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    refused = "```python\nopen('/etc/passwd')\n```"

    result, told = take(browser, tmp_path, site, [refused, BUY])

    assert (result.outcome, result.reason) == ("passed", "")
    assert "TURN 1 was refused before it ran, so nothing of it was done:" in told[1]
    # The line is that of the model's own code.
    assert "1:1 AW401" in told[1]
    assert [step.status for step in result.attempts[0].step_results] == ["corrected", "ok"]
    assert "#| open('/etc/passwd')" in result.attempts[0].code


@pytest.mark.long
def test_the_same_error_twice_ends_the_attempt_and_a_repair_is_shown_what_ran(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, told = take(browser, tmp_path, site, [SELL, SELL, BUY], max_repairs=1)

    assert [attempt.turns for attempt in result.attempts] == [2, 1]
    assert result.outcome == "healed"
    assert "name='Sell'" in told[2]
    assert "Begin anew: the page is fresh" in told[2]
    assert result.attempts[1].code_diff


@pytest.mark.long
def test_a_repair_is_told_the_errors_that_turns_went_on_after(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    site.put("/other", "<h1>Other</h1>")
    tab = "```python\ntab = page.context.new_page()\ntab.goto('other')\n"
    looked = tab + "log(tab.locator('h1').inner_text())\n```"

    result, told = take(browser, tmp_path, site, [SELL, looked, "DONE"], max_repairs=1)

    assert [step.status for step in result.attempts[0].step_results] == ["corrected", "ok"]
    # A new tab shows nothing yet, so its first address is named as on the first one.
    assert "Other" in told[2]
    assert "The script ran to its end, after errors." in told[3]
    assert "step=1 ended in an error, and you went on" in told[3]
    assert "name='Sell').click(timeout=200)\nTimeoutError: " in told[3]
    # The page at which that attempt ended is shown; it had no plan, so none is mentioned.
    assert "The page at its end was the one that it began with." in told[3]
    assert "Compare the parts of the task with what was done" in told[3]
    assert "1. Buy one.\nWhat was done:\n- " in told[3]
    assert "find another way for what did not" in told[3]
    assert "keep the plan" not in told[3]
    assert result.outcome == "healed"


def test_replies_without_code_are_told_so_and_the_second_ends_the_attempt(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, told = take(browser, tmp_path, site, ["I look around.", "I look again."])

    assert "TURN 1 held no code" in told[1]
    assert (result.outcome, result.attempts[0].turns) == ("failed", 2)
    assert "the replies hold neither code nor DONE" in result.reason


@pytest.mark.long
def test_a_model_that_begins_with_done_is_asked_back_once(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    hasty, told = take(browser, tmp_path, site, ["DONE", BUY])
    sure, _ = take(browser, tmp_path, site, ["DONE", "DONE"])

    assert "TURN 1 did nothing. Do the task now; only if nothing has to be done" in told[1]
    assert (hasty.outcome, hasty.attempts[0].turns) == ("passed", 2)
    assert (sure.outcome, sure.attempts[0].turns) == ("failed", 2)
    assert sure.reason.startswith("check 1 (js)")


@pytest.mark.long
def test_a_question_is_answered_from_the_case_or_ends_the_attempt(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    case = {"answers": {"Which colour?": "green"}}

    answered, told = take(
        browser, tmp_path, site, ["QUESTION: Which colour?", BUY], case, questions="answer"
    )
    stopped, _ = take(browser, tmp_path, site, ["QUESTION: Which colour?", BUY], questions="strict")

    assert "TURN 1 asked. The answer: green" in told[1]
    assert answered.outcome == "passed"
    assert stopped.outcome == "needs_input"


@pytest.mark.long
def test_a_wrong_guess_costs_only_a_part_of_its_turn(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, told = take(browser, tmp_path, site, [SELL.replace("timeout=200", ""), BUY])

    assert "waiting for get_by_role('button', name='Sell')" in told[1].replace('"', "'")
    guess, _ = result.attempts[0].step_results
    assert TOLD_CALL_S * 900 < guess.duration_ms < 19_000
    assert not guess.retried


@pytest.mark.long
def test_the_next_turn_shows_more_of_a_list_that_was_asked_for(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    rows = "".join(f"<tr><td>row {n}<td>of a long table</tr>" for n in range(1, 2_001))
    wrong = "```python\npage.show_more(7)\n```"
    asks = "```python\npage.show_more(1, 1500)\n```"

    result, told = take(
        browser,
        tmp_path,
        site,
        [wrong, asks, BUY],
        {"entry_url": site.put("/long", f"{PAGE}<table>{rows}</table>")},
        spec={"context_tokens": 8_000},
    )

    assert result.outcome == "passed"
    assert "more rows; page.show_more(1))" in told[0]
    assert "row: row 1500 |" not in told[0]
    assert "page.show_more: the listing has no shortened list 7 (there are: 1 to 1)" in told[1]
    assert "row: row 1500 |" in told[2]
    assert "row: row 1 |" not in told[2]
    assert 'button "Buy"' in told[2]


FORM = """<title>Orders</title><h1>Orders</h1>
<label>Name <input id=name></label> <label>Colour <select id=colour><option>Red<option>Blue</select>
</label> <label>Plan <input id=plan type=file></label>
<ul id=list><li>Pear <button onclick="this.parentNode.remove()">Delete</button>
<li>Plum <button onclick="this.parentNode.remove()">Delete</button>
<li>Fig <button onclick="this.parentNode.remove()">Delete</button></ul>
<button ondblclick="document.title = 'twice'">Open</button>
<button onclick="if (confirm('Sure?')) document.title = 'sure'">Close</button>
<a href=/tab target=_blank>Details</a>"""
TAB = "<title>Details</title><h1>Details</h1><p>{text}</p><button onclick={on}>Order</button>"


def take_lines(
    browser: Browser, folder: Path, site: Site, *replies: str, **more: Any
) -> tuple[CellResult, list[str]]:
    """A cell of a capable model in the dialect `refs`; the result, and each prompt's last part."""
    site.put("/tab", TAB.format(text="long " * 200, on="\"document.title='ordered'\""))
    (folder / "plan.txt").write_text("a plan")
    case = {
        "entry_url": site.put("/", FORM),
        "files": ["plan.txt"],
        "expect": [{"answer": {"equals": {"name": "Ana", "left": 2}}}],
        **more.pop("case", {}),
    }
    client = ScriptedClient({"generate": list(replies), "repair": "DONE"})
    result = run_one(
        browser,
        {"user_task": "Order.", **case},
        client,
        settings(folder, check_timeout=0.5, **more),
        strategy="codegen",
        spec={"dialect": "refs"},
        opened=lambda page: None,
    )
    return result, [request.messages[-1].content for request in client.requests]


def lines(*actions: str, done: bool = False, words: str = "I go on.") -> str:
    return "\n".join([words, "```", *actions, "```", *(["DONE"] if done else [])])


@pytest.mark.long
def test_lines_on_a_numbered_list_are_carried_out_by_turns(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, told = take_lines(
        browser,
        tmp_path,
        site,
        lines('e1.fill("Ana")', 'e2.select_option("Blue")', 'e3.upload("plan.txt")', "e1.read()"),
        lines("e5.click()"),
        lines('answer({"name": "Ana",', '  "left": 2})', done=True),
    )

    (attempt,) = result.attempts
    assert (result.outcome, result.reason, attempt.turns) == ("passed", "", 3)
    assert attempt.answer == {"name": "Ana", "left": 2}
    assert "TURN 1 OF 12" in told[0]
    assert 'e1.fill("Ana")  # e1 is textbox "Name"' in told[1]
    assert "It logged:" in told[1]
    assert 'textbox "Name": Ana' in told[1]
    assert "Blue [selected]" in told[1]
    assert 'e5.click()  # e5 is button "Delete"' in told[2]
    assert "Plum" not in told[2].rpartition("<<page ")[2]
    assert f"CURRENT_PAGE_URL: {site.url}\n" in told[2]
    assert attempt.code.splitlines()[-2:] == ["# Step 6", "answer({'name': 'Ana', 'left': 2})"]


@pytest.mark.long
def test_what_is_not_carried_out_is_told(browser: Browser, tmp_path: Path, site: Site) -> None:
    result, told = take_lines(
        browser,
        tmp_path,
        site,
        lines("e4.click()", "e4.click()", 'e1.fill("Ana")'),
        lines('e1.fill("Bo")', "e1.check()", "e4.click()"),
        lines('e9.click("left")', 'e1.fill("Cy")'),
        lines("e6.double_click()", done=True),
        case={"expect": [{"js": "document.title == 'twice' && !!document.querySelector('li')"}]},
    )

    assert (result.outcome, result.reason) == ("passed", "")
    assert "TURN 1 was carried out so far, and then stopped:" in told[1]
    assert 'e4 (button "Delete") is not on the page any more: look again' in told[1]
    assert '| Not carried out either:\n| e1.fill("Ana")' in told[1]
    assert "e1 (textbox) takes fill, click, press, double_click" in told[2]
    assert "e9 is not on the list" in told[3]
    assert "stopped at its first line" in told[3]


COUNTER = """<title>Cart</title><button onclick="n.textContent = +n.textContent + 1">Add</button>
<button onclick="document.title = 'paid ' + n.textContent">Pay</button><p id=n>0</p>"""


@pytest.mark.parametrize(
    ("replies", "told"),
    [
        (["e1.click()\ne2.clik()\nDONE", "e2.click()\nDONE"], "takes click: e2.clik()"),
        (["e1.click()\ne7.click()", "e2.click()"], "no such element: e7.click()"),
        (["e1.click()\ne2.click(now=1)", "e2.tap()\nDONE", "e2.click()"], "takes click: e2.tap()"),
    ],
)
def test_a_small_model_hears_which_calls_could_not_be_read(
    browser: Browser, tmp_path: Path, site: Site, replies: list[str], told: str
) -> None:
    case = {
        "entry_url": site.put("/cart", COUNTER),
        "expect": [{"js": "document.title === 'paid 1'"}],
    }

    result, prompts = take(
        browser, tmp_path, site, replies, case, {"name": "fake/model-1.5b", "dialect": "refs"}
    )

    assert (result.outcome, result.reason) == ("passed", "")
    assert len(prompts) == len(replies)
    assert "could not be read" not in prompts[0]
    assert "Not done, because it could not be read:\n" in prompts[-1]
    assert told in prompts[-1]


def test_a_small_model_that_only_writes_what_cannot_be_read_is_told_once(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    case = {"entry_url": site.put("/cart", COUNTER)}
    replies = ["e1.click()\ne2.tap()", "e2.tap()", "e2.tap()\nDONE", "e2.tap()"]

    result, prompts = take(
        browser, tmp_path, site, replies, case, {"name": "fake/model-1.5b", "dialect": "refs"}
    )

    assert result.outcome == "failed"
    assert len(prompts) == 2


@pytest.mark.long
def test_a_line_for_a_page_that_was_left_fails_at_once_unless_the_next_page_has_its_element(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    late = "<script>setTimeout(() => document.body.append(pay.content), 200)</script>"
    site.put(
        "/next", f"<button>Back</button><template id=pay><button>Pay</button></template>{late}"
    )
    way = "<a href=/next>Next</a><button>Pay</button><input aria-label=Name><h1>Cart</h1>"
    case = {"entry_url": site.put("/way", way), "timeout": 60}

    result, prompts = take(
        browser,
        tmp_path,
        site,
        ["e1.click()\ne2.click()\ne3.fill('Ana')\ne2.click()", "done()"],
        case,
        {"name": "fake/model-1.5b", "dialect": "refs"},
    )

    (attempt,) = result.attempts
    assert [(call.method, call.ok) for call in attempt.tool_calls] == [
        ("click", True),
        ("click", True),
        ("fill", False),
    ]
    assert attempt.failure is not None
    named = "page.get_by_role('textbox', name='Name', exact=True)"
    assert attempt.failure.message == (
        f"Error: an action before it opened another page, where nothing fits {named}"
    )
    assert attempt.classification is not None
    assert attempt.classification.type == "DATA_NOT_FOUND"
    assert attempt.step_results[0].duration_ms < 10_000
    assert len(prompts) == 1


@pytest.mark.long
def test_tabs_are_followed_and_dialogs_accepted_in_a_script_that_can_run_again(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, told = take_lines(
        browser,
        tmp_path,
        site,
        lines("e5.hover()", "accept_dialog()", "e8.click()"),
        "I look at the details.\ne9.click()",
        lines('wait_for("Details")', "e1.click()", 'answer("ok")'),
        "DONE",
        case={"expect": [{"answer": {"equals": "ok"}}, {"js": "document.title == 'sure'"}]},
    )

    assert (result.outcome, result.reason) == ("passed", "")
    assert "Sure?" in told[1]
    page = told[2].rpartition("<<page ")[2]
    assert 'e1 button "Order"' in page
    # Long texts are shown whole.
    assert page.count("long") == 200
    assert "/tab" in told[2]
    code = result.attempts[0].code
    assert "tab = page.context.pages[-1]\ntab.get_by_role('button', name='Order'" in code


def test_the_same_lines_in_vain_twice_end_the_attempt(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    wrong = lines("e1.check()")

    result, _ = take_lines(browser, tmp_path, site, wrong, wrong)

    assert (result.outcome, result.attempts[0].turns) == ("failed", 2)
    assert "the same reply could not be carried out twice" in result.reason


BUSY = """<title>Shop</title><h1>Shop</h1>
<button onclick="document.title = confirm('Really buy it?') ? 'bought' : 'kept'">Buy</button>
<a href="/terms" target=_blank>Terms</a> <a href="/list.csv" download>List</a>
<button onclick="fetch('/missing'); console.error('no stock left')">Check</button>"""
LOOKS = """```python
for role, name in [("button", "Buy"), ("button", "Check"), ("link", "List"), ("link", "Terms")]:
    page.get_by_role(role, name=name).click()
place = 1
```"""
READS = """```python
tab = page.context.pages[place]
log("it says", tab.locator("h2").inner_text())
tab.close()
```"""
AGREES = """```python
page.once("dialog", lambda dialog: dialog.accept())
page.get_by_role("button", name="Buy").click()
```"""


JOIN_PAGE = """<title>Join</title><form onsubmit="document.title = 'bought'; return false">
<label>Email <input type=email></label><button>Join</button></form>
<a href="/list.csv" target=_blank>List</a>"""
JOINS = """```python
page.get_by_label("Email").fill("ana")
page.get_by_role("button").click()
```"""
CORRECTS = """```python
page.get_by_role("link").click()
page.get_by_label("Email").fill("ana@example.com")
page.get_by_role("button").click()
```"""


@pytest.mark.long
def test_a_value_that_the_browser_refuses_is_told(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    """And the tab that a download leaves behind is not listed in place of the page."""
    site.put("/list.csv", "tea,3", headers={"content-disposition": "attachment; filename=list.csv"})
    entry = {
        "entry_url": site.put("/join", JOIN_PAGE),
        "expect": [{"download": {"name": "list.csv"}}],
    }

    result, told = take(browser, tmp_path, site, [JOINS, CORRECTS, "DONE"], entry)

    _first, refused, sent = told
    assert "the browser refuses the value of \"Email\": Please include an '@'" in refused
    assert "the browser refuses" not in sent
    assert "a download began: list.csv" in sent
    assert "a tab opened" not in sent
    assert 'textbox "Email"' in sent
    assert (result.outcome, result.reason) == ("passed", "")


@pytest.mark.long
def test_what_no_listing_shows_is_told_after_the_turn(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    site.put("/terms", "<h2>No returns</h2>")
    site.put("/list.csv", "tea,3")
    entry = {"entry_url": site.put("/busy", BUSY)}

    result, told = take(browser, tmp_path, site, [LOOKS, READS, AGREES, "DONE"], entry)

    _first, looked, read, agreed = told
    for line in (
        'the page showed a dialog (confirm), "Really buy it?", which was dismissed',
        "a tab opened: ",
        "a download began: list.csv",
        "console: error: no stock left",
        "/missing: 404",
    ):
        assert line in looked
        assert line not in read
    # Variables live on, and what is logged is shown.
    assert "It logged:" in read
    assert "it says No returns" in read
    # The tab is listed instead of the page, until it is closed.
    assert (
        "This is a tab that was opened, not `page`: in code it is page.context.pages[1]." in looked
    )
    assert 'heading "No returns"' in looked
    assert 'heading "Shop"' in read
    assert "This is a tab" not in read
    assert '"Really buy it?": your code answered' in agreed
    assert (result.outcome, result.reason) == ("passed", "")


@pytest.mark.long
@pytest.mark.parametrize(
    ("answers", "chosen", "told", "beside"),
    [
        ({"which": "One.", "colour": "Red.", "x": "Y."}, "default", "The answer: One. Red.", "was"),
        ({"colour": "The red one."}, "default", "The answer: The red one.", "was answered"),
        ({"colour": "Red.", "size": "Large."}, "default", "The answer: Red.", "was answered"),
        ({"size": "Large.", "shape": "Round."}, "default", "nobody answers", "nobody answered"),
        ({}, "default", "nobody answers", "nobody answered"),
        ({"colour": "The red one."}, "flag", "nobody answers", "nobody answered"),
    ],
)
def test_a_case_that_has_answers_gives_them_and_the_question_stands_beside_the_check(
    browser: Browser,
    tmp_path: Path,
    site: Site,
    answers: dict[str, str],
    chosen: Source,
    told: str,
    beside: str,
) -> None:
    replies = ["QUESTION: Which colour?", "DONE"]
    case = {"answers": answers, "expect": [{"text": "sold"}]}

    result, said = take(
        browser, tmp_path, site, replies, case, sources={"questions": chosen}, max_repairs=1
    )

    assert told in said[1]
    assert result.reason.startswith("check 1 (text) does not hold")
    assert f'(the model asked "Which colour?" and {beside}' in result.reason
    assert "No code was written, so nothing was done. The task's outcome" in said[2]
    assert "=== question ===\nWhich colour?" in said[2]
    assert "refused before it ran" not in said[2]
    assert "<<code" not in said[2]


DOORS = """<title>Doors</title><a href=/slow>Report</a><a href=/slow target=_blank>Tab</a>
<form action=/slow><input aria-label=Find name=q><button>Go</button></form>
<select aria-label=Which onchange="location = '/slow'"><option>A<option>B</select>
<iframe srcdoc="<a href=/slow target=_top>Inner</a>"></iframe>"""
INNER = "page.frame_locator('iframe').get_by_text('Inner')"


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("page.get_by_role('link', name='Report').click()", "(click() was done, but the page"),
        ("page.get_by_role('button', name='Go').click()", "(click() was done, but the page"),
        (f"{INNER}.click()", "(click() was done, but the page"),
        ("page.get_by_label('Find').press('Enter')", "(press() was done, but the page"),
        ("page.get_by_label('Find').press_sequentially('a\\n')", ""),
        ("page.get_by_label('Find').focus()\npage.keyboard.press('Enter')", ""),
        ("page.get_by_label('Which').select_option('B')", ""),
        ("page.get_by_label('Which').select_option('B')\npage.get_by_role('heading').click()", ""),
        ("page.get_by_role('link', name='Tab').click()", ""),
        ("with page.expect_popup() as tab:\n    page.get_by_text('Tab').click()", ""),
        ("page.goto('/slow')\npage.go_back()\npage.go_forward()\npage.reload()", ""),
        ("log(page.request.get('/slow').status)", "200"),
    ],
)
def test_a_page_may_take_longer_than_the_element_that_leads_to_it(
    browser: Browser,
    tmp_path: Path,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    told: str,
) -> None:
    monkeypatch.setattr("pytest_autoweb.agents.attempt.execute.TOLD_CALL_S", 0.7)
    site.put("/", DOORS)
    for path in ("/slow", "/slow?q=", "/slow?q=a"):
        site.put(path, "<title>slow</title><h1>Here at last</h1>")
        site.delays[path] = 2.0
    case = {"entry_url": site.put("/doors", DOORS), "expect": [{"js": "true"}]}

    result, said = take(browser, tmp_path, site, [f"```python\n{code}\n```", "DONE"], case)

    assert [step.status for step in result.attempts[0].step_results] == ["ok"]
    assert "TURN 1 was carried out." in said[1]
    assert told in said[1]
    assert told or "It logged" not in said[1]
    assert "longer than 0.7 s" in said[1] or "was done" not in told
    assert "Here at last" in said[1] or "request" in code
    assert all(call.ok for call in result.attempts[0].tool_calls)


def test_the_judge_waits_for_the_page_that_the_last_call_leads_to(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    site.put("/slow?q=", "<h1>Here at last</h1>")
    site.delays["/slow?q="] = 2.0
    case = {"entry_url": site.put("/doors", DOORS), "expect": [{"text": "Here at last"}]}
    code = "page.get_by_label('Find').focus()\npage.keyboard.press('Enter')"

    result, _ = take(browser, tmp_path, site, [f"```python\n{code}\n```\nDONE"], case)

    assert result.outcome == "passed"


def test_a_step_whose_time_ended_with_a_slow_page_goes_on_there_and_clicks_no_second_time(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    site.put("/slow", "<h1>Report</h1><script>document.title = 'bought'</script>")
    site.delays["/slow"] = 2.0
    code = "page.get_by_text('Report').click()\npage.get_by_role('heading').click()"
    client = ScriptedClient(
        {"plan": scripted_plan("Buy"), "generate": f"```python\n# Step 1\n{code}\n```"}
    )

    result = run_one(
        browser,
        {
            "entry_url": site.put("/", DOORS),
            "user_task": "Buy one.",
            "expect": [{"js": "document.title == 'bought'"}],
        },
        client,
        settings(tmp_path, step_timeout=1.0),
        strategy="codegen",
        spec={},
        opened=lambda page: None,
        clock=Clock(sleep=lambda seconds: None),
    )

    assert result.outcome == "passed"
    assert result.attempts[0].executed
    assert site.hits.count("/slow") == 1
