"""The base class of all check types, the evidence they may inspect, and their registry."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

from msgspec import Struct
from playwright.sync_api import Page
from pydantic import Field, model_validator

from pytest_autoweb.base.field_errors import FieldPath
from pytest_autoweb.base.specs import Spec
from pytest_autoweb.base.values.patterns import SlowPattern, search
from pytest_autoweb.base.variants import Variants
from pytest_autoweb.judging.evidence.appearances import Appearances
from pytest_autoweb.judging.evidence.downloads import Download
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.results.records import JudgeVote, ToolCall, Usage


class JudgeQuery(Spec):
    """A question that a model answers from the page and the actions."""

    rubric: str = Field(min_length=1)
    """What must be seen; the model's own summary is not shown to the judge."""
    model: str | None = None
    """The model to ask; the default is the run's `--autoweb-judge-model`."""
    models: tuple[str, ...] = ()
    """Several models that vote, in place of `model`: more than half of them decide."""
    answer: bool = False
    """Whether the evidence includes what the code passed to `answer(...)`."""

    @model_validator(mode="after")
    def _refuse_no_vote(self) -> Self:
        if self.model is not None and self.models:
            raise ValueError("give either `model` or `models`")
        if len(self.models) == 1 or len(self.models) != len(set(self.models)):
            raise ValueError("`models` needs at least two different models")
        return self

    @property
    def named(self) -> tuple[str, ...]:
        """Return the models that it names."""
        return self.models or ((self.model,) if self.model else ())


class RubricFinding(NamedTuple):
    """A model's verdict on a rubric."""

    verdict: str
    """`pass`, `fail`, `impossible`, `captcha` or `insufficient_evidence`; `unfounded` if it passed
    without a quote that is in the evidence; `no_verdict` if there is none; `no_majority` if several
    judges voted and no verdict has more than half of the votes."""
    reason: str
    judge: str
    """The model and the checksum of its prompt; of several judges, the names of all."""
    quotes: tuple[str, ...] = ()
    """The parts of the evidence on which the verdict rests."""
    advisory: bool = True
    """Whether the verdict does not count, because the judge's agreement with people is unknown."""
    usage: Usage = Usage()
    votes: tuple[JudgeVote, ...] = ()
    """What each of several judges said."""


class RubricJudge(Protocol):
    """Asks a model whether the evidence of an attempt satisfies a rubric."""

    def __call__(self, query: JudgeQuery, evidence: "Evidence") -> RubricFinding:
        """Ask the model that the check names, or else the run's.

        Raises:
            NotEvaluated: no model is named, or it is one of those compared.
        """
        ...


class WayPicture(NamedTuple):
    """One picture of the page on the way to the end, with secrets covered."""

    moment: str
    """When it was taken, such as `after step 2`."""
    path: Path


class Evidence(Struct, frozen=True):
    """The end of an attempt, live or as stored."""

    page: Page
    """The tab in which the case began."""
    answered: bool
    """Whether the code called `answer(...)`."""
    answer: Any
    redact: Callable[[str], str] = lambda text: text
    wire: Sequence[WireEntry] = ()
    """Requests made since the setup, oldest first. On a live page, more may arrive between
    probes."""
    downloads: Sequence[Download] = ()
    """Files offered for download since the setup. On a live page, more may arrive between
    probes."""
    appeared: Callable[[], Appearances] | None = None
    """Returns what appeared on the pages so far; None if that was not recorded."""
    tabs: Sequence[Page] = ()
    """All tabs in the order of their opening, also closed ones; empty if there is only `page`."""
    overreach: Callable[[], Sequence[str]] | None = None
    """Returns what the attempt has written beyond the case's solution, in words; None if that is
    not known, for the reason in `solution_unknown`."""
    solution_unknown: str = ""
    actions: Sequence[ToolCall] = ()
    """What the code did to the page."""
    way: Sequence[WayPicture] = ()
    """The pictures taken on the way to the end, oldest first."""
    stored: bool = False
    """Whether the page is a stored copy, which has its text and not its look. Then the last picture
    of `way` is that of the end."""
    rubric_judge: RubricJudge | None = None
    """The judge to ask; without one, `judge` checks cannot be evaluated."""
    replayed: bool = False
    """Whether the site was replayed from a recording, so that no server has a state to query."""
    case_path: Path | None = None
    """The case's file; None for inline cases."""
    case_id: str = ""
    entry_url: str = ""
    user_task: str = ""


class Verdict(NamedTuple):
    """The result of a single probe."""

    passed: bool | None
    """Whether the check holds; None if that cannot be decided, for the given `reason`."""
    actual: str
    where: str = ""
    """Where it was seen: a URL, a frame, a request, a file, a record."""
    finding: str = ""
    """A named verdict, e.g. `captcha`."""
    hint: str = ""
    """A hint that a repair may receive."""
    credit: float | None = None
    """Partial credit from 0 to 1; None means all or nothing."""
    reason: str = ""
    """Why the check cannot be decided."""
    advisory: bool = False
    """Whether the result is only shown, without affecting the case's verdict."""
    usage: Usage = Usage()
    """The usage of a judging model."""
    votes: tuple[JudgeVote, ...] = ()
    """What each of several judging models said."""


