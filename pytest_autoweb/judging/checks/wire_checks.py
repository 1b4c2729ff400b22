"""Checks of the requests and downloads of the attempt's pages."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from pytest_autoweb.base.redaction import REDACTED
from pytest_autoweb.base.specs import Count, Pattern, Spec, fitting
from pytest_autoweb.base.values.url_globs import url_glob
from pytest_autoweb.judging.checks.answer_checks import url_fits
from pytest_autoweb.judging.checks.check_type import (
    CHECKS,
    Check,
    CheckProbe,
    Evidence,
    NotEvaluated,
    Verdict,
    found_by,
)
from pytest_autoweb.judging.checks.compared_values import as_text, difference, is_subset
from pytest_autoweb.judging.checks.shown_passage import shown_near
from pytest_autoweb.judging.evidence.downloads import Download
from pytest_autoweb.judging.evidence.request_fields import fields_of
from pytest_autoweb.judging.evidence.requests_log import WireEntry

_BODY_SHOWN = 200
# A stored request may hold one of these in place of a secret, so a text missing from it may have
# been in the live one.
_MASKS = (REDACTED, "<hidden>")
_DIGEST = fitting(r"^[0-9a-fA-F]{64}$", "must be 64 hexadecimal digits")


class _Test(NamedTuple):
    """One requirement on a request or a file, and whether it is met."""

    wanted: str
    holds: bool | None
    """Whether it holds; None if the stored data does not show it."""
    seen: str


class ReplyQuery(Spec):
    """What must be in the body of a reply."""

    json_subset: Any = Field(default=None, alias="json")
    """JSON that the body must contain: each named key must be equal, and lists must be equal in
    length."""
    contains: str | None = None


class RequestQuery(Spec):
    """A request that the page sent, as recorded on the wire."""

    url: str | Pattern
    """The address: a Playwright glob, or `{matches: regex}`."""
    method: str | None = None
    """The HTTP method; any method when not given."""
    status: int | None = None
    """The status of the reply; any status when not given."""
    json_subset: Any = Field(default=None, alias="json")
    """What the body that was sent must contain, as JSON or as the fields of a form."""
    contains: str | None = None
    """A text that the body that was sent must contain."""
    body: str | None = None
    """The whole body that must have been sent."""
    reply: ReplyQuery | None = None
    """What must have come back."""
    count: Count | None = None
    """The exact number of such requests; at least one when not given."""


@CHECKS.add
class RequestCheck(Check):
    """A request seen on the wire."""

    name = "request"
    rests_on = "requests"
    data_fields = (("request", "json"), ("request", "reply", "json"))

    request: RequestQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Search the requests caused by the code, not those of the setup or the capture."""
        query = self.request
        _refuse_bad_glob(query.url)

        def look(seconds: float) -> Verdict:
            entries = [entry for entry in evidence.wire if entry.counted]
            redact = evidence.redact
            tried = [(entry, tuple(_request_tests(query, entry, redact))) for entry in entries]
            held = [entry for entry, tests in tried if all(test.holds for test in tests)]
            unclear = [tests for _, tests in tried if _is_unclear(tests)]
            _refuse_unclear(query.count, len(held), unclear)
            if _enough(query.count, len(held)):
                return _found_requests(held, redact)
            return _missed_requests(query, held, tried)

        return CheckProbe(_request_wanted(query), look)


def _enough(count: int | None, held: int) -> bool:
    return held >= 1 if count is None else held == count


def _refuse_unclear(count: int | None, held: int, unclear: Sequence[Sequence[_Test]]) -> None:
    """Raise `NotEvaluated` when data that was not stored could reverse the verdict."""
    if not unclear or (count is None and held) or (count is not None and held > count):
        return
    test = next(test for tests in unclear for test in tests if test.holds is None)
    raise NotEvaluated(f"{test.wanted} cannot be told: {test.seen}")


def _is_unclear(tests: Sequence[_Test]) -> bool:
    return any(t.holds is None for t in tests) and all(t.holds is not False for t in tests)


def _found_requests(held: Sequence[WireEntry], redact: Callable[[str], str]) -> Verdict:
    if not held:
        return Verdict(True, "no such request")
    last = held[-1]
    sent = f" {_short(redact(last.request_body))}" if last.request_body else ""
    return Verdict(True, f"{len(held)} such: {_line(last)}{sent}", where=_line(last))


def _missed_requests(
    query: RequestQuery,
    held: Sequence[WireEntry],
    tried: Sequence[tuple[WireEntry, tuple[_Test, ...]]],
) -> Verdict:
    if held:
        lines = "; ".join(map(_line, held[:5]))
        return Verdict(False, f"{len(held)} such instead of {query.count}: {lines}", _line(held[0]))
    if not tried:
        return Verdict(False, "no request was sent")
    # Show the latest of the requests that came nearest.
    entry, tests = max(reversed(tried), key=lambda pair: _nearness(pair[1]))
    if not any(test.holds for test in tests[:1]):
        return Verdict(False, f"none of {len(tried)} requests went there; last: {_line(entry)}")
    wrong = "; ".join(f"{t.wanted}, but {t.seen}" for t in tests if not t.holds)
    return Verdict(False, f"nearest: {_line(entry)}: {wrong}", where=_line(entry))


