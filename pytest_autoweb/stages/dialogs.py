"""Answers the dialogs of pages for models that cannot see them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_autoweb.stages.base import Tools

if TYPE_CHECKING:
    from playwright.sync_api import Dialog

_CHARS = 200


@contextmanager
def dialogs_answered(tools: Tools, tell: Callable[[str], None]) -> Iterator[None]:
    """Accept every dialog, since nobody sees them on a picture.

    Args:
        tools: of the attempt.
        tell: hears in one line, without secrets, what each dialog said.
    """
    from playwright.sync_api import Error

    def answer(dialog: "Dialog") -> None:
        said = " ".join(tools.redact(dialog.message).split())[:_CHARS]
        tell(f'a dialog said "{said}" and was accepted')
        try:
            dialog.accept()
        except Error as error:
            tools.log.write(f"a dialog could not be answered: {error}")

    context = tools.page.context
    context.on("dialog", answer)
    try:
        yield
    finally:
        context.remove_listener("dialog", answer)
