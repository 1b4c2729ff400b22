"""The numbered listing of a page for capable models, as the elements that lines of theirs name."""

from playwright.sync_api import Error, Frame, Page

from pytest_autoweb.browser.page.frames import OBSERVE_TIMEOUT_MS, RefElement, RefView
from pytest_autoweb.browser.page.numbered_list import ListedElement, numbered_listing
from pytest_autoweb.browser.page.outline import Folds
from pytest_autoweb.browser.page.quiet import wait_until_quiet

_FIELDS = ("fill", "click", "press")
# Not their accessible name is listed, but what they show.
_SHOW_TEXT = frozenset({"clickable", "hoverable", "row", "listitem"})
_WITHOUT_ROLE = frozenset({"scrollable", "hoverable"})
_ACTIONS: dict[str, tuple[str, ...]] = {
    "textbox": _FIELDS,
    "searchbox": _FIELDS,
    "spinbutton": _FIELDS,
    "slider": ("fill", "press"),
    "checkbox": ("check", "uncheck", "click"),
    "switch": ("check", "uncheck", "click"),
    "radio": ("check", "click"),
}


def numbered_view(root: Page | Frame, *, budget_tokens: int, folds: Folds | None = None) -> RefView:
    """Return the page as a numbered listing, once it is quiet.

    Raises:
        Error: Playwright's error if the page does not answer even at the second try.
    """
    try:
        return _view(root, budget_tokens, folds)
    except Error:
        # A navigation may have replaced the page in the meantime.
        return _view(root, budget_tokens, folds)


def _view(root: Page | Frame, budget_tokens: int, folds: Folds | None) -> RefView:
    root.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    wait_until_quiet(root)
    listed = numbered_listing(root, budget_tokens=budget_tokens, folds=folds)
    elements = tuple(map(_element, listed.elements))
    left_out = frozenset(f"e{number}" for number in listed.left_out)
    return RefView(listed.text, elements, listed.truncated, left_out)


def _element(listed: ListedElement) -> RefElement:
    ref = f"e{listed.number}"
    by_text = listed.role in _SHOW_TEXT or not listed.ref or "by label" in listed.states
    return RefElement(
        ref=ref,
        role=listed.role,
        name=listed.name,
        hint=", ".join(listed.states),
        locator=f'page.locator("listed={ref}")',
        actions=_actions(listed),
        options=tuple(one.label or one.value for one in listed.options),
        takes_files=listed.kind == "file",
        disabled="disabled" in listed.states,
        near=listed.near,
        find=listed.place.handle,
        kept=listed.place.locates,
        # Playwright's snapshot of a box without a role begins with what is in it.
        snapshot_ref="" if listed.role in _WITHOUT_ROLE else listed.ref,
        said=listed.name if by_text and listed.role != "scrollable" else "",
    )


def _actions(listed: ListedElement) -> tuple[str, ...]:
    if "disabled" in listed.states or listed.kind == "file":
        return ()
    if listed.kind in {"select", "multiple"}:
        return ("select_option",)
    if "readonly" in listed.states:
        return ("click",)
    if not listed.pressed:
        return ()
    if listed.role == "combobox" and not listed.kind:
        return ("click", "press")
    if listed.role == "combobox":
        return _FIELDS
    return _ACTIONS.get(listed.role, ("click",))
