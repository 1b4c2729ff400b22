"""Corrections on real pages: what a retry is told, what it may name, and logging in again."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acting import Reply, do, on, prompt, run_one, settings
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.agents.attempt.tools import Clock
from pytest_autoweb.models.messages import Request
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.testing import ScriptedClient, scripted_plan

PAGE = """<title>Shop</title><button disabled>Save</button>
<button onclick="out.textContent='Done'">Save changes</button><p id=out></p>"""
WRONG = (
    "```python\n# Step 1\n"
    "page.get_by_role('button', name='Save', exact=True).click(timeout=300)\n```"
)
RIGHT = WRONG.replace("'Save'", "'Save changes'")


@pytest.fixture
def corrected(browser: Browser, tmp_path: Path, site: Site) -> Callable[..., Any]:
    """Runs a cell with an arm; the result, and all that its model was asked."""

    def run(
        arm: str,
        answers: dict[str, Reply | list[Reply]],
        *,
        html: str = PAGE,
        retries: int = 2,
        strategy: Any = "codegen",
        relogin: Any = None,
        **spec: Any,
    ) -> tuple[CellResult, ScriptedClient]:
        client = ScriptedClient({"plan": scripted_plan("Save"), **answers})  # type: ignore[dict-item]
        result = run_one(
            browser,
            {
                "user_task": "Save it.",
                "entry_url": site.put("/", html),
                "expect": [{"text": "Done"}],
            },
            client,
            settings(tmp_path, check_timeout=0.1, correction=(arm,), max_repairs=retries),
            strategy=strategy,
            spec=spec,
            opened=lambda page: page.set_default_timeout(600),
            relogin=relogin,
            clock=Clock(sleep=lambda seconds: None),
        )
        return result, client

    return run


def said(reflection: str, strategy: str = "RE_QUERY", confidence: float = 0.7) -> str:
    return json.dumps(
        {
            "errorAnalysis": "the wrong button",
            "correctionStrategy": strategy,
            "reflection": reflection,
            "confidence": confidence,
        }
    )


@pytest.mark.long
def test_a_reflection_is_acted_on_its_outcome_written_back_and_told_the_next_one(
    corrected: Callable[..., Any],
) -> None:
    result, client = corrected(
        "reflexion",
        {
            "generate": WRONG,
            "reflect": [said("wait longer"), said("press the longer name")],
            "repair": [WRONG.replace("300", "301"), RIGHT],
        },
    )

    asked = [prompt(request) for request in client.requests]
    stages = [request.stage for request in client.requests]
    outcomes = [a.correction.outcome for a in result.attempts if a.correction]
    assert stages == ["plan", "generate", "reflect", "repair", "reflect", "repair"]
    assert (result.outcome, outcomes) == ("healed", ["not_solved", "solved"])
    assert "is disabled" in asked[2]
    assert "wait longer" in asked[3]
    assert "did not help" not in asked[2]
    assert re.search(r"1\. \[did not help\].* -> wait longer", asked[4])
    assert all("Done" not in text for text in asked)


@pytest.mark.long
def test_a_reflection_that_gives_up_ends_it_before_anything_is_done(
    corrected: Callable[..., Any],
) -> None:
    unsure = said("no idea", confidence=0.2)
    result, client = corrected("reflexion", {"generate": WRONG, "reflect": unsure, "repair": RIGHT})

    assert [r.stage for r in client.requests] == ["plan", "generate", "reflect"]
    assert (result.outcome, len(result.attempts)) == ("failed", 2)
    assert result.stopped.startswith("repair: the correction gave up")
    assert result.attempts[1].tool_calls == ()


@pytest.mark.long
def test_a_refused_constrained_retry_leaves_the_next_one_all_that_was_known(
    corrected: Callable[..., Any],
) -> None:
    first = "```python\n# Step 1\npage.get_by_label('Name').fill('ana')\n```"
    not_offered = "```python\npage.get_by_text('Anything').click()\n```"
    result, client = corrected(
        "constrained",
        {
            "generate": first.replace("\n```", WRONG.removeprefix("```python\n# Step 1")),
            "repair": [not_offered, RIGHT],
        },
        html=f"<label>Name <input></label>{PAGE}",
    )

    second, third = [prompt(r) for r in client.requests if r.stage == "repair"]
    assert result.attempts[1].failure.rule == "AW700"
    for told in ("is disabled", 'fill("ana")', "the run ended with: "):
        assert told.replace('"', "'") in second.replace('"', "'")
        assert told.replace('"', "'") in third.replace('"', "'")
    assert "refused before it ran" in third
    assert result.attempts[2].correction.of == result.attempts[1].correction.of


@pytest.mark.long
def test_a_call_that_acts_twice_on_the_same_page_is_recorded_as_repeated(
    corrected: Callable[..., Any],
) -> None:
    twice = "page.get_by_label('Name').fill('ana')\npage.get_by_role('button').click()\n" * 2
    gone = "page.get_by_text('Gone').click(timeout=100)\n"
    result, _ = corrected(
        "off",
        {"generate": f"```python\n# Step 1\n{twice}page.locator('#n').inner_text()\n{gone}```"},
        html="<label>Name <input></label><button onclick='n.value = +n.value + 1'>+</button>"
        "<output id=n>0</output>",
        retries=0,
    )

    calls = result.attempts[0].tool_calls
    assert [(call.method, call.duplicate) for call in calls] == [
        ("fill", False),
        ("click", False),
        ("fill", True),
        ("click", False),
        ("inner_text", False),
        # Its time ran out, so that the step was continued: the model asked for it once.
        *[("click", False)] * 2,
    ]
    assert calls[4].result == '"2"'


@pytest.mark.long
def test_calls_that_only_came_to_nothing_together_may_be_made_again(
    corrected: Callable[..., Any],
) -> None:
    fill = "page.get_by_role('textbox', name='Name', exact=True).fill('{}')"
    press = "page.get_by_role('button', name='Save', exact=True).click()"
    script = "```python\n# Step 1\n{}\n```"
    result, client = corrected(
        "constrained",
        {
            "generate": script.format(f"{fill.format('bob')}\n{press}"),
            "repair": [script.format(press), script.format(f"{fill.format('ana')}\n{press}")],
        },
        html="""<label>Name <input id=a></label><p id=out></p>
        <button onclick="out.textContent = a.value == 'ana' ? 'Done' : 'No'">Save</button>""",
    )

    assert (result.outcome, len(result.attempts)) == ("healed", 3), result.reason
    told = prompt(client.requests[-1])
    worked, tried = re.findall(r"<<calls [^>]*>>\n(.*?)\n<<end", told, re.DOTALL)
    assert worked.splitlines() == [fill.format("bob"), press]
    assert tried.splitlines() == [f"{fill.format('bob')}; {press}"]


@pytest.mark.long
def test_on_the_list_of_the_refs_dialect_a_constrained_retry_lacks_what_failed(
    corrected: Callable[..., Any],
) -> None:
    def press(request: Request) -> str:
        found = re.search(r'^(e\d+) button "Save changes"', prompt(request), re.MULTILINE)
        return f"{found[1] if found else 'e9'}.click()"

    stuck = "<input type=radio aria-label=Express onclick='return false'>"
    result, client = corrected(
        "constrained",
        {"generate": ["e1.check()", "done()"], "repair": press},
        html=PAGE.replace("<button disabled>Save</button>", stuck),
        dialect="refs",
        model="fake/small-1b",
    )

    asked = [prompt(request) for request in client.requests]
    listed = ['radio "Express"' in text for text in asked]
    assert result.attempts[0].tool_calls[-1].method == "check"
    assert (listed[0], listed[1]) == (True, False)
    assert (result.outcome, len(result.attempts)) == ("healed", 2)


@pytest.mark.long
def test_by_turns_a_constrained_retry_may_not_repeat_what_failed_and_never_worked(
    corrected: Callable[..., Any],
) -> None:
    def turn(code: str) -> str:
        return f"```python\n{code}\n```"

    save = "page.get_by_role('button', name='Save', exact=True).click(timeout=300)"
    late = "page.get_by_role('button', name='Late', exact=True).click(timeout=300)"
    show = "page.get_by_role('button', name='Show', exact=True).click()"
    right = save.replace("'Save'", "'Save changes'")
    result, client = corrected(
        "constrained",
        {
            "generate": [
                *map(turn, (late, f"{show}\n{late}", save)),
                "DONE",
                *map(turn, (f"{show}\n{late}", right)),
                "DONE",
            ],
            "repair": turn(save),
        },
        html=PAGE
        + "<button onclick='l.hidden = false'>Show</button><button id=l hidden>Late</button>",
        codegen="turns",
        retries=1,
    )

    first, second = result.attempts
    assert [step.status for step in first.step_results] == ["corrected", "ok", "corrected"]
    assert [step.status for step in second.step_results] == ["corrected", "ok", "ok"]
    assert "was tried and failed" in (second.step_results[0].error or "")
    assert "click() was tried and failed" in prompt(client.requests[-3])
    assert result.outcome == "healed"


@pytest.mark.long
@pytest.mark.parametrize("arm", ["constrained", "reflexion"])
def test_what_may_pass_by_itself_may_be_done_again(corrected: Callable[..., Any], arm: str) -> None:
    busy = "out.innerHTML='<p role=alert>503 Service Unavailable, try again later</p>'"
    result, _ = corrected(
        arm,
        {"generate": ["e1.click()", "done()"], "repair": "e1.click()", "reflect": said("wait")},
        html=f'<button onclick="{busy}">Save</button><p id=out></p>',
        dialect="refs",
    )

    first, second, *_ = result.attempts
    assert first.classification.type == "SERVICE_UNAVAILABLE"
    assert [call.method for call in second.tool_calls] == ["click"]


@pytest.mark.long
def test_among_the_marks_of_act_a_constrained_retry_lacks_what_failed(
    corrected: Callable[..., Any],
) -> None:
    day = "<label>Day <input type=number></label>"
    press = on("click", "Save changes")
    result, client = corrected(
        "constrained",
        {"decide": [on("type", "Day", text="tomorrow"), do("done"), press, do("done")]},
        html=PAGE.replace("<button disabled>Save</button>", day),
        strategy="act",
        retries=1,
    )

    listed = {r.attempt: 'spinbutton "Day"' in prompt(r) for r in client.requests}
    assert result.attempts[0].decisions[0].status == "failed"
    assert listed == {1: True, 2: False}
    assert result.outcome == "healed"


ORDERS = """<title>Shop</title><button onclick="fetch('/orders').then(r =>
  out.textContent = r.ok ? 'Done' : 'Your session has expired')">Orders</button><p id=out></p>"""
