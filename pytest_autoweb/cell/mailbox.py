"""The mails to the address of one attempt, and the code or link that the newest of them brings."""

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field

from pytest_autoweb.base import waiting
from pytest_autoweb.base.mails import KeptMail, code_in, link_in, mails_to
from pytest_autoweb.cases.case import MailRules
from pytest_autoweb.sandbox.engine import StepCallError

_POLL_S = 0.1
_SETTLED_S = 0.5
"""Seconds in which no newer mail came, since one click may send two."""
_AGAIN_S = 3.0
"""Seconds for which a newer mail is waited for before a code is given a second time."""
_DOMAIN = "example.com"
"""Reserved by RFC 2606, and taken for a valid one by sites."""


def address_of(case_id: str, nodeid: str) -> str:
    """Return the address that only one cell has, the same in each run of it."""
    name = re.sub(r"[^a-z0-9]+", "-", case_id.lower()).strip("-")[:30]
    return f"{name or 'cell'}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}@{_DOMAIN}"


class Mailbox(Struct):
    """The mails to one address since the attempt began."""

    folders: Sequence[Path]
    """In which the sinks of its web servers keep mails."""
    address: str
    rules: MailRules
    since: float
    """When the attempt began, in seconds since 1970."""
    allows: Callable[[str], bool]
    """Tells whether a link leads where the case may go."""
    _given: dict[str, float] = field(default_factory=dict)
    """When the mail came whose code or link was given last."""

    def code(self) -> str:
        """Return the code of the newest mail that has one, and wait for it if need be.

        Raises:
            StepCallError: there is none in time; the message quotes nothing of a mail.
        """
        pattern = self.rules.code or ""
        fitting = "a code that fits mail.code" if pattern else "a code of 4 to 8 digits"
        return self._awaited("code", lambda content: code_in(content, pattern), fitting)

    def link(self) -> str:
        """Return the link in the newest mail that has one, and wait for it if need be.

        Raises:
            StepCallError: there is none in time; the message quotes nothing of a mail.
        """
        pattern = self.rules.link or ""
        fitting = "a link that fits mail.link" if pattern else "a link to an origin of the case"
        return self._awaited(
            "link", lambda content: link_in(content, self.allows, pattern), fitting
        )

    def _awaited(self, kind: str, find: Callable[[bytes], str | None], fitting: str) -> str:
        began, found = waiting.now(), self._newest(find)
        while waiting.now() - began < self.rules.within:
            if found is not None and self._is_due(kind, found[0], waiting.now() - began):
                break
            waiting.sleep(_POLL_S)
            found = self._newest(find)
        if found is None:
            raise StepCallError(self._lack(fitting))
        self._given[kind] = found[0].arrived
        return found[1]

    def _newest(self, find: Callable[[bytes], str | None]) -> tuple[KeptMail, str] | None:
        for mail in mails_to(self.folders, self.address, self.since):
            if found := find(mail.content):
                return mail, found
        return None

    def _is_due(self, kind: str, mail: KeptMail, waited: float) -> bool:
        if mail.arrived <= self._given.get(kind, 0.0):
            return waited >= _AGAIN_S
        return time.time() - mail.arrived >= _SETTLED_S

    def _lack(self, fitting: str) -> str:
        if not mails_to(self.folders, self.address, self.since):
            return f"no mail came to {self.address} within {self.rules.within:g} s"
        return f"no mail to {self.address} holds {fitting}"
