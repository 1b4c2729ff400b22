"""What a capable model can do in the dialect `refs`, on pages that ask for it."""

import re
from pathlib import Path
from typing import Any

import pytest
from acting import run_one, settings
from local_site import PAGES, Site
from playwright.sync_api import Browser

from pytest_autoweb.models.messages import Request
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.testing import ScriptedClient


class Talk:
    """A client that knows nothing but what it is sent, and replies by looking up texts there."""

    def __init__(self, *turns: str) -> None:
        self._turns, self.prompts, self._page = list(turns), list[str](), ""

    def reply(self, request: Request) -> str:
        self.prompts.append(request.messages[-1].content)
        # A page that has not changed is not shown again.
        shown = (each.content for each in reversed(request.messages))
        self._page = next(each for each in shown if "<<page " in each).rpartition("<<page ")[2]
        turn = self._turns.pop(0) if self._turns else "DONE"
        return re.sub(r"\{(.+?)\}", lambda found: self._number(found[1]), turn)

    def _number(self, text: str) -> str:
        lines = [one for one in self._page.splitlines() if text in one and _NUMBER.search(one)]
        # A name is meant before a text that holds the same words.
        line = next((one for one in lines if f'"{text}"' in one), "".join(lines[:1]))
        assert line, f"{text!r} is not listed: {self._page}"
        before, _, after = line.partition(f'"{text}"' if f'"{text}"' in line else text)
        # The element that holds the text, or the first one beside it.
        return str((_NUMBER.findall(before)[-1:] or _NUMBER.findall(after))[0])


_NUMBER = re.compile(r"\be\d+\b")


def play(
    browser: Browser, folder: Path, site: Site, page: str, *turns: str, **case: Any
) -> tuple[CellResult, list[str]]:
    """The result of a cell that was played so, and the last message of each prompt."""
    talk = Talk(*turns)
    result = run_one(
        browser,
        {"entry_url": site.put("/", page), "user_task": "Do it.", **case},
        ScriptedClient({"generate": talk.reply}),
        settings(folder, check_timeout=0.5),
        strategy="codegen",
        spec={"dialect": "refs"},
        opened=lambda page: None,
    )
    # Short data is quoted line by line.
    return result, [re.sub(r"(?m)^\| ", "", prompt) for prompt in talk.prompts]


def block(*lines: str) -> str:
    return "\n".join(["I go on.", "```", *lines, "```"])


DIALOGS = """<title>Orders</title><h1>Orders</h1><p id=said></p><script>
function ask(first) {
  const sure = confirm(first);
  const why = sure ? prompt('Why?', 'no reason') : null;
  said.textContent = `${sure} ${why} ${sure && confirm('Tell the customer?')}`;
}</script>
<button onclick="ask('Cancel order 147?')">Cancel</button>
<button onclick="setTimeout(ask, 200, 'Cancel later?')">Later</button>"""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["accept_dialog()", 'accept_dialog("damaged")', "{Cancel}.click()"], "true damaged false"),
        (["accept_dialog()", "accept_dialog()", "{Cancel}.click()"], "true no reason false"),
        (["accept_dialog()", 'accept_dialog("")', "{Cancel}.click()"], "true  false"),
        (
            ["accept_dialog()", "dismiss_dialog()", "accept_dialog()", "{Cancel}.click()"],
            "true null true",
        ),
        (["accept_dialog()", 'accept_dialog("x")', "{Later}.click()"], "true x false"),
        (["{Cancel}.click()"], "false null false"),
    ],
)
def test_each_reply_is_for_one_dialog_in_their_order(
    browser: Browser, tmp_path: Path, site: Site, lines: list[str], said: str
) -> None:
    check = {"js": f"said.textContent === {said!r}"}

    result, _ = play(browser, tmp_path, site, DIALOGS, block(*lines), expect=[check])

    assert (result.outcome, result.reason) == ("passed", "")