class NotEvaluated(Exception):
    """Raised when a check is faulty or cannot reach its subject; the message gives the reason."""


def found_by(pattern: str, text: str, flags: int = 0) -> str | None:
    """Return the first part of a text that a case's regular expression matches, or None.

    Raises:
        NotEvaluated: the search takes too long.
    """
    try:
        return search(pattern, text, flags)
    except SlowPattern as error:
        raise NotEvaluated(str(error)) from None


class CheckProbe(NamedTuple):
    """A check that is ready to inspect the end of an attempt."""

    expected: str
    look: Callable[[float], Verdict]
    """Probes once, for at most the given number of seconds."""
    retry: bool = True
    """Whether a repeated probe is harmless and may give another result."""


Ground = Literal[
    "page", "address", "appearances", "answer", "requests", "downloads", "opinion", "live"
]
"""The basis of a verdict: the page's content, its URL, what appeared on it meanwhile, the answer,
the recorded requests, the downloaded files, a model's opinion, or state that exists only while the
application runs."""


class Check(Spec):
    """What all checks have in common.

    A check type derives from it, names itself, declares a field of that name (what stands behind
    `title:` in a case file, say) and says how to look. The first paragraph of its docstring is its
    summary.
    """

    name: ClassVar[str]
    """The key by which an entry of `expect` is recognised, and the type in reports."""
    summary: ClassVar[str] = ""
    rests_on: ClassVar[Ground] = "live"
    """What the verdict rests on. A saved run can be judged again by every ground but `live`."""
    data_fields: ClassVar[tuple[FieldPath, ...]] = ()
    """Places below the entry whose values are compared with data, so that `1` is not `"1"`
    there."""

    points: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """How many points it earns when it holds. A case in which any check says so has a score; there,
    a check that does not say so is worth one."""
    weight: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The former name of `points`."""
    message: str = ""
    """A text to show beside the result."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Take the summary from the docstring."""
        super().__pydantic_init_subclass__(**kwargs)
        first, _, _ = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")
        cls.summary = " ".join(first.split())

    @model_validator(mode="after")
    def _refuse_two_names(self) -> Self:
        if self.points is not None and self.weight is not None:
            raise ValueError("`weight` is the former name of `points`; keep `points`")
        return self

    @property
    def own_points(self) -> float | None:
        """Return the points as written, under either name; None if nothing is said of them."""
        return self.weight if self.points is None else self.points

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Return the check prepared to inspect the end of an attempt.

        Raises:
            NotEvaluated: it cannot be prepared, so it has no verdict.
        """
        raise NotImplementedError(f"{type(self).__name__} must define probe()")

    def refuse_unusable(self, case_path: Path | None) -> None:
        """Reject, before anything runs, errors that the field types alone do not rule out.

        Args:
            case_path: the case's file; None for inline cases.

        Raises:
            FieldError: at a place below this entry.
        """

    @classmethod
    def code_behind(cls, entry: Mapping[str, Any], case_path: Path | None) -> dict[str, str]:
        """Return the user's code that decides an entry, for inclusion in checksums."""
        # The built-in types have a version instead (`judging.GRADER_VERSION`), so that not every
        # edit of their code makes saved verdicts incomparable.
        if cls.__module__.startswith(f"{__package__}."):
            return {}
        try:
            return {"code": inspect.getsource(cls)}
        except (OSError, TypeError):
            return {}


CHECKS: Variants[type[Check]] = Variants("check type")


def saved_check(value: Any) -> Any:
    """Return the check of a saved case; anything but a mapping with a known type stays as is."""
    kinds = [CHECKS[key] for key in value if key in CHECKS] if isinstance(value, Mapping) else []
    return kinds[0].model_validate(value) if kinds else value


def refuse_bad_type(check_type: Any) -> None:
    """Reject a registration that could not work as a check type.

    Raises:
        TypeError: it is not a complete subclass of `Check`.
    """
    if not (isinstance(check_type, type) and issubclass(check_type, Check)):
        raise TypeError(f"a check type is a class derived from Check, got {check_type!r:.80}")
    known = check_type.__name__
    name = getattr(check_type, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"{known} lacks its name, such as name = 'title'")
    fields = check_type.model_fields
    if taken := [field for field in ("name", "summary", "rests_on") if field in fields]:
        raise TypeError(f"{known} must not declare a field {taken[0]!r}; give it an alias")
    if name not in {field.alias or key for key, field in fields.items()}:
        raise TypeError(f"{known} is named {name!r} and must declare a field of that name")
    if check_type.probe is Check.probe:
        raise TypeError(f"{known} must define probe()")
    if not check_type.summary:
        raise TypeError(f"{known} lacks a docstring; its first paragraph is shown by --help")
