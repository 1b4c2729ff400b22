"""The mails that come while a case is recorded: told to the person, and what was typed of them."""

import re
from collections.abc import Iterable
from pathlib import Path

from pytest_autoweb.base.mails import all_mails, code_in, subject_of
from pytest_autoweb.cases.source import MAILED
from pytest_autoweb.cell.mailbox import address_of
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.tools.record.accounts import typed_forms
from pytest_autoweb.tools.record.oracle import Act


def own_address(case_id: str) -> str:
    """Return the address that a person may sign in with, the same in each recording of a case."""
    return address_of(case_id, "autoweb record")


def with_mail_names(task: str, address: str) -> str:
    """Return a task with the expressions that a case file has for mails as they are recorded."""
    task = re.sub(r"\{\{ *mail\.code *\}\}", f"<secret:{MAILED}>", task)
    return re.sub(r"\{\{ *mail\.address *\}\}", address, task) if address else task


class Inbox:
    """The mails that the recorded program sends, to whomever.

    Args:
        folder: in which its mail server keeps them; None: it has none.
        pattern: a regular expression of codes; "" for the usual ones.
    """

    def __init__(self, folder: Path | None, pattern: str) -> None:
        self._folder, self._pattern = folder, pattern
        self._told = 0
        self._recipients: dict[str, str] = {}

    def tell_new(self) -> None:
        """Print the mails that came since the last call, with their codes.

        The person who records has no other way to read them.
        """
        mails = all_mails([self._folder]) if self._folder else []
        for mail in mails[self._told :]:
            code = code_in(mail.content, self._pattern)
            to = one_line(", ".join(mail.recipients), 80)
            said = f"code {one_line(code, 80)}" if code else "no code"
            print(
                f"mail    to {to}, {one_line(subject_of(mail.content), 60)!r}: {said}", flush=True
            )
            if code:
                self._recipients[code] = mail.recipients[0] if mail.recipients else ""
        self._told = len(mails)

    def recipients(self) -> dict[str, str]:
        """Return whom each code came to."""
        self.tell_new()
        return dict(self._recipients)

    def recipient_of(self, acts: Iterable[Act]) -> str:
        """Return whom a code came to that is typed; "" if none is."""
        known = self.recipients()
        typed = (form for act in acts for form in typed_forms(act.text or ""))
        return next((known[form] for form in typed if form in known), "")
