"""The labels file: people's verdicts on saved cells, with those of judges on the same evidence.

People fill in `human`; `autoweb run labels` writes everything else.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import yaml
from pydantic import ConfigDict, Field

from pytest_autoweb.base.documents.document import read_document
from pytest_autoweb.base.documents.field_sentences import validated
from pytest_autoweb.base.field_errors import FieldError
from pytest_autoweb.base.files import replace_text
from pytest_autoweb.base.specs import Documented

HumanWord = Literal["pass", "fail"]

_HEAD = """\
# What people say of saved cells, beside what judging models said of the same evidence.
# Fill in `human: pass` or `human: fail` after looking at the cell in the report, before you look
# at any judge's verdict. Everything else is written by `autoweb run labels`.
"""


class _Entry(Documented):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgeVerdict(_Entry):
    """One judge's verdict on the labelled evidence."""

    judge: str
    """The model and the checksum of its prompt."""
    verdict: str
    reason: str = ""


class Label(_Entry):
    """One rubric on one attempt."""

    run: str
    """The `ts` of the run."""
    cell: str
    """The cell's folder below the run folder."""
    attempt: int = Field(ge=1)
    check: int = Field(ge=0)
    """The position of the check in the case's `expect`, from 0."""
    rubric: str
    """The rubric as the report shows it; a changed rubric is another question."""
    rubric_checksum: str
    """The SHA-256 of the rubric."""
    human: HumanWord | None = None
    """The human verdict; None until somebody has looked."""
    note: str = ""
    """A note by the person who labelled."""
    judged: tuple[JudgeVerdict, ...] = ()

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        return self.run, self.cell, self.attempt, self.check, self.rubric_checksum


class LabelFile(_Entry):
    """The content of a labels file."""

    version: Literal[1] = 1
    labels: tuple[Label, ...] = ()

    def pairs(self) -> dict[str, list[tuple[HumanWord, str]]]:
        """Return, for each judge, every human verdict with the judge's own."""
        found: dict[str, list[tuple[HumanWord, str]]] = {}
        for label in self.labels:
            for said in label.judged:
                if label.human is not None:
                    found.setdefault(said.judge, []).append((label.human, said.verdict))
        return found


def read_labels(path: Path) -> LabelFile:
    """Read the labels of a file.

    Raises:
        CaseError: it cannot be read or breaks the format, with line and field.
    """
    document = read_document(path)
    try:
        file = validated(LabelFile, document.data)
        seen: dict[tuple[str, str, int, int, str], int] = {}
        for index, label in enumerate(file.labels):
            judges = [said.judge for said in label.judged]
            if len(judges) != len(set(judges)):
                raise FieldError(("labels", index, "judged"), "one judge is listed twice")
            if (first := seen.setdefault(label.key, index)) != index:
                line = document.line(("labels", first))
                raise FieldError(("labels", index), f"the same check is labelled on line {line}")
    except FieldError as error:
        raise document.error(error) from error
    return file


def write_labels(path: Path, labels: Iterable[Label]) -> None:
    """Replace the file, in the order given."""
    rows = [label.model_dump(mode="json") for label in labels]
    text = yaml.safe_dump(
        {"version": 1, "labels": rows}, sort_keys=False, allow_unicode=True, width=100
    )
    # As a whole, because an interruption must never lose people's verdicts.
    replace_text(path, _HEAD + text)
