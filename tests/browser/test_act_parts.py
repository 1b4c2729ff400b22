"""Choices whose number is right and whose text is only a part, and what is said about others."""

import json
from pathlib import Path
from typing import Any

import pytest
from acting import act, do, on, prompt
from local_site import Site
from playwright.sync_api import Browser

TITLES = ("Update project README", "Create the API reference")
ROW = """<div class=row style="cursor:pointer;border:1px solid" onclick="out.textContent = '{n}'">
<div style="display:flex"><a>{title}</a> <span>#{n}</span></div>
<div>type documentation · component frontend · v4.0 - Platform Redesign · Mar 16 · weight 5</div>
<div>Ana · 9 months ago</div></div>"""
ROWS = (
    "<input id=q placeholder='Search issues...'>"
    + "".join(ROW.format(n=n, title=title) for n, title in enumerate(TITLES, 1))
    + "<p id=out></p>"
)


def chosen(action: str, number: int, text: str, /, **more: Any) -> str:
    return json.dumps({"action": action, "mark_id": number, "expected_text": text, **more})


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 2])
def test_a_row_is_known_by_its_title_and_never_becomes_the_field_above_it(
    browser: Browser, tmp_path: Path, site: Site, number: int
) -> None:
    mark, title = number + 1, TITLES[number - 1]
    case = {
        "entry_url": site.put("/", ROWS),
        "expect": [{"js": f"() => out.textContent === '{number}' && q.value === ''"}],
    }
    replies = [
        chosen("type", mark, title, text="gone"),
        chosen("click", mark, title),
        do("done"),
    ]

    result, client = act(browser, tmp_path, case, replies)

    assert result.outcome == "passed", result.reason
    typed, clicked = result.attempts[0].decisions[:2]
    assert typed.status == "failed"
    for decision in (typed, clicked):
        [one] = decision.chosen
        assert (one.mark, one.taken, one.verdict) == (mark, None, "match")
    assert f'click "{title}"' in prompt(client.requests[2])


@pytest.mark.long
@pytest.mark.parametrize(
    ("whole", "part"),
    [
        ("项目2-3 招标公告", "项目2-3"),
        ("登录 / 注册", "登录"),
        ("Sign in with Google", "sign in"),
        ("تسجيل الدخول بالبريد", "تسجيل الدخول"),
        ("Continue as ana@example.com, free plan", "Continue as ana@example.com"),
    ],
)
def test_a_part_that_no_other_element_holds_confirms_its_number(
    browser: Browser, tmp_path: Path, site: Site, whole: str, part: str
) -> None:
    page = f"<button>Other</button><button onclick=\"out.textContent='ok'\">{whole}</button>"
    case = {"entry_url": site.put("/", f"{page}<p id=out></p>"), "expect": [{"text": "ok"}]}

    result, client = act(browser, tmp_path, case, [chosen("click", 2, part), do("done")])

    assert (result.outcome, len(client.requests)) == ("passed", 2), result.reason
    [one] = result.attempts[0].decisions[0].chosen
    assert (one.taken, one.verdict in ("match", "incomplete")) == (None, True)
    [facts] = [d for d in result.attempts[0].decisions if d.chosen]
    assert facts.status == "performed"


PARTS = """<button>Cancel order 7</button><button>Delete all</button>
<button onclick="out.textContent='ok'">Open Monday</button><button>Open Tuesday</button>
<p id=out></p>"""


