"""A case file, or inline cases, with what its expressions take from outside."""

from pathlib import Path

from msgspec import field

from pytest_autoweb.base.documents.document import Document, read_document
from pytest_autoweb.cases.deployment import Deployment


class CaseDocument(Document, frozen=True):
    """The data of one case file, or of inline cases."""

    deployment: Deployment = field(default_factory=Deployment)
    """What its expressions and relative addresses take from outside."""


def read_case_document(path: Path, deployment: Deployment | None = None) -> CaseDocument:
    """Read a case file without trusting it.

    Args:
        path: the file.
        deployment: what its expressions may name; by default what the environment says.

    Raises:
        CaseError: the file cannot be read, is too large, or is not plain YAML or JSON.
    """
    read = read_document(path)
    return CaseDocument(read.path, read.data, read.lines, deployment or Deployment())
