"""Acting only on what is sure: second looks of a model in doubt, and what sight finds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from acting import act, do, on, prompt, run_one, settings
from local_site import Site
from playwright.sync_api import Browser

from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.testing import ScriptedClient
from pytest_autoweb.testing.pixels import PixelReadingClient, PixelTarget

BUTTONS = "".join(
    f"<button onclick=\"out.textContent='{name} done'\">{name}</button>"
    for name in ("Keep", "Send", "Help")
)
PAGE = f"{BUTTONS}<p id=out></p>"


@pytest.mark.long
def test_a_model_that_is_not_sure_looks_again_and_may_choose_otherwise(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, client = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", PAGE), "expect": [{"text": "Keep done"}]},
        [on("click", "Send", confidence=0.4), on("click", "Keep", confidence=0.9), do("done")],
    )

    assert result.outcome == "passed", result.reason
    first = result.attempts[0].decisions[0]
    assert (first.second_look, first.calls, first.confidence) == (True, 2, 0.9)
    chosen = first.chosen[0]
    assert (chosen.mark, chosen.taken, chosen.expected_text, chosen.verdict) == (
        *(2, 1, "Keep", "match"),
    )
    asked = prompt(client.requests[1])
    assert 'You were not sure about "Send"' in asked
    assert "Several elements fit" not in asked
    assert [name in asked for name in ('"Keep"', '"Send"', '"Help"')] == [True] * 3


@pytest.mark.long
def test_what_is_chosen_again_is_performed_and_a_sure_model_is_not_asked_twice(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    case = {"entry_url": site.put("/", PAGE), "expect": [{"text": "Send done"}]}
    for name, confidence, calls in (("below", 0.49, 2), ("at", 0.5, 1)):
        (tmp_path / name).mkdir()
        result, _ = act(
            browser,
            tmp_path / name,
            case,
            [*[on("click", "Send", confidence=confidence)] * calls, do("done")],
        )

        first = result.attempts[0].decisions[0]
        assert (result.outcome, first.calls, first.second_look) == ("passed", calls, calls == 2)
        assert (first.chosen[0].mark, first.chosen[0].taken) == (2, None)


@pytest.mark.long
def test_what_an_unsure_model_does_not_choose_again_is_not_performed(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, _ = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", PAGE), "expect": [{"text": "Send done"}]},
        [on("click", "Send", confidence=0.2), do("wait"), do("done")],
    )

    first, second = result.attempts[0].decisions[:2]
    assert (first.status, first.refused_for, first.second_look) == ("refused", "gave_up", True)
    assert "not sure (0.2)" in first.error
    assert second.failed_marks == ()
    assert result.attempts[0].tool_calls == ()


# The locator sees two buttons, one of which has another text than the model expects, and a drawing.
SIGHTS = """<title>Team</title><style>button{position:absolute;height:30px;left:300px}</style>
<button style="left:10px;top:150px">Help</button>
<button style="top:10px;width:30px" onclick="out.textContent='Ana gone'"></button>
<button style="top:60px;width:30px" onclick="out.textContent='Bo gone'"></button>
<button style="top:110px;width:90px" onclick="out.textContent='archived'">Archive</button>
<p id=out></p>"""
TARGETS = {
    "Remove Bo": PixelTarget(300, 60, 30, 30),
    "Remove Cy": PixelTarget(300, 110, 90, 30),
}


class VisionModel:
    """Decides from a script, and looks at the locator's pictures."""

    def __init__(self, decisions: Sequence[dict[str, Any]]) -> None:
        self.script = ScriptedClient({"decide": [json.dumps(one) for one in decisions]})
        self.eyes = PixelReadingClient(TARGETS)

    def complete(self, request: Request) -> Reply:
        return (self.eyes if request.stage == "locate" else self.script).complete(request)


def clicked(browser: Browser, folder: Path, site: Site, text: str) -> tuple[Attempt, VisionModel]:
    """An attempt in which the same text is refused twice, and then looked for by sight."""
    wrong = {"action": "click", "mark_id": 4, "expected_text": text, "confidence": 0.9}
    client = VisionModel([wrong, wrong, {"action": "wait"}, {"action": "done"}])
    result = run_one(
        browser,
        {"entry_url": site.put("/", SIGHTS), "user_task": "Do it.", "expect": [{"js": "true"}]},
        client,  # type: ignore[arg-type]
        settings(folder, check_timeout=0.5),
        strategy="act",
        spec={"vision": True},
        opened=lambda page: None,
    )
    return result.attempts[0], client


