"""The actions of capable models on real pages: each verified, each a step of the script."""

import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from acting import Reply, act, do, mark_of, on, prompt
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.models.messages import Request
from pytest_autoweb.results.records import CellResult

MENU = """<style>#sub {display: none} #menu:hover #sub {display: block}</style>
<div id=menu><button>Tools</button><div id=sub><button onclick="out.textContent='exported'">Export
</button></div></div><p id=out></p>"""
ROW = """<button ondblclick="out.textContent='renamed'">notes.txt</button>
<button oncontextmenu="event.preventDefault(); pop.hidden = false">photo.png</button>
<div id=pop hidden><button onclick="out.textContent='copied'">Copy</button></div><p id=out></p>"""
BOARD = """<style>button {display: block; margin: 30px; padding: 10px}</style>
<button draggable=true ondragstart="event.dataTransfer.setData('text', 'card')">Fix roof</button>
<button ondragover="event.preventDefault()"
 ondrop="event.preventDefault(); out.textContent='dropped ' + event.dataTransfer.getData('text')">
Done</button><p id=out></p>"""
EDITOR = """<label>Text <textarea id=t>draft</textarea></label>
<script>t.addEventListener('keydown', (event) => {
if (event.ctrlKey && event.key === 's') { event.preventDefault(); out.textContent = 'saved' }})
</script><p id=out></p>"""
FILES = """<label>Plan
<input type=file onchange="out.textContent += this.files[0].name + ';'"></label>
<input id=hid type=file style="display:none" onchange="out.textContent += this.files[0].name">
<button onclick="hid.click()">Attach</button><p id=out></p>"""
PEOPLE = "".join(f"<p><button>Person {number}</button></p>" for number in range(9))
BOX = f"""<div style="height:120px;width:300px;overflow:auto">{PEOPLE}
<button onclick="out.textContent='joined'">Join</button></div><p id=out></p>"""
LATE = """<button onclick="setTimeout(() => {late.hidden = false}, 900)">Start</button>
<div id=late hidden>Report is ready <button onclick="out.textContent='opened'">Open</button></div>
<p id=out></p>"""


HIDDEN = """<style>.row { padding: 9px } .row button { opacity: 0 }
.row:hover button { opacity: 1 } .mail .acts { visibility: hidden; pointer-events: none }
.mail:hover .acts { visibility: visible; pointer-events: auto }
.note .acts { display: none } .note:hover .acts { display: inline }</style>
<div class=row>Figma <button onclick="out.textContent += 'gone;'">Disconnect</button></div>
<div class=mail>Mail 1 <span class=acts>
<button onclick="out.textContent += 'archived;'">Archive</button></span></div>
<div class=note>Note 1 <span class=acts><button onclick="out.textContent += 'edited;'">Edit</button>
</span></div><p id=out></p>"""
KEYS = """<input aria-label=A><input aria-label=B><input aria-label=C><input aria-label=D>
<button onclick="out.textContent='sent'">Send</button><p id=out></p>"""
ASKING = """<a href=/terms.txt download>Terms</a>
<button onclick="out.textContent += confirm('Sure?') + ';'">Empty</button>
<button onclick="out.textContent += (confirm('Cancel it?') && prompt('Why?')) + ';'">Cancel</button>
<div class=ace_editor><div class=ace_line>old</div><textarea
onkeydown="if (event.key === 'a') event.preventDefault()"
oninput="this.previousSibling.textContent = this.value; out.textContent += this.value"
style="position: absolute; opacity: 0; width: 1px; height: 1em" aria-label=Text></textarea></div>
<script>document.querySelector('.ace_editor').onclick = () => {
document.querySelector('textarea').focus() }</script><p id=out></p>"""
FILTER = """<label id=l><input type=checkbox onchange="l.remove(); out.textContent='open only'">
Open</label><p id=out></p>"""


