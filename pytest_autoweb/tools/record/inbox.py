"""The mails that come while a case is recorded: told to the person, and what was typed of them."""

import re
from collections.abc import Iterable
from pathlib import Path

from pytest_autoweb.base.mails import all_mails, code_in, link_in, subject_of
from pytest_autoweb.cases.source import LINKED, MAILED
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
    task = re.sub(r"\{\{ *mail\.link *\}\}", f"<secret:{LINKED}>", task)
    return re.sub(r"\{\{ *mail\.address *\}\}", address, task) if address else task


class Inbox:
    """The mails that the recorded program sends, to whomever.

    Args:
        folder: in which its mail server keeps them; None: it has none.
        site: the address of the program.
        pattern: a regular expression of codes; "" for the usual ones.
    """

    def __init__(self, folder: Path | None, site: str, pattern: str) -> None:
        self._folder, self._site, self._pattern = folder, site, pattern
        self._told = 0
        self._recipients: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def tell_new(self) -> None:
        """Print the mails that came since the last call, with their codes and links.

        The person who records has no other way to read them.
        """
        mails = all_mails([self._folder]) if self._folder else []
        for mail in mails[self._told :]:
            code = code_in(mail.content, self._pattern)
            link = link_in(mail.content, lambda url: url.startswith(self._site))
            to = one_line(", ".join(mail.recipients), 80)
            said = [f"code {one_line(code, 80)}"] if code else []
            said += [f"link {one_line(link, 2000)}"] if link else []
            shown = ", ".join(said) or "no code and no link"
            subject = one_line(subject_of(mail.content), 60)
            print(f"mail    to {to}, {subject!r}: {shown}", flush=True)
            for text, name in ((code, MAILED), (link, LINKED)):
                if text:
                    self._recipients[text] = mail.recipients[0] if mail.recipients else ""
                    self._names[text] = name
        self._told = len(mails)

    def codes(self) -> dict[str, str]:
        """Return the name of the secret that each code, and each link, is."""
        self.tell_new()
        return dict(self._names)

    def links(self) -> frozenset[str]:
        """Return the links that came so far."""
        return frozenset(text for text, name in self._names.items() if name == LINKED)

    def recipient_of(self, acts: Iterable[Act]) -> str:
        """Return whom a code came to that is typed, or a link that is opened; "" if none is."""
        known = self._recipients
        typed = (form for act in acts for form in typed_forms(act.text or ""))
        return next((known[form] for form in typed if form in known), "")
