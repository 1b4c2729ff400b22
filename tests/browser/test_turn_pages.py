"""What a model by turns is shown of the page: within a budget, once, as a picture on request."""

import base64
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from acting import Reply, run_one, settings
from local_site import Site
from PIL import Image
from playwright.sync_api import Browser

from pytest_autoweb.browser.page import page_tree
from pytest_autoweb.models.cassettes import recorded_request, request_key
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.testing import ScriptedClient


def take(
    browser: Browser,
    folder: Path,
    page: str,
    replies: Sequence[Reply],
    *,
    case: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **more: Any,
) -> tuple[CellResult, list[Request]]:
    """The result of a cell that begins at a page, and its requests."""
    client = ScriptedClient({"generate": list(replies), "repair": "DONE"})
    result = run_one(
        browser,
        {"entry_url": page, "user_task": "Do it.", "expect": [{"js": "true"}], **(case or {})},
        client,
        settings(folder, check_timeout=0.5, **more),
        strategy="codegen",
        spec={"codegen": "turns", **(spec or {})},
        opened=lambda page: None,
    )
    return result, client.requests


def code(*lines: str) -> str:
    return "\n".join(["```python", *lines, "```"])


def said(request: Request) -> str:
    return "\n\n".join(message.content for message in request.messages[1:])


LIST = "<h1>Parts</h1><ul>{items}</ul><h2>Total: 4711</h2>"
CLICK = "page.get_by_role('button', name='{}').click()"


