"""No way of working acts on another record than the one it was shown, whatever list moves."""

import re
import time
from pathlib import Path

import pytest
from acting import Reply, act, do, on, run_one, settings
from local_site import Site
from moving_lists import KINDS, page_of
from playwright.sync_api import Browser, Page

from pytest_autoweb.models.messages import Request
from pytest_autoweb.results.records import CellResult, ToolCall
from pytest_autoweb.testing import ScriptedClient

MOVED = 'the rows moved: button "Delete" beside "No. '
# Under these, the record that was meant does not stay in the page.
LOST = ("pressed", "pointed")


def by_turns(
    browser: Browser, folder: Path, site: Site, kind: str, reply: Reply, **spec: str
) -> tuple[CellResult, str]:
    """A cell whose first turn is this reply; the result, and what the model was told of it."""
    client = ScriptedClient({"generate": [reply, "DONE"]})
    result = run_one(
        browser,
        {
            "entry_url": site.put("/", page_of(kind)),
            "user_task": "Delete the order.",
            "expect": [{"js": "true"}],
        },
        client,
        settings(folder, check_timeout=0.5),
        strategy="codegen",
        spec={"codegen": "turns", **spec},
        opened=lambda page: None,
    )
    return result, "\n".join(message.content for message in client.requests[-1].messages)


def done(site: Site) -> list[int]:
    return [int(hit.partition("?")[2]) for hit in site.hits if hit.startswith("/done?")]


def told_later(site: Site) -> list[int]:
    """What was done, of which a busy machine may hear when the cell has ended."""
    until = time.monotonic() + 5
    while not done(site) and time.monotonic() < until:
        time.sleep(0.05)
    return done(site)


def clicks(result: CellResult) -> list[ToolCall]:
    return [call for call in result.attempts[0].tool_calls if call.method == "click"]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_code_by_turns_acts_on_the_record_it_found(
    browser: Browser, tmp_path: Path, site: Site, kind: str
) -> None:
    code = "page.get_by_role('button', name='Delete', exact=True).nth(4).click()"

    result, told = by_turns(browser, tmp_path, site, kind, f"```python\n{code}\n```")

    [click] = clicks(result)
    if kind in LOST:
        assert done(site) == []
        assert MOVED in str(click.error)
        assert MOVED in told
    else:
        [record] = told_later(site)
        assert click.element.startswith(f'button "Delete" beside "No. {record} ')
        assert click.element in told


@pytest.mark.long
@pytest.mark.parametrize("kind", ["redrawn", "pointed"])
def test_a_drag_by_selectors_takes_hold_of_the_record_it_found(
    browser: Browser, tmp_path: Path, site: Site, kind: str
) -> None:
    place = 1 if kind in LOST else 11
    code = f"page.drag_and_drop('button >> nth={place}', 'h1')"

    result, told = by_turns(browser, tmp_path, site, kind, f"```python\n{code}\n```")

    [drag] = [call for call in result.attempts[0].tool_calls if call.method == "drag_and_drop"]
    if kind in LOST:
        assert MOVED in str(drag.error)
        assert MOVED in told
    else:
        assert drag.ok, drag.error
        assert drag.element.startswith('button "Delete" beside "No. 111 ')


def numbered(record: int, action: str) -> Reply:
    """A line about the button of this record in the list that the model is shown."""

    def reply(request: Request) -> str:
        listed = request.messages[-1].content
        found = re.search(rf'No\. {record}\b.*?(e\d+) (?:button )?"Delete"', listed, re.DOTALL)
        assert found, listed
        return f"```\n{found[1]}.{action}\n```"

    return reply


# Each kind is tried by turns; the other ways share the comparison, so they try some.
@pytest.mark.long
@pytest.mark.parametrize("kind", ["redrawn", "recycled", "sorted", "pressed"])
def test_a_number_stands_for_the_record_that_it_was_listed_with(
    browser: Browser, tmp_path: Path, site: Site, kind: str
) -> None:
    result, told = by_turns(browser, tmp_path, site, kind, numbered(105, "click()"), dialect="refs")

    assert set(done(site)) <= {105}
    if kind not in (*LOST, "sorted"):
        assert told_later(site) == [105], told
    if not done(site):
        assert "look again" in told
    assert all(click.element in told for click in clicks(result))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["pressed", "sorted", "recycled"])
def test_a_mark_stands_for_the_record_that_it_was_drawn_at(
    browser: Browser, tmp_path: Path, site: Site, kind: str
) -> None:
    case = {"entry_url": site.put("/", page_of(kind))}
    choice = on("click", "Delete", mark=0, near="No. 102")

    result, client = act(browser, tmp_path, case, [choice, do("done")])

    assert set(done(site)) <= {102}
    if kind in LOST:
        assert MOVED in str(clicks(result)[0].error)
        assert MOVED in client.requests[-1].messages[-1].content
    else:
        assert done(site) == [102] or not clicks(result)


@pytest.mark.long
def test_a_script_is_told_with_the_record_it_was_given(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    code = "page.get_by_role('button', name='Delete').nth(4).evaluate('one => one.click()')"

    result, told = by_turns(browser, tmp_path, site, "redrawn", f"```python\n{code}\n```")

    [call] = [one for one in result.attempts[0].tool_calls if one.method == "evaluate"]
    assert told_later(site) == [104]
    assert call.element == 'button "Delete" beside "No. 104 Eli 60.00"'
    assert call.element in told


@pytest.mark.long
@pytest.mark.parametrize("way", ["refs", "refs, small", "act"])
def test_rows_that_show_other_records_since_the_look_are_not_acted_on(
    browser: Browser, tmp_path: Path, site: Site, way: str
) -> None:
    pages: list[Page] = []

    def after_a_move(reply: Reply) -> Reply:
        def moved(request: Request) -> str:
            said = reply(request) if callable(reply) else reply
            pages[-1].evaluate("move()")
            return said

        return moved

    case = {"entry_url": site.put("/", page_of("told")), "user_task": "Delete 102."}
    if way == "act":
        choice = after_a_move(on("click", "Delete", mark=0, near="No. 102"))
        act(browser, tmp_path, case, [choice, do("done")], pages=pages)
    else:
        run_one(
            browser,
            {**case, "expect": [{"js": "true"}]},
            ScriptedClient({"generate": [after_a_move(numbered(102, "click()")), "DONE"]}),
            settings(tmp_path, check_timeout=0.5),
            strategy="codegen",
            spec={"codegen": "once" if "small" in way else "turns", "dialect": "refs"},
            opened=pages.append,
        )

    assert done(site) == []
