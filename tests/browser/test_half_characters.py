"""Pages whose texts hold half of an emoji, as a script leaves it that cuts a text."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from acting import do, on, prompt, run_one, settings
from list_site import ListSite
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.base.whole_characters import whole_json
from pytest_autoweb.browser.marks.marking import mark_page
from pytest_autoweb.browser.page.capture import CAPTURE_MODES, capture_snapshot
from pytest_autoweb.browser.page.outline import Folds
from pytest_autoweb.judging.evidence.dom_copy import copy_page
from pytest_autoweb.models.messages import Request
from pytest_autoweb.results.records import CaptureModeName, CellResult
from pytest_autoweb.testing import ScriptedClient

PAGE = r"""<title>Tea</title><h1 id=h></h1><p id=p></p><input id=i><a id=a>More</a>
<button id=b></button><ul id=list><li><a href=/item/1 id=one></a></li>
<li><a href=/item/2>Two</a></li></ul><iframe id=f srcdoc="<p>Inside</p>"></iframe>
<script>
const half = '\ud83d', by = (id) => document.getElementById(id);
document.title = 'Tea ' + half;
by('h').textContent = 'Tea ' + half;
by('p').textContent = 'spelt \\ud83d, cut ' + half;
by('i').setAttribute('aria-label', 'Name ' + half);
by('i').value = 'Ana ' + half;
by('i').placeholder = 'Who ' + half;
by('a').setAttribute('href', '/more' + half);
by('a').title = 'More ' + half;
by('one').textContent = 'One ' + half;
by('f').contentWindow.name = 'frame ' + half;
by('b').textContent = 'Buy ' + half;
by('b').onclick = () => { alert('Sure ' + half); document.title = 'bought ' + half; };
console.error('loaded ' + half);
</script>"""


@pytest.mark.parametrize("mode", tuple(CAPTURE_MODES))
@pytest.mark.parametrize("folds", [None, Folds()], ids=["whole", "brief"])
def test_each_mode_shows_halves_as_a_sign_and_spelt_ones_as_they_are(
    blank: Page, site: Site, mode: CaptureModeName, folds: Folds | None
) -> None:
    blank.goto(site.put("/", PAGE))

    shown = capture_snapshot(
        blank, mode, url="", entry_action="", step_indexes=[], budget_tokens=4_000, folds=folds
    )

    shown.model_dump_json()
    for text in ("Tea \ufffd", "cut \ufffd", "Name \ufffd", "Ana \ufffd", "Buy \ufffd"):
        assert text in shown.text
    assert shown.text.count("\\ud83d") == 1


def test_marks_and_copies_of_a_page_can_be_written_down(blank: Page, site: Site) -> None:
    blank.goto(site.put("/", PAGE))

    texts = [text for mark in mark_page(blank).marks for text in mark.texts]
    copied = copy_page(blank, lambda text: text)

    assert {"Buy \ufffd", "Name \ufffd", "Ana \ufffd", "More \ufffd"} <= set(texts)
    assert "Tea \ufffd".encode() in copied.encode()


def script(code: str) -> str:
    return f"```python\n{code}\n```\nDONE"


CODE = """button = page.get_by_role("button", name="Buy \ufffd")
log(button.inner_text(), page.title(), page.evaluate("'\\\\ud83d'"))
button.click()
answer({"name": page.get_by_label("Name \ufffd", exact=True).input_value()})"""


def pressed(request: Request) -> str:
    shown = "\n".join(message.content for message in request.messages)
    number = shown.partition('button "Buy \ufffd"')[0].split()[-1].strip("[]:")
    return f'I press.\n```\n{number}.click()\nanswer({{"name": "Ana \ufffd"}})\n```\nDONE'


def run(
    browser: Browser,
    folder: Path,
    site: Site,
    strategy: StrategyName,
    spec: dict[str, Any],
    answers: dict[str, Any],
) -> tuple[CellResult, Sequence[Request]]:
    client = ScriptedClient(answers)  # type: ignore[arg-type]
    collects = {"collect": {"navigate": 1, "rate": {"delay": 0}}} if strategy == "collect" else {}
    result = run_one(
        browser,
        {
            "entry_url": site.put("/", PAGE),
            "user_task": "Buy.",
            "expect": [{"js": "true" if collects else "document.title.startsWith('bought')"}],
            **collects,
        },
        client,
        settings(folder, check_timeout=0.5),
        strategy=strategy,
        spec=spec,
        opened=lambda page: None,
    )
    return result, client.requests


@pytest.mark.long
@pytest.mark.parametrize(
    ("strategy", "spec", "answers"),
    [
        ("codegen", {"codegen": "turns"}, {"generate": script(CODE)}),
        ("codegen", {"codegen": "once"}, {"plan": "STEP 1: Buy.", "generate": script(CODE)}),
        ("codegen", {"dialect": "refs", "codegen": "turns"}, {"generate": pressed}),
        ("act", {}, {"decide": [on("click", "Buy \ufffd"), do("done")]}),
    ],
    ids=["turns", "once", "refs", "act"],
)
def test_a_cell_runs_and_its_model_acts_on_what_it_was_shown(
    browser: Browser,
    tmp_path: Path,
    site: Site,
    strategy: StrategyName,
    spec: dict[str, Any],
    answers: dict[str, Any],
) -> None:
    result, requests = run(browser, tmp_path, site, strategy, spec, answers)

    assert (result.outcome, result.reason) == ("passed", "")
    assert any("Buy \ufffd" in prompt(request) for request in requests)
    for request in requests:
        request.model_dump_json()
    saved = (tmp_path / "run/cells/one/cell.json").read_text(encoding="utf-8")
    assert whole_json(saved) == saved
    if strategy == "codegen":
        assert json.loads(saved)["attempts"][0]["answer"] == {"name": "Ana \ufffd"}


@pytest.mark.long
def test_a_list_with_halves_is_collected(browser: Browser, tmp_path: Path) -> None:
    site = ListSite()
    try:
        answers = dict.fromkeys(("navigate", "explore", "paginate", "collect"), do("done"))
        result, requests = run(browser, tmp_path, site, "collect", {}, answers)
    finally:
        site.close()

    assert result.outcome != "broken"
    assert requests
    assert any("One \ufffd" in prompt(request) for request in requests)
    for request in requests:
        request.model_dump_json()
