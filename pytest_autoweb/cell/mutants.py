"""Mutants: a case's oracle with one part left out, or with one request suppressed; it must fail."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from pytest_autoweb.agents.attempt.script_blocks import split_blocks
from pytest_autoweb.base.errors import CaseError, SettingsError
from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.base.specs import Spec
from pytest_autoweb.browser.egress.suppression import SuppressedRequest, Suppression
from pytest_autoweb.cases.case import Case

_LOOKS = ("expect", "wait_for", "log")
"""The beginnings of calls that only look or wait, so that leaving them out changes nothing."""


class OraclePart(NamedTuple):
    """A part of an oracle that may be left out."""

    name: str
    """The part in words, such as `step 2: press the button`."""
    lines: frozenset[int]
    """Its lines, from 1."""


class Mutant(Spec):
    """One change of an oracle's run."""

    name: str
    """The change in words, such as `without step 2: press the button`."""
    without: int | None = None
    """The position of the part of the oracle that is left out, from 0."""
    suppressed: SuppressedRequest | None = None
    """The request that reaches no server."""

    def changed(self, case: Case) -> Case:
        """Return the case with the changed oracle.

        Raises:
            CaseError: the oracle has no such part any more.
        """
        if self.without is None:
            return case
        script = case.oracle or ""
        parts = parts_of(script)
        if self.without >= len(parts):
            raise CaseError(f"the oracle of case {case.id!r} has changed since it was played")
        left_out = parts[self.without].lines
        lines = enumerate(script.split("\n"), start=1)
        kept = ["" if number in left_out else line for number, line in lines]
        return case.model_copy(update={"oracle": "\n".join(kept)})

    def suppression(self) -> Suppression | None:
        """Return what recognises the suppressed request in one attempt; None if there is none."""
        return Suppression(self.suppressed) if self.suppressed else None


class MutantsFile(Spec):
    """The mutants of each case, by `PATH::CASE`, and in it by the name of the model they run as."""

    cases: dict[str, dict[str, Mutant]] = Field(default_factory=dict)


Mutants = Mapping[str, Mapping[str, Mutant]]


def read_mutants(path: Path) -> Mutants:
    """Read the file of `--autoweb-mutants`.

    Raises:
        SettingsError: it cannot be read, or is not such a file.
    """
    try:
        return MutantsFile.model_validate_json(path.read_bytes()).cases
    except OSError as error:
        raise SettingsError(f"--autoweb-mutants: {path}: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsError(
            f"--autoweb-mutants: {path} was not written by `autoweb prove`: {first['msg']}"
        ) from None


def parts_of(script: str) -> tuple[OraclePart, ...]:
    """Return the parts of an oracle that do something: its steps, or its statements if it has one.

    A script of one part has none to leave out, since that would be doing nothing.
    """
    blocks = split_blocks(script).by_step
    if len(blocks) == 1:
        parts = list(_statements(script))
        return tuple(parts) if len(parts) > 1 else ()
    found = []
    for number, block in blocks.items():
        lines = block.code.split("\n")
        own = frozenset(n for n, line in enumerate(lines, start=1) if line.strip())
        if any(_acts(statement) for statement in _parsed(block.code)):
            found.append(OraclePart(f"step {number}: {_heading(lines)}".rstrip(": "), own))
    return tuple(found)


def _statements(script: str) -> Iterator[OraclePart]:
    lines = script.split("\n")
    for statement in _parsed(script):
        # Without a value that is given a name, all that follows would fail for a trivial reason.
        if _acts(statement) and not isinstance(statement, ast.Assign | ast.FunctionDef):
            own = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            text = lines[statement.lineno - 1].strip()
            yield OraclePart(f"line {statement.lineno}: {text}", frozenset(own))


def _parsed(code: str) -> list[ast.stmt]:
    tree = read_python(code)
    return [] if tree is None else tree.body


def _acts(statement: ast.stmt) -> bool:
    """Tell whether a statement may do more than to look or wait."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return True
    called: ast.expr = statement.value
    names = []
    while isinstance(called, ast.Call | ast.Attribute):
        if isinstance(called, ast.Attribute):
            names.append(called.attr)
            called = called.value
        else:
            called = called.func
    names.append(called.id if isinstance(called, ast.Name) else "")
    return not (names[-1].startswith(_LOOKS) or names[0].startswith(_LOOKS))


def _heading(lines: list[str]) -> str:
    """Return what the heading of a step says, or its first line of code."""
    written = [line.strip() for line in lines if line.strip()]
    said = next((line for line in written if line.startswith("#")), "")
    words = said.partition(":")[2] or said.partition("：")[2]
    return words.strip() or next((line for line in written if not line.startswith("#")), "")
