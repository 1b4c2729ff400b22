"""Every exception this package raises on purpose, and the "did you mean" in their messages."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

ModelCause = Literal[
    "timeout",
    "rate_limit",
    "auth",
    "refusal",
    "empty",
    "truncated",
    "parse",
    "context_window",
    "unavailable",
    "budget",
]
"""Why a model call gave no usable reply."""

MODEL_CAUSES: tuple[str, ...] = get_args(ModelCause)
FORMER_CAUSES = {"cut_off": "truncated"}
"""Names of causes in files of earlier versions, with the current ones."""


class AutowebError(Exception):
    """Root of all exceptions raised by pytest-autoweb."""


class SettingsError(AutowebError):
    """Raised when a flag, ini key or environment variable has a value that is not allowed."""


class RegistrationError(AutowebError):
    """Raised when a variant that a conftest or an installed package adds is refused."""


class CaseError(AutowebError):
    """Raised when a case file cannot be read or breaks the contract.

    Attributes:
        path: the file, or None for inline cases.
        line: 1-based line of the offending entry, if known.
        field: dotted path of the offending field, e.g. ``cases[0].expect[1].url``.
        reason: the sentence without its location.
        also: the file's other errors.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: Path | None = None,
        line: int | None = None,
        field: str | None = None,
        also: "Sequence[CaseError]" = (),
    ) -> None:
        self.reason, self.path, self.line, self.field = reason, path, line, field
        self.also = tuple(also)
        where = str(path) if path else "inline cases"
        if line is not None:
            where += f":{line}"
        own = f"{where}: {field + ': ' if field else ''}{reason}"
        super().__init__("\n".join([own, *map(str, self.also)]))

    def all(self) -> "list[CaseError]":
        """Return this error and the others separately."""
        own = CaseError(self.reason, path=self.path, line=self.line, field=self.field)
        return [own, *self.also]


MAX_CASE_ERRORS = 50


def joined_errors(errors: "Iterable[CaseError]") -> CaseError:
    """Return several errors as one, by line, without the duplicates of a matrix or shared part."""
    found = {str(one): one for error in errors for one in error.all()}
    first, *others = sorted(found.values(), key=lambda error: error.line or 0)
    if left := others[MAX_CASE_ERRORS - 1 :]:
        others = others[: MAX_CASE_ERRORS - 1]
        others.append(CaseError(f"and {len(left)} more errors", path=first.path))
    return CaseError(first.reason, path=first.path, line=first.line, field=first.field, also=others)


class RunNotFound(AutowebError):
    """Raised when no saved run matches the request, as on the very first run."""


class AssetError(AutowebError):
    """Raised when a bundled folder (prompts, templates) is missing from the installation."""

    def __init__(self, folder: str, looked_in: Path) -> None:
        self.folder, self.looked_in = folder, looked_in
        super().__init__(
            f"the folder {folder!r} is missing from the installation (looked in {looked_in})"
        )


class PromptError(AutowebError):
    """Raised when a prompt file is missing, malformed or lacks a variable."""


class ModelError(AutowebError):
    """Raised when a model call ended without a usable reply.

    Attributes:
        cause: one of `MODEL_CAUSES`.
        model: the model's name as given on the command line.
        detail: the provider's message, redacted.
        usage: the usage of the failed calls (a `results.Usage`), or None if unknown.
    """

    def __init__(
        self, cause: ModelCause, model: str, detail: str, *, usage: Any | None = None
    ) -> None:
        self.cause, self.model, self.detail, self.usage = cause, model, detail, usage
        super().__init__(f"{model}: {cause}: {detail}")


class AccountEmpty(ModelError):
    """Raised when a service wants to be paid before it takes another call."""

    def __init__(self, model: str, detail: str, *, usage: Any | None = None) -> None:
        super().__init__(
            "auth", model, f"the service wants to be paid first: {detail}", usage=usage
        )


class CassetteMiss(ModelError):
    """Raised when replay is on and no recording matches the request."""

    def __init__(self, model: str, detail: str) -> None:
        super().__init__("unavailable", model, detail)


class BrowserError(AutowebError):
    """Raised when no browser could be found or started, or the page died under the harness."""


class WebServerError(AutowebError):
    """Raised when a case file's web server did not start, answer or reset."""


class TrafficError(AutowebError):
    """Raised when recorded traffic is missing, damaged or cannot be written."""


class SandboxError(AutowebError):
    """Raised when the sandbox worker could not be started or broke its protocol."""


class StoreError(AutowebError):
    """Raised when the store of runs cannot be reached, is too new, or refuses."""


def listed(names: Iterable[str]) -> str:
    """Return names as a list for a sentence."""
    return ", ".join(names) or "none"


def near_miss(name: str, allowed: Iterable[str], also: Iterable[str] = ()) -> str:
    """Return the end of a sentence about an unknown name: the nearest known one, and all of them.

    Names of `also` are accepted too, but not worth listing.
    """
    known = list(dict.fromkeys(allowed))
    meant = nearest(name, (*known, *also))
    guess = f"; did you mean {meant!r}?" if meant else ""
    return f"{guess} (allowed: {listed(known)})"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant by an unknown one."""
    # Late, because every pytest session imports this module, and few have an error.
    from difflib import get_close_matches

    folded = {candidate.lower(): candidate for candidate in reversed(tuple(known))}
    close = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def first_line(error: object) -> str:
    """Return the first line of an error's message, or the name of its class if it has none."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:
        # Other people's exceptions may fail even at this.
        lines = []
    return lines[0].strip() if lines else type(error).__name__


def named_line(error: object) -> str:
    """Return the name of an error's class, and the first line of its message if it has one."""
    name, line = type(error).__name__, first_line(error)
    return name if line == name else f"{name}: {line}"
