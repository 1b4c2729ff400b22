"""A case's solution under changes of the page: it finds what it means, or the case is unfair."""

from pathlib import Path
from typing import Any

import pytest
from acting import run_one, settings
from local_site import Site
from playwright.sync_api import Browser

from pytest_autoweb.base.variant_names import Perturbation
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.testing import ScriptedClient, scripted_plan

# Words, and the address of a link, in the language that the browser asks for.
TRANSLATED = """<!doctype html><title>Shop</title>
<iframe srcdoc="<label>x <input></label>"></iframe>
<nav><a href="#home"></a> <a href="#tea"></a> <a href="#help"></a></nav>
<form><p><label><span></span> <input name="who"></label></p><button type="button"></button></form>
<p id="out"></p><script>
const english = navigator.language.startsWith('en');
const say = (css, one, other) => {
  document.querySelector(css).textContent = english ? one : other;
};
say('label span', 'Name', 'お名前');
say('button', 'Log in', 'ログイン');
document.querySelectorAll('nav a').forEach((link, at) => {
  link.textContent = english ? ['Home', 'Tea', 'Help'][at] : ['家', '茶', '助け'][at];
  link.onclick = () => { document.body.dataset.went = link.hash; };
});
document.querySelector('button').onclick = () => {
  say('#out', 'Welcome', 'ようこそ');
  document.title = document.forms[0].who.value;
};
</script>"""
SOLUTION = """# Step 1
page.get_by_label("Name").fill("ana")
page.get_by_role("navigation").get_by_role("link").nth(1).click()
# Step 2
page.locator("form").get_by_role("button", name="Log in").click()
expect(page.get_by_text("Welcome")).to_be_visible()
"""
DONE = "() => document.title === 'ana' && document.body.dataset.went === '#tea'"


def played(
    browser: Browser, site: Site, folder: Path, change: Perturbation, html: str, done: str = DONE
) -> CellResult:
    case: dict[str, Any] = {
        "entry_url": site.put("/", html),
        "user_task": "Log in as ana.",
        "expect": [{"js": done}],
        "setup": {"locale": "en-GB"},
    }
    return run_one(
        browser,
        case,
        ScriptedClient(
            {"plan": scripted_plan("fill", "press"), "generate": f"```python\n{SOLUTION}```"}
        ),
        settings(folder, check_timeout=0.5, step_timeout=3),
        strategy="codegen",
        spec={"name": f"builtin/oracle@{change}", "perturb": change},
        opened=lambda page: None,
    )


@pytest.mark.long
def test_a_solution_finds_translated_elements_as_it_found_them_on_the_unchanged_page(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    result = played(browser, site, tmp_path, "language", TRANSLATED)

    assert result.outcome == "passed", result.reason
    assert len(result.attempts) == 1
    ran = {folder.name for folder in (tmp_path / "run/cells/one").glob("attempt-1*")}
    assert ran == {"attempt-1", "attempt-1-rehearsal", "attempt-1-by-words"}


@pytest.mark.long
@pytest.mark.parametrize("change", ["language", "reorder", "error-once"])
def test_what_is_neither_where_it_was_nor_called_as_it_was_is_unfair(
    browser: Browser, site: Site, tmp_path: Path, change: Perturbation
) -> None:
    """The same page under another order is fair, since that can be put back.

    So is it where an error was to come, which is known not to have come.
    """
    html = TRANSLATED.replace(
        "say('button'",
        "if (!english) document.querySelector('form').outerHTML = '<p></p>';\nsay('button'",
    )

    result = played(browser, site, tmp_path, change, html)
    assert result.outcome == ("failed" if change == "language" else "passed"), result.reason
    assert result.met_change is (False if change == "error-once" else None)
