"""What happens beside the page while a turn runs, and is in no listing of it.

A question that the page asked, a tab that opened, a file that was offered and what the browser
complained of are gone when the page is listed again, so a model that is not told of them cannot
know why nothing changed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Dialog, Error, Page

from pytest_autoweb.attempt.retry_notes import complaints
from pytest_autoweb.attempt.tools import Tools

_MOST = 12
"""The most lines that a model is told after one turn."""
_TEXT_CHARS = 300


class TurnEvents:
    """The events since the last turn, as lines for the model.

    Args:
        tools: the tools of the attempt.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lines: list[str] = []
        self._downloads = len(tools.downloads)
        tools.watch.news()

    def take(self) -> tuple[str, ...]:
        """Return what happened since the last call, without secrets, and say what is left out."""
        lines, self._lines = self._lines, []
        files = self._tools.downloads[self._downloads :]
        self._downloads += len(files)
        lines += (f"a download began: {self._clean(file.name)}" for file in files)
        lines += complaints(*self._tools.watch.news())
        lines = list(dict.fromkeys(lines))
        if left_out := len(lines) - _MOST:
            lines = lines[:_MOST] + ([f"({left_out} more)"] if left_out > 0 else [])
        return tuple(lines)

    def on_page(self, page: Page) -> None:
        """Note a tab."""
        self._lines.append(f"a tab opened: {self._clean(page.url)}")

    def on_dialog(self, dialog: Dialog) -> None:
        """Note a dialog, and answer it as Playwright does where no code listens to dialogs."""
        said, kind = self._clean(dialog.message), dialog.type
        # Whoever listens answers, and Playwright answers only if nobody listens. That this one
        # listens must not keep it from that, and only the page's own emitter knows who does.
        page: Any = getattr(dialog.page, "_impl_obj", None)
        if page is not None and page.listeners("dialog"):
            self._lines.append(f'the page showed a dialog ({kind}), "{said}": your code answered')
            return
        leaving = kind == "beforeunload"
        try:
            if leaving:
                dialog.accept()
            else:
                dialog.dismiss()
        except Error as error:
            self._tools.log.write(f"a dialog could not be answered: {error}")
        became = "accepted" if leaving else "dismissed"
        self._lines.append(f'the page showed a dialog ({kind}), "{said}", which was {became}')

    def _clean(self, text: str) -> str:
        return " ".join(self._tools.redact(text).split())[:_TEXT_CHARS]


@contextmanager
def turn_events(tools: Tools) -> Iterator[TurnEvents]:
    """Listen to the tabs of an attempt for as long as turns are taken."""
    events, context = TurnEvents(tools), tools.page.context
    context.on("dialog", events.on_dialog)
    context.on("page", events.on_page)
    try:
        yield events
    finally:
        context.remove_listener("dialog", events.on_dialog)
        context.remove_listener("page", events.on_page)
