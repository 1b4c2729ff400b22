"""The checks that fit every play of a recording, and no play that does nothing."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct
from playwright.sync_api import Browser

from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.page.frames import run_script
from pytest_autoweb.judging.evidence.dom_copy import open_copy
from pytest_autoweb.judging.evidence.downloads import read_downloads
from pytest_autoweb.judging.evidence.har_file import read_har
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.results.records import Attempt

_READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"})
_MASKED = re.compile(r"<(?:secret:[^<>]*|redacted|hidden)>")
# Fields of a body that differ between sessions or should not be compared.
_PASSING = re.compile(r"(?i)csrf|xsrf|token|nonce|pass|secret|session|signature|timestamp|uuid")
_GLOB_SIGNS = frozenset("*?[]{}\\!")
_MOST_LINES = 8
_MOST_FIELDS = 6
_LINE_CHARS = range(2, 81)
_VALUE_CHARS = 120


class Proposal(NamedTuple):
    """A check that the oracle fulfils and doing nothing does not."""

    check: dict[str, Any]
    """An entry of `expect`."""
    likely: bool
    """Whether it reflects the task's effect rather than incidental text."""


class Seen(Struct, frozen=True):
    """The evidence of one play."""

    url: str
    headings: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    """Texts of alerts, status messages and dialogs."""
    lines: tuple[str, ...] = ()
    fields: tuple[dict[str, Any], ...] = ()
    requests: tuple[WireEntry, ...] = ()
    downloads: tuple[str, ...] = ()


def see(browser: Browser, cell_folder: Path, attempt: Attempt) -> Seen:
    """Read an attempt's evidence from the folder of its cell.

    Raises:
        Error: Playwright's error, if the stored page cannot be shown.
        OSError: the evidence is missing.
        ValueError: it cannot be read.
    """

    def text(name: str) -> str:
        kept = attempt.evidence.get(name)
        return (cell_folder / kept).read_text(encoding="utf-8") if kept else ""

    wire, downloads, page = text("wire"), text("downloads"), text("dom")
    folder = cell_folder / f"attempt-{attempt.attempt_index}"
    seen: dict[str, Any] = {
        "requests": tuple(entry for entry in read_har(wire) if entry.counted) if wire else (),
        "downloads": tuple(file.name for file in read_downloads(downloads, folder))
        if downloads
        else (),
    }
    if page:
        with open_copy(browser, page, attempt.final_url) as copy:
            found = run_script(copy.page, "form_and_headings")
            says = run_script(copy.page, "page_says")
            lines = str(run_script(copy.page, "visible_text")).splitlines()
        boxes = [box["name"] or box["text"] for box in says["dialogs"]]
        seen |= {
            "headings": tuple(found["headings"]),
            "messages": (*says["alerts"], *boxes),
            "lines": tuple(filter(None, (" ".join(line.split()) for line in lines))),
            "fields": tuple(found["fields"]),
        }
    return Seen(attempt.final_url, **seen)


def propose(played: Sequence[Seen], idle: Sequence[Seen]) -> tuple[Proposal, ...]:
    """Return the checks that fit every play of the oracle and no play of doing nothing.

    Args:
        played: the evidence of the oracle's plays, at least one.
        idle: the evidence of the plays that do nothing.
    """
    found = [
        *_of_address(played, idle),
        *_of_requests(played, idle),
        *_of_downloads(played, idle),
        *_of_texts(played, idle),
        *(Proposal(check, likely=False) for check in _of_fields(played, idle)),
    ]
    shown: dict[str, Proposal] = {}
    for proposal in found:
        text = json.dumps(proposal.check, sort_keys=True, ensure_ascii=False)
        if not _MASKED.search(text):
            shown.setdefault(text, proposal)
    if any(proposal.likely for proposal in shown.values()):
        return tuple(shown.values())
    # A new line is better than no check, and better than the state of a form that was filled in.
    return tuple(one._replace(likely=not number) for number, one in enumerate(shown.values()))


def _new(
    played: Sequence[Seen], idle: Sequence[Seen], part: Callable[[Seen], Sequence[Any]]
) -> list[Any]:
    """Return the items that every play and no idle one shows, in the first play's order."""
    before = [thing for seen in idle for thing in part(seen)]
    return [
        thing
        for thing in dict.fromkeys(map(_hashable, part(played[0])))
        if all(thing in map(_hashable, part(seen)) for seen in played)
        and thing not in map(_hashable, before)
    ]


def _hashable(thing: Any) -> Any:
    return json.dumps(thing, sort_keys=True) if isinstance(thing, dict) else thing