def test_a_reply_that_no_dialog_used_is_told_and_not_kept(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, told = play(
        browser,
        tmp_path,
        site,
        DIALOGS,
        block(
            "accept_dialog()",
            'accept_dialog("a")',
            "accept_dialog()",
            'accept_dialog("left")',
            "{Cancel}.click()",
        ),
        block("{Cancel}.click()"),
        expect=[{"js": "said.textContent === 'false null false'"}],
    )

    assert (result.outcome, result.reason) == ("passed", "")
    assert '"Cancel order 147?": your code answered (accept)' in told[1]
    assert '"Why?": your code answered (accept "a")' in told[1]
    assert 'accept_dialog("left") was not used' in told[1]
    assert 'accept_dialog("a") was not used' not in told[1]
    assert '"Cancel order 147?", which was dismissed' in told[2]


FAILING = """<title>Orders</title>
<button onclick="document.title = prompt('Why?', 'none')">Cancel</button>"""


def test_a_dialog_is_called_answered_only_if_it_was(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    """Two listeners get the same dialog, of which only one can answer; another one fails."""
    both = "".join(f'page.once("dialog", lambda dialog: dialog.accept("{one}"))\n' for one in "ab")
    fails = 'page.once("dialog", lambda dialog: dialog.accept(missing))\n'
    deaf = 'page.once("dialog", lambda dialog: log("I see"))\n'
    click = 'page.get_by_role("button").click()\n'
    client = ScriptedClient(
        {"generate": [f"```python\n{code}{click}```" for code in (both, fails, deaf)] + ["DONE"]}
    )

    result = run_one(
        browser,
        {"entry_url": site.put("/", FAILING), "user_task": "Do it.", "expect": [{"js": "true"}]},
        client,
        settings(tmp_path, check_timeout=0.5),
        strategy="codegen",
        spec={"codegen": "turns"},
        opened=lambda page: None,
    )

    _, twice, failed, silent = (request.messages[-1].content for request in client.requests)
    assert result.outcome == "passed"
    assert '"Why?": your code answered (accept "a"); a function of it failed: Error: ' in twice
    assert (
        '"Why?": your code did not answer, so it was dismissed; a function of it failed: ' in failed
    )
    assert "NameError" in failed
    assert '"Why?": your code did not answer, so it was dismissed' in silent
    assert "your code answered" not in failed + silent


FILES = """<title>Files</title><a href=/prices.csv download>Prices</a>
<a href=/logo.bin download>Logo</a>
<a href=/list.csv target=_blank>List</a>"""


def test_a_download_is_read(browser: Browser, tmp_path: Path, site: Site) -> None:
    as_file = {"content-disposition": "attachment"}
    site.put("/prices.csv", "tea,3\nmilk,2")
    site.replies["/logo.bin"] = (200, as_file, b"\x89PNG\0\0\1")
    site.put("/list.csv", "zażółć," + "x" * 20_000, headers=as_file)
    site.delays["/prices.csv"] = 0.3

    result, told = play(
        browser,
        tmp_path,
        site,
        FILES,
        block("read_download()"),
        block("{Prices}.click()", "read_download()"),
        block("{Logo}.click()"),
        block("read_download()"),
        block("{List}.click()", "read_download()", 'answer("milk")'),
        expect=[{"answer": {"equals": "milk"}}],
    )

    assert (result.outcome, result.reason) == ("passed", "")
    assert "no download has begun" in told[1]
    assert 'download "prices.csv": 12 bytes:\ntea,3\nmilk,2' in told[2]
    assert 'download "logo.bin": binary, 7 bytes' in told[4]
    assert "zażółć,xxx" in told[5]
    assert "of which this is the beginning" in told[5]
    assert len(told[5]) < 12_000
    assert '# read_download(): "prices.csv"' in result.attempts[0].code


SCROLLS = (PAGES / "rows_on_scrolling.html").read_text("utf-8")


def test_a_box_that_loads_its_rows_on_scrolling_is_scrolled(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, told = play(
        browser,
        tmp_path,
        site,
        SCROLLS,
        block('{Open}.scroll("down")'),
        block('{Open}.scroll("bottom")'),
        expect=[{"js": "count === 30 && scrollY === 0 && box.scrollTop > 300"}],
    )

    assert (result.outcome, result.reason) == ("passed", "")
    assert "No. 20" in told[-1]
    assert "page.mouse.wheel(0, 160)" in result.attempts[0].code


def test_the_page_is_scrolled_and_not_the_box_in_its_middle(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = SCROLLS.replace("height: 200px", "height: 420px; width: 80%; margin: auto")

    result, _ = play(
        browser,
        tmp_path,
        site,
        page,
        block('scroll("down")', 'scroll("up")', 'scroll("bottom")'),
        expect=[{"js": "scrollY > 1000 && box.scrollTop === 0"}],
    )

    assert (result.outcome, result.reason) == ("passed", "")


TABS = """<title>Shop</title><h1>Shop</h1><p id=when></p><a href=/terms target=_blank>Terms</a>
<script>when.textContent = `visit ${sessionStorage.n = 1 + +(sessionStorage.n || 0)}`;
const use = () => { document.title = `used ${document.querySelector('input').value}`; }</script>
<input aria-label=Code><button onclick="use()">Use</button>"""


def test_tabs_are_opened_switched_and_closed_and_the_page_is_loaded_again(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    site.put("/terms", "<title>Terms</title><h2>Code T7</h2><input aria-label=Note>")
    site.put("/help", "<title>Help</title><h2>Code H8</h2>")

    result, told = play(
        browser,
        tmp_path,
        site,
        TABS,
        block("reload()", "{Terms}.click()"),
        block('open_tab("/help")'),
        block("switch_tab(1)"),
        block('{Code}.fill("T7")', "switch_tab(2)"),
        block('{Note}.fill("seen")', "close_tab()"),
        block("switch_tab(1)", "switch_tab(7)"),
        block('{Code}.type("H8")', "{Use}.click()", "close_tab()"),
        expect=[{"js": "document.title === 'used T7H8' && when.textContent === 'visit 2'"}],
    )

    pages = [one.rpartition("<<page ")[2] for one in told]
    assert (result.outcome, result.reason) == ("passed", "")
    assert "tab 1" not in pages[0]
    assert 'tab 2 "Terms"' in pages[1]
    assert "Code T7" in pages[1]
    assert "Code H8" in pages[2]
    assert "Shop" in pages[3]
    assert "Code T7" in pages[4]
    assert "tab 3" not in pages[5]
    assert "there is no tab 7: there are 2 tabs" in told[6]
    assert "this is the first tab, which stays open" in told[7]


EDITORS = (PAGES / "editors.html").read_text("utf-8")


def test_editors_are_filled_by_keys_so_that_nothing_old_is_left(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    result, _ = play(
        browser,
        tmp_path,
        site,
        EDITORS,
        block('{Query}.fill("select *\\nfrom airports")', '{Script}.fill("c = 3")'),
        block('{Query}.type(" limit 3")', '{Letter}.fill("Hello")', '{Note}.type(" two")'),
        block('{Letter}.type(" Bo")', '{Script}.fill("")', '{Script}.type("d")'),
        expect=[
            {"js": "query.textContent === 'select *\\nfrom airports limit 3'"},
            {"js": "script.textContent === 'd' && letter.innerText === 'Hello Bo'"},
            {"js": "note.value === 'one two'"},
        ],
    )

    assert (result.outcome, result.reason) == ("passed", "")


WORDS = """<title>Copy</title><p>Done (19.0 B, 1 files).</p>
<button onclick="document.title += '!'">Copy</button>"""


@pytest.mark.parametrize(
    "last",
    [
        "Done (19.0 B, 1 files).\nDONE",
        "The page says: Done (19.0 B, 1 files). I clicked e1 (Copy) and it worked.\nDONE",
        "Reload (F5) is not needed, e1 is as it was.\n\nDONE",
    ],
)
def test_a_sentence_is_no_action(browser: Browser, tmp_path: Path, site: Site, last: str) -> None:
    result, told = play(
        browser,
        tmp_path,
        site,
        WORDS,
        block("{Copy}.click()"),
        last,
        expect=[{"js": "document.title === 'Copy!'"}],
    )

    assert (result.outcome, result.reason) == ("passed", "")
    assert len(told) == 2
