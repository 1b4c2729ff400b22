"""What single calls of generated code become on the real page; the browser is made up here.

That the rules hold on a page in a browser is tested in `tests/browser`; here each rule is looked at
closely, one call at a time.
"""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from made_up_facade import PASSWORDS, URL, FakeObject, FakeSandbox, Locator
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from pytest_autoweb.sandbox.call_frames import Callback
from pytest_autoweb.sandbox.deadline import CLAIM_MS, DEFAULT_MS, Budget
from pytest_autoweb.sandbox.rules import Refusal


@pytest.fixture
def sandbox(tmp_path: Path) -> FakeSandbox:
    return FakeSandbox(tmp_path)


# -- time ------------------------------------------------------------------------------


def test_a_late_call_may_take_all_the_time_that_its_step_has() -> None:
    budget = Budget(60)
    budget.patience = 3
    assert 59_000 < budget.grant_ms(None, DEFAULT_MS) <= 60_000
    assert budget.grant_ms(None, CLAIM_MS) == 15_000
    assert budget.grant_ms(1_000, DEFAULT_MS) == 3_000


def test_a_call_with_a_timeout_is_stopped_a_moment_after_it(sandbox: FakeSandbox) -> None:
    sandbox.call("click", "#a")
    sandbox.call("title")

    with_timeout, without = sandbox.deadline.seconds
    assert 20.3 < with_timeout <= 20.5
    assert 19.8 < without <= 20
    assert sandbox.deadline.pages == [sandbox.page, sandbox.page]
    assert sandbox.deadline.waited == [sandbox.border.waited] * 2


@pytest.mark.parametrize(
    ("method", "kind", "milliseconds"),
    [
        ("click", "Page", 20_000),
        ("goto", "Page", 20_000),
        ("to_be_visible", "LocatorAssertions", 5_000),
        ("to_have_url", "PageAssertions", 5_000),
    ],
)
def test_a_call_gets_the_usual_time_or_what_is_left(
    sandbox: FakeSandbox, method: str, kind: str, milliseconds: int
) -> None:
    item = FakeObject()
    sandbox.call(method, URL, on=item, kind=kind)

    assert milliseconds - 500 < sandbox.timeout(item) <= milliseconds


def test_a_call_may_ask_for_a_time_of_its_own(sandbox: FakeSandbox) -> None:
    sandbox.call("click", "#a", timeout=700)

    assert sandbox.timeout() == 700


def test_the_default_time_is_for_all_calls(sandbox: FakeSandbox) -> None:
    sandbox.call("set_default_timeout", 300)
    sandbox.call("click", "#a")
    assert sandbox.timeout() == 300

    for method in ("goto", "reload", "go_back", "go_forward"):
        sandbox.call(method, *([URL] if method == "goto" else []))
        assert sandbox.timeout() == 300
    assert sandbox.call("title") is None
    assert "timeout" not in sandbox.page.calls[-1][2]


def test_the_default_time_of_navigations_is_for_them_alone(sandbox: FakeSandbox) -> None:
    sandbox.call("set_default_navigation_timeout", timeout=400)

    sandbox.call("click", "#a")
    assert sandbox.timeout() > 10_000
    sandbox.page.answers["expect_navigation"] = FakeObject(__enter__=FakeObject())
    for method in ("goto", "reload", "go_back", "go_forward"):
        sandbox.call(method, *([URL] if method == "goto" else []))
        assert sandbox.timeout() == 400


def test_a_default_of_zero_is_the_usual_one(sandbox: FakeSandbox) -> None:
    sandbox.call("set_default_timeout", 300)
    sandbox.call("set_default_timeout", 0)
    sandbox.call("click", "#a")

    assert sandbox.timeout() > 10_000


@pytest.mark.parametrize("wanted", [True, "300", None])
def test_a_default_time_is_a_number(sandbox: FakeSandbox, wanted: object) -> None:
    with pytest.raises(TypeError, match="the default timeout is a number of milliseconds"):
        sandbox.call("set_default_timeout", wanted)


def test_a_pause_ends_with_the_step(sandbox: FakeSandbox) -> None:
    sandbox.call("wait_for_timeout", 50)
    sandbox.call("wait_for_timeout", timeout=60.0)
    assert sandbox.page.calls == [
        ("wait_for_timeout", (50,), {}),
        ("wait_for_timeout", (60,), {}),
    ]

    with pytest.raises(PlaywrightTimeout, match="longer than the time left for the step"):
        sandbox.call("wait_for_timeout", 60_000)
    assert 19_000 < sandbox.page.calls[-1][1][0] <= 20_000
    sandbox.call("wait_for_timeout", 50)