def _of_address(played: Sequence[Seen], idle: Sequence[Seen]) -> Iterator[Proposal]:
    for below in _new(played, idle, lambda seen: [_below_host(seen.url)]):
        yield Proposal({"url": _pattern(below)}, likely=True)


def _below_host(url: str) -> str:
    parts = urlsplit(url)
    query = "" if _MASKED.search(parts.query) else parts.query
    below = parts.path + (f"?{query}" if query else "")
    below += f"#{parts.fragment}" if parts.fragment.startswith(("/", "!")) else ""
    return below


def _pattern(below: str) -> str | dict[str, str]:
    """Return a glob for an address, or a regular expression where a glob is not enough."""
    if not set(below) & _GLOB_SIGNS:
        return f"**{below}"
    return {"matches": f"{re.escape(below)}$"}


def _of_requests(played: Sequence[Seen], idle: Sequence[Seen]) -> Iterator[Proposal]:
    def sent(seen: Seen) -> list[tuple[str, str]]:
        return [
            (entry.method.upper(), urlsplit(entry.url).path)
            for entry in seen.requests
            if entry.method.upper() not in _READING and (entry.status or 0) in range(200, 400)
        ]

    for method, path in _new(played, idle, sent):
        first = [_entry(seen, method, path) for seen in played]
        check: dict[str, Any] = {"method": method, "url": _pattern(path), "status": first[0].status}
        if len({entry.status for entry in first}) > 1:
            del check["status"]
        bodies = [_fields_of(entry) for entry in first]
        same = {
            name: value
            for name, value in bodies[0].items()
            if all(body.get(name) == value for body in bodies)
        }
        if same:
            check["json"] = dict(list(same.items())[:_MOST_FIELDS])
        yield Proposal({"request": check}, likely=True)


def _entry(seen: Seen, method: str, path: str) -> WireEntry:
    return next(
        entry
        for entry in seen.requests
        if entry.method.upper() == method and urlsplit(entry.url).path == path
    )


def _fields_of(entry: WireEntry) -> dict[str, Any]:
    """Return the plain values of a body: members of JSON, or fields of a form."""
    body = entry.request_body or ""
    fields: Any = None
    with suppress(ValueError):
        fields = read_json(body)
    if not isinstance(fields, Mapping):
        kind = entry.request_headers.get("content-type", "")
        read = parse_qs(body) if "x-www-form-urlencoded" in kind else {}
        fields = {name: values[0] for name, values in read.items() if len(values) == 1}
    return {
        name: value
        for name, value in fields.items()
        if isinstance(value, str | int | float | bool)
        and not _PASSING.search(name)
        and len(str(value)) <= _VALUE_CHARS
        and not _MASKED.search(str(value))
    }


def _of_downloads(played: Sequence[Seen], idle: Sequence[Seen]) -> Iterator[Proposal]:
    for name in _new(played, idle, lambda seen: seen.downloads):
        shown = {"matches": f"^{re.escape(name)}$"} if set(name) & _GLOB_SIGNS else name
        yield Proposal({"download": {"name": shown}}, likely=True)


def _of_texts(played: Sequence[Seen], idle: Sequence[Seen]) -> Iterator[Proposal]:
    """Yield headings and messages, and then other lines that are new on the page."""
    headings = _new(played, idle, lambda seen: seen.headings)
    for heading in headings:
        yield Proposal({"element": {"role": "heading", "name": heading}}, likely=True)
    messages = [one for one in _new(played, idle, lambda seen: seen.messages) if _is_short(one)]
    for message in messages:
        yield Proposal({"text": message}, likely=True)
    told = {*headings, *messages}
    lines = [line for line in _new(played, idle, lambda seen: seen.lines) if _is_short(line)]
    # A line that another play shows in a longer form is not new.
    before = "\n".join(line for seen in idle for line in seen.lines)
    fresh = [line for line in lines if line not in told and line not in before]
    for line in fresh[:_MOST_LINES]:
        yield Proposal({"text": line}, likely=False)


def _is_short(text: str) -> bool:
    return len(text) in _LINE_CHARS and text.isprintable()


def _of_fields(played: Sequence[Seen], idle: Sequence[Seen]) -> Iterator[dict[str, Any]]:
    for text in _new(played, idle, lambda seen: seen.fields):
        state = read_json(text)
        names = [(one["role"], one["name"]) for one in played[0].fields]
        if names.count((state["role"], state["name"])) == 1 and state.get("value") != "":
            yield {"element": state}
