import hashlib

import pytest
from local_site import Site
from playwright.sync_api import Frame, Page

from pytest_autoweb.browser.page.capture import (
    CAPTURE_MODES,
    CaptureMode,
    cache_key,
    capture_snapshot,
)
from pytest_autoweb.browser.page.frames import ContextWrapper
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.results.records import CaptureModeName, Snapshot

MODES: tuple[CaptureModeName, ...] = tuple(CAPTURE_MODES)


def capture(page: object, mode: CaptureModeName, budget: int = 4_000) -> Snapshot:
    return capture_snapshot(
        page,  # type: ignore[arg-type]
        mode,
        url="http://127.0.0.1/",
        entry_action="",
        step_indexes=[1, 2],
        budget_tokens=budget,
    )


@pytest.fixture
def form(blank: Page, site: Site) -> Page:
    blank.goto(site.url + "form.html")
    blank.frame_locator("iframe").get_by_role("button", name="Deep").wait_for()
    return blank


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_shows_controls_states_frames_shadow_roots_and_all_scripts(
    form: Page, mode: CaptureModeName
) -> None:
    snapshot = capture(form, mode)

    for words in ("Order", "typed by hand", "Agree", "Send", "Shadow", "Deep", "שלום", "登录后"):
        assert words in snapshot.text
    for state in ("checked", "disabled", "selected"):
        assert state in snapshot.text
    assert snapshot.tokens == estimate_tokens(snapshot.text)
    assert (snapshot.mode, snapshot.step_indexes) == (mode, (1, 2))
    assert not snapshot.truncated
    assert snapshot.notes == ()


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_shows_a_secret_value(form: Page, mode: CaptureModeName) -> None:
    assert "hunter2" not in capture(form, mode).text


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_tells_the_length_of_a_password(blank: Page, mode: CaptureModeName) -> None:
    blank.set_content("<input type=password aria-label=P>")
    blank.get_by_label("P").fill("abc")
    short = capture(blank, mode).text
    blank.get_by_label("P").fill("abcdefghij")

    assert capture(blank, mode).text == short


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_a_page_of_5000_elements_is_cut_to_the_budget(blank: Page, mode: CaptureModeName) -> None:
    blank.set_content(
        "".join(f"<div><a href='/{n}'>Link {n}</a><b>x{n}</b></div>" for n in range(2_500))
    )

    snapshot = capture(blank, mode, budget=500)

    assert snapshot.truncated
    assert 100 < snapshot.tokens <= 500
    assert snapshot.text.splitlines()[-1].startswith("...(truncated: ")
    assert "Link 0" in snapshot.text


def test_capturing_changes_nothing_and_clicks_nothing(page: Page) -> None:
    page.set_content("<button onclick=\"document.title='clicked'\">Open menu</button>")
    page.evaluate(
        "() => { window.changes = 0; new MutationObserver(() => window.changes++)"
        ".observe(document, {subtree: true, childList: true, attributes: true}) }"
    )

    for mode in MODES:
        capture_snapshot(
            page,
            mode,
            url=page.url,
            entry_action='Click "Open menu"',
            step_indexes=[1],
            budget_tokens=500,
        )

    assert page.title() == ""
    assert page.evaluate("() => window.changes") == 0


def test_html_marks_what_is_not_visible(form: Page) -> None:
    assert "<p hidden>never seen</p>" in capture(form, "RAW_HTML").text
    assert "never seen" not in capture(form, "ARIA").text


def test_a_frame_can_be_captured_on_its_own(form: Page) -> None:
    frame = form.frame("inner")

    text = capture(ContextWrapper(frame, "inner"), "ARIA").text

    assert "Deep" in text
    assert "Order" not in text


def test_a_mode_that_is_not_possible_gives_way_and_says_so(form: Page) -> None:
    snapshot = capture(form.frame("inner"), "A11Y")

    assert "Deep" in snapshot.text
    assert snapshot.notes[-1] == "shown as ARIA"
    assert snapshot.notes[0].startswith("A11Y was not possible: ")


@pytest.mark.parametrize(
    ("html", "text", "note"),
    [
        (
            "<canvas width=300 height=200></canvas>",
            "canvas",
            "the page shows what cannot be read: canvas, 300 x 200 pixels at 8, 8",
        ),
        (
            "<div id=h></div><script>h.attachShadow({mode: 'closed'}).innerHTML ="
            " '<button>Save</button>'</script>",
            'button "Save"',
            "the page shows what cannot be read: div, ",
        ),
        ("<body aria-hidden=true><button>Save</button>", "- button: Save", "shown as ARIA"),
        ("<title>Wait</title>", "(the page is blank)", "lists nothing of this page"),
    ],
    ids=["canvas", "closed root", "hidden root", "blank"],
)
def test_a_listing_without_anything_is_filled_or_says_why(
    blank: Page, html: str, text: str, note: str
) -> None:
    blank.set_content(html)

    snapshot = capture(blank, "ARIA_SNAPSHOT")

    assert text.lower() in snapshot.text.lower()
    assert snapshot.notes[0] == "ARIA_SNAPSHOT lists nothing of this page"
    assert note in snapshot.notes[-1]


def test_the_cache_key_knows_query_action_and_mode() -> None:
    keys = {
        cache_key(url, action, mode)
        for url in ("http://a/?id=1", "http://a/?id=2")
        for action in ("", "Click Menu")
        for mode in MODES
    }

    assert len(keys) == 16
    assert cache_key("u", "a", "ARIA") == hashlib.sha256(b"u\0a\0ARIA").hexdigest()


def test_a_plain_text_is_rid_of_passwords_and_cut_to_the_budget(form: Page) -> None:
    def everything(root: Page | Frame, budget_tokens: int) -> str:
        typed = root.locator("[type=password]").first.input_value()
        return "\n".join(f"{number}: {typed}" for number in range(1_000))

    mode = CAPTURE_MODES.register(CaptureMode(name="ALL", summary="too much", show=everything))
    try:
        snapshot = capture(form, mode.name, budget=200)
    finally:
        CAPTURE_MODES.remove(mode.name)

    assert snapshot.text.startswith("0: <hidden>\n1: <hidden>\n")
    assert snapshot.truncated
    assert snapshot.tokens <= 200