@pytest.mark.long
def test_what_can_hardly_be_undone_is_confirmed_or_told_without_calling_it_wrong(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    case = {"entry_url": site.put("/", PARTS), "expect": [{"text": "ok"}]}
    replies = [
        # What another element holds as well stays refused, however often it is said.
        *[chosen("click", 3, "Open")] * 3,
        chosen("click", 3, "Open Monday"),
        chosen("click", 2, "Delete"),
        do("wait"),
        do("done"),
    ]

    result, client = act(browser, tmp_path, case, replies)

    assert result.outcome == "passed", result.reason
    *opened, right, deleted, last = result.attempts[0].decisions
    assert [d.refused_for for d in opened] == ["choice"] * 3
    assert {d.chosen[0].verdict for d in opened} == {"incomplete"}
    told = prompt(client.requests[1])
    assert "copy its whole text, 'Open Monday' (another element holds it as well)" in told
    assert [d.failed_marks for d in (*opened, right, last)] == [()] * 5
    assert "often mistaken" not in prompt(client.requests[3])
    gave_up = (deleted.status, deleted.second_look, deleted.refused_for)
    assert gave_up == ("refused", True, "gave_up")
    again, after = prompt(client.requests[5]), prompt(client.requests[6])
    assert '"Delete" is only a part of an element\'s text' in again
    assert '[1] button "Delete all"' in again
    assert "[2] this may be the one: copy its whole text, 'Delete all'" in after
    assert "wrong" not in told + after


@pytest.mark.long
def test_a_part_that_is_chosen_again_in_the_second_look_is_performed(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = "<button>Keep</button><button onclick=\"out.textContent='ok'\">Delete all</button>"
    case = {"entry_url": site.put("/", f"{page}<p id=out></p>"), "expect": [{"text": "ok"}]}
    replies = [chosen("click", 2, "Delete"), chosen("click", 1, "Delete", near="1 of 1")]

    result, _ = act(browser, tmp_path, case, [*replies, do("done")])

    assert result.outcome == "passed", result.reason
    first = result.attempts[0].decisions[0]
    assert (first.status, first.second_look, first.chosen[0].taken) == ("performed", True, None)


@pytest.mark.long
def test_each_refusal_is_told_with_its_own_correction(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = "<button>上一页</button><button>下一页</button><button></button>"
    replies = [
        chosen("click", 44, "不存在的按钮"),
        chosen("click", 2, ""),
        chosen("click", 2, "Help"),
    ]

    result, client = act(
        browser, tmp_path, {"entry_url": site.put("/", page)}, [*replies, do("done")]
    )

    missing, unsaid, wrong = (prompt(request) for request in client.requests[1:4])
    assert "[44] there is no 44; the numbers go from 1 to 3" in missing
    assert "Take the number that stands in the element's box." in missing
    assert "you gave no text for it: give its text, which is '下一页'" in unsaid
    assert "near" not in unsaid.partition("## ")[2]
    assert "[2] does not match: expected 'Help', but it reads '下一页'" in wrong
    decisions = result.attempts[0].decisions
    assert [d.failed_marks for d in decisions] == [(), (), (), (2,)]


@pytest.mark.long
def test_of_several_actions_the_prompt_says_how_many_were_used(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = "<label>A <input></label><label>B <input></label><button>Send</button>"
    typed = [
        {"action": "type", "mark_id": n, "expected_text": text, "text": "x"}
        for n, text in ((1, "A"), (2, "B"), (3, "Nothing reads so"))
    ]
    steps = json.dumps({"action": "steps", "steps": typed})

    _, client = act(browser, tmp_path, {"entry_url": site.put("/", page)}, [steps, do("done")])

    told = prompt(client.requests[1])
    assert "2 of 3 were used; this one was not." in told
    assert "Nothing was done" not in told


@pytest.mark.long
def test_a_word_for_a_kind_does_not_contradict_a_name_that_nobody_sees(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = (
        "<input placeholder=User><input id=p type=password placeholder=password>"
        "<button aria-label='Open menu' style='width:30px;height:30px'></button>"
        "<input type=search aria-label=Town id=t><input placeholder=Street>"
    )
    case = {
        "entry_url": site.put("/", page),
        "expect": [{"js": "() => p.value === 'pw' && t.value === 'Rome'"}],
    }
    replies = [
        chosen("type", 3, "password field", text="pw"),
        chosen("click", 1, "button"),
        chosen("type", 4, "search field", text="Rome"),
        chosen("type", 5, "text field", text="x"),
        do("done"),
    ]

    result, client = act(browser, tmp_path, case, replies)

    assert result.outcome == "passed", result.reason
    statuses = [d.status for d in result.attempts[0].decisions]
    assert statuses == ["performed"] * 3 + ["refused", "performed"]
    told = prompt(client.requests[4])
    assert "[5] this may be the one: write the text that it reads, 'Street'" in told
    assert "wrong" not in told


@pytest.mark.long
def test_a_number_that_gives_way_to_its_text_is_logged_as_such(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = "<button>Back</button><button>Next</button>"
    result, _ = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", page)},
        [on("click", "Next", mark=1), do("done")],
    )

    [log] = (tmp_path / "run").rglob("run.log")
    lines = log.read_text().splitlines()
    assert any(
        line.startswith("decision 1: [1] is not the element: [2] is taken") for line in lines
    )
    assert result.attempts[0].decisions[0].status == "performed"
