"""The checks of a case, as the judge sees them."""

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from pytest_autoweb.cases.answer_spec import AnswerSpec
from pytest_autoweb.cases.fields import Count, HttpUrl, Pattern, Spec

FUNCTION_PATTERN = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"
DIGEST_PATTERN = r"^[0-9a-fA-F]{64}$"


class CheckSpec(Spec):
    """What all checks have in common."""

    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Share of this check in the case's score."""
    message: str = ""
    """Shown beside the result."""


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


class ReplyQuery(Spec):
    """What must be in the body of a reply."""

    json_subset: Any = Field(default=None, alias="json")
    """Must be contained in the JSON: each named key equal, lists equal in length."""
    contains: str | None = None


class RequestQuery(Spec):
    """A request that the page sent, as recorded on the wire."""

    url: str | Pattern
    """A Playwright glob, or `{matches: regex}`."""
    method: str | None = None
    """Any when not given."""
    status: int | None = None
    """Of the reply; any when not given."""
    json_subset: Any = Field(default=None, alias="json")
    """Must be contained in the body sent: JSON, or the fields of a form."""
    contains: str | None = None
    """A text in the body sent."""
    body: str | None = None
    """The body sent, whole."""
    reply: ReplyQuery | None = None
    """What came back."""
    count: Count | None = None
    """Exactly so many; at least one when not given."""


class RequestCheck(CheckSpec):
    """A request seen on the wire."""

    request: RequestQuery


class DownloadQuery(Spec):
    """A file that the page handed out."""

    name: str | Pattern | None = None
    """A glob of the suggested name, or `{matches: regex}`."""
    contains: str | None = None
    """A text in the file."""
    equals: str | None = None
    """The file's text, whole; line endings do not count."""
    sha256: Annotated[str, Field(pattern=DIGEST_PATTERN)] | None = None
    count: Count | None = None
    """Exactly so many; at least one when not given."""


class DownloadCheck(CheckSpec):
    """A file that the page handed out during the attempt."""

    download: DownloadQuery


class PythonCheck(CheckSpec):
    """A function of the user's own code base."""

    python: Annotated[str, Field(pattern=FUNCTION_PATTERN)]
    """`package.module:function`; see `pytest_autoweb.checks`."""
    arguments: dict[str, Any] = Field(default_factory=dict, alias="with")
    """Keyword arguments for the function."""


class JudgeQuery(Spec):
    """A question that a model answers from the page and the actions."""

    rubric: str = Field(min_length=1)
    """What must be seen; the model's own summary is not shown to the judge."""
    model: str | None = None
    """Default is the run's `--autoweb-judge-model`."""
    answer: bool = False
    """Whether what the code passed to `answer(...)` is a part of the evidence."""


class JudgeCheck(CheckSpec):
    """A model's opinion; it decides nothing unless it was calibrated with human labels."""

    judge: JudgeQuery


Check = (
    UrlCheck
    | TextCheck
    | ElementCheck
    | JsCheck
    | AnswerCheck
    | RequestCheck
    | DownloadCheck
    | HttpCheck
    | SqlCheck
    | FileCheck
    | PythonCheck
    | JudgeCheck
)

CHECK_TYPES: dict[str, type[CheckSpec]] = {
    "url": UrlCheck,
    "text": TextCheck,
    "element": ElementCheck,
    "js": JsCheck,
    "answer": AnswerCheck,
    "request": RequestCheck,
    "download": DownloadCheck,
    "http": HttpCheck,
    "sql": SqlCheck,
    "file": FileCheck,
    "python": PythonCheck,
    "judge": JudgeCheck,
}
