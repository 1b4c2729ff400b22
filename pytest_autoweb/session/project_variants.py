"""The variants of a project for commands, read by a session of pytest that collects nothing."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from pytest_autoweb.base.errors import RegistrationError
from pytest_autoweb.session.registration import Registry, load_variants


@contextmanager
def project_variants(folder: Path | None = None) -> Iterator[None]:
    """Load the project's variants for a command outside pytest, as its own test run would.

    pytest reads the project's settings and conftests as for a run, and is stopped before it
    collects anything.

    Args:
        folder: the project; by default the working folder.

    Raises:
        RegistrationError: a conftest cannot be imported, or one of its variants was refused.
    """
    reader = _ConftestReader()
    told = io.StringIO()
    arguments = ["--capture=no", "--assert=plain"]
    if folder is not None and folder.resolve() != Path.cwd():
        arguments.append(str(folder))
    with redirect_stdout(told), redirect_stderr(told):
        try:
            code: object = int(pytest.main(arguments, plugins=[reader]))
        except SystemExit as error:
            # A conftest may end the interpreter while it is imported, e.g. with `sys.exit`.
            code = error.code
    if reader.problem is not None:
        raise reader.problem
    if reader.registry is None:
        raise RegistrationError(
            f"pytest cannot read this project (exit code {code}):\n{told.getvalue().strip()}"
        )
    try:
        yield
    finally:
        reader.registry.undo()


class _ConftestReader:
    """A pytest plugin that replaces the whole session."""

    def __init__(self) -> None:
        self.registry: Registry | None = None
        self.problem: RegistrationError | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Load the variants once all conftests are known; the result ends pytest here."""
        try:
            self.registry = load_variants(config.hook, config.rootpath)
        except RegistrationError as error:
            self.problem = error
        return 0