# -- readings --------------------------------------------------------------------------


def test_a_property_is_read(sandbox: FakeSandbox) -> None:
    assert sandbox.call("url") == URL
    assert sandbox.facade.peek(sandbox.bound("url")) == URL


def test_headers_come_without_logins(sandbox: FakeSandbox) -> None:
    reply = SimpleNamespace(headers={"cookie": "a=b", "accept": "*/*"}, method="GET")

    for headers in (
        sandbox.call("headers", on=reply, kind="Request"),
        sandbox.facade.peek(sandbox.bound("headers", on=reply, kind="Request")),
    ):
        assert headers == {"accept": "*/*"}
    assert sandbox.call("method", on=reply, kind="Request") == "GET"


def test_a_predicate_only_reads(sandbox: FakeSandbox) -> None:
    with pytest.raises(Refusal, match=r"^title is not available inside a predicate$") as refused:
        sandbox.facade.peek(sandbox.bound("title"))
    assert refused.value.rule == "AW504"
    assert sandbox.page.calls == []


def test_a_call_gives_what_the_browser_gives(sandbox: FakeSandbox) -> None:
    sandbox.page.answers["title"] = "Shop"

    assert sandbox.call("title") == "Shop"


def test_what_a_wait_for_a_function_gives_stays_in_the_page(sandbox: FakeSandbox) -> None:
    sandbox.page.answers["wait_for_function"] = "a handle"

    assert sandbox.call("wait_for_function", "() => 1") is None
    assert sandbox.made() == ("wait_for_function", ("() => 1",), {})


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["evaluate", "eval_on_selector", "wait_for_function"])
def test_scripts_are_refused_where_the_cell_has_none(sandbox: FakeSandbox, method: str) -> None:
    sandbox.border.scripts = False

    with pytest.raises(Refusal, match=rf"^{method}\(\) runs a script in the page") as refused:
        sandbox.call(method, "1")
    assert refused.value.rule == "AW510"
    assert sandbox.page.calls == []
    sandbox.call("click", "#a")


def test_numbers_that_json_lacks_reach_scripts_only(sandbox: FakeSandbox) -> None:
    endless = float("inf")
    for args, kwargs in (([endless], {}), ([], {"delay": [endless]})):
        with pytest.raises(ValueError, match="inf is not a finite number"):
            sandbox.call("click", *args, **kwargs)
    sandbox.page.answers["evaluate"] = ["value", None]
    sandbox.call("evaluate", "x => x", endless)
    sandbox.call("click", "#a", timeout=endless)

    assert [name for name, _, _ in sandbox.page.calls] == ["evaluate", "click"]


def test_the_page_under_test_stays_open_and_popups_may_be_closed(sandbox: FakeSandbox) -> None:
    with pytest.raises(Refusal, match="stays open; close popups only") as refused:
        sandbox.call("close")
    assert refused.value.rule == "AW504"
    popup = FakeObject()
    sandbox.call("close", on=popup)

    assert (sandbox.page.calls, popup.calls) == ([], [("close", (), {})])


@pytest.mark.parametrize(("args", "kwargs"), [(["crash"], {}), ([], {"event": "crash"}), ([], {})])
def test_only_known_events_are_waited_for(
    sandbox: FakeSandbox, args: list[Any], kwargs: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"is not available \(close, console, dialog, "):
        sandbox.call("wait_for_event", *args, **kwargs)
    with pytest.raises(ValueError, match=r"^the event "):
        sandbox.call("expect_event", *args, **kwargs)


def test_a_known_event_is_waited_for(sandbox: FakeSandbox) -> None:
    sandbox.call("wait_for_event", "popup")
    sandbox.call("wait_for_event", event="popup")

    assert [name for name, _, _ in sandbox.page.calls] == ["wait_for_event"] * 2


def test_a_window_is_of_a_size_that_screens_have(sandbox: FakeSandbox) -> None:
    huge = {"width": 9000, "height": 1}
    with pytest.raises(ValueError, match="a viewport side is between"):
        sandbox.call("set_viewport_size", huge)
    with pytest.raises(ValueError, match="a viewport side is between"):
        sandbox.call("set_viewport_size", viewport_size=huge)


