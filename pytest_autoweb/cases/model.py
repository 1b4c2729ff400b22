"""The case, as the rest of the package sees it: resolved, typed, frozen."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

ID_PATTERN = r"^[A-Za-z0-9._-]+$"
TAG_PATTERN = r"^[^\W_][\w.:-]*$"
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    return pattern


def _is_http(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"must start with http:// or https://, got {url!r}")
    return url


Regex = Annotated[str, AfterValidator(_compiles)]
HttpUrl = Annotated[str, AfterValidator(_is_http)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Tag = Annotated[str, Field(pattern=TAG_PATTERN)]
SecretName = Annotated[str, Field(pattern=NAME_PATTERN)]


class Spec(BaseModel):
    """Base of everything a case file holds: frozen, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, populate_by_name=True
    )


class CheckSpec(Spec):
    """What all checks have in common."""

    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Share of this check in the case's score."""
    message: str = ""
    """Shown beside the result."""


class Pattern(Spec):
    """A regular expression instead of a glob or a plain text."""

    matches: Regex
    """Python's syntax; it is searched, not matched whole."""


class UrlCheck(CheckSpec):
    """The page's URL at the end."""

    url: str | Pattern
    """A Playwright glob, or `{matches: regex}`."""


class TextCheck(CheckSpec):
    """Text that is visible on the page or in one of its frames."""

    text: str | Pattern


class ElementQuery(Spec):
    """An element by role and name, and what must hold of it."""

    role: str | None = None
    name: str | Pattern | None = None
    """Accessible name; a plain text matches whole and case-sensitively."""
    label: str | None = None
    test_id: str | None = None
    css: str | None = None
    text: str | None = None
    """Text the element contains."""
    count: int | None = Field(default=None, ge=0)
    value: str | None = None
    """Value of an input."""
    checked: bool | None = None
    enabled: bool | None = None
    visible: bool | None = None

    @model_validator(mode="after")
    def _names_an_element(self) -> "ElementQuery":
        if not any((self.role, self.label, self.test_id, self.css, self.text)):
            raise ValueError("needs one of role, label, test_id, css, text")
        return self


class ElementCheck(CheckSpec):
    """An element that must (or must not) be there, in a given state."""

    element: ElementQuery


class JsCheck(CheckSpec):
    """A JavaScript function whose result in the page must be truthy."""

    js: str


class AnswerSpec(Spec):
    """What the returned data must be; exactly one of the four."""

    equals: Any = None
    contains: Any = None
    """A text inside the answer, or an item of a returned list."""
    matches: Regex | None = None
    """A regular expression searched in the answer's text."""
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")

    @model_validator(mode="after")
    def _exactly_one(self) -> "AnswerSpec":
        if len(self.model_fields_set) != 1:
            raise ValueError("needs exactly one of equals, contains, matches, schema")
        return self


class AnswerCheck(CheckSpec):
    """What the code passed to `answer(...)`."""

    answer: AnswerSpec


class HttpQuery(Spec):
    """A request the judge sends, and what must come back."""

    url: HttpUrl
    method: str = "GET"
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    status: int = 200
    json_subset: Any = Field(default=None, alias="json")
    """Must be contained in the JSON reply: each named key equal, lists equal in length."""
    contains: str | None = None


class HttpCheck(CheckSpec):
    """The server's own state, over HTTP."""

    http: HttpQuery


class SqlQuery(Spec):
    """A query and its rows."""

    url: str
    """`sqlite:///path`; the file is opened read-only."""
    query: str
    rows: list[list[Any]]

    @field_validator("url")
    @classmethod
    def _is_sqlite(cls, url: str) -> str:
        if not url.startswith("sqlite:///"):
            raise ValueError(f"must start with sqlite:///, got {url!r}")
        return url


class SqlCheck(CheckSpec):
    """The server's own state, in its database."""

    sql: SqlQuery


class FileQuery(Spec):
    """A file the application left behind."""

    path: str
    exists: bool = True
    contains: str | None = None
    equals: str | None = None


class FileCheck(CheckSpec):
    """The server's own state, in its files."""

    file: FileQuery


Check = (
    UrlCheck | TextCheck | ElementCheck | JsCheck | AnswerCheck | HttpCheck | SqlCheck | FileCheck
)

CHECK_TYPES: dict[str, type[CheckSpec]] = {
    "url": UrlCheck,
    "text": TextCheck,
    "element": ElementCheck,
    "js": JsCheck,
    "answer": AnswerCheck,
    "http": HttpCheck,
    "sql": SqlCheck,
    "file": FileCheck,
}


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


class Cookie(Spec):
    """A cookie set before the page is opened."""

    name: str
    value: str
    url: str | None = None
    domain: str | None = None
    path: str | None = None


class Setup(Spec):
    """What happens before the model sees the page."""

    js: str | None = None
    """Evaluated in the page once it has loaded; a promise is awaited."""
    storage_state: str | None = None
    """A Playwright storage state file, relative to the case file."""
    cookies: tuple[Cookie, ...] = ()


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

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    """Letters, digits, `.`, `_` and `-`; unique in the file."""
    entry_url: HttpUrl
    """The page the task starts on."""
    user_task: str = Field(min_length=1)
    """The task in plain words, as the model gets it."""
    strategy: Literal["codegen"] = "codegen"
    """How the model drives the browser: `codegen` writes a plan and a script."""
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
    expect: tuple[Check, ...] = ()
    """What must hold at the end; all of it. Without it a case cannot pass."""
    oracle: str | None = None
    """A script in the step language that solves the case."""
    timeout: Seconds = 120.0
    """Wall seconds for one attempt's steps."""


class ServerHandle(Spec):
    """A running web server, as `{{ webserver.url }}` and `{{ webserver.data }}` see it."""

    url: str
    data: Path
