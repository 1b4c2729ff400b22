import gc
import time
import weakref

from local_site import Site
from playwright.sync_api import Page

from pytest_autoweb.browser.egress.browser_watch import debugging_session
from pytest_autoweb.browser.page.frames import best_context

BIG = "style='width:600px;height:400px'"


def test_a_page_without_frames_is_answered_at_once(blank: Page) -> None:
    blank.set_content("<button>Save</button>")
    started = time.monotonic()

    chosen = best_context(blank, 'Click "Missing"')

    assert (chosen.context, chosen.name) == (blank, "page")
    assert time.monotonic() - started < 3


def test_the_frame_that_holds_the_named_control_is_chosen(blank: Page) -> None:
    blank.set_content(
        f"<button>Help</button><iframe name=app {BIG} srcdoc='<button>Save</button>'></iframe>"
    )

    chosen = best_context(blank, 'Click the "Save" button')

    assert chosen.name == "app"
    assert chosen.context.get_by_role("button").inner_text() == "Save"


def test_the_page_is_chosen_when_it_holds_the_control(blank: Page) -> None:
    blank.set_content(
        f"<button>Save</button><iframe name=app {BIG} srcdoc='<button>Other</button>'></iframe>"
    )

    assert best_context(blank, 'Click the "Save" button').name == "page"


def test_small_and_hidden_frames_are_no_candidates(blank: Page) -> None:
    blank.set_content(
        "<p>x</p><iframe width=50 height=50 srcdoc='<button>Save</button>'></iframe>"
        f"<iframe hidden {BIG} srcdoc='<button>Save</button>'></iframe>"
    )

    assert best_context(blank, 'Click "Save"').name == "page"


def test_a_large_advert_of_another_origin_is_not_chosen(
    blank: Page, site: Site, other_site: Site
) -> None:
    advert = other_site.put("/ad", "".join(f"<a href=/{n}>Buy offer {n}</a>" for n in range(40)))
    blank.goto(site.put("/a", f"<button>Buy</button><iframe {BIG} src='{advert}'></iframe>"))

    assert best_context(blank, "Buy the book").name == "page"


def test_a_frame_that_still_loads_is_waited_for(blank: Page, site: Site) -> None:
    blank.goto(site.put("/a", "<p>shell</p>"))
    site.put("/late", "<button>Save</button>")
    blank.evaluate(
        "() => setTimeout(() => { const f = document.createElement('iframe'); f.name = 'late';"
        "f.width = 600; f.height = 400; f.src = '/late'; document.body.append(f) }, 0)"
    )
    blank.wait_for_selector("iframe")

    assert best_context(blank, 'Click "Save"').name == "late"


def test_a_page_has_one_debugging_session_which_is_forgotten_with_it(page: Page) -> None:
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context()
    own = context.new_page()
    session = debugging_session(own)

    assert session is not None
    assert session.send("Runtime.evaluate", {"expression": "1 + 1"})["result"]["value"] == 2
    assert debugging_session(own) is session

    forgotten = weakref.ref(own)
    context.close()
    assert debugging_session(own) is None
    del own, session, context
    # Playwright itself remembers what was closed last.
    browser.new_context().close()
    gc.collect()
    assert forgotten() is None
