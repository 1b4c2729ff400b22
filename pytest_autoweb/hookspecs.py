"""What users can hook into, in a conftest or a plugin."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_autoweb.llm.client import Client
    from pytest_autoweb.llm.spec import ModelSpec
    from pytest_autoweb.results import CellResult


@pytest.hookspec(firstresult=True)
def pytest_autoweb_client(spec: "ModelSpec") -> "Client | None":
    """Answer for a model yourself, instead of litellm.

    Return an object with `complete(request) -> Reply`, or None to leave the model alone::

        def pytest_autoweb_client(spec):
            if spec.name == "mine/echo":
                return MyClient()
    """


def pytest_autoweb_cell_finished(result: "CellResult") -> None:
    """Called in the test process when a cell has ended and is on disk.

    For example::

    def pytest_autoweb_cell_finished(result):
        print(result.case_id, result.model, result.outcome)
    """