def test_patterns_over_urls_are_not_matched_by_playwright(sandbox: FakeSandbox) -> None:
    slow = "*/*/*/*/*/*/*"
    for pattern in (slow, re.compile(r"^A/(\w/?)+$", re.IGNORECASE)):
        args: list[Any]
        kwargs: dict[str, Any]
        for args, kwargs in (([pattern], {}), ([], {"url": pattern})):
            sandbox.call("wait_for_url", *args, **kwargs)
            _, given, named = sandbox.page.calls.pop()
            matches = [*given, named.get("url")][0]
            assert matches("a/b/c/d/e/f/g")
            assert not matches("b/" + "a" * 60 + "!")
    sandbox.call("wait_for_url", "**/cart", wait_until=slow)
    sandbox.call("click", slow)

    assert [name for name, _, _ in sandbox.page.calls] == ["wait_for_url", "click"]


# -- what is written anew --------------------------------------------------------------


def test_an_address_becomes_absolute(sandbox: FakeSandbox) -> None:
    sandbox.call("goto", "/pay", wait_until="load")
    sandbox.call("goto", url="/pay")

    assert [(args, kwargs["url"]) for _, args, kwargs in sandbox.page.calls] == [
        ((), "http://shop.test/pay")
    ] * 2
    assert sandbox.page.calls[0][2]["wait_until"] == "load"
    with pytest.raises(Refusal, match=r"blocked: http://evil\.test"):
        sandbox.call("goto", "http://evil.test/")
    with pytest.raises(TypeError, match="too many positional arguments"):
        sandbox.call("goto", "/pay", 1)


def test_a_picture_hides_passwords_and_what_the_cell_covers(sandbox: FakeSandbox) -> None:
    covered: Any = ["a covered field"]
    sandbox.border.covers = lambda page: covered if cast(Any, page) is sandbox.page else []

    sandbox.call("screenshot", mask=["a mask"])

    name, args, kwargs = sandbox.page.calls[-1]
    assert (name, args) == ("screenshot", ())
    assert kwargs["mask"] == ["a mask", PASSWORDS, "a covered field"]


def test_a_picture_is_written_into_the_folder_of_the_cell(
    sandbox: FakeSandbox, tmp_path: Path
) -> None:
    item = FakeObject()
    sandbox.call("screenshot", on=item, kind="Locator", path="shot.png")
    sandbox.call("screenshot", on=item, kind="Locator", path=None)

    first, second = (kwargs for name, _, kwargs in item.calls if name == "screenshot")
    assert (first["path"], second["path"]) == (tmp_path / "shot.png", None)
    assert first["mask"] == [PASSWORDS]
    assert sandbox.page.calls == [("locator", ("input[type=password]",), {})] * 2
    with pytest.raises(Refusal, match="is not a bare file name"):
        sandbox.call("screenshot", on=item, kind="Locator", path="../shot.png")


def test_a_download_is_saved_without_secrets(sandbox: FakeSandbox, tmp_path: Path) -> None:
    class Download:
        def save_as(self, path: Path) -> str:
            path.write_text("hunter2")
            return "something of Playwright's"

    sandbox.border.redact = lambda text: text.replace("hunter2", "<secret:pw>")

    for saved in (
        sandbox.call("save_as", "a.csv", on=Download(), kind="Download"),
        sandbox.call("save_as", on=Download(), kind="Download", path="b.csv"),
    ):
        assert saved is None
    assert (tmp_path / "a.csv").read_text() == "<secret:pw>"
    assert (tmp_path / "b.csv").read_text() == "<secret:pw>"


@pytest.mark.parametrize(
    ("method", "kind", "args"),
    [
        ("set_input_files", "Locator", ["cv.pdf"]),
        ("set_files", "FileChooser", ["cv.pdf"]),
        ("set_input_files", "Page", ["#file", "cv.pdf"]),
        ("set_input_files", "Frame", ["#file", "cv.pdf"]),
    ],
)
def test_uploads_are_files_of_the_case(
    sandbox: FakeSandbox, tmp_path: Path, method: str, kind: str, args: list[str]
) -> None:
    item = FakeObject()
    sandbox.call(method, *args, on=item, kind=kind)

    name, rest, kwargs = sandbox.made(item)
    assert (name, rest, kwargs) == (method, (*args[:-1],), {"files": [str(tmp_path / "cv.pdf")]})
    with pytest.raises(Refusal, match=r"the case lists no file 'x\.pdf'"):
        sandbox.call(method, *args[:-1], "x.pdf", on=item, kind=kind)


