"""The case file that is made from a recording."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from pytest_autoweb.cases.source import LINKED, MAILED
from pytest_autoweb.tools.record.oracle import in_case, in_json, in_template, visible


class RecordedCase(Struct, frozen=True):
    """A case to be written; its texts come from a person or a page and are not yet escaped."""

    id: str
    entry_url: str
    """Already contains the expression for the web server's address."""
    task: str
    """With placeholders of secrets."""
    oracle: str
    """As a case file writes it, with expressions."""
    variables: Mapping[str, str]
    """The environment variable of each secret, by its name."""
    webserver: Mapping[str, str]
    totp: Sequence[str] = ()
    """The secrets of which codes are made."""
    origins: Sequence[str] = ()
    files: Sequence[str] = ()
    expect: Sequence[Mapping[str, Any]] = ()
    setup: Mapping[str, Any] = field(default_factory=dict)
    """May hold expressions."""
    tags: Sequence[str] = ()
    comment: str = "What was recorded; it solves the case."
    site: str = ""
    """The address of the web server while it was recorded, which the checks may name."""
    mail: Mapping[str, str] = field(default_factory=dict)
    """How a code by mail is found, where that is not as usual."""
    address: str = ""
    """Whom its mails come to, which its texts may name."""

    def with_checks(self, expect: Sequence[Mapping[str, Any]]) -> "RecordedCase":
        return replace(self, expect=tuple(expect))

    def with_answer(self, answer: str) -> "RecordedCase":
        """Return the case with an oracle that answers and a check that expects it."""
        said = in_case(answer)
        check = {"answer": {"equals": answer}}
        return replace(self, oracle=f"{self.oracle}answer({said})\n", expect=(check, *self.expect))

    def text(self) -> str:
        """Return the case file, with values written as JSON, which is valid YAML."""
        lines = [
            "# Recorded by `autoweb record`; `autoweb debug schema case` describes every field."
        ]
        lines += ["version: 1"]
        if self.webserver:
            lines += ["webserver:"]
            lines += [f"  {name}: {in_json(value)}" for name, value in self.webserver.items()]
        return "\n".join([*lines, "cases:", *self.lines()]) + "\n"

    def lines(self) -> list[str]:
        """Return the lines of the case in the list of its file."""
        lines = [f"  - id: {self.id}", f"    entry_url: {in_json(self.entry_url)}"]
        lines += [f"    user_task: {self._mailed(in_case(self.task))}"]
        if self.tags:
            lines += [f"    tags: {in_case(list(self.tags))}"]
        if self.setup:
            lines += [f"    setup: {in_json(dict(self.setup))}"]
        if self.variables:
            lines += ["    secrets:"]
            for name, variable in self.variables.items():
                code = ", totp: true" if name in self.totp else ""
                lines += [f"      {name}: {{env: {variable}{code}}}"]
        if self.mail:
            lines += [f"    mail: {in_case(dict(self.mail))}"]
        if self.origins:
            lines += [f"    allowed_origins: {in_case(list(self.origins))}"]
        if self.files:
            lines += [f"    files: {in_case(list(self.files))}"]
        if self.expect:
            lines += ["    expect:"]
            checks = [in_template(in_json(check), self.site) for check in self.expect]
            lines += [f"      - {self._mailed(check)}" for check in checks]
        lines += [f"    # {self.comment}", "    oracle: |"]
        lines += [
            f"      {self._mailed(line)}".rstrip()
            for line in visible(self.oracle).rstrip("\n").split("\n")
        ]
        return lines

    def _mailed(self, text: str) -> str:
        """Return text of the file with the expressions for its address and what comes by mail."""
        text = text.replace(f"<secret:{MAILED}>", "{{ mail.code }}")
        text = text.replace(f"<secret:{LINKED}>", "{{ mail.link }}")
        return text.replace(self.address, "{{ mail.address }}") if self.address else text