def _nearness(tests: Sequence[_Test]) -> tuple[bool, int]:
    """Rank how close a request came: by address first, then by the other requirements met."""
    return bool(tests[0].holds), sum(bool(test.holds) for test in tests)


def _request_tests(
    query: RequestQuery, entry: WireEntry, redact: Callable[[str], str]
) -> Iterator[_Test]:
    fits = url_fits(query.url, entry.url)
    masked = not fits and _masked(entry.url)
    yield _Test(f"URL {_pattern(query.url)}", None if masked else fits, f"it is {entry.url}")
    if query.method is not None:
        same = query.method.upper() == entry.method.upper()
        yield _Test(f"method {query.method.upper()}", same, f"it is {entry.method}")
    if query.status is not None:
        seen = str(entry.status or entry.failed or "there is no answer yet")
        yield _Test(f"status {query.status}", entry.status == query.status, f"it is {seen}")
    sent = _Body(entry.request_body, entry.request_truncated, "body", redact)
    if query.json_subset is not None:
        yield sent.holds_fields(query.json_subset)
    if query.contains is not None:
        yield sent.holds_text(query.contains)
    if query.body is not None:
        yield sent.equals(query.body)
    if query.reply is not None:
        yield from _reply_tests(query.reply, entry, redact)


def _reply_tests(
    reply: ReplyQuery, entry: WireEntry, redact: Callable[[str], str]
) -> Iterator[_Test]:
    came = _Body(entry.response_body, entry.response_truncated, "reply", redact)
    if entry.response_body is None and entry.status is not None:
        # When a page navigates, the browser discards the bodies of earlier replies.
        came = came._replace(lost="the reply's body was not kept")
    if reply.json_subset is not None:
        yield came.holds_fields(reply.json_subset)
    if reply.contains is not None:
        yield came.holds_text(reply.contains)


class _Body(NamedTuple):
    """A request or reply body, as far as it was stored."""

    text: str | None
    truncated: bool
    what: str
    redact: Callable[[str], str]
    lost: str = ""

    def holds_fields(self, wanted: Any) -> _Test:
        label = f"{self.what} with {as_text(wanted)}"
        if self.truncated:
            return _Test(label, None, f"only the beginning of the {self.what} was kept")

        def differs(text: str) -> str:
            where = difference(wanted, fields_of(text))
            return f"{where} in {text}" if where and len(text) > _BODY_SHOWN else text

        return self._test(label, lambda text: is_subset(wanted, fields_of(text)), differs)

    def holds_text(self, wanted: str) -> _Test:
        def found(text: str) -> bool:
            return wanted in text or any(wanted in value for value in _values(text))

        test = self._test(
            f"{self.what} with {wanted!r}", found, partial(shown_near, wanted, redact=self.redact)
        )
        if self.truncated and test.holds is False:
            return test._replace(holds=None, seen=f"only the beginning of the {self.what} was kept")
        return test

    def equals(self, wanted: str) -> _Test:
        near = partial(shown_near, wanted, redact=self.redact)
        whole = f"{self.what} {wanted!r}"
        return self._test(whole, lambda text: text.strip() == wanted.strip(), near)

    def _test(self, label: str, holds: Callable[[str], bool], near: Callable[[str], str]) -> _Test:
        if self.lost:
            return _Test(label, None, self.lost)
        if self.text is None:
            return _Test(label, False, f"there is no {self.what} in text")
        if holds(self.text):
            return _Test(label, True, self.text)
        if _masked(self.text):
            return _Test(label, None, f"parts of the stored {self.what} are redacted")
        return _Test(label, False, f"it is {_short(self.redact(near(self.text)))}")


def _values(text: str) -> Iterator[str]:
    """Yield the texts of a form's or an object's fields as people write them, escapes undone."""
    fields = fields_of(text)
    waiting = [fields]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _masked(text: str) -> bool:
    """Return whether the stored text lacks something that the live one contained."""
    # In an address a mask is percent-encoded.
    return any(
        mask in text or mask.replace("<", "%3C").replace(">", "%3E") in text for mask in _MASKS
    )


def _line(entry: WireEntry) -> str:
    return f"{entry.method} {entry.url} {entry.status or entry.failed or '(no answer)'}"


def _short(text: str) -> str:
    return text if len(text) <= _BODY_SHOWN else text[: _BODY_SHOWN - 1] + "…"


def _pattern(wanted: str | Pattern) -> str:
    return f"matching {wanted.matches!r}" if isinstance(wanted, Pattern) else repr(wanted)


def _request_wanted(query: RequestQuery) -> str:
    parts = [f"{(query.method or 'any method').upper()} request to {_pattern(query.url)}"]
    if query.status is not None:
        parts.append(f"answered {query.status}")
    if query.json_subset is not None:
        parts.append(f"body with {as_text(query.json_subset)}")
    if query.contains is not None:
        parts.append(f"body with {query.contains!r}")
    if query.body is not None:
        parts.append(f"body {query.body!r}")
    if query.reply is not None:
        parts.append(f"reply with {_reply_wanted(query.reply)}")
    if query.count is not None:
        parts.append(f"exactly {query.count}")
    return ", ".join(parts)


