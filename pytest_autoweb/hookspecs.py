"""The hooks that users can implement in a conftest or a plugin."""

from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from pytest_autoweb import (
        Case,
        CellResult,
        Client,
        ModelSpec,
        Registry,
        SandboxBorder,
        StepEngine,
    )


def pytest_autoweb_register(registry: "Registry") -> None:
    """Add variants of your own, such as check types, for use in flags and case files.

    Called in every process of a session before settings are read, so put it into the conftest of
    the rootdir or of a folder that is named on the command line::

        def pytest_autoweb_register(registry):
            registry.add_check(TitleCheck)
    """


@pytest.hookspec(firstresult=True)
def pytest_autoweb_client(spec: "ModelSpec") -> "Client | None":
    """Answer for a model yourself, instead of litellm.

    Return an object with `complete(request) -> Reply`, or None to leave the model alone::

        def pytest_autoweb_client(spec):
            if spec.name == "mine/echo":
                return MyClient()

    With `--autoweb-concurrency`, `complete` is called in other threads, several at once.
    """


@pytest.hookspec(firstresult=True)
def pytest_autoweb_engine(
    border: "SandboxBorder", level: 'Literal["auto", "strict", "off"]'
) -> "StepEngine | None":
    """Run the generated code of an attempt yourself, instead of the built-in worker process.

    Return an object with `run_step`, `answer` and `close`, or None to leave it alone. You are then
    responsible for keeping the code within the border and the level::

        def pytest_autoweb_engine(border, level):
            return MyEngine(border, strict=level == "strict")
    """


@pytest.hookspec(firstresult=True)
def pytest_autoweb_relogin(case: "Case", page: "Page") -> "bool | None":
    """Log in again after the application refused for lack of rights, e.g. an ended session.

    Called at most once per cell, with `--autoweb-correction`, on the fresh page of the next attempt
    before its entry URL is opened. Without an implementation such a failure is not retried::

        def pytest_autoweb_relogin(case, page):
            page.goto("https://shop.example/login")
            page.get_by_label("Password").fill(os.environ["SHOP_PASSWORD"])
            page.get_by_role("button", name="Log in").click()
            return True
    """


def pytest_autoweb_cell_finished(result: "CellResult") -> None:
    """Look at a cell's result, in the test process, once the cell has ended and is on disk.

    For example::

    def pytest_autoweb_cell_finished(result):
        print(result.case_id, result.model, result.outcome)
    """