# -- secrets ---------------------------------------------------------------------------


def held_by(url: str | None) -> FakeObject:
    """A locator whose element stands in the frame with this address."""
    frame = None if url is None else SimpleNamespace(url=url)
    return FakeObject(element_handle=FakeObject(owner_frame=frame))


def test_a_secret_is_typed_into_an_element_of_an_allowed_page(sandbox: FakeSandbox) -> None:
    item = held_by(URL)
    sandbox.call("fill", "<secret:pw>!", on=item, kind="Locator", force=True)
    sandbox.call("type", on=item, kind="Locator", text="<secret:pw>", timeout=300)

    (looked, *_), (_, args, kwargs), _, (_, _, named) = item.calls
    assert looked == "element_handle"
    assert (args, kwargs["force"], named["text"]) == (("hunter2!",), True, "hunter2")
    assert 19_000 < item.calls[0][2]["timeout"] <= 20_000
    assert item.calls[2][2]["timeout"] == 300


def test_a_secret_is_not_typed_into_a_frame_of_another_site(sandbox: FakeSandbox) -> None:
    for place in ("http://evil.test/", None):
        item = held_by(place)
        with pytest.raises(Refusal, match="a secret may not be typed on") as refused:
            sandbox.call("fill", "<secret:pw>", on=item, kind="Locator")
        assert refused.value.rule == "AW503"
        assert [name for name, _, _ in item.calls] == ["element_handle"]


def test_a_secret_is_not_typed_on_a_page_of_another_site(sandbox: FakeSandbox) -> None:
    sandbox.page.url = "http://evil.test/"

    with pytest.raises(Refusal, match=r"a secret may not be typed on http://evil\.test$"):
        sandbox.call("fill", "<secret:pw>", on=held_by(URL), kind="Locator")


@pytest.mark.parametrize("kind", ["Page", "Frame"])
@pytest.mark.parametrize("named", [False, True])
def test_the_frame_is_that_of_the_element_which_a_selector_names(
    sandbox: FakeSandbox, kind: str, named: bool
) -> None:
    asked: list[str] = []

    class Place(FakeObject):
        def locator(self, selector: str) -> Any:
            asked.append(selector)
            return SimpleNamespace(first=held_by(URL))

    item = Place()
    selector = "#<secret:pw>"
    if named:
        sandbox.call("fill", on=item, kind=kind, selector=selector, value="<secret:pw>")
        assert sandbox.made(item) == ("fill", (), {"selector": selector, "value": "hunter2"})
    else:
        sandbox.call("fill", selector, "<secret:pw>", on=item, kind=kind)
        assert sandbox.made(item) == ("fill", (selector, "hunter2"), {})
    assert asked == [selector]


def test_only_a_link_is_opened_and_only_alone_and_on_an_allowed_origin(
    sandbox: FakeSandbox,
) -> None:
    border = sandbox.border
    border.secrets = {"pw": "hunter2", "link": f"{URL}?t=1", "far": "http://evil.test/?t=1"}
    border.links = frozenset({"link", "far"})

    sandbox.call("goto", "<secret:link>")
    for text in ("<secret:pw>", "/?to=<secret:link>", "http://shop.test/<secret:link>"):
        sandbox.call("goto", text)
    with pytest.raises(Refusal, match=r"blocked: http://evil\.test"):
        sandbox.call("goto", "<secret:far>")

    opened = [kwargs["url"] for _, _, kwargs in sandbox.page.calls]
    assert opened[0] == f"{URL}?t=1"
    assert not [url for url in opened[1:] if "hunter2" in url or "t=1" in url]


def test_the_keyboard_types_a_secret_only_where_every_frame_is_allowed(
    sandbox: FakeSandbox,
) -> None:
    keys = FakeObject()
    sandbox.page.frames = [SimpleNamespace(url="about:blank"), SimpleNamespace(url=URL)]
    sandbox.call("type", "<secret:pw>", on=keys, kind="Keyboard")
    sandbox.call("insert_text", "<secret:pw>", on=keys, kind="Keyboard")
    assert [args for _, args, _ in keys.calls] == [("hunter2",)] * 2

    sandbox.page.frames.append(SimpleNamespace(url="http://advert.test/"))
    with pytest.raises(Refusal, match=r"may not be typed on http://advert\.test"):
        sandbox.call("type", "<secret:pw>", on=keys, kind="Keyboard")


