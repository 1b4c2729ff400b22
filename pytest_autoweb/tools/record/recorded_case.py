"""The case file that is made from a recording."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_autoweb.tools.record.oracle import in_case, in_json, visible


@dataclass(frozen=True, slots=True)
class RecordedCase:
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
    origins: Sequence[str] = ()
    files: Sequence[str] = ()
    expect: Sequence[Mapping[str, Any]] = ()

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
        lines += ["cases:", f"  - id: {self.id}", f"    entry_url: {in_json(self.entry_url)}"]
        lines += [f"    user_task: {in_case(self.task)}"]
        if self.variables:
            lines += ["    secrets:"]
            lines += [f"      {name}: {{env: {env}}}" for name, env in self.variables.items()]
        if self.origins:
            lines += [f"    allowed_origins: {in_case(list(self.origins))}"]
        if self.files:
            lines += [f"    files: {in_case(list(self.files))}"]
        if self.expect:
            lines += ["    expect:"]
            lines += [f"      - {in_case(check)}" for check in self.expect]
        lines += ["    # What was recorded; it solves the case.", "    oracle: |"]
        lines += [
            f"      {line}".rstrip() for line in visible(self.oracle).rstrip("\n").split("\n")
        ]
        return "\n".join(lines) + "\n"
