"""Calls that ran out of time because of the page they lead to; the browser is made up here.

What was done must not be done again, and what waited for an element of a page that is on its way
gets its time on that page.
"""

from pathlib import Path
from typing import Any

import pytest
from made_up_facade import FakeObject, FakeSandbox, Locator
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from pytest_autoweb.sandbox.deadline import Budget

DONE = "Timeout 20000ms exceeded.\nCall log:\n  - click action done\n  - waiting for navigations"
BEGUN = "Timeout 20000ms exceeded.\nCall log:\n  - performing click action\n"
KEY = 'Timeout 20000ms exceeded.\nCall log:\n  - elementHandle.press("Enter")\n'
SOUGHT = "Timeout 20000ms exceeded.\nCall log:\n  - waiting for locator('#a')\n"


class LateButton(Locator):
    """A button whose first click runs out of time."""

    def __init__(self, told: str) -> None:
        super().__init__()
        self.told = [told]

    def click(self, **options: Any) -> str:
        self.calls.append(("click", (), options))
        if self.told:
            raise PlaywrightTimeout(self.told.pop())
        return "clicked"


class Departure:
    """A page that is on its way for some looks; notes since when it was asked for."""

    def __init__(self, looks: int, *, only_since: bool | None = None) -> None:
        self.looks, self.only_since = looks, only_since
        self.since: list[bool] = []

    def __call__(self, page: Any, since: float | None) -> bool:
        self.since.append(since is not None)
        if self.only_since is not None and self.only_since != (since is not None):
            return False
        self.looks -= 1
        return self.looks >= 0


@pytest.fixture
def sandbox(tmp_path: Path) -> FakeSandbox:
    return FakeSandbox(tmp_path)


def click(sandbox: FakeSandbox, button: LateButton, leaving: Departure, **options: Any) -> Any:
    sandbox.border.leaving = leaving
    return sandbox.call("click", on=button, kind="Locator", **options)


@pytest.mark.parametrize("told", [DONE, BEGUN, KEY])
def test_a_click_that_was_done_is_not_repeated_while_its_page_comes(
    sandbox: FakeSandbox, told: str
) -> None:
    button, leaving = LateButton(told), Departure(4, only_since=True)

    assert click(sandbox, button, leaving) is None
    assert len(button.calls) == 1
    assert {name for name, _, _ in sandbox.page.calls} == {"wait_for_timeout"}
    note = "(click() was done, but the page that it leads to took longer than 20 s)"
    assert (sandbox.facade.take_note(), sandbox.facade.take_note()) == (note, "")


def test_a_page_that_never_comes_is_told(sandbox: FakeSandbox) -> None:
    sandbox.budget = Budget(0.2)

    assert click(sandbox, LateButton(DONE), Departure(10**9)) is None
    assert sandbox.facade.take_note().endswith(" s and is still not there)")


def test_a_click_for_which_the_page_is_still_on_its_way_gets_its_time_there(
    sandbox: FakeSandbox,
) -> None:
    button, leaving = LateButton(SOUGHT), Departure(3)

    assert click(sandbox, button, leaving) == "clicked"
    assert len(button.calls) == 2
    assert leaving.since == [False] * 4
    assert sandbox.facade.take_note() == ""


@pytest.mark.parametrize(
    ("told", "leaving", "options"),
    [
        # No page is coming: the element is not there.
        (SOUGHT, Departure(0), {}),
        # The code named a limit of its own.
        (SOUGHT, Departure(3), {"timeout": 500}),
        # Nor does a limit of its own matter where nothing is coming.
        (SOUGHT, Departure(0), {"timeout": 500}),
        # The page does not come before the step is over.
        (SOUGHT, Departure(10**9), {}),
        # The click was not made, and a page that is on its way has not been asked for since.
        (BEGUN, Departure(0, only_since=True), {}),
    ],
)
def test_any_other_click_that_ran_out_of_time_has_failed(
    sandbox: FakeSandbox, told: str, leaving: Departure, options: dict[str, Any]
) -> None:
    button, sandbox.budget = LateButton(told), Budget(0.2)

    with pytest.raises(PlaywrightTimeout, match="Timeout 20000ms exceeded"):
        click(sandbox, button, leaving, **options)
    assert len(button.calls) == 1
    assert sandbox.facade.take_note() == ""


@pytest.mark.parametrize(
    ("method", "args", "kind"), [("goto", ["/"], "Page"), ("press", ["Enter"], "Keyboard")]
)
def test_what_waits_for_no_element_is_not_asked_for_its_page(
    sandbox: FakeSandbox, method: str, args: list[Any], kind: str
) -> None:
    class Late(FakeObject):
        def goto(self, *_: Any, **options: Any) -> None:
            raise PlaywrightTimeout(DONE)

        press = goto

    late, sandbox.border.leaving = Late(), Departure(3)
    late.url = sandbox.page.url
    late.frames = []

    with pytest.raises(PlaywrightTimeout):
        sandbox.call(method, *args, on=late, kind=kind)
    assert sandbox.border.leaving.since == []


# -- the field that a call writes to ---------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "args", "kwargs", "seen"),
    [
        ("Locator", ["tea"], {}, ("own", "fill", ["tea"], {})),
        ("Locator", [], {"value": "tea"}, ("own", "fill", [], {"value": "tea"})),
        ("Page", ["#a", "tea"], {}, ("found", "fill", ["tea"], {})),
        ("Frame", ["#a", "tea"], {}, ("found", "fill", ["tea"], {})),
        (
            *("Page", [], {"selector": "#a", "value": "tea"}),
            ("found", "fill", [], {"value": "tea"}),
        ),
        ("Page", [7, "tea"], {}, None),
        ("Page", [], {}, None),
        ("Locator", ["<secret:pw>"], {}, None),
        ("Page", ["#a"], {"value": "<secret:pw>"}, None),
    ],
)
def test_the_field_is_that_of_the_call_or_of_its_selector(
    sandbox: FakeSandbox, kind: str, args: list[Any], kwargs: dict[str, Any], seen: Any
) -> None:
    item = FakeObject(locator="found")
    looked: list[Any] = []

    def look(field: Any, method: str, given: Any, options: Any) -> Any:
        looked.append(("own" if field is item else field, method, given, options))
        return lambda: None

    sandbox.border.read_back = look
    bound = sandbox.bound("fill", *args, on=item, kind=kind, **kwargs)
    found = sandbox.facade.field_of(bound)

    assert looked == ([] if seen is None else [seen])
    assert (found is not None) == (seen is not None)
    # The call itself still has all that the code gave it.
    assert (bound.args, bound.kwargs) == (args, kwargs)


def test_only_calls_that_write_have_a_field_and_only_where_somebody_reads_it(
    sandbox: FakeSandbox,
) -> None:
    fill = sandbox.bound("fill", "tea", on=FakeObject(), kind="Locator")

    assert sandbox.facade.field_of(fill) is None
    sandbox.border.read_back = lambda *given: lambda: None
    assert sandbox.facade.field_of(fill) is not None
    assert sandbox.facade.field_of(sandbox.bound("click", on=FakeObject(), kind="Locator")) is None
