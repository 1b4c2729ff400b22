"""The variants and the clients of a project for commands outside pytest.

They are read by a session of pytest that collects nothing.
"""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from pytest_autoweb.base.errors import RegistrationError
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.session.registration import Registry, load_variants
from pytest_autoweb.settings.run_settings import Settings, first_value

OwnClient = Callable[[ModelSpec], Client | None]
"""Returns the project's client for a model, or None to leave it to the gateway."""


@contextmanager
def project_variants(folder: Path | None = None) -> Iterator[OwnClient]:
    """Load the project's variants for a command outside pytest, as its own test run would.

    pytest reads the project's settings and conftests as for a run, and is stopped before it
    collects anything. What is yielded asks the hook `pytest_autoweb_client`.

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
        yield reader.client
    finally:
        reader.registry.undo()


def named_models(flags: Sequence[str]) -> tuple[str, ...]:
    """Return the models of a session that is started here with these flags of pytest.

    It is stopped before it collects anything. There are none if pytest refuses a flag.
    """
    reader = _ModelReader()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
        pytest.main(list(flags), plugins=[reader])
    return reader.models


class _ModelReader:
    """A pytest plugin that replaces the whole session."""

    def __init__(self) -> None:
        self.models: tuple[str, ...] = ()

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Read the setting; the result ends pytest here."""
        named, _ = first_value(Settings.models, config, os.environ)
        self.models = tuple(one.strip() for one in named.split(",") if one.strip())
        return 0


class _ConftestReader:
    """A pytest plugin that replaces the whole session."""

    def __init__(self) -> None:
        self.registry: Registry | None = None
        self.problem: RegistrationError | None = None
        self.client: OwnClient = lambda spec: None

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Load the variants once all conftests are known; the result ends pytest here."""
        # With `-p no:autoweb`, the hook is not declared.
        if (hook := getattr(config.hook, "pytest_autoweb_client", None)) is not None:
            self.client = lambda spec: hook(spec=spec)
        try:
            self.registry = load_variants(config.hook, config.rootpath)
        except RegistrationError as error:
            self.problem = error
        return 0
