"""The check that is one of Playwright's own assertions, read as data and never run as code."""

import ast
import re
from functools import partial
from typing import Annotated, Any

from playwright.sync_api import Error, Page, expect
from pydantic import AfterValidator

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.python_source import read_expression
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.judging.checks.check_type import (
    CHECKS,
    Check,
    CheckProbe,
    Evidence,
    NotEvaluated,
    Verdict,
)
from pytest_autoweb.sandbox.allowed_members import CLAIMS_OF, CLASSES, ApiMember
from pytest_autoweb.sandbox.rules import Refusal
from pytest_autoweb.sandbox.size_limits import check_pattern, check_patterns_of_selector

_LOOK_MS = 100.0
"""Playwright repeats an assertion itself; the judge does so anyway, beside the other checks."""
_FLAGS = {"I": re.I, "IGNORECASE": re.I, "M": re.M, "MULTILINE": re.M, "S": re.S, "DOTALL": re.S}
_DEEPEST = 60
_FORM = "write one assertion, such as expect(page.get_by_role('heading')).to_have_text('Done')"


class _Unusable(ValueError):
    """Raised for code that is no assertion on the page; the message says what it should be."""


class _Assertion:
    """An assertion taken apart.

    Args:
        code: as it stands in the case file.

    Raises:
        _Unusable: it is more than locators, literals and one assertion.
    """

    def __init__(self, code: str) -> None:
        tree = read_expression(code.strip())
        match tree:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Name(id="expect"), args=[subject], keywords=[]),
                    attr=claim,
                ),
                args=args,
                keywords=keywords,
            ):
                self.subject, self.claim = subject, claim
            case _:
                raise _Unusable(_FORM)
        kind = _check_chain(subject, 0)
        if kind not in CLAIMS_OF or claim not in CLASSES[CLAIMS_OF[kind]]:
            raise _Unusable(f"{claim!r} is no assertion of a {kind}; {_FORM}")
        self._args = [_literal(one) for one in args]
        self._named = {str(one.arg): _literal(one.value) for one in keywords}
        if "timeout" in self._named or "None" in self._named:
            raise _Unusable("leave `timeout` out: checks are repeated until their time is over")

    def hold(self, page: Page) -> None:
        """Make the assertion.

        Raises:
            AssertionError: it does not hold.
            Error: Playwright's, if it cannot be made.
        """
        expected: Any = expect(_found(self.subject, page))
        getattr(expected, self.claim)(*self._args, **self._named, timeout=_LOOK_MS)


def _check_chain(node: ast.expr, depth: int) -> str:
    """Return the kind of object that a chain of locators leads to.

    Raises:
        _Unusable: it is more than that.
    """
    match node:
        case _ if depth > _DEEPEST:
            raise _Unusable("the locator is nested too deeply")
        case ast.Name(id="page"):
            return "Page"
        case ast.Attribute(value=before, attr=name):
            member = CLASSES.get(_check_chain(before, depth + 1), {}).get(name)
            return _leading(member, "link", name)
        case ast.Call(func=ast.Attribute(value=before, attr=name), args=args, keywords=keywords):
            member = CLASSES.get(_check_chain(before, depth + 1), {}).get(name)
            for one in (*args, *(keyword.value for keyword in keywords)):
                if _is_chain(one):
                    _check_chain(one, depth + 1)
                elif isinstance(value := _literal(one), str):
                    _check_selector(value)
            return _leading(member, "chain", name)
    raise _Unusable(_FORM)


def _leading(member: ApiMember | None, kind: str, name: str) -> str:
    if member is None or member.kind != kind:
        raise _Unusable(f"{name!r} leads to no element; {_FORM}")
    return member.returns


def _check_selector(text: str) -> None:
    try:
        check_patterns_of_selector(text)
    except Refusal as refusal:
        raise _Unusable(refusal.reason) from None


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return isinstance(node, ast.Name) and node.id == "page"


def _literal(node: ast.expr) -> Any:
    """Return a literal, or a regular expression.

    Raises:
        _Unusable: it is neither.
    """
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="re"), attr="compile"),
            args=[ast.Constant(value=str() as pattern), *flags],
            keywords=[],
        ):
            return _pattern(pattern, flags)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_literal(one) for one in parts]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        raise _Unusable(f"{ast.unparse(node)!r:.80} is no plain value") from None


def _pattern(pattern: str, flags: list[ast.expr]) -> re.Pattern[str]:
    names = [one.attr for flag in flags for one in ast.walk(flag) if isinstance(one, ast.Attribute)]
    if unknown := [name for name in names if name not in _FLAGS]:
        raise _Unusable(f"re.{unknown[0]} is no flag that a page's patterns have")
    try:
        compiled = re.compile(pattern, sum({_FLAGS[name] for name in names}))
        check_pattern(compiled)
    except re.error as error:
        raise _Unusable(f"{pattern!r:.80} is no regular expression: {error}") from None
    except Refusal as refusal:
        raise _Unusable(refusal.reason) from None
    return compiled


def _found(node: ast.expr, page: Page) -> Any:
    """Return what a checked chain leads to."""
    match node:
        case ast.Attribute(value=before, attr=name):
            return getattr(_found(before, page), name)
        case ast.Call(func=ast.Attribute(value=before, attr=name), args=args, keywords=keywords):
            given = [_value(one, page) for one in args]
            named = {str(one.arg): _value(one.value, page) for one in keywords}
            return getattr(_found(before, page), name)(*given, **named)
    return page


def _value(node: ast.expr, page: Page) -> Any:
    return _found(node, page) if _is_chain(node) else _literal(node)


def _usable(code: str) -> str:
    _Assertion(code)
    return code


@CHECKS.add
class AssertionCheck(Check):
    """One of Playwright's assertions, on the page or on what a locator finds there."""

    name = "assertion"

    assertion: Annotated[str, AfterValidator(_usable)]

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Make the assertion on the page in which the case began."""
        asserted = _Assertion(self.assertion)

        def look(seconds: float) -> Verdict:
            limit = max(2 * _LOOK_MS, seconds * 1000)
            try:
                call_within(evidence.page, limit, partial(asserted.hold, evidence.page))
            except AssertionError as error:
                return Verdict(False, evidence.redact(_seen(str(error))), where=evidence.page.url)
            except Error as error:
                raise NotEvaluated(first_line(error)) from None
            return Verdict(True, "it holds", where=evidence.page.url)

        return CheckProbe(self.assertion.strip(), look)


def _seen(message: str) -> str:
    """Return what Playwright saw instead, without its log of the wait."""
    words, _, _ = message.partition("Call log:")
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    actual = [line for line in lines if line.startswith(("Actual value", "Error:"))]
    return " ".join(actual or lines[:2])[:300]