# The button is there, however long a busy machine takes to press it.
SHOW = WRONG.replace("'Save'", "'Orders'").replace("300", "3000")


@pytest.mark.long
@pytest.mark.parametrize("helps", [True, False])
def test_the_login_hook_is_asked_once_on_a_fresh_page_and_the_retry_uses_what_it_left(
    corrected: Callable[..., Any], site: Site, helps: bool
) -> None:
    site.put("/orders", "no", status=401)
    seen: list[tuple[str, str]] = []

    def relogin(case: Any, page: Page) -> bool:
        seen.append((case.id, page.url))
        page.goto(site.put("/login", "<h1>Log in</h1>", headers={"set-cookie": "s=1; Path=/"}))
        if helps:
            site.put("/orders", "yes")
        return True

    answers = {"generate": [SHOW, SHOW.replace("3000", "3001"), SHOW.replace("3000", "3002")]}
    result, _ = corrected("plain", answers, html=ORDERS, relogin=relogin)

    first, retry = result.attempts
    assert first.classification.type == "PERMISSION_ERROR"
    assert retry.correction.relogin is True
    assert seen == [("one", "about:blank")]
    assert (result.outcome == "healed") is helps
    assert result.stopped == (
        "" if helps else "PERMISSION_ERROR is not retried: logging in again did not help"
    )


