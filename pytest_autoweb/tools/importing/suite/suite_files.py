"""The case files of a suite: one for each file of tests, more where their fixtures differ."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct, field

from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.tools.importing.suite.held import FOLDER, PROGRAM
from pytest_autoweb.tools.importing.suite.held import __name__ as HELD
from pytest_autoweb.tools.importing.suite.recorded_tests import RecordedSuite, SuiteOrder
from pytest_autoweb.tools.importing.suite.suite_cases import (
    SuiteCase,
    SuiteSecrets,
    file_stem,
    setup_of,
)
from pytest_autoweb.tools.record.oracle import in_json, in_template
from pytest_autoweb.tools.record.recorded_case import RecordedCase

_STARTS_S = 120
_DRAFT_S = 60
_SLOWER = 10
"""How many times as long as in the recording a play, or the start of its site, may take."""
_HEAD = """\
# Imported by `autoweb benchmark import pytest`: what tests do is the oracle, what they expect are
# the checks. `autoweb debug schema case` describes every field.
"""


class SuiteSite(NamedTuple):
    """Where the pages of the cases come from."""

    section: Mapping[str, Any]
    """The `webserver` section that the command's own flags make; empty if there are none."""
    running: frozenset[str] = frozenset()
    """The origins that still answer when the suite has ended, so that others serve them."""

    def holds(self, candidate: SuiteCase) -> bool:
        """Tell whether the pages of a case are served by the fixtures of its test."""
        return not self.section and candidate.site not in self.running

    def advice(self, candidate: SuiteCase) -> str:
        """Return what to try where a site may keep what earlier plays did; empty if it cannot."""
        if self.holds(candidate) or "static" in self.section:
            return ""
        if "command" not in self.section:
            return "; a site that was running keeps what plays did: let --command start it"
        if "{data}" in self.section["command"]:
            return ""
        return "; if the site keeps what plays did, let --command give it the folder {data} for it"


class SuiteFiles(Struct, frozen=True):
    """Writes candidates as case files.

    Args:
        suite: what was recorded.
        order: how it was run.
        site: where the pages come from.
        secrets: those of the suite.
        folder: where the files will be.
    """

    suite: RecordedSuite
    order: SuiteOrder
    site: SuiteSite
    secrets: SuiteSecrets
    folder: Path
    invoked: Path = field(default_factory=Path.cwd)

    def groups(self, candidates: Sequence[SuiteCase]) -> dict[str, list[SuiteCase]]:
        """Return the candidates of each file, by its name: those that share a server."""
        found: dict[tuple[str, tuple[str, ...]], list[SuiteCase]] = {}
        for one in candidates:
            fixtures = one.test.fixtures if self.site.holds(one) else ()
            found.setdefault((file_stem(one.test), fixtures), []).append(one)
        named: dict[str, list[SuiteCase]] = {}
        for (stem, _), group in found.items():
            number, name = 1, f"{stem}.yaml"
            while name in named:
                number += 1
                name = f"{stem}-{number}.yaml"
            named[name] = group
        return named

    def text(self, group: Sequence[SuiteCase], *, draft: bool = False) -> str:
        """Return the text of a file for cases that share a server.

        Args:
            group: the cases.
            draft: whether it is for a proof, where nobody has to think before acting.
        """
        server = self._server(group)
        lines = ["version: 1"]
        if draft:
            lines += ["defaults:", f"  timeout: {_patient(_DRAFT_S, group)}"]
        if server:
            lines += ["webserver:"]
            lines += [f"  {name}: {in_json(value)}" for name, value in server.items()]
        lines += ["cases:"]
        for one in group:
            lines += self._case(one, served=bool(server)).lines()
        return _HEAD + "\n".join(lines) + "\n"

    def _server(self, group: Sequence[SuiteCase]) -> Mapping[str, Any]:
        first = group[0]
        if not self.site.holds(first):
            return self.site.section
        rest = first.test.nodeid.partition("::")[2]
        file = self.suite.rootdir / first.test.nodeid.partition("::")[0]
        nodeid = f"{os.path.relpath(file, self.invoked)}::{rest}"
        root = os.path.relpath(self.suite.rootdir, self.invoked)
        further = [f"--rootdir={root}", *self.order.further]
        if self.suite.inifile:
            further += ["-c", os.path.relpath(self.suite.inifile, self.invoked)]
        words = [nodeid, "--port", "{port}", "--data", "{data}", "--", *further]
        host = first.site.split("://")[1].partition(":")[0].rstrip("/")
        return {
            "command": " ".join([self._program(), *map(_quoted, words)]),
            "url": f"http://{host}:{{port}}/",
            "cwd": Path(os.path.relpath(self.invoked, self.folder)).as_posix(),
            "reset": "restart",
            "timeout": _patient(_STARTS_S, group),
        }

    def _program(self) -> str:
        if self.order.python == sys.executable:
            return f"{{python}} -m {HELD}"
        program = asset_dir("templates") / FOLDER / PROGRAM
        return f"{shlex.quote(self.order.python)} {shlex.quote(str(program))}"

    def _case(self, one: SuiteCase, *, served: bool) -> RecordedCase:
        site = one.site if served else ""
        return RecordedCase(
            id=one.id,
            entry_url=in_template(in_json(one.entry_url), site)[1:-1],
            task=one.task,
            oracle=in_template(one.oracle, site),
            variables={name: self.secrets.variables[name] for name in one.secrets},
            webserver=MappingProxyType({}),
            files=[
                Path(os.path.relpath(Path(file).absolute(), self.folder)).as_posix()
                for file in one.test.files
            ],
            expect=[{"assertion": step.code} for step in one.checks],
            setup=setup_of(one.test, held=self.site.holds(one)),
            tags=one.tags,
            comment=f"What {one.test.where} does; it solves the case.",
            site=site,
        )


def _patient(least_s: int, group: Sequence[SuiteCase]) -> int:
    """Return a time limit in seconds that the slowest of some tests keeps on a busy machine."""
    return max(least_s, round(_SLOWER * max(one.test.took_s for one in group)))


def _quoted(word: str) -> str:
    # Words such as {port} are replaced, and quotes around them would do no harm but to readers.
    return word if word.startswith("{") else shlex.quote(word)
