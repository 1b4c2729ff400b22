"""Elements found by the words and places that `--autoweb-perturb=rename,reorder` took from them.

Only the case's own solution finds them so, which proves that its task can still be done. The page
is put back while Playwright looks for an element, and nothing of the page runs meanwhile.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

from playwright.sync_api import Page

from pytest_autoweb.base.waiting.playwright_internals import register_engine

ENGINE = "unchanged"
"""The name by which Playwright finds what follows on the page as it was."""
_SCRIPT = """{
  query(root, undo) { return this.queryAll(root, undo)[0] || null; },
  queryAll(root, undo) {
    (root.ownerDocument || root).dispatchEvent(new Event(undo));
    return [root];
  },
}"""
_ROOTS = ("Frame", "FrameLocator", "Page")


def register_unchanged(page: Page) -> None:
    """Let documents that this page opens from now on be seen as they were."""
    register_engine(page, ENGINE, _SCRIPT)


def method_as_it_was(item: Any, method: str, undo: str) -> Callable[..., Any]:
    """Return a method of a page, frame or locator that finds elements as they were.

    Args:
        item: the object whose method the solution calls.
        method: the method's name.
        undo: what lets the sender see the page as it was; empty where nothing was changed.
    """
    if not undo or type(item).__name__ not in _ROOTS:
        return getattr(item, method)  # type: ignore[no-any-return]
    former = f"{ENGINE}={undo}"
    if method in ("frame_locator", "locator") or method.startswith("get_by_"):
        return getattr(item.locator(former), method)  # type: ignore[no-any-return]
    function: Callable[..., Any] = getattr(item, method)
    if next(iter(signature(function).parameters), "") != "selector":
        return function

    def call(selector: str, *args: Any, **kwargs: Any) -> Any:
        return function(f"{former} >> {selector}", *args, **kwargs)

    return call