TODO = """<label>New <input id=n onkeydown="if (event.key == 'Enter') {
l.insertAdjacentHTML('beforeend', '<li>' + n.value + '</li>'); n.value = '' }"></label><ul id=l>
</ul>"""
QUIZ = """<body><script>
let number = 0;
const ask = () => { document.body.innerHTML = '<p>Question ' + ++number +
  '</p><label>Answer <select onchange="ask()"><option>A<option>B</select></label>' };
ask();
</script>"""
SEARCH = "<form><label>Batch <input name=batch autofocus></label><button>Find</button></form>"
LATER = """<label>Name <input oninput="setTimeout(() => { this.value = 'old' }, 0)"></label>
<label>On <input type=checkbox onchange="setTimeout(() => { this.checked = false }, 0)"></label>"""


NEW, BATCH = "page.get_by_label('New')", "page.get_by_label('Batch')"
DAY = "page.get_by_label('Day')"
ANSWER = "page.get_by_label('Answer')"
DIGITS = """<label>Phone <input oninput="this.value = this.value.replace(/[^0-9]/g, '')"></label>"""
COLOURS = "<select><option value=r>Red<option value=b>Light  blue</select>"
DAY_GONE = "document.querySelector('input').value = 'sent'"
REFUSES = "if (!/^[0-9-]*$/.test(this.value)) this.value = ''"
TAIL = f"</label><input id=n><button type=button onclick={DAY_GONE!r}>Save</button>"
LEFT = f'<label>Day <input onblur="{REFUSES}">{TAIL}'
CHANGED = f'<label>Day <input onchange="{REFUSES}">{TAIL}'
DATE = "<label>Day <input type=date></label>"


