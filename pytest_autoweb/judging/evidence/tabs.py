"""The tabs of an attempt in the order in which they were opened, those that are closed included."""

from collections.abc import Sequence
from typing import overload

from playwright.sync_api import BrowserContext, Page

from pytest_autoweb.browser.egress.browser_watch import driver_ended

_MOST = 100
_NO_DOCUMENT = ("", "about:blank", ":")


class TabList(Sequence[Page]):
    """A growing list of the tabs of a context; the first one is that in which the case began.

    A tab that was closed before it had a document, as a download leaves it behind, is none.
    """

    def __init__(self, first: Page) -> None:
        self._opened = [first]
        self._context: BrowserContext | None = first.context
        first.context.on("page", self._on_page)

    def stop(self) -> None:
        """Stop listening; what was opened stays."""
        context, self._context = self._context, None
        if context is not None and not driver_ended(context):
            context.remove_listener("page", self._on_page)

    def _on_page(self, page: Page) -> None:
        if len(self._opened) < _MOST:
            self._opened.append(page)

    def _tabs(self) -> list[Page]:
        first, *others = self._opened
        return [first, *(p for p in others if not (p.is_closed() and p.url in _NO_DOCUMENT))]

    def __len__(self) -> int:
        return len(self._tabs())

    @overload
    def __getitem__(self, index: int) -> Page: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Page]: ...
    def __getitem__(self, index: int | slice) -> Page | Sequence[Page]:
        return self._tabs()[index]