@pytest.mark.long
def test_a_page_is_listed_within_ten_thousand_tokens_and_shows_more_on_request(
    browser: Browser, tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list, and then a page of which nothing is alike, where lines take the place of rows."""
    monkeypatch.setitem(page_tree.LIMITS, "milliseconds", 60_000)
    items = "".join(f"<li>Part {n} of the machine <a href=/p/{n}>see</a>" for n in range(4_000))
    roles = ("heading", "button", "link", "checkbox", "tab", "radio", "switch", "img", "option")
    mixed = "".join(
        f"<div role={roles[n * 7 % 9]}><i role={roles[n % 9]} aria-label='Thing {n}'>x</i></div>"
        f"<p>What {n} is about</p>"
        for n in range(1_500)
    )
    site.put("/mixed", f"<h1>Mixed</h1>{mixed}<h2>The very end</h2>")
    begin = site.put("/parts", LIST.format(items=items))

    def next_lines(request: Request) -> str:
        asked = re.search(r"\d+ more (?:lines|items|alike); page\.show_more\(\d+\)", said(request))
        assert asked, said(request)[-2_000:]
        number = re.search(r"more lines; (page\.show_more\(\d+, \d+\))", said(request))
        return code(number[1] if number else asked[0].split("; ")[1])

    _, (first, second, third) = take(
        browser,
        tmp_path,
        begin,
        [code("page.goto('/mixed')"), next_lines, "DONE"],
        spec={"context_tokens": 128_000},
    )

    for request in (first, second, third):
        assert len(said(request)) < 3.4 * 10_000
    for text in ("Part 0 of", "Part 3999 of", "Total: 4711", "more items; page.show_more(1)"):
        assert text in said(first)
    assert "The very end" in said(second)
    assert len(said(second)) > 2 * 10_000
    assert said(third) != said(second)


BUSY = """<title>t</title><h1>Desk</h1><img src=/logo.png alt=Logo>
<button onclick="fetch('/orders', {method: 'POST'})">Send</button>
<a href=/again>Again</a>"""


@pytest.mark.long
def test_what_fails_with_each_page_is_told_once_and_what_fails_to_be_sent_each_time(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    site.put("/again", BUSY.replace("Desk", "Desk 2"))
    goes = code("page.get_by_role('link', name='Again').click()", "page.wait_for_timeout(100)")
    sends = code(CLICK.format("Send"), "page.wait_for_timeout(200)")

    _, requests = take(
        browser, tmp_path, site.put("/busy", BUSY), [goes, sends, goes, sends, "DONE"]
    )

    last = said(requests[-1])
    assert last.count("/logo.png: 404") <= 1
    assert last.count("failed request: POST") == 2


@pytest.mark.long
def test_an_equal_page_is_not_listed_again_but_stays_in_view(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = site.put("/p", "<h1>Desk</h1><button>Rest</button><p id=p>calm</p>")
    rests = code(CLICK.format("Rest"))
    changes = code("page.evaluate(\"document.querySelector('#p').textContent = 'busy'\")")

    result, requests = take(browser, tmp_path, page, [rests, rests, changes, "DONE"])

    assert result.attempts[0].turns == 4
    for request in requests:
        assert said(request).count("<<page ") == 1
        assert said(request).count('heading "Desk"') == 1
    assert "TURN 2 OF 12\nThe page is as at the beginning of TURN 1" in said(requests[1])
    assert "TURN 3 OF 12\nThe page is as at the beginning of TURN 1" in said(requests[2])
    # What went before is sent unchanged, as the caches of services need it.
    assert said(requests[2]).startswith(said(requests[1]).rstrip())
    assert "\nbusy\n" in said(requests[3])
    assert "calm" not in said(requests[3])
    assert "is as at the beginning" not in said(requests[3])


def test_a_long_log_keeps_its_beginning_and_its_end(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    logs = code("log('first ' + 'x' * 9_000 + ' last')", "answer('4 | <<end')")

    _, requests = take(browser, tmp_path, site.put("/p", "<h1>Desk</h1>"), [logs, "DONE"])

    told = requests[1].messages[-1].content
    assert "| first xxx" in told
    assert "xxx last\n" in told
    left_out = re.search(r"\| \((\d+) characters left out\)", told)
    assert left_out
    assert int(left_out[1]) + told.count("x") >= 9_000
    assert 'The answer so far: | "4 | <<end"' in told


CARDS = """<title>t</title><style>* {margin: 0} td {padding: 9px} #a {width: 120px; height: 80px;
background: rgb(0, 128, 0); position: absolute; left: 200px; top: 100px} input {position: absolute;
left: 10px; top: 300px; width: 200px; height: 30px; background: rgb(250, 250, 0)}</style>
<div id=a role=img aria-label=Green></div><input aria-label=Word value="SECRET">
<table style="position: absolute; top: 400px"><tr><td>Ana Kovač<td>Weaving<td>3<td>
<button>Edit</button><button>Copy</button><button>Drop</button></table>"""


def picture_of(request: Request) -> Image.Image:
    (uri,) = request.messages[-1].images
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))).convert("RGB")


SEES = {"vision": True}


@pytest.mark.long
def test_a_picture_comes_with_the_next_turn_only_and_is_kept_as_evidence(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = site.put("/cards", CARDS.replace("SECRET", "x"))
    looks = [
        code("page.look()"),
        code("page.look(200, 100, 60, 40)"),
        code("page.get_by_role('img').look()"),
        code("page.get_by_label('Word').focus()"),
        code("page.look()"),
        "DONE",
    ]

    result, requests = take(browser, tmp_path, page, looks, spec=SEES, max_looks=3)

    assert "page.look() takes a picture" in requests[0].messages[0].content
    assert "At most 3" in requests[0].messages[0].content
    pictures = [sum(len(one.images) for one in request.messages) for request in requests]
    assert pictures == [0, 1, 1, 1, 0, 0]
    assert picture_of(requests[1]).size == (1280, 720)
    assert picture_of(requests[1]).getpixel((210, 110)) == (0, 128, 0)
    assert "The picture shows the window, 1280 x 720 pixels. (2 more" in said(requests[1])
    assert picture_of(requests[2]).size == (60, 40)
    assert "shows 60 x 40 pixels of the window, from (200, 100) on" in said(requests[2])
    assert picture_of(requests[3]).size == (120, 80)
    assert picture_of(requests[3]).getcolors() == [(120 * 80, (0, 128, 0))]
    assert "look: its 3 pictures were taken in this attempt" in said(requests[5])
    attempt = result.attempts[0]
    assert [(one.step_index, one.box[2:]) for one in attempt.looks] == [
        (1, (1280, 720)),
        (2, (60, 40)),
        (3, (120, 80)),
    ]
    for look in attempt.looks:
        assert look.picture
        assert (tmp_path / "run" / "cells" / "one" / look.picture).is_file()


@pytest.mark.long
def test_pictures_show_no_secret_and_are_equal_for_equal_pages(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    """So that a cassette finds the reply again, although a field has the focus."""
    page = site.put("/cards", CARDS.replace("SECRET", "hunter2-and-more"))
    case = {"secrets": {"word": {"default": "hunter2-and-more"}}, "pictures": False}
    looks = code("page.get_by_label('Word').focus()", "page.look()")
    keys = []

    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        result, requests = take(browser, folder, page, [looks, "DONE"], case=case, spec=SEES)
        spec = ModelSpec(name="fake/model", vision=True)
        recorded, _ = recorded_request(requests[1], spec, lambda text: text)
        keys.append(request_key(requests[1], recorded))
        assert picture_of(requests[1]).getpixel((30, 305)) != (250, 250, 0)
        # The run folder of such a case keeps no picture.
        assert [look.picture for look in result.attempts[0].looks] == [None]
        assert not list(folder.rglob("*.png"))

    assert keys[0] == keys[1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "spec", "told"),
    [
        ("page.look()", {}, "it takes a model that sees pictures"),
        ("page.look(5000, 0, 10, 10)", SEES, "lies outside of the window of 1280 x 720 pixels"),
        ("page.look(0, 0, 10)", SEES, "look(x, y, width, height) a region of it"),
        ("page.look(0, 0, float('nan'), 1)", SEES, "look(x, y, width, height) a region of it"),
        ("page.get_by_role('row').look(1, 2, 3, 4)", SEES, "look of an element takes no region"),
        ("page.get_by_role('link').look()", SEES, "Timeout 3000ms exceeded"),
    ],
)
def test_a_look_that_is_not_possible_says_why(
    browser: Browser, tmp_path: Path, site: Site, line: str, spec: dict[str, Any], told: str
) -> None:
    page = site.put("/cards", CARDS.replace("SECRET", "x"))

    _, requests = take(browser, tmp_path, page, [code(line), "DONE"], spec=spec)

    assert told in said(requests[1])
    assert not any(message.images for request in requests for message in request.messages)
    offered = "page.look() takes a picture" in requests[0].messages[0].content
    assert offered is bool(spec)


def test_what_a_number_or_a_description_found_is_said_in_the_next_turn(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = site.put("/cards", CARDS.replace("SECRET", "x"))
    clicks = code("page.get_by_mark(9, expected_text='Drop').click()")

    _, requests = take(browser, tmp_path, page, [clicks, "DONE"])

    assert (
        'It found:\n| button "Drop" in row "Ana Kovač | Weaving | 3 | Edit Copy Drop", third of 3'
        in said(requests[1]).replace("EditCopyDrop", "Edit Copy Drop")
    )


@pytest.mark.long
def test_a_box_that_is_gone_once_it_is_ticked_counts_as_ticked(
    browser: Browser, tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_autoweb.agents.attempt.execute.TOLD_CALL_S", 0.7)
    page = site.put(
        "/filter",
        "<h1>Filter</h1><label><input type=checkbox onclick='this.parentNode.remove()'>Bug</label>",
    )

    result, requests = take(
        browser, tmp_path, page, [code("page.get_by_label('Bug').check()", "log(1)"), "DONE"]
    )

    assert result.attempts[0].tool_calls[0].ok
    assert "(check() was done, and the box is gone from the page since)\n| 1" in said(requests[1])


@pytest.mark.long
def test_a_repair_sees_the_page_as_turns_list_it_and_what_was_forgotten(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    rows = "".join(f"<tr><td>row {n}<td>of a table</tr>" for n in range(1_000))
    page = site.put(
        "/p", f"<button onclick='this.disabled = true'>Save</button><table>{rows}</table>"
    )
    case = {
        "user_task": "Press Save and return the number.",
        "expect": [{"answer": {"equals": "4711"}}],
    }

    result, requests = take(
        browser,
        tmp_path,
        page,
        [f"{code(CLICK.format('Save'))}\nDONE"],
        case=case,
        max_repairs=1,
    )

    opening = said(requests[1]).partition("TURN 1")[0]
    assert result.attempts[0].executed
    assert (
        '1. Press Save\n2. and return the number.\nWhat was done:\n- click button "Save"' in opening
    )
    end = opening.partition("<<page at the end")[2]
    assert 'button "Save" [disabled]' in end
    assert "- row" not in end
    assert "show_more" not in end
    assert " more rows)" in end
    assert "4711" not in opening
    assert "refused before it ran" not in opening