@pytest.mark.long
@pytest.mark.parametrize(
    ("html", "code", "held"),
    [
        (TODO, f"{NEW}.fill('Milk')\n{NEW}.press('Enter')", None),
        (TODO, f"{NEW}.press_sequentially('Milk\\n')", None),
        (QUIZ, f"{ANSWER}.select_option('B')", None),
        (SEARCH, f"{BATCH}.fill('ZZ')\npage.get_by_role('button').click()", None),
        (SEARCH, f"{BATCH}.press_sequentially('ZZ\\n')", None),
        ("<input maxlength=3>", "page.fill('input', '123456')", "123"),
        (DATE, f"{DAY}.press_sequentially('yesterday')", ""),
        (DIGITS, "page.fill('input', '12-34')", "1234"),
        # What refuses a text when it is left, which a form that is sent does not.
        (LEFT, f"{DAY}.fill('tomorrow')\npage.fill('#n', 'x')", ""),
        (LEFT, f"{DAY}.fill('tomorrow')\npage.get_by_role('button').click()", ""),
        (CHANGED, f"{DAY}.press_sequentially('tomorrow')\npage.keyboard.press('Tab')", ""),
        (CHANGED, f"{DAY}.fill('tomorrow')\n{DAY}.blur()", ""),
        (LEFT, f"{DAY}.fill('2025-03-31')\npage.get_by_role('button').click()", None),
        (DATE, f"{DAY}.press_sequentially('yesterday')\n{DAY}.fill('2025-03-31')", None),
        ("<input type=password maxlength=3>", "page.fill('input', 'abcdef')", None),
        ("<textarea></textarea>", "page.fill('textarea', ' one\\r\\ntwo ')", None),
        ("<input type=color>", "page.fill('input', '#FFAA00')", None),
        ("<input value=old>", "page.type('input', 'new')", None),
        ("<div contenteditable></div>", "page.locator('div').fill('Hello')", None),
        (COLOURS, "page.select_option('select', label='Light blue')", None),
        (COLOURS, "page.select_option('select', 'b')", None),
    ],
)
def test_only_what_a_field_held_right_after_it_was_written_to_is_evidence(
    corrected: Callable[..., Any], html: str, code: str, held: str | None
) -> None:
    script = f"```python\n# Step 1\n{code}\n```"
    result, client = corrected(
        "reflexion", {"generate": script, "reflect": said("x"), "repair": script}, html=html
    )

    differs = [f.fact for f in result.attempts[0].findings if f.code == "value_differs"]
    assert result.attempts[0].executed, result.attempts[0].problems
    assert len(differs) == (held is not None)
    assert all(f'ran, but a moment later the field held "{held}"' in fact for fact in differs)
    reflect = next(prompt(r) for r in client.requests if r.stage == "reflect")
    assert ("ran, but" in reflect) is (held is not None)


@pytest.mark.long
def test_a_field_that_is_set_back_a_moment_later_is_told_as_it_was_when_it_was_read(
    corrected: Callable[..., Any],
) -> None:
    code = "page.get_by_label('Name').fill('new')\npage.get_by_label('On').check()"
    script = f"```python\n# Step 1\n{code}\n```"
    result, _ = corrected("reflexion", {"generate": script, "reflect": "{}"}, html=LATER)

    name, box = result.attempts[0].tool_calls
    assert (name.read_back.held, name.read_back.same) in (("old", False), ("new", True))
    if box.ok:
        assert (box.read_back.held, box.read_back.same) in (
            ("not checked", False),
            ("checked", True),
        )
    else:
        # Playwright looked at the box only after the page had set it back.
        assert "did not change its state" in box.error


@pytest.mark.long
def test_a_call_that_failed_on_an_earlier_page_is_not_explained_by_a_later_one(
    corrected: Callable[..., Any],
) -> None:
    code = """try:
    page.get_by_role('button', name='Cookies').click(timeout=100)
except Error:
    page.get_by_role('button', name='Save changes').click()"""
    script = f"```python\n# Step 1\n{code}\n```"
    result, client = corrected(
        "reflexion",
        {"generate": script, "reflect": "{}", "repair": script},
        html=PAGE.replace("Done", "No"),
    )

    asked = next(prompt(r) for r in client.requests if r.stage == "reflect")
    assert "Cookies" not in "".join(f.fact for f in result.attempts[0].findings)
    assert "The call that failed" not in asked