def _reply_wanted(reply: ReplyQuery) -> str:
    fields = None if reply.json_subset is None else as_text(reply.json_subset)
    text = None if reply.contains is None else repr(reply.contains)
    return " and ".join(part for part in (fields, text) if part is not None) or "any body"


class DownloadQuery(Spec):
    """A file that the page handed out."""

    name: str | Pattern | None = None
    """The suggested file name: a glob, or `{matches: regex}`."""
    contains: str | None = None
    """A text that the file must contain."""
    equals: str | None = None
    """The whole text of the file; differences in line endings do not count."""
    sha256: Annotated[str, _DIGEST] | None = None
    count: Count | None = None
    """The exact number of such files; at least one when not given."""


@CHECKS.add
class DownloadCheck(Check):
    """A file that the page handed out during the attempt."""

    name = "download"
    rests_on = "downloads"

    download: DownloadQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Search all files that a page offered for download, even if the code did not wait."""
        query = self.download
        if isinstance(query.name, str):
            _refuse_bad_glob(query.name)

        def look(seconds: float) -> Verdict:
            tests = partial(_download_tests, query, redact=evidence.redact)
            tried = [(file, tuple(tests(file))) for file in evidence.downloads]
            held = [file for file, done in tried if all(test.holds for test in done)]
            unclear = [done for _, done in tried if _is_unclear(done)]
            _refuse_unclear(query.count, len(held), unclear)
            if _enough(query.count, len(held)):
                shown = "; ".join(map(_file_line, held[:5])) or "no such download"
                return Verdict(True, shown, where=_file_line(held[-1]) if held else "")
            return _missed_downloads(query, held, tried)

        return CheckProbe(_download_wanted(query), look)


def _missed_downloads(
    query: DownloadQuery,
    held: Sequence[Download],
    tried: Sequence[tuple[Download, tuple[_Test, ...]]],
) -> Verdict:
    if held:
        lines = "; ".join(map(_file_line, held[:5]))
        return Verdict(False, f"{len(held)} such instead of {query.count}: {lines}")
    if not tried:
        return Verdict(False, "nothing was downloaded")
    file, tests = max(reversed(tried), key=lambda pair: sum(bool(t.holds) for t in pair[1]))
    wrong = "; ".join(f"{t.wanted}, but {t.seen}" for t in tests if not t.holds)
    return Verdict(False, f"nearest: {_file_line(file)}: {wrong}", where=_file_line(file))


def _download_tests(
    query: DownloadQuery, file: Download, *, redact: Callable[[str], str]
) -> Iterator[_Test]:
    if query.name is not None:
        fits = _name_fits(query.name, file.name)
        yield _Test(f"name {_pattern(query.name)}", fits, f"it is {file.name!r}")
    # A file too large to store has a size; a file that never arrived has none.
    yield _Test("a whole file", file.path is not None or file.size > 0, file.problem)
    if query.sha256 is not None:
        same = query.sha256.lower() == file.sha256
        yield _Test(f"SHA-256 {query.sha256}", same, f"it is {file.sha256 or 'unknown'}")
    if query.contains is None and query.equals is None:
        return
    if file.path is None:
        reason = file.problem or "the file was not kept"
        yield _Test("its text", None, reason)
        return
    text = _lines(file.path.read_bytes().decode("utf-8", errors="replace"))
    # Secrets are replaced in the kept file, so they must be replaced in the wanted text, too.
    if query.contains is not None:
        found = _lines(redact(query.contains)) in text
        seen = text if found else shown_near(query.contains, text, redact)
        yield _Test(f"text {query.contains!r}", found, f"it is {_short(seen)!r}")
    if query.equals is not None:
        same = _lines(redact(query.equals)).rstrip("\n") == text.rstrip("\n")
        yield _Test(f"text equal to {query.equals!r}", same, f"it is {_short(text)!r}")


def _name_fits(wanted: str | Pattern, name: str) -> bool:
    if isinstance(wanted, Pattern):
        return found_by(wanted.matches, name) is not None
    return wanted == name or url_glob(wanted).fits(name)


def _file_line(file: Download) -> str:
    return f"{file.name} ({file.size} bytes)"


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _download_wanted(query: DownloadQuery) -> str:
    parts = ["a download"]
    if query.name is not None:
        parts.append(f"named {_pattern(query.name)}")
    if query.contains is not None:
        parts.append(f"with {query.contains!r}")
    if query.equals is not None:
        parts.append(f"equal to {query.equals!r}")
    if query.sha256 is not None:
        parts.append(f"SHA-256 {query.sha256}")
    if query.count is not None:
        parts.append(f"exactly {query.count}")
    return ", ".join(parts)


def _refuse_bad_glob(wanted: str | Pattern) -> None:
    if isinstance(wanted, str):
        try:
            url_glob(wanted)
        except ValueError as error:
            raise NotEvaluated(f"{wanted!r} is not a glob: {error}") from error
