"""What the external verifier sees on real pages."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from pytest_autoweb.agents.correction.page_critic import Claim, PageCritic
from pytest_autoweb.browser.page.page_digest import page_look
from pytest_autoweb.results.records import ToolCall

SHOP = """<button>Save changes</button><button disabled>Pay</button>
<button hidden>Delete</button>
<div style="position:relative;height:120px">
<button id=buy style="position:absolute;top:0;left:0;width:90px;height:30px">Buy</button>
<div role=dialog aria-label="Cookies"
 style="position:absolute;top:0;left:0;width:300px;height:100px">We use cookies</div></div>
<label>Colour <select><option>Red</option><option>Light blue</option></select></label>
<label>Day <input type=date></label> <label>Mail <input type=email></label>
<p role=alert>Out of stock</p>
<iframe srcdoc="<button>Inside</button>"></iframe>
<table><tr><td>MB-1</td><td>5</td></tr></table>"""


def call(target: str, method: str, arguments: str = "") -> ToolCall:
    return ToolCall(
        step_index=1, seq=0, target=target, method=method, arguments=arguments, acting=True,
        ok=False, duration_ms=1,
    )  # fmt: skip


@pytest.fixture
def shop(show: Callable[[str], Page]) -> Page:
    page = show(SHOP)
    page.frames[-1].get_by_role("button").wait_for()
    return page


@pytest.mark.parametrize(
    ("target", "method", "arguments", "code", "told"),
    [
        (
            "page.get_by_role('button', name='Save', exact=True)",
            "click",
            "",
            "near",
            "Save changes",
        ),
        ("page.get_by_role('button', name='Pay')", "click", "", "disabled", "disabled"),
        ("page.get_by_role('button', name='Delete')", "click", "", "hidden", "hidden"),
        ("page", "click", "'#buy'", "covered", 'dialog "Cookies"'),
        ("page.get_by_label('Colour')", "select_option", "label='Blue'", "option_missing", "Light"),
        ("page.get_by_role('button', name='Inside')", "click", "", "other_frame", "about:srcdoc"),
        ("expect(page.get_by_role('button'))", "to_be_visible", "", "ambiguous", "elements fit"),
        ("page.get_by_text('MB-1')", "fill", "'x'", "wrong_kind", "takes no text"),
    ],
)
def test_a_failed_call_is_explained_by_what_is_on_the_page(
    shop: Page, target: str, method: str, arguments: str, code: str, told: str
) -> None:
    findings = PageCritic(shop).context(call(target, method, arguments))
    assert told in " ".join(found.fact for found in findings if found.code == code)
    assert any(found.code == "page_says" and "Out of stock" in found.fact for found in findings)
    for found in findings:
        for locator in found.locators if found.code == "near" else ():
            assert eval(locator, {"page": shop}).count() == 1


def test_a_field_that_refuses_its_value_is_named_without_it(shop: Page) -> None:
    shop.get_by_label("Mail").press_sequentially("ana")
    shop.get_by_label("Mail").blur()
    critic = PageCritic(shop, lambda text: text.replace("ana", "<x>"))
    refused = [found.fact for found in critic.context(None) if found.code == "field_invalid"]
    assert "Mail" in refused[0]
    assert "ana" not in " ".join(refused)


@pytest.mark.parametrize(
    ("claim", "codes"),
    [
        (Claim(role="button", name="Pay", text="MB-1", row=("MB-1", "5")), []),
        (Claim(name="Colour", option="Red"), []),
        (Claim(row=("MB-1", "7")), ["row_missing"]),
        (Claim(text="nowhere", url="shop", option="Green"),
         ["url_differs", "text_missing", "option_missing"]),
        (Claim(role="button", name="Save"), []),
        (Claim(name="Save"), ["missing", "near"]),
    ],
)  # fmt: skip
def test_a_claim_is_held_against_the_page(shop: Page, claim: Claim, codes: list[str]) -> None:
    verdict = PageCritic(shop).check(claim)
    assert [found.code for found in verdict.findings] == codes
    assert verdict.state == ("invalid" if codes else "valid")


def test_the_digest_knows_fields_styles_and_frames_and_gives_up_on_objects(
    show: Callable[[str], Page],
) -> None:
    page = show("<input id=a><p id=b>text</p>")
    before = page_look(page)
    assert before is not None
    assert page_look(page) == before
    page.fill("#a", "x")
    filled = page_look(page)
    page.add_style_tag(content="#b { display: none }")
    assert len({before, filled, page_look(page)}) == 3

    page = show("<p>Tea<iframe srcdoc='<input>'></iframe>")
    framed = page_look(page)
    assert framed is not None
    assert page_look(page) == framed
    page.frames[1].fill("input", "x")
    assert page_look(page) not in (framed, None)

    assert page_look(show("<object></object>")) is None
    forged = '<script>JSON.stringify = () => \'{"digest": "x", "frames": 0}\'</script>'
    assert page_look(show(forged)) is None
