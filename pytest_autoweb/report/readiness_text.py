"""How ready a site is for agents, as text for a terminal and as a panel of the report."""

from collections.abc import Iterator

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.json_report import PanelContent, Report, Scalar
from pytest_autoweb.report.wording import columns, count_of, money, percent, seconds
from pytest_autoweb.results.analysis.comparison import p_text
from pytest_autoweb.results.analysis.failed_elements import ElementTrouble, FailedElement
from pytest_autoweb.results.analysis.readiness import AgentNumbers, AgentPair, Readiness
from pytest_autoweb.results.analysis.statistics import LEAST_DISCORDANT

LISTED = 12
_ELEMENT_CHARS = 70
_TROUBLES: dict[ElementTrouble, str] = {
    "nameless": "nameless",
    "covered": "covered",
    "twins": "twins",
    "hidden": "hidden",
    "disabled": "disabled",
    "not_found": "not found",
    "other_text": "reads otherwise",
    "tool": "tool",
    "other": "other",
}
HEAD = ("agent", "passed", "95%", "tokens", "calls", "cost", "time")


def readiness_lines(found: Readiness) -> Iterator[str]:
    """Yield the agents in a table, the paired tests, and the elements at which agents failed."""
    yield from columns([HEAD, *(agent_row(one) for one in found.agents)])
    for one in found.agents:
        yield from _tools(one)
    yield ""
    yield from map(pair_sentence, found.pairs)
    if not found.elements:
        return
    yield ""
    yield "where agents failed:"
    yield from columns([element_row(one) for one in found.elements[:LISTED]])
    left = len(found.elements) - LISTED + found.elements_left_out
    if left > 0:
        yield f"(and {left:,} more, in the report)"


def agent_row(one: AgentNumbers) -> tuple[str, ...]:
    """Return the cells of an agent's row: tokens, calls, cost and time are those of a cell."""
    between = "–"
    if one.interval is not None:
        between = f"{percent(one.interval.low)}–{percent(one.interval.high)}"
    calls = round((one.calls_per_cell or 0) * one.cells)
    each = one.cost.model_copy(update={"usd": one.cost_per_cell})
    return (
        one_line(one.agent, _ELEMENT_CHARS),
        f"{one.passed} of {one.cells}",
        between,
        "–" if one.tokens_per_cell is None else f"{one.tokens_per_cell:,.0f}",
        "–" if one.calls_per_cell is None else f"{one.calls_per_cell:.1f}",
        money(each, calls),
        seconds(one.median_s),
    )


def _tools(one: AgentNumbers) -> Iterator[str]:
    if one.without_tools:
        yield (
            f"{one.agent}: the pages of {count_of(one.without_tools, 'cell')} offered no tools, "
            "so it acted on what they show"
        )
    if one.tool_calls:
        who = {"browser": "the browser", "script": "a script of pytest-autoweb"}
        api = who.get(one.engine, "the browser or a script of pytest-autoweb")
        made = count_of(one.tool_calls, "call")
        yield f"{one.agent}: {made} of tools; their API is that of {api}"


def pair_sentence(pair: AgentPair) -> str:
    """Return what the paired test of two agents says."""
    names = f"{pair.a} and {pair.b}"
    if not pair.pairs:
        return f"{names}: nothing to compare, no task has a verdict by both"
    alone = f"only {pair.a} passed {pair.only_a}, only {pair.b} passed {pair.only_b}"
    told = f"{names}: {alone}, of {count_of(pair.pairs, 'pair')}"
    if not pair.can_decide:
        return f"{told}; not decisive, as fewer than {LEAST_DISCORDANT} differ"
    corrected = "" if pair.p == pair.p_holm else f", p {p_text(pair.p_holm)} corrected"
    return f"{told} (exact McNemar p {p_text(pair.p)}{corrected})"


def readiness_panel(report: Report) -> PanelContent | None:
    """Return the content of the panel; None for a run with fewer than two agents."""
    found = report.readiness
    if found is None:
        return None
    facts: dict[str, Scalar] = {}
    for one in found.agents:
        _, passed, between, tokens, calls, cost, time = agent_row(one)
        facts[one.agent] = (
            f"{passed} passed (95%: {between}); a cell took {tokens} tokens, {calls} calls, "
            f"{cost}, {time}"
        )
        for number, line in enumerate(_tools(one), 1):
            facts[f"{one.agent}, tools{'' if number == 1 else f' {number}'}"] = line
    for pair in found.pairs:
        facts[f"{pair.a} and {pair.b}"] = pair_sentence(pair).partition(": ")[2]
    rows = tuple(
        (one.agent, one.element, _TROUBLES[one.trouble], one.detail, one.times, one.cells)
        for one in found.elements
    )
    head = ("agent", "failed at", "because", "more", "times", "cells") if rows else ()
    return PanelContent(
        note="The same tasks by several agents, in pairs, and the elements at which they failed.",
        facts=facts,
        columns=head,
        rows=rows,
    )


def element_row(one: FailedElement) -> tuple[str, ...]:
    """Return the cells of an element's row; what comes from the page is on one line."""
    times = f"{one.times}x" if one.times > 1 else ""
    return (
        one_line(one.agent, _ELEMENT_CHARS),
        one_line(one.element, _ELEMENT_CHARS),
        _TROUBLES[one.trouble],
        one_line(one.detail, _ELEMENT_CHARS),
        times,
    )