@pytest.mark.long
def test_what_sight_finds_with_another_text_is_not_clicked(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    attempt, _ = clicked(browser, tmp_path, site, "Remove Cy")

    found = attempt.locations[0]
    assert (found.status, found.verdict, found.actual_text) == ("found", "mismatch", "Archive")
    second = attempt.decisions[1]
    assert (second.status, second.refused_for, second.location) == ("refused", "gave_up", 0)
    assert "has another text" in second.error
    assert second.chosen[0].actual_text == "Archive"
    assert [call for call in attempt.tool_calls if call.acting and call.ok] == []


@pytest.mark.long
def test_where_there_is_no_text_the_record_says_so_and_a_success_withdraws_the_problem(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    attempt, client = clicked(browser, tmp_path, site, "Remove Bo")

    found = attempt.locations[0]
    assert (found.status, found.verdict) == ("found", "unverifiable")
    assert "no text to compare" in found.compared
    refused, performed, after = attempt.decisions[:3]
    assert (refused.status, refused.refused_for) == ("refused", "choice")
    assert (performed.status, performed.location) == ("performed", 0)
    assert performed.chosen[0].verdict == "unverifiable"
    assert performed.chosen[0].reason.startswith("found by sight: there is no text to compare")
    assert performed.failed_marks == (4,)
    assert (after.feedback, after.failed_marks) == ((), ())
    assert "does not match" not in prompt(client.script.requests[2])


ONE_ICON = "<button style='width:30px; height:30px'></button><p>Nothing else</p>"


@pytest.mark.long
def test_an_unsure_icon_is_left_to_the_locator_and_the_model_told_what_it_is(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    icon = {"action": "click", "mark_id": 1, "expected_text": "bin icon", "confidence": 0.2}
    client = VisionModel([icon, {"action": "wait"}, {"action": "done"}])
    result = run_one(
        browser,
        {"entry_url": site.put("/", ONE_ICON), "user_task": "Go.", "expect": [{"js": "true"}]},
        client,  # type: ignore[arg-type]
        settings(tmp_path, check_timeout=0.5),
        strategy="act",
        spec={"vision": True},
        opened=lambda page: None,
    )

    first = result.attempts[0].decisions[0]
    assert (first.status, first.refused_for, first.location) == ("refused", "gave_up", 0)
    assert "bin icon" in prompt(client.script.requests[1])
    assert [call for call in result.attempts[0].tool_calls if call.acting and call.ok] == []


@pytest.mark.long
@pytest.mark.parametrize("told", [True, False])
def test_a_circle_is_recorded_as_such(
    browser: Browser, tmp_path: Path, site: Site, told: bool
) -> None:
    result, _ = act(
        browser,
        tmp_path,
        {"entry_url": site.put("/", "<button>Buy</button>")},
        [on("click", "Buy")],
        feedback=told,
    )

    decisions = result.attempts[0].decisions
    assert [d.refused_for for d in decisions if d.status == "refused"] == ["circle"] * 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("mistaken", "calls"), [({}, 1), ({"button": (1, 20)}, 1), ({"button": (3, 10)}, 2)]
)
def test_a_kind_that_was_often_mistaken_is_warned_of_and_looked_at_again_earlier(
    browser: Browser,
    tmp_path: Path,
    site: Site,
    mistaken: dict[str, tuple[int, int]],
    calls: int,
) -> None:
    send = on("click", "Send", confidence=0.7)
    client = ScriptedClient({"decide": [*[send] * calls, do("done")]})
    result = run_one(
        browser,
        {"entry_url": site.put("/", PAGE), "expect": [{"text": "Send done"}], "user_task": "Send."},
        client,
        settings(tmp_path, max_repairs=0, check_timeout=0.5),
        strategy="act",
        spec={},
        opened=lambda page: None,
        mistaken=mistaken,
    )

    first = result.attempts[0].decisions[0]
    assert (result.outcome, first.calls, first.second_look) == ("passed", calls, calls == 2)
    warned = "often mistaken before: button." in prompt(client.requests[0])
    assert warned == (calls == 2)


@pytest.mark.long
def test_two_mistakes_in_an_attempt_are_enough_for_a_warning(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    wrong = on("click", "Nothing reads so", mark=1)
    case = {"entry_url": site.put("/", PAGE), "expect": [{"text": "Send done"}]}
    replies = [wrong, on("click", "Nor so", mark=2), on("click", "Send"), do("done")]
    told = {}
    for feedback in (True, False):
        (tmp_path / str(feedback)).mkdir()
        folder = tmp_path / str(feedback)
        _, client = act(browser, folder, case, replies, feedback=feedback)
        told[feedback] = ["often mistaken" in prompt(request) for request in client.requests[:3]]

    assert told == {True: [False, False, True], False: [False, False, False]}
