"""The case, as the rest of the package sees it: resolved, typed, frozen."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    SerializeAsAny,
    StrictBool,
    model_validator,
)

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.base.one_time_codes import OneTimeCode
from pytest_autoweb.base.specs import HttpUrl, Regex, Seconds, Spec, fitting
from pytest_autoweb.base.variant_names import (
    StrategyName,
    agent_variant,
    known_agent,
    known_strategy,
)
from pytest_autoweb.browser.page.setup import Setup
from pytest_autoweb.browser.traffic.traffic_rules import TrafficRules
from pytest_autoweb.cases.collect_spec import CollectSpec
from pytest_autoweb.judging.checks.answer_checks import AnswerCheck, InfeasibleCheck
from pytest_autoweb.judging.checks.check_type import Check, saved_check
from pytest_autoweb.settings.agent_command import COMMAND, AgentCommand

ID_PATTERN = r"^[A-Za-z0-9._-]+$"
# No colon, because pytest ends the name of a declared mark there: it would treat `-m team:shop` as
# a misspelling.
TAG_PATTERN = r"^[^\W_][\w.-]*$"
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"


def _selectable(tag: str) -> str:
    if tag in ("and", "or", "not"):
        raise ValueError(f"must be no word of the language of `pytest -m`, got {tag!r}")
    return tag


Tag = Annotated[
    str,
    fitting(TAG_PATTERN, "must be a word of letters, digits, '_', '.' and '-'"),
    AfterValidator(_selectable),
]
SecretName = Annotated[str, fitting(NAME_PATTERN, "must be a name of letters, digits and '_'")]
CaseId = Annotated[str, fitting(ID_PATTERN, "may hold only letters, digits, '.', '_' and '-'")]
AnyCheck = Annotated[SerializeAsAny[Check], BeforeValidator(saved_check)]
"""A check of any registered type, read and written with all its fields."""


class SecretSource(Spec):
    """Where a secret's value comes from."""

    env: str | None = None
    """The name of an environment variable."""
    default: str | None = None
    """The value to use when the variable is not set; for demo data only."""
    totp: StrictBool = False
    """Whether the value is the key of an authenticator app (RFC 6238), in base32 or as an
    `otpauth://totp` address; what is typed is the code of that moment."""
    mail: StrictBool | Literal["link"] = False
    """Whether it is the code of the newest mail, or with `link` a link in it; `{{ mail.code }}` and
    `{{ mail.link }}` declare it by themselves."""

    @model_validator(mode="after")
    def _has_a_source(self) -> "SecretSource":
        if self.mail:
            if self.env is not None or self.default is not None or self.totp:
                raise ValueError("takes nothing beside mail, as it comes by mail")
        elif self.env is None and self.default is None:
            raise ValueError("needs env, default or both")
        return self


class MailRules(Spec):
    """How the code or the link is found that a site sends by mail."""

    address: str | None = None
    """The recipient, in place of an address that is the cell's own."""
    code: Regex | None = None
    """A regular expression of the code; by default a number of 4 to 8 digits that stands alone."""
    link: Regex | None = None
    """A regular expression that finds the link; by default it is the longest to the case's own
    origins that does not unsubscribe."""
    within: Seconds = 10.0
    """The seconds within which the mail must come once its code or link is needed."""


