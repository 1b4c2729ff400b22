"""The check of WebArena-Infinity's cases: the board's verifier, and what the board cannot see.

The verifier looks at the state that the page last reported, and at nothing else. Two things escape
it, and are looked at here: a state that was not reached but reported (by a request from the page,
or by reaching into the application's own objects), which fails; and changes beyond those of the
board's own solution, which are told but decide nothing, because the board's authors do not ask
for them.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from playwright.sync_api import Error

from pytest_autoweb.judging.checks.delegated_checks import CheckContext, CheckVerdict
from pytest_autoweb.results.records import ToolCall
from pytest_autoweb.tools.importing.infinity.app_server import FIRST, LAST
from pytest_autoweb.tools.importing.infinity.board import checksum
from pytest_autoweb.tools.importing.infinity.changes import beyond
from pytest_autoweb.tools.importing.infinity.verifying import (
    Ruling,
    Solution,
    VerifierHangs,
    ruling_on,
    solution_of,
)

FORGED = "forged_state"
BEYOND = "changed_more"
_SECONDS = 10.0
_SHOWN = 6
# What code writes that reports or rewrites a state in place of operating the page.
_REACHES_IN = re.compile(
    r"\b(fetch|XMLHttpRequest|sendBeacon|AppState|localStorage|eval|Function)\b|/api/|importScripts"
)
_SCRIPTING = re.compile(
    r"(^|\.)(evaluate\w*|eval_on\w*|add_script_tag|add_init_script|set_content)$|(^|\.)request\.\w+$"
)
# What the application would report now, without reporting it.
_HELD = """() => {
  const real = window.fetch;
  let body = null;
  window.fetch = (address, options) => {
    body = options && options.body;
    return Promise.resolve(new Response('{}'));
  };
  try { AppState._pushStateToServer(); } finally { window.fetch = real; }
  return body;
}"""


def verified(
    context: CheckContext,
    data: str,
    app: str,
    verifier: str,
    sha256: str,
    name: str = "",
    solutions: str = "",
) -> CheckVerdict:
    """Ask the board's verifier whether a task was done: the check of its cases.

    Args:
        context: the end of an attempt.
        data: the folder in which the application's server keeps what the page reported.
        app: the application's folder in the checkout.
        verifier: the verifier, relative to `app`.
        sha256: its checksum at the import.
        name: the task's name, such as `task_e1`.
        solutions: the file with the board's solutions, relative to `app`; empty if there is none.
    """
    file = Path(app) / verifier
    if not file.is_file():
        return CheckVerdict(None, reason=f"the verifier {file} is not there any more")
    if checksum(file) != sha256:
        return CheckVerdict(None, reason=f"{file} has changed since the import; import it again")
    try:
        first, last = (Path(data, part).read_text("utf-8") for part in (FIRST, LAST))
    except OSError:
        return CheckVerdict(False, "the page reported no state", where="the application's state")
    try:
        ruling = _ruling(file, last)
    except VerifierHangs as hangs:
        return CheckVerdict(None, reason=str(hangs))
    if not ruling.passed:
        return CheckVerdict(False, ruling.words, where="the application's state")
    if forged := _forged(context, file, last):
        return CheckVerdict(False, forged, where="the application's state", finding=FORGED)
    further = _further(file, Path(app, solutions), name, first, last) if solutions else ""
    told = f"{ruling.words} Changed beyond the board's solution: {further}" if further else ""
    return CheckVerdict(
        True,
        told or ruling.words,
        where="the application's state",
        finding=BEYOND if further else "",
    )


@lru_cache(maxsize=64)
def _ruling(verifier: Path, state: str) -> Ruling:
    """Return what the verifier says. A check looks again and again at a state that rests."""
    return ruling_on(verifier, json.loads(state), _SECONDS)


def _forged(context: CheckContext, verifier: Path, sent: str) -> str:
    """Return how a state came about that the page did not reach; empty if nothing says so."""
    for action in context.actions:
        if _SCRIPTING.search(f"{action.target}.{action.method}") and _reaches_in(action):
            return f"the code reached into the application: {action.method}({action.arguments})"
    try:
        held = context.evaluate(_HELD)
        state = json.loads(held) if isinstance(held, str) else None
    except (Error, ValueError, KeyError):
        # The page has left the application, or cannot be asked.
        return ""
    if not isinstance(state, dict) or state == json.loads(sent):
        return ""
    try:
        own = _ruling(verifier, json.dumps(state))
    except VerifierHangs:
        return ""
    return "" if own.passed else f"the page itself holds another state than it sent: {own.words}"


def _reaches_in(action: ToolCall) -> bool:
    return _REACHES_IN.search(action.arguments) is not None


def _further(verifier: Path, solutions: Path, name: str, first: str, last: str) -> str:
    """Return what was changed beyond the board's solution, as words; empty if nothing was."""
    solution = _solution(verifier, solutions, name, first)
    if solution is None or not solution.ruling.passed:
        return ""
    return _listed(beyond(json.loads(first), solution.state, json.loads(last)))


@lru_cache(maxsize=64)
def _solution(verifier: Path, solutions: Path, name: str, first: str) -> Solution | None:
    try:
        return solution_of(verifier, solutions, name, json.loads(first), _SECONDS)
    except VerifierHangs:
        return None


def _listed(places: Sequence[str]) -> str:
    more = len(places) - _SHOWN
    return ", ".join(places[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