def test_text_without_a_secret_needs_no_look_at_the_frames(sandbox: FakeSandbox) -> None:
    item = held_by("http://evil.test/")
    sandbox.call("fill", "plain", on=item, kind="Locator")

    assert sandbox.made(item) == ("fill", ("plain",), {})


def test_a_secret_is_a_plain_text_anywhere_else(sandbox: FakeSandbox) -> None:
    item = held_by(URL)
    sandbox.call("press", "<secret:pw>", on=item, kind="Locator")

    assert sandbox.made(item) == ("press", ("<secret:pw>",), {})


PASSWORD = "hunter2!hunter2!"


def field(*, of_password: bool) -> FakeObject:
    """What a locator finds: a field of the type password, or none."""
    return FakeObject(locator=FakeObject(count=int(of_password)))


@pytest.mark.parametrize("of_password", [True, False])
def test_what_is_typed_into_a_password_field_is_kept_out_of_reports(
    sandbox: FakeSandbox, of_password: bool
) -> None:
    heard: list[str] = []
    sandbox.border.on_password = heard.append
    found = field(of_password=of_password)
    page = FakeObject(locator=found)
    sandbox.page.answers["locator"] = found

    sandbox.call("fill", PASSWORD, on=found, kind="Locator")
    sandbox.call("fill", "#a", PASSWORD, on=page, kind="Page")
    sandbox.call("fill", on=page, kind="Frame", selector="#b", value=PASSWORD)
    sandbox.call("type", PASSWORD, on=FakeObject(), kind="Keyboard")

    assert heard == [PASSWORD] * 4 * of_password
    assert [args for name, args, _ in page.calls if name == "locator"] == [("#a",), ("#b",)]
    assert sandbox.page.calls[-1][:2] == ("locator", (":focus",))


def test_a_field_that_cannot_be_found_is_left_to_the_call(sandbox: FakeSandbox) -> None:
    heard: list[str] = []
    sandbox.border.on_password = heard.append

    class Missing(FakeObject):
        def count(self) -> int:
            raise PlaywrightError("no such element")

    item = FakeObject(locator=Missing())
    sandbox.call("fill", PASSWORD, on=item, kind="Locator")

    assert item.calls[-1][:2] == ("fill", (PASSWORD,))
    assert heard == []


# -- functions of the worker -----------------------------------------------------------


def test_a_function_of_the_worker_becomes_a_predicate(sandbox: FakeSandbox) -> None:
    sandbox.facade.predicate = lambda number: cast(Any, f"predicate {number}")
    sandbox.call("wait_for_url", Callback(4))
    sandbox.call("wait_for_url", url=Callback(5))
    sandbox.call("wait_for_event", "popup", predicate=Callback(6))

    (_, first, _), (_, _, second), (_, _, third) = sandbox.page.calls
    assert first == ("predicate 4",)
    assert (second["url"], third["predicate"]) == ("predicate 5", "predicate 6")
    with pytest.raises(TypeError, match=r"^'wait_until' takes no function$"):
        sandbox.call("wait_for_url", "**", wait_until=Callback(7))