def texts(*lines: str) -> list[dict[str, Any]]:
    return [{"text": line} for line in lines]


def play(
    browser: Browser,
    folder: Path,
    site: Site,
    page: str,
    replies: Sequence[Reply],
    *expected: str,
    **more: Any,
) -> tuple[CellResult, list[Request]]:
    case = {"entry_url": site.put("/", page), "expect": texts(*expected), **more.pop("case", {})}
    result, client = act(browser, folder, case, replies, **more)
    return result, client.requests


@pytest.mark.long
@pytest.mark.parametrize(
    ("page", "replies", "expected", "code"),
    [
        pytest.param(
            MENU, [on("hover", "Tools"), on("click", "Export")], "exported", ".hover(", id="hover"
        ),
        pytest.param(ROW, [on("double_click", "notes.txt")], "renamed", ".dblclick(", id="twice"),
        pytest.param(
            ROW,
            [on("right_click", "photo.png"), on("click", "Copy")],
            "copied",
            '.click(button="right"',
            id="menu",
        ),
        pytest.param(
            EDITOR,
            [on("click", "Text"), do("press", key="ctrl+s")],
            "saved",
            'page.keyboard.press("Control+s")',
            id="chord",
        ),
        pytest.param(
            LATE,
            [on("click", "Start"), do("wait_for", text="Report is ready"), on("click", "Open")],
            "opened",
            ".first.wait_for(timeout=10000)",
            id="wait",
        ),
        pytest.param(
            BOX,
            [on("scroll_in", "Person 1"), on("click", "Join")],
            "joined",
            "page.mouse.wheel(0, 300)",
            id="scroll",
        ),
    ],
)
def test_what_capable_models_may_do(
    browser: Browser,
    tmp_path: Path,
    site: Site,
    page: str,
    replies: list[Reply],
    expected: str,
    code: str,
) -> None:
    result, asked = play(browser, tmp_path, site, page, [*replies, do("done")], expected)

    attempt = result.attempts[0]
    assert (result.outcome, result.reason) == ("passed", "")
    assert [d.status for d in attempt.decisions] == ["performed"] * (len(replies) + 1)
    assert code in attempt.code
    assert all(d.chosen[0].verdict == "match" for d in attempt.decisions if d.chosen)
    assert '"action": "drag"' in asked[0].messages[0].content


def drag(reads: str, to: str, *, number: int | None = None) -> Reply:
    def reply(request: Request) -> str:
        fields = {
            "mark_id": mark_of(request, reads),
            "expected_text": reads,
            "to_expected_text": to,
        }
        to_mark = number or mark_of(request, to)
        return json.dumps({"action": "drag", **fields, "to_mark_id": to_mark})

    return reply


@pytest.mark.long
def test_both_ends_of_a_drag_are_verified(browser: Browser, tmp_path: Path, site: Site) -> None:
    replies = [drag("Fix roof", "Bin", number=2), drag("Fix roof", "Done", number=1), do("done")]

    result, asked = play(browser, tmp_path, site, BOARD, replies, "dropped card")

    attempt = result.attempts[0]
    assert (result.outcome, result.reason) == ("passed", "")
    # The text decides: a wrong number is put right, a text that is not there stops it.
    assert [d.status for d in attempt.decisions] == ["refused", "performed", "performed"]
    assert "expected 'Bin'" in prompt(asked[1])
    assert [(c.mark, c.taken) for c in attempt.decisions[1].chosen] == [(1, None), (1, 2)]
    assert '.drag_to(page.get_by_mark(2, expected_text="Done"), timeout=5000)' in attempt.code


