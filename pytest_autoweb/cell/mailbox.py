"""The mails to the address of one attempt, and the code that the newest of them brings."""

import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_autoweb.base import waiting
from pytest_autoweb.base.mails import KeptMail, code_in, mails_to
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


@dataclass(slots=True)
class Mailbox:
    """The mails to one address since the attempt began."""

    folders: Sequence[Path]
    """In which the sinks of its web servers keep mails."""
    address: str
    rules: MailRules
    since: float
    """When the attempt began, in seconds since 1970."""
    _given: float = field(default=0.0, init=False)
    """When the mail came whose code was given last."""

    def code(self) -> str:
        """Return the code of the newest mail that has one, and wait for it if need be.

        Raises:
            StepCallError: there is none in time; the message quotes nothing of a mail.
        """
        began, found = waiting.now(), self._newest()
        while waiting.now() - began < self.rules.within:
            if found is not None and self._is_due(found[0], waiting.now() - began):
                break
            waiting.sleep(_POLL_S)
            found = self._newest()
        if found is None:
            raise StepCallError(self._lack())
        self._given = found[0].arrived
        return found[1]

    def _newest(self) -> tuple[KeptMail, str] | None:
        for mail in mails_to(self.folders, self.address, self.since):
            if code := code_in(mail.content, self.rules.code or ""):
                return mail, code
        return None

    def _is_due(self, mail: KeptMail, waited: float) -> bool:
        if mail.arrived <= self._given:
            return waited >= _AGAIN_S
        return time.time() - mail.arrived >= _SETTLED_S

    def _lack(self) -> str:
        if not mails_to(self.folders, self.address, self.since):
            return f"no mail came to {self.address} within {self.rules.within:g} s"
        wanted = "that fits mail.code" if self.rules.code else "of 4 to 8 digits"
        return f"no mail to {self.address} holds a code {wanted}"
