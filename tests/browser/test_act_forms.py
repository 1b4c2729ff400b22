"""Fewer calls for a form: several fields in one reply, the last action, and what boxes offer."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from acting import act, do, mark_of, on, prompt
from local_site import Site
from playwright.sync_api import Browser

from pytest_autoweb.models.messages import Request

FORM = """<form onsubmit="out.textContent = [a.value, b.value, c.value].join('+'); return false">
<label>Name <input id=a></label> <label>Town <input id=b></label>
<label>Colour <select id=c><option>Red<option>Green<option>Blue</select></label>
<button>Send</button></form><p id=out></p>"""
SENT = [{"text": "Ana+Rome+Blue"}]


def form(*values: tuple[str, str], wrong: str = "", **more: Any) -> Any:
    def reply(request: Request) -> str:
        fields = [
            {"number": mark_of(request, name), "target_text": wrong or name, "value": value}
            for name, value in values
        ]
        return json.dumps({"action": "fill_form", "fields": fields, "confidence": 0.9, **more})

    return reply


ALL = form(("Name", "Ana"), ("Town", "Rome"), ("Colour", "Blue"))


@pytest.mark.long
def test_a_form_is_filled_in_by_one_reply_and_the_last_action_ends_it(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, client = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", FORM), "expect": SENT},
        [ALL, on("click", "Send", last=True)],
    )

    (attempt,) = result.attempts
    assert (result.outcome, attempt.executed, len(client.requests)) == ("passed", True, 2)
    done = [(d.action or {})["action"] for d in attempt.decisions]
    assert done == ["type", "type", "select", "click"]
    assert [d.calls for d in attempt.decisions] == [1, 0, 0, 1]
    assert all(d.chosen[0].verdict == "match" for d in attempt.decisions)
    # What the fields offer and hold is told, and each field is a line of what was done.
    first, second = map(prompt, client.requests)
    number = mark_of(client.requests[0], "Colour")
    assert f'[{number}] options: "Red" (chosen) | "Green" | "Blue"' in first
    assert 'select "Blue" in "Colour"' in second


EMAIL = """<form onsubmit="out.textContent = 'joined'; return false">
<label>Email <input type=email></label><button>Join</button></form><p id=out></p>"""


@pytest.mark.long
def test_a_value_that_the_browser_refuses_is_told_beside_the_picture(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, client = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", EMAIL), "expect": [{"text": "joined"}]},
        [
            *(on("type", "Email", text="ana"), on("click", "Join")),
            *(on("type", "Email", text="ana@a.test"), on("click", "Join", last=True)),
        ],
    )

    refused = [number for number, request in enumerate(client.requests)
               if "the browser refuses the value of" in prompt(request)]  # fmt: skip
    assert refused == [2]
    assert result.outcome == "passed"


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "button"),
    [
        ("<form novalidate FORM><button>Join</button></form>", "Join"),
        ("<form FORM><button formnovalidate>Join</button></form>", "Join"),
        ("<form FORM><button>Join</button><button formnovalidate>Later</button></form>", "Later"),
        ("<div FORM><button onclick='out.textContent = 1'>Join</button></div>", "Join"),
        (
            "<form FORM><button>Join</button><input type=submit value=Later formnovalidate></form>",
            "Later",
        ),
    ],
)
def test_a_value_that_is_sent_all_the_same_is_not_told_as_refused(
    browser: Browser, tmp_path: Path, site: Site, form: str, button: str
) -> None:
    handler = "onsubmit=\"out.textContent = 'joined'; return false\""
    field = "<label>Email <input type=email></label>"
    page = form.replace("FORM>", f"{handler}>{field}") + "<p id=out></p>"
    _result, client = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", page)},
        [
            *(on("type", "Email", text="ana"), on("click", button)),
            do("done"),
        ],
    )

    assert "the browser refuses the value of" not in prompt(client.requests[-1])
    assert len(client.requests) == 3


def chosen(request: Request, action: str, reads: str, **more: Any) -> str:
    number = mark_of(request, reads)
    return do(action, mark_id=number, expected_text=reads, confidence=0.9, **more)


ADDS = """<button onclick="n.textContent = +n.textContent + 1">Add</button>
<label>Note <input id=note></label><p id=n>0</p>"""


@pytest.mark.long
@pytest.mark.parametrize("way", ["{one}\n{one}", "[{one}, {one}]", "```json\n{one}\n```\n{last}"])
def test_a_decision_that_stands_twice_in_a_reply_is_done_once_and_that_is_told(
    browser: Browser, tmp_path: Path, site: Site, way: str
) -> None:
    def twice(request: Request) -> str:
        one = chosen(request, "click", "Add", thinking="I add it.")
        last = chosen(request, "click", "Add")
        return way.replace("{one}", one).replace("{last}", last)

    result, client = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", ADDS), "expect": [{"js": "n.textContent === '1'"}]},
        [twice, do("done")],
    )

    assert result.outcome == "passed"
    assert "done once; decide again if twice was meant" in prompt(client.requests[1])


@pytest.mark.long
def test_a_whole_reply_that_stands_twice_is_done_once_but_steps_are_done_as_listed(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    def twice(request: Request) -> str:
        both = [chosen(request, "type", "Note", text="a"), chosen(request, "click", "Add")]
        return "\n".join([*both, *both])

    def steps(request: Request) -> str:
        add = json.loads(chosen(request, "click", "Add"))
        return json.dumps({"action": "steps", "steps": [add, add], "confidence": 0.9})

    for reply, count in ((twice, "1"), (steps, "2")):
        case = {
            "entry_url": site.put("/", ADDS),
            "expect": [{"js": f"n.textContent === '{count}'"}],
        }
        result, _client = act(browser, tmp_path, case, [reply, do("done")])
        assert result.outcome == "passed"


def test_where_data_is_asked_for_no_action_is_the_last(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    case = {"entry_url": site.put("/", FORM), "expect": [{"answer": {"equals": "Ana"}}]}
    typed = on("type", "Name", text="Ana", last=True)
    result, client = act(browser, tmp_path, case, [typed, do("done", answer="Ana")])

    assert (result.outcome, len(client.requests)) == ("passed", 2)
    assert "last is true" not in client.requests[0].messages[0].content


@pytest.mark.long
def test_a_field_that_reads_otherwise_ends_the_form_and_the_model_is_asked(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    def mixed(request: Request) -> str:
        fields = json.loads(ALL(request))["fields"]
        fields[1]["target_text"] = "Street"
        return json.dumps({"action": "fill_form", "fields": fields, "confidence": 0.9})

    result, client = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", FORM), "expect": SENT},
        [mixed, form(("Town", "Rome"), ("Colour", "Blue")), on("click", "Send", last=True)],
    )

    statuses = [d.status for d in result.attempts[0].decisions]
    assert statuses == ["performed", "refused", "performed", "performed", "performed"]
    assert (result.outcome, len(client.requests)) == ("passed", 3)
    assert "expected 'Street'" in prompt(client.requests[1])


NAMELESS = """<b>Login</b><br><input id=a><br><input id=b type=password><br>
<table><tr><th>Priority</th><td><select><option>bug</select></td>
<th>Status</th><td><select id=c><option>unread<option>done</select></td></tr></table>"""


@pytest.mark.long
def test_fields_that_show_no_text_are_asked_about_and_known_by_what_is_beside_them(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    """As on the issue tracker's pages, where a model that sees took the labels for names."""
    case = {
        "entry_url": site.put("/", NAMELESS),
        "expect": [{"js": "() => a.value === 'ana' && b.value === 'pw' && c.value === 'done'"}],
    }
    shows_nothing = {"mark_id": 1, "expected_text": ""}
    typed = {"action": "type", **shows_nothing, "text": "ana"}
    rest = [
        {"action": "type", "mark_id": 2, "expected_text": "password field", "text": "pw"},
        {"action": "select", "mark_id": 4, "expected_text": "Status", "option": "done"},
    ]
    first = json.dumps({"action": "steps", "steps": [typed, *rest], "last": True})
    closer = json.dumps({**typed, "near": "1 of 2"})

    result, client = act(browser, tmp_path, case, [first, closer])

    # The second look is a question of its own, and what was queued is still done after it.
    again = prompt(client.requests[1])
    assert 'Several elements fit "(no text)"' in again
    assert '[2] textbox "" (password) near "2 of 2"' in again
    assert (result.outcome, result.reason, len(client.requests)) == ("passed", "", 2)
    assert "Limits: at most 30 actions" in client.requests[0].messages[0].content