class Case(Spec):
    """One task with its entry URL and the checks that decide success."""

    id: CaseId
    """Letters, digits, `.`, `_` and `-`; unique in the file."""
    entry_url: HttpUrl
    """The page the task starts on."""
    user_task: str = Field(min_length=1)
    """The task in plain words, as the model gets it."""
    strategy: Annotated[StrategyName, AfterValidator(known_strategy)] | None = None
    """The name of an agent, as in `agent`."""
    agent: Annotated[str, AfterValidator(known_agent)] | AgentCommand | None = None
    """Who drives the browser: the name of an agent, such as `codegen:once`, or a program."""
    collect: CollectSpec | None = None
    """Strategy `collect`: what to look for, how far to go, how fast."""
    tags: tuple[Tag, ...] = ()
    """pytest marks, selected with `-m`."""
    must_pass: bool = False
    """Whether a failed cell of this case fails the run, whatever the rates are."""
    secrets: dict[SecretName, SecretSource] = Field(default_factory=dict)
    """Values that no model, log or report sees; written `{{ secrets.NAME }}`."""
    mail: MailRules | None = None
    """How `{{ mail.code }}` and `{{ mail.link }}` are found in a mail of its web server."""
    allowed_origins: tuple[str, ...] = ()
    """Origins the page may reach besides the entry URL's own."""
    files: tuple[str, ...] = ()
    """Files that uploads may name, relative to the case file."""
    setup: Setup = Field(default_factory=Setup)
    """What is done to the page and its storage before the task starts."""
    answers: dict[str, str] = Field(default_factory=dict)
    """Answers for plans that ask, by the question or a part of it."""
    expect: tuple[AnyCheck, ...] = ()
    """The checks, all of which must hold at the end. A case without any cannot pass."""
    infeasible: StrictBool | Literal["own_checks"] = False
    """Whether the task cannot be done, so that the right reply is to say so. With true, every task
    of the file ends with how to say it, and a check of kind `infeasible` is added; with
    `own_checks`, the case's own task and checks see to that."""
    pictures: bool = True
    """Whether the run folder keeps pictures of its pages; a model that needs them sees them."""
    oracle: str | None = None
    """A script in the step language that solves the case."""
    timeout: Seconds = 120.0
    """Wall-clock seconds for the steps of one attempt."""
    traffic: TrafficRules = Field(default_factory=TrafficRules)
    """How its traffic is recorded, replayed and held back (docs/traffic.md)."""
    _beside_infeasible: bool = PrivateAttr(default=False)

    @property
    def may_answer(self) -> bool:
        """Return whether models are told how to return an answer.

        In a file with an infeasible case this holds for every case: a prompt that offered an
        answer for some tasks only would tell which questions have none.
        """
        asked = any(isinstance(check, AnswerCheck | InfeasibleCheck) for check in self.expect)
        return asked or bool(self.infeasible) or self._beside_infeasible

    @property
    def upload_names(self) -> tuple[str, ...]:
        """Return the names by which uploads name its files, sorted, without their folders."""
        return tuple(sorted({PurePosixPath(name).name for name in self.files}))

    @property
    def asks_for_data(self) -> bool:
        """Return whether models are told that the task asks for data.

        In a file with an infeasible case nobody is told, for the same reason.
        """
        refusable = any(isinstance(check, InfeasibleCheck) for check in self.expect)
        return self.may_answer and not (refusable or self.infeasible or self._beside_infeasible)

    def beside_infeasible(self) -> "Case":
        """Return the case as one of a file in which a task cannot be done."""
        case = self.model_copy()
        case._beside_infeasible = True
        return case

    @model_validator(mode="after")
    def _one_agent(self) -> "Case":
        if self.agent is not None and self.strategy is not None:
            raise ValueError("takes one of agent, strategy: both name who drives the browser")
        return self

    @property
    def driver(self) -> StrategyName | None:
        """Return the name of the agent that the case demands, or None."""
        if isinstance(self.agent, AgentCommand):
            return COMMAND
        return agent_variant(self.agent).agent if self.agent else self.strategy

    @property
    def way(self) -> str:
        """Return how its agent writes scripts; empty if the case leaves that to the model."""
        return agent_variant(self.agent).way if isinstance(self.agent, str) else ""


def secret_value(source: SecretSource, environ: Mapping[str, str]) -> str | None:
    """Return the environment variable's value if it is not empty, else the default.

    Of what comes by mail nothing is known before.
    """
    if source.mail:
        return ""
    # CI systems set the variables of missing secrets to the empty string.
    return (environ.get(source.env) if source.env else None) or source.default


def unfit_key(source: SecretSource, value: str) -> str:
    """Return why a value is no key of one-time codes although it should be; empty if it is fit."""
    if source.totp:
        try:
            OneTimeCode.read(value)
        except ValueError as why:
            return str(why)
    return ""


def resolve_secrets(
    case: Case, environ: Mapping[str, str], path: Path | None = None
) -> dict[str, str]:
    """Return the values by name: the environment variable's if not empty, else the default.

    Of a one-time code it is the key, or nothing if it comes by mail.

    Raises:
        CaseError: a variable is not set and there is no default, or a key makes no codes.
    """
    values: dict[str, str] = {}
    for name, source in case.secrets.items():
        value = secret_value(source, environ)
        if value is None:
            raise CaseError(
                f"case {case.id!r} needs the environment variable {source.env}",
                path=path,
                field=f"secrets.{name}",
            )
        if why := unfit_key(source, value):
            raise CaseError(f"its value {why}", path=path, field=f"secrets.{name}")
        values[name] = value
    return values
