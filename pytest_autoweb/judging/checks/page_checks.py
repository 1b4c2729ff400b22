"""Checks of the live page, or of another tab: URL, text, elements, JavaScript."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar, get_args

from playwright.sync_api import Error, Frame, Locator, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from pydantic import AfterValidator, Field, model_validator

from pytest_autoweb.base.errors import listed, nearest
from pytest_autoweb.base.specs import Pattern, Spec
from pytest_autoweb.base.values.normal_forms import normalise
from pytest_autoweb.base.values.patterns import SlowPattern
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.frames import (
    MAX_FRAMES,
    MAX_SILENT,
    call_function,
    run_on_elements,
    run_script,
)
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
from pytest_autoweb.judging.checks.shown_passage import beginning_of, longest_literal, shown_near
from pytest_autoweb.sandbox.page_addresses import url_matcher
from pytest_autoweb.sandbox.rules import Refusal
from pytest_autoweb.sandbox.size_limits import check_patterns_of_selector

T = TypeVar("T")

# Playwright exposes its glob matching only through waiting. The wait is short, because the judge
# probes again anyway.
_URL_LOOK_MS = 50.0
_FRAME_LOOK_MS = 1_000.0
_SHOWN_ELEMENTS = 5
_SHOWN_TABS = 5


class TabCheck(Check):
    """What the checks that look at a tab have in common."""

    tab: Annotated[int, Field(ge=1)] | str | Pattern | None = None
    """The tab to look at: its number in the order in which the tabs were opened, or its address as
    a glob or `{matches: regex}`. The default is the one in which the case began."""

    def looking(
        self, evidence: Evidence, look: Callable[[Page, float], Verdict], *, closed: bool = False
    ) -> Callable[[float], Verdict]:
        """Return a look at the tab that the check means, which may open late.

        Args:
            evidence: the end of the attempt.
            look: looks at a tab for so many seconds.
            closed: whether it can look at a tab that is closed.
        """

        def looked(seconds: float) -> Verdict:
            if self.tab is None:
                return look(evidence.page, seconds)
            found = self._found(evidence)
            if not found:
                tabs = "; ".join(tab.url for tab in evidence.tabs[:_SHOWN_TABS])
                return Verdict(False, f"there is no tab {self._named}, only: {tabs}")
            open_ones = [tab for tab in found if not tab.is_closed()]
            if not open_ones and not closed:
                return Verdict(False, f"the tab {self._named} was closed at {found[-1].url}")
            return look((open_ones or found)[0], seconds)

        return looked

    def _found(self, evidence: Evidence) -> Sequence[Page]:
        tabs = evidence.tabs or (evidence.page,)
        if isinstance(self.tab, int):
            return tabs[self.tab - 1 : self.tab]
        return [tab for tab in tabs if self.tab and url_fits(self.tab, tab.url)]

    @property
    def _named(self) -> str:
        if isinstance(self.tab, Pattern):
            return f"that matches {self.tab.matches!r}"
        return repr(self.tab)

    def named_tab(self) -> str:
        """Return words about the tab for what the check expects; empty for the first one."""
        return "" if self.tab is None else f" in tab {self._named}"


@CHECKS.add
class UrlCheck(TabCheck):
    """The page's URL at the end."""

    name = "url"
    rests_on = "address"

    url: str | Pattern
    """The URL: a Playwright glob, or `{matches: regex}`."""

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Compare the page's URL with Playwright's glob, or search it for a regular expression."""
        wanted = self.url
        given = re.compile(wanted.matches) if isinstance(wanted, Pattern) else wanted
        matcher: Any = url_matcher(given, evidence.entry_url or evidence.page.url)

        def look(page: Page, seconds: float) -> Verdict:
            if self.tab is not None and page.is_closed():
                return Verdict(url_fits(wanted, page.url), page.url, where="closed tab")
            try:
                page.wait_for_url(matcher, timeout=_URL_LOOK_MS, wait_until="commit")
            except PlaywrightTimeout:
                return Verdict(False, page.url, where="page")
            except SlowPattern as error:
                raise NotEvaluated(str(error)) from None
            return Verdict(True, page.url, where="page")

        look_at = self.looking(evidence, look, closed=True)
        return CheckProbe(wanted_words(wanted, "URL") + self.named_tab(), look_at)


@CHECKS.add
class TextCheck(TabCheck):
    """Text that is visible on the page or in one of its frames."""

    name = "text"
    rests_on = "page"

    text: str | Pattern

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Search the page and its frames for visible text; case matters, kinds of space do not.

        A text that CSS draws in capitals is found as the document has it, and as it is drawn.
        """
        wanted = self.text

        def look(page: Page, seconds: float) -> Verdict:
            verdict = seen(page, seconds, drawn=False)
            if verdict.passed:
                return verdict
            as_drawn = seen(page, seconds, drawn=True)
            return as_drawn if as_drawn.passed else verdict

        def seen(page: Page, seconds: float, *, drawn: bool) -> Verdict:
            looks = of_page_and_frames(
                page,
                lambda frame, ms: str(run_script(frame, "visible_text", drawn, timeout_ms=ms)),
                seconds,
            )
            texts = {
                place: list(filter(None, map(normalise, text.splitlines())))
                for place, text in looks
            }
            for place, lines in texts.items():
                if (found := text_found(wanted, lines)) is not None:
                    return Verdict(True, found, where=place)
            every = [line for lines in texts.values() for line in lines]
            found = text_found(wanted, every)
            missed = found or _page_text(wanted, every, evidence.redact)
            return Verdict(found is not None, missed, where=next(iter(texts)))

        expected = wanted_words(wanted, "visible text") + self.named_tab()
        return CheckProbe(expected, self.looking(evidence, look))