def test_a_function_of_the_worker_becomes_a_listener(sandbox: FakeSandbox) -> None:
    heard: list[Any] = []
    sandbox.facade.listen = lambda *given: heard.append(given)

    sandbox.call("on", "dialog", Callback(3))

    assert heard == [(sandbox.page, "on", "dialog", 3)]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["crash", Callback(1)], ValueError),
        ([], ValueError),
        (["dialog"], TypeError),
        (["dialog", "a text"], TypeError),
    ],
)
def test_a_listener_is_an_event_and_a_function(
    sandbox: FakeSandbox, args: list[Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"the event|takes an event and a function"):
        sandbox.call("on", *args)


# -- what a cell offers ----------------------------------------------------------------


def test_a_finder_of_the_cell_gives_a_locator_that_a_report_can_name(sandbox: FakeSandbox) -> None:
    found = Locator()
    asked: list[Any] = []

    def find(*args: Any, **kwargs: Any) -> Any:
        asked.append((args, kwargs))
        return found

    sandbox.border.finders = {"get_by_mark": find}

    assert sandbox.call("get_by_mark", 7, exact=True) is found
    assert asked == [((sandbox.page, 7), {"exact": True})]
    assert sandbox.handles.get("h1") == (found, "Locator", "page.get_by_mark('shown')")


def test_a_finder_that_gives_something_else_is_an_error(sandbox: FakeSandbox) -> None:
    sandbox.border.finders = {"get_by_mark": cast(Any, lambda *_: "text")}

    with pytest.raises(TypeError, match=r"^get_by_mark\(\) found a str, which is not a locator$"):
        sandbox.call("get_by_mark", 7)


def test_a_function_of_the_cell_is_called(sandbox: FakeSandbox) -> None:
    sandbox.border.functions = {"collect_urls": lambda *args, **kwargs: [args, kwargs]}

    assert sandbox.call("collect_urls", "a", limit=2) == [("a",), {"limit": 2}]


def test_a_method_of_the_page_that_the_cell_offers_is_called(sandbox: FakeSandbox) -> None:
    sandbox.border.functions = {"show_more": lambda *args, **kwargs: [args, kwargs]}

    assert sandbox.call("show_more", 2, row=40) == [(2,), {"row": 40}]


@pytest.mark.parametrize("name", ["get_by_mark", "collect_urls", "show_more"])
def test_what_the_cell_does_not_offer_is_refused(sandbox: FakeSandbox, name: str) -> None:
    with pytest.raises(Refusal, match=f"^{name} is not available in this cell$") as refused:
        sandbox.call(name, 7)
    assert refused.value.rule == "AW504"


# -- dialogs and waits -----------------------------------------------------------------


def test_a_dialog_that_the_code_answers_is_remembered(sandbox: FakeSandbox) -> None:
    dialog = FakeObject()
    sandbox.call("accept", "yes", on=dialog, kind="Dialog")
    sandbox.call("click", "#a")

    assert sandbox.made(dialog) == ("accept", ("yes",), {})
    assert sandbox.facade.handled_dialogs == {id(dialog)}


class FakeWait:
    """A `with page.expect_…()` that knows how it was left."""

    def __init__(self) -> None:
        self.info = FakeObject()
        self.left: list[tuple[object, ...]] = []

    def __enter__(self) -> Any:
        return self.info

    def __exit__(self, *error: object) -> None:
        self.left.append(error)


def test_a_wait_is_entered_and_left(sandbox: FakeSandbox) -> None:
    manager = sandbox.page.answers["expect_popup"] = FakeWait()
    info = sandbox.call("expect_popup")
    assert info is manager.info
    assert list(sandbox.facade.open_waits) == [id(info)]

    sandbox.call("$exit", on=info, kind="EventInfo")
    sandbox.call("$exit", False, on=info, kind="EventInfo")

    assert manager.left == [(None, None, None)]
    assert sandbox.facade.open_waits == {}


def test_a_wait_in_vain_is_in_vain_for_a_retry_too(sandbox: FakeSandbox) -> None:
    class InVain(FakeWait):
        def __exit__(self, *error: object) -> None:
            super().__exit__(*error)
            raise PlaywrightTimeout("Timeout 30000ms exceeded")

    sandbox.page.answers["expect_popup"] = InVain()
    info = sandbox.call("expect_popup")

    for _ in range(2):
        with pytest.raises(PlaywrightTimeout):
            sandbox.call("$exit", on=info, kind="EventInfo")


def test_a_wait_that_failed_stays_open_for_a_retry(sandbox: FakeSandbox) -> None:
    manager = sandbox.page.answers["expect_popup"] = FakeWait()
    info = sandbox.call("expect_popup")
    sandbox.call("$exit", True, on=info, kind="EventInfo")

    assert manager.left == []
    sandbox.facade.cancel_waits()
    ((kind, error, trace),) = manager.left
    assert (kind, str(error), trace) == (RuntimeError, "the step is over", None)
    assert sandbox.facade.open_waits == {}


def test_without_a_host_functions_of_the_worker_say_no_and_hear_nothing(
    sandbox: FakeSandbox,
) -> None:
    assert sandbox.facade.predicate(1)("anything") is False
    sandbox.facade.listen(sandbox.page, "on", "dialog", 1)
    assert sandbox.page.calls == []
