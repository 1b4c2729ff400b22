"""The case, as the rest of the package sees it: resolved, typed, frozen."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, model_validator

from pytest_autoweb.browser.setup import Setup
from pytest_autoweb.cases.collect_spec import CollectSpec
from pytest_autoweb.cases.strategy import StrategyName, known_strategy
from pytest_autoweb.checks.check_type import Check, saved_check
from pytest_autoweb.specs import HttpUrl, Seconds, Spec, fitting

ID_PATTERN = r"^[A-Za-z0-9._-]+$"
TAG_PATTERN = r"^[^\W_][\w.:-]*$"
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"

Tag = Annotated[
    str, fitting(TAG_PATTERN, "must be a word of letters, digits, '_', '.', ':' and '-'")
]
SecretName = Annotated[str, fitting(NAME_PATTERN, "must be a name of letters, digits and '_'")]
CaseId = Annotated[str, fitting(ID_PATTERN, "may hold only letters, digits, '.', '_' and '-'")]
AnyCheck = Annotated[SerializeAsAny[Check], BeforeValidator(saved_check)]
"""A check of any registered type, written and read with all of its fields."""


class SecretSource(Spec):
    """Where a secret's value comes from."""

    env: str | None = None
    """Name of an environment variable."""
    default: str | None = None
    """Used when the variable is not set; for demo data only."""

    @model_validator(mode="after")
    def _has_a_source(self) -> "SecretSource":
        if self.env is None and self.default is None:
            raise ValueError("needs env, default or both")
        return self


class Reset(Spec):
    """A request that puts the web server's state back, sent before every attempt."""

    method: str = "POST"
    url: str
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None


class Webserver(Spec):
    """The application under test: a command, or a folder of static files."""

    command: str | None = None
    """Run without a shell; `{port}` is a free port, `{data}` a fresh folder, `{python}` the
    interpreter running pytest."""
    static: str | None = None
    """A folder relative to this file, or `PACKAGE/path` inside an installed package."""
    url: str = "http://127.0.0.1:{port}/"
    """Polled until it answers."""
    timeout: Seconds = 30.0
    """Seconds until the server must answer."""
    reset: Literal["restart"] | Reset | None = None
    """`restart`: a fresh `{data}` and a new process for every attempt."""
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    """Relative to this file; default is the file's own folder."""

    @model_validator(mode="after")
    def _command_or_static(self) -> "Webserver":
        if (self.command is None) == (self.static is None):
            raise ValueError("needs exactly one of command, static")
        return self


class Case(Spec):
    """One task with its entry URL and the checks that decide success."""

    id: CaseId
    """Letters, digits, `.`, `_` and `-`; unique in the file."""
    entry_url: HttpUrl
    """The page the task starts on."""
    user_task: str = Field(min_length=1)
    """The task in plain words, as the model gets it."""
    strategy: Annotated[StrategyName, AfterValidator(known_strategy)] | None = None
    """How the model drives the browser."""
    collect: CollectSpec | None = None
    """Strategy `collect`: what to look for, how far to go, how fast."""
    tags: tuple[Tag, ...] = ()
    """pytest marks, selected with `-m`."""
    must_pass: bool = False
    """A failed cell of this case fails the run, whatever the rates are."""
    secrets: dict[SecretName, SecretSource] = Field(default_factory=dict)
    """Values that no model, log or report sees; written `{{ secrets.NAME }}`."""
    allowed_origins: tuple[str, ...] = ()
    """Origins the page may reach besides the entry URL's own."""
    files: tuple[str, ...] = ()
    """Files that uploads may name, relative to the case file."""
    setup: Setup = Field(default_factory=Setup)
    """What is done to the page and its storage beforehand."""
    answers: dict[str, str] = Field(default_factory=dict)
    """Answers for plans that ask: question (or a part of it) -> answer."""
    expect: tuple[AnyCheck, ...] = ()
    """What must hold at the end; all of it. Without it a case cannot pass."""
    oracle: str | None = None
    """A script in the step language that solves the case."""
    timeout: Seconds = 120.0
    """Wall seconds for one attempt's steps."""


class ServerHandle(Spec):
    """A running web server, as `{{ webserver.url }}` and `{{ webserver.data }}` see it."""

    url: str
    data: Path