def text_found(wanted: str | Pattern, lines: Sequence[str]) -> str | None:
    """Return the text as it was found in lines in normal form, or None.

    Raises:
        NotEvaluated: the search takes too long.
    """
    if isinstance(wanted, Pattern):
        return found_by(wanted.matches, "\n".join(lines), re.MULTILINE)
    plain = normalise(wanted)
    return plain if plain in " ".join(lines) else None


def _page_text(wanted: str | Pattern, lines: list[str], redact: Callable[[str], str]) -> str:
    if not lines:
        return "(no visible text)"
    sought = normalise(wanted) if isinstance(wanted, str) else longest_literal(wanted.matches)
    near = shown_near(sought, " ".join(lines), redact)
    if near.startswith("nearest: "):
        return near
    return f"page text: {beginning_of(redact(' / '.join(lines)))}"


_ROLES: tuple[str, ...] = (*get_args(Page.get_by_role.__annotations__["role"]), "mark")
"""The roles that Playwright finds elements by; any other one would never be seen."""

_ROLE_OF = {
    "a": "link",
    "dropdown": "combobox",
    "field": "textbox",
    "image": "img",
    "input": "textbox",
    "modal": "dialog",
    "nav": "navigation",
    "popup": "dialog",
    "select": "combobox",
    "textarea": "textbox",
    "toggle": "switch",
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
}
"""The roles of what people call by the name of its tag or its look."""


def _known_role(role: str) -> str:
    if role in _ROLES:
        return role
    meant = _ROLE_OF.get(role.lower()) or nearest(role, _ROLES)
    guess = f"did you mean {meant!r}?" if meant else f"one of {listed(_ROLES)}"
    raise ValueError(f"{role!r} is not a role; {guess}")


def _fast_selector(selector: str) -> str:
    try:
        check_patterns_of_selector(selector)
    except Refusal as refusal:
        raise ValueError(refusal.reason) from None
    return selector


class ElementQuery(Spec):
    """An element by role and name, and what must hold of it."""

    role: Annotated[str, AfterValidator(_known_role)] | None = None
    name: str | Pattern | None = None
    """The accessible name; a plain text must match it as a whole, with the same case."""
    label: str | None = None
    test_id: str | None = None
    css: Annotated[str, AfterValidator(_fast_selector)] | None = None
    text: str | None = None
    """A text that the element contains."""
    count: int | None = Field(default=None, ge=0)
    value: str | None = None
    """The value of an input."""
    checked: bool | None = None
    enabled: bool | None = None
    visible: bool | None = None

    @model_validator(mode="after")
    def _names_an_element(self) -> "ElementQuery":
        if not any((self.role, self.label, self.test_id, self.css, self.text)):
            raise ValueError("needs one of role, label, test_id, css, text")
        return self


