"""What a check type is: a class that holds the fields of its entry and knows how to look."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from pytest_autoweb.checks.attempt_evidence import Evidence, Probe
from pytest_autoweb.specs import FieldPath, Spec
from pytest_autoweb.variants import Variants

Ground = Literal["page", "address", "answer", "requests", "downloads", "opinion", "live"]
"""What a verdict rests on: the page's content, its URL, the answer, what went over the wire, the
files handed out, a model's opinion, or things that exist only while the application runs."""


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
    """Whether a saved run can be judged again by it: by all of these but `live`."""
    data_fields: ClassVar[tuple[FieldPath, ...]] = ()
    """Places below the entry that are compared with data, so that `1` is not `"1"` there."""

    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Share of this check in the case's score."""
    message: str = ""
    """Shown beside the result."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Take the summary from the docstring."""
        super().__pydantic_init_subclass__(**kwargs)
        first, _, _ = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")
        cls.summary = " ".join(first.split())

    def probe(self, evidence: Evidence) -> Probe:
        """Return the check made ready to look at the end of an attempt.

        Raises:
            NotEvaluated: it cannot be made ready, so it stays without a verdict.
        """
        raise NotImplementedError(f"{type(self).__name__} must define probe()")

    def refuse_unusable(self, case_path: Path | None) -> None:
        """Refuse, before anything runs, what the types of the fields alone do not rule out.

        Args:
            case_path: the case's file; None for inline cases.

        Raises:
            FieldError: at a place below this entry.
        """

    @classmethod
    def code_behind(cls, entry: Mapping[str, Any], case_path: Path | None) -> dict[str, str]:
        """Return the user's code that decides an entry, so that checksums follow it."""
        if cls.__module__.startswith(f"{__package__}."):
            return {}
        try:
            return {"code": inspect.getsource(cls)}
        except (OSError, TypeError):
            return {}


CHECKS: Variants[type[Check]] = Variants("check type", "pytest_autoweb.checks")


def saved_check(value: Any) -> Any:
    """Return the check of a saved case; what is no mapping with a known type stays as it is."""
    kinds = [CHECKS[key] for key in value if key in CHECKS] if isinstance(value, Mapping) else []
    return kinds[0].model_validate(value) if kinds else value


def refuse_bad_type(check_type: Any) -> None:
    """Refuse what a user registers when it could not work as a check type.

    Raises:
        TypeError: it is not a complete class of its kind.
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