MOVING = """<label>Name <input id=a oninput="box.innerHTML = this.value ?
  '<button>New</button> <button>Newer</button> ' : ''"></label>
<span id=box></span><label>Town <input id=b></label>"""
GOING = MOVING.replace("id=b>", "id=b>").replace("box.innerHTML = ", "b.remove(); box.innerHTML = ")


@pytest.mark.parametrize(("html", "calls"), [(MOVING, 1), (GOING, 2)], ids=["moves", "goes"])
@pytest.mark.long
def test_a_field_is_found_again_under_another_number_or_asked_about(
    browser: Browser, tmp_path: Path, site: Site, html: str, calls: int
) -> None:
    both = form(("Name", "Ana"), ("Town", "Rome"), last="yes")
    case = {"entry_url": site.put("/", html), "expect": [{"js": "() => a.value === 'Ana'"}]}
    result, client = act(browser, tmp_path, case, [both, do("done")])

    assert (result.outcome, len(client.requests)) == ("passed", calls)
    if calls == 1:
        town = result.attempts[0].decisions[1].chosen[0]
        assert (town.mark, town.actual_text, town.verdict) == (4, "Town", "match")


def test_a_model_that_sees_is_told_what_a_box_offers_and_nothing_else(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    many = "".join(f"<option>Value {n}</option>" for n in range(80))
    html = f"<select aria-label=Many>{many}</select><button>Send</button>"
    case = {"entry_url": site.put("/", html), "expect": [{"js": "true"}]}
    _, client = act(browser, tmp_path, case, [do("done")], spec={"vision": True})

    asked = prompt(client.requests[0])
    shown = r'^\[1\] options: "Value 0" \(chosen\) \| "Value 1" \| .*"Value 59" \| … 20 more$'
    assert re.search(shown, asked, re.MULTILINE)
    assert "Send" not in asked


@pytest.mark.long
def test_the_picture_of_a_second_look_is_kept(browser: Browser, tmp_path: Path, site: Site) -> None:
    case = {"entry_url": site.put("/", FORM), "expect": [{"text": "++Red"}]}
    unsure = on("click", "Send", confidence=0.2)
    result, _ = act(browser, tmp_path, case, [unsure, on("click", "Send"), do("done")])

    first, second = result.attempts[0].decisions
    assert first.second_picture is not None
    picture = tmp_path / "run/cells/one" / first.second_picture
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.name == "decision-1-again.png"
    assert second.second_picture is None