@CHECKS.add
class ElementCheck(TabCheck):
    """An element that must be there in a given state, or must not be there."""

    name = "element"
    rests_on = "page"

    element: ElementQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Find elements of the page and its frames that match a query, in the wanted state.

        Only visible elements count, unless `visible: false` requires that there is none.
        """
        query = self.element
        if query.name is not None and query.role is None:
            raise NotEvaluated("`name` needs `role`; use `label` or `text`")
        name = re.compile(query.name.matches) if isinstance(query.name, Pattern) else query.name

        def states(frame: Frame, timeout_ms: float) -> list[dict[str, Any]]:
            # A frame that hangs anyway is no fault of the pattern.
            call_function(frame, "1", timeout_ms=timeout_ms)
            elements = _locator(frame, query, name)
            try:
                found = call_within(
                    frame, timeout_ms, partial(run_on_elements, elements, "element_states")
                )
            except PlaywrightTimeout:
                if isinstance(name, str | None):
                    raise
                # The browser's engine knows no limit, so the page is lost.
                raise NotEvaluated(
                    f"the pattern {name.pattern!r} takes too long on the names of this page"
                ) from None
            return list(found)

        def look(page: Page, seconds: float) -> Verdict:
            looks = list(of_page_and_frames(page, states, seconds))
            found = [state for _, of_frame in looks for state in of_frame]
            place = next((place for place, of_frame in looks if of_frame), looks[0][0])
            return _element_verdict(query, found)._replace(where=f"{place} {described}")

        described = _described(query)
        return CheckProbe(described + self.named_tab(), self.looking(evidence, look))


def _locator(frame: Frame, query: ElementQuery, name: str | re.Pattern[str] | None) -> Locator:
    parts: list[Locator] = []
    if query.role is not None:
        role: Any = query.role
        exact = isinstance(name, str) or None
        parts.append(frame.get_by_role(role, name=name, exact=exact, include_hidden=False))
    if query.label is not None:
        parts.append(frame.get_by_label(query.label, exact=True))
    if query.test_id is not None:
        parts.append(frame.get_by_test_id(query.test_id))
    if query.css is not None:
        parts.append(frame.locator(f"css={query.css}"))
    if query.text is not None:
        # As a regular expression, because Playwright ignores case in plain texts.
        words = r"\s+".join(map(re.escape, query.text.split()))
        if not parts:
            return frame.get_by_text(re.compile(words))
        parts[0] = parts[0].filter(has_text=re.compile(words))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.and_(part)
    return whole


def _element_verdict(query: ElementQuery, found: list[dict[str, Any]]) -> Verdict:
    shown = [state for state in found if state["visible"]]
    if query.visible is False:
        seen = f"{len(found)} found, {len(shown)} of them visible"
        return Verdict(not shown and query.count in (None, len(found)), seen)
    fitting = [state for state in shown if _fits(query, state)]
    enough = len(fitting) >= 1 if query.count is None else len(fitting) == query.count
    if not found:
        return Verdict(enough, "no such element")
    seen = f"{len(found)} found, {len(shown)} visible, {len(fitting)} in the wanted state"
    states = "; ".join(_state(query, state) for state in shown[:_SHOWN_ELEMENTS])
    return Verdict(enough, f"{seen}: {states}" if states else seen)


def _fits(query: ElementQuery, state: dict[str, Any]) -> bool:
    return (
        (query.value is None or normalise(query.value) == normalise(state["value"]))
        and (query.checked is None or query.checked == state["checked"])
        and (query.enabled is None or query.enabled == state["enabled"])
    )


def _state(query: ElementQuery, state: dict[str, Any]) -> str:
    value = "<hidden>" if state["secret"] and state["value"] else state["value"]
    parts = [
        f"value {value!r}" if query.value is not None else "",
        f"checked {state['checked']}" if query.checked is not None else "",
        f"enabled {state['enabled']}" if query.enabled is not None else "",
    ]
    return ", ".join(filter(None, parts))


def _described(query: ElementQuery) -> str:
    fields = query.model_dump(exclude_none=True)
    parts = [
        f"{key} {value['matches'] + ' (regex)' if isinstance(value, dict) else value!r}"
        for key, value in fields.items()
    ]
    return "element with " + ", ".join(parts)


@CHECKS.add
class JsCheck(TabCheck):
    """A JavaScript function whose result in the page must be truthy."""

    # This rests on the live page: a saved copy of a page runs no scripts.
    name = "js"

    js: str

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Evaluate a JavaScript function, an expression or statements with `return`."""

        def look(page: Page, seconds: float) -> Verdict:
            result = call_function(page, self.js, timeout_ms=max(50.0, seconds * 1000))
            seen = f"it threw: {result.error}" if result.error else result.shown
            return Verdict(result.truthy, seen, where=page.url)

        expected = f"truthy: {self.js.strip()}{self.named_tab()}"
        return CheckProbe(expected, self.looking(evidence, look))


def wanted_words(wanted: str | Pattern, what: str) -> str:
    """Return in words which text is wanted."""
    if isinstance(wanted, Pattern):
        return f"{what} that matches {wanted.matches!r}"
    return f"{what} {wanted!r}"


def of_page_and_frames(
    page: Page, look: "Callable[[Frame, float], T]", seconds: float
) -> Iterator[tuple[str, T]]:
    """Yield the results of `look` for the page and each visible frame that responds, with place."""
    yield page.url, look(page.main_frame, max(50.0, seconds * 1000))
    silent = 0
    for number, frame in enumerate(page.frames[:MAX_FRAMES]):
        if frame == page.main_frame or silent >= MAX_SILENT:
            continue
        try:
            if frame.frame_element().is_visible():
                seen = look(frame, min(_FRAME_LOOK_MS, max(50.0, seconds * 1000)))
                yield f"{page.url} frame {number} {frame.url}", seen
        except Error:
            # Frames come and go, and advertising frames hang. They must not fail a check whose main
            # answer came from the page itself above.
            silent += 1