@pytest.mark.long
def test_files_of_the_case_are_uploaded_by_a_field_or_a_chooser(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/plan.txt").write_text("a plan")
    files = {"files": ["papers/plan.txt"]}
    replies = [
        on("upload", "Plan", file="other.txt"),
        on("upload", "Plan", file="plan.txt"),
        on("upload", "Attach", file="plan.txt"),
        do("done"),
    ]

    result, asked = play(browser, tmp_path, site, FILES, replies, "plan.txt;plan.txt", case=files)

    assert (result.outcome, result.reason) == ("passed", "")
    # By the name that an upload takes, not by the path in the case.
    assert "Files for uploads: plan.txt" in prompt(asked[0])
    assert "the case lists no file 'other.txt'" in prompt(asked[1])
    assert "page.expect_file_chooser(timeout=5000)" in result.attempts[0].code


@pytest.mark.long
def test_several_actions_in_one_reply_are_verified_one_by_one(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = """<label>Name <input id=a></label><button onclick="gone.remove()">Clear</button>
<button id=gone>Old</button><button onclick="out.textContent=a.value">Save</button><p id=out></p>"""

    def several(*names: str, **more: Any) -> Reply:
        def reply(request: Request) -> str:
            steps: list[dict[str, Any]] = [
                {"action": "点击", "mark": mark_of(request, name), "target_text": name}
                for name in names
            ]
            typed = {"action": "type", "expected_text": "Name", "text": "Ana"}
            steps.insert(0, {**typed, "mark_id": mark_of(request, "Name")})
            return json.dumps({"action": "steps", "steps": steps, "confidence": 0.9, **more})

        return reply

    result, asked = play(
        browser,
        tmp_path,
        site,
        page,
        [several("Clear", "Old", "Save"), several("Save", last=True)],
        "Ana",
    )

    attempt = result.attempts[0]
    assert (result.outcome, len(asked)) == ("passed", 2)
    # The third element is gone, so that the model is asked again.
    assert [(d.action or {})["action"] for d in attempt.decisions] == [
        "type",
        "click",
        "type",
        "click",
    ]
    assert [d.calls for d in attempt.decisions] == [1, 0, 1, 0]
    assert all(d.chosen[0].verdict == "match" for d in attempt.decisions)


@pytest.mark.long
def test_a_model_may_go_back_to_a_tab(browser: Browser, tmp_path: Path, site: Site) -> None:
    site.put("/help", "<button onclick=\"document.title='read'\">Read</button>")
    page = """<a href=/help target=_blank>Help</a> <p id=out></p>
    <button onclick="out.textContent='sent'">Send</button>"""
    opened: list[Page] = []
    replies = [
        on("click", "Help"),
        on("click", "Read"),
        do("switch_tab", tab=7),
        do("switch_tab", tab=1),
        on("click", "Send"),
        do("done"),
    ]

    result, asked = play(browser, tmp_path, site, page, replies, "sent", pages=opened)

    assert (result.outcome, result.reason) == ("passed", "")
    assert "Open tabs" not in prompt(asked[0])
    assert f"2. {site.url}help, shown here" in prompt(asked[1])
    assert result.attempts[0].decisions[2].status == "failed"
    assert f"1. {site.url}, shown here" in prompt(asked[4])


@pytest.mark.long
def test_a_tab_that_comes_while_the_model_decides_is_shown_before_anything_is_done(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    help = site.put("/help", "<button onclick='read = 1'>Read</button>")
    page = """<button onclick="setTimeout(() => window.open('/help'), 1300)">Help</button>
    <p id=out></p>
    <button onclick="out.textContent += 'sent'">Send</button>"""

    opened: list[Page] = []

    def slow(request: Request) -> str:
        deadline = time.monotonic() + 10
        while len(opened[0].context.pages) < 2 and time.monotonic() < deadline:
            # Playwright hears of a tab only while it is asked for something.
            opened[0].wait_for_timeout(10)
        return json.dumps({"action": "click", "mark_id": 2, "expected_text": "Send"})

    replies = [on("click", "Help"), slow, on("click", "Read"), do("done")]

    result, asked = play(browser, tmp_path, site, page, replies, "", pages=opened)

    attempt = result.attempts[0]
    assert site.hits.count("/help") == 1
    assert [d.url for d in attempt.decisions] == [site.url, help, help]
    assert [d.calls for d in attempt.decisions] == [1, 2, 1]
    assert 'get_by_mark(2, expected_text="Send")' not in attempt.code
    assert "Open tabs" not in prompt(asked[1])
    assert f"2. {help}, shown here" in prompt(asked[2])
    assert "a new tab opened by itself while you decided" in prompt(asked[2])


CANVAS = """<canvas id=c width=300 height=200 style="position:absolute;left:0;top:0"></canvas>
<button style="position:absolute;left:400px;top:10px" onclick="out.textContent='paid'">Pay</button>
<p id=out style="position:absolute;top:250px"></p><script>
c.onclick = (e) => { out.textContent = `clicked ${e.offsetX},${e.offsetY}` };
c.onmousedown = (e) => { c.start = e.offsetX };
c.onmouseup = (e) => { if (e.offsetX !== c.start) document.title = `${c.start}-${e.offsetX}` };
</script>"""


@pytest.mark.long
def test_places_count_only_in_drawings(browser: Browser, tmp_path: Path, site: Site) -> None:
    replies = [
        do("click_at", x=410, y=20),
        do("click_at", x=350, y=150),
        do("drag_at", x=20, y=20, to_x=220, to_y=20),
        do("click_at", x=120, y=80),
        do("done"),
    ]

    result, asked = play(
        browser,
        tmp_path,
        site,
        CANVAS,
        replies,
        "clicked 120,80",
        case={"expect": [{"text": "clicked 120,80"}, {"js": "document.title == '20-220'"}]},
        spec={"vision": True},
    )

    attempt = result.attempts[0]
    assert (result.outcome, result.reason) == ("passed", "")
    statuses = [d.status for d in attempt.decisions]
    assert statuses == ["refused", "refused", "performed", "performed", "performed"]
    assert "is there: choose it by its number and text" in prompt(asked[1])
    assert "nothing is drawn at 350, 150" in prompt(asked[2])
    assert "page.mouse.click(120, 80)" in attempt.code


def test_small_models_are_offered_none_of_it(browser: Browser, tmp_path: Path, site: Site) -> None:
    result, asked = play(
        browser,
        tmp_path,
        site,
        MENU,
        [on("hover", "Tools"), do("done")],
        "Tools",
        spec={"model": "ollama_chat/qwen3:8b"},
    )

    first, again = asked[:2]
    assert "hover" not in first.messages[0].content
    assert "'hover' is no action" in prompt(again)
    assert "drag" not in prompt(again)
    assert result.attempts[0].decisions[0].calls == 2


TWO = """<button onclick="out.textContent += 'a'">A</button>
<button onclick="out.textContent += 'b'">B</button><p id=out></p>"""


def two(request: Request, *, end: bool = False, words: str = "") -> str:
    first, second = (
        json.dumps({"action": "click", "mark_id": mark_of(request, name), "expected_text": name})
        for name in "AB"
    )
    return f'{first}{words}{{"action": "done"}}' if end else f"[{first}, {second}]"


@pytest.mark.long
def test_several_decisions_in_one_reply_are_all_done(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    case = {"entry_url": site.put("/", TWO), "expect": [{"text": "ab"}]}

    result, client = act(browser, tmp_path, case, [two, '{"action": "done"}'])

    assert (result.outcome, len(client.requests)) == ("passed", 2)


@pytest.mark.long
def test_a_decision_before_the_end_is_done(browser: Browser, tmp_path: Path, site: Site) -> None:
    case = {"entry_url": site.put("/", TWO), "expect": [{"element": {"css": "#out", "text": "a"}}]}

    result, client = act(browser, tmp_path, case, [partial(two, end=True)])

    assert (result.outcome, len(client.requests)) == ("passed", 1)


def test_what_appears_under_the_mouse_is_clicked_right_away_or_after_pointing(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, requests = play(
        browser,
        tmp_path,
        site,
        HIDDEN,
        [
            on("click", "Disconnect"),
            on("click", "Archive"),
            on("hover", "Note 1"),
            on("click", "Edit"),
            do("done"),
        ],
        "gone;archived;edited;",
    )

    assert result.outcome == "passed"
    first = prompt(requests[0])
    assert 'button "Disconnect" (appears under the mouse)' in first
    assert 'clickable "Note 1" (under the mouse: "Edit")' in first


def test_a_model_that_sees_points_at_places_and_is_told_what_they_hide(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    hover = "this.nextElementSibling.hidden = false"
    page = f"""<style>body {{ margin: 0 }}</style><div onmouseenter="{hover}"
    style="height: 60px">Slack</div><button hidden onclick="out.textContent='left'">Leave</button>
    <p id=out></p>"""

    result, requests = play(
        browser,
        tmp_path,
        site,
        page,
        [do("hover_at", x=30, y=20), on("click", "Leave", mark=1), do("done")],
        "left",
        spec={"vision": True},
    )

    assert result.outcome == "passed"
    assert "point at 30, 20" in prompt(requests[1])
    assert "hover_at" in requests[0].messages[0].content


def test_a_key_that_moves_the_focus_is_no_circle(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    tabs = [do("press", key="Tab")] * 5

    result, requests = play(
        browser, tmp_path, site, KEYS, [*tabs, do("press", key="Enter"), do("done")], "sent"
    )

    assert result.outcome == "passed"
    assert [d.status for d in result.attempts[0].decisions] == ["performed"] * 7
    assert 'textbox "B" (focused)' in prompt(requests[2])


def test_a_box_that_disappears_when_it_is_ticked_is_ticked(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, _ = play(browser, tmp_path, site, FILTER, [on("click", "Open", last=True)], "open only")

    assert [d.status for d in result.attempts[0].decisions] == ["performed"]
    assert result.outcome == "passed"


def test_a_long_task_and_a_long_timeout_allow_more_decisions(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    told = []
    for task, timeout in (("Go.", 120), ("word " * 80, 120), ("Go.", 600)):
        case = {"user_task": task, "timeout": timeout}
        _, requests = play(browser, tmp_path, site, KEYS, [do("done")], "sent", case=case)
        told.append(requests[0].messages[0].content)

    for limit, system in zip((30, 50, 150), told, strict=True):
        assert f"at most {limit} actions" in system


def test_dialogs_are_answered_as_chosen_downloads_read_and_editors_filled(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    attached = {"content-type": "text/plain", "content-disposition": "attachment"}
    site.put("/terms.txt", "The code is HARBOUR-2291.", headers=attached)
    replies = [
        do("dismiss_dialog"),
        on("click", "Empty"),
        on("click", "Terms"),
        do("read_download"),
        do("answer_dialog", text="damaged"),
        on("click", "Cancel"),
        on("click", "Cancel"),
        on("type", "Text", text="new"),
        do("done"),
    ]

    result, asked = play(browser, tmp_path, site, ASKING, replies, "false;damaged;;new")

    assert [d.status for d in result.attempts[0].decisions] == ["performed"] * 9
    assert (result.outcome, result.reason) == ("passed", "")
    told = prompt(asked[-1])
    done = told.partition("Already done:")[2]
    lines = [
        'click "Empty"',
        'a dialog said "Sure?" and was dismissed',
        "a download began: 'terms.txt'",
        'a dialog said "Why?" and was accepted with "damaged"',
        'a dialog said "Why?" and was accepted without the text it asks for',
    ]
    places = [done.find(line) for line in lines]
    assert -1 not in places
    assert places == sorted(places)
    assert "terms.txt: 25 bytes:\nThe code is HARBOUR-2291." in told
    assert "HARBOUR" not in prompt(asked[3])
