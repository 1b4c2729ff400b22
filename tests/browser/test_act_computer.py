"""Models that are driven by the computer tool of their provider, in the same loop as others."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from acting import act, prompt
from local_site import Site
from playwright.sync_api import Browser

PAGE = """<style>body {margin: 0} body > * {position: absolute}</style>
<label style="left:20px;top:20px">Name <input id=a></label>
<button style="left:20px;top:80px" onclick="out.textContent = 'sent ' + a.value">Send</button>
<button style="left:200px;top:80px" onclick="this.textContent = 'Sure?'">Delete</button>
<canvas id=c style="left:20px;top:140px" width=200 height=100></canvas>
<p id=out style="left:20px;top:260px"></p>
<script>c.onclick = (e) => { document.title = `at ${e.offsetX},${e.offsetY}` }</script>"""


def openai(kind: str, **more: Any) -> str:
    return json.dumps({"thinking": "Now.", "computer": {"type": kind, **more}})


def anthropic(kind: str, **more: Any) -> str:
    return json.dumps({"thinking": "", "computer": {"action": kind, **more}})


@pytest.mark.long
@pytest.mark.parametrize(
    ("tool", "replies"),
    [
        (
            "computer_use_preview",
            [
                openai("click", button="left", x=120, y=30),
                openai("type", text="Ana"),
                openai("keypress", keys=["CTRL", "a"]),
                openai("type", text="Bo"),
                openai("click", button="left", x=60, y=180),
                openai("scroll", x=60, y=180, scroll_x=0, scroll_y=100),
                openai("screenshot"),
                openai("click", button="left", x=40, y=90),
                "It is sent.",
            ],
        ),
        (
            "computer_20250124",
            [
                anthropic("triple_click", coordinate=[120, 30]),
                anthropic("type", text="Ana"),
                anthropic("key", text="ctrl+a"),
                anthropic("type", text="Bo"),
                anthropic("left_click", coordinate=[60, 180]),
                anthropic("scroll", coordinate=[9, 9], scroll_direction="down", scroll_amount=2),
                anthropic("wait", duration=0.1),
                anthropic("left_click", coordinate=[40, 90]),
                "It is sent.",
            ],
        ),
    ],
)
def test_actions_of_a_tool_are_those_of_the_marks_at_their_places(
    browser: Browser, tmp_path: Path, site: Site, tool: str, replies: list[str]
) -> None:
    case = {
        "entry_url": site.put("/", PAGE),
        "expect": [{"text": "sent Bo"}, {"js": "document.title == 'at 40,40'"}],
    }

    result, client = act(browser, tmp_path, case, replies, spec={"computer": tool})

    (attempt,) = result.attempts
    assert (result.outcome, result.reason) == ("passed", "")
    assert {d.status for d in attempt.decisions} == {"performed"}
    # The button is compared once more before it is pressed; the canvas has no parts to compare.
    assert 'page.get_by_mark(2, expected_text="Send").click(timeout=5000)' in attempt.code
    assert attempt.decisions[-2].chosen[0].verdict == "match"
    assert 'page.mouse.click(60, 180, button="left", click_count=1)' in attempt.code
    assert 'page.keyboard.press("Control+a")' in attempt.code
    request = client.requests[-1]
    assert request.computer is not None
    assert (request.computer.kind, request.computer.width) == (tool, 1280)
    assert len(request.messages[-1].images) == 1
    assert '. click "Send"' in prompt(request)


@pytest.mark.long
def test_an_element_that_changed_in_the_meantime_is_left_alone(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    changed = """<button id=b style="position:absolute;left:0;top:0;width:200px;height:60px"
    onmousemove="" onclick="out.textContent = this.textContent">Keep</button><p id=out></p>
    <script>setTimeout(() => { b.textContent = 'Remove' }, 1500)</script>"""

    def late(request: Any) -> str:
        time.sleep(2)
        return openai("click", button="left", x=50, y=30)

    result, client = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", changed), "expect": [{"text": "Remove"}]},
        [late, openai("dance"), openai("click", button="left"), "I cannot go on."],
        spec={"computer": "computer_use_preview"},
    )

    attempt = result.attempts[0]
    assert [d.status for d in attempt.decisions] == ["refused", "invalid", "performed"]
    assert "'dance' is no action of the tool" in prompt(client.requests[2])
    assert "the action names no place" in attempt.decisions[1].error
