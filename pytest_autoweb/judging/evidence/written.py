"""What an attempt wrote: requests that may change something, and rows of databases."""

import hashlib
import ipaddress
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pytest_autoweb.base.redaction import is_sensitive_field
from pytest_autoweb.browser.egress.proxy import OWN_ANSWER
from pytest_autoweb.browser.egress.request_policy import parse_origin
from pytest_autoweb.browser.traffic.traffic_rules import TrafficRules
from pytest_autoweb.judging.evidence.request_fields import fields_of
from pytest_autoweb.judging.evidence.requests_log import WireEntry

MOST_WRITES = 500
"""Limit on the writes of one attempt that are looked at."""
_VALUE_CHARS, _MOST_FIELDS = 200, 200
_SHOWN_FIELDS, _DEEPEST = 5, 20


@dataclass(frozen=True, slots=True)
class Write:
    """One request or row that an attempt wrote."""

    kind: str
    """The method of a request; `insert`, `update` or `delete` of a row."""
    place: tuple[str, ...]
    """The origin (empty if it is that of the entry page) and the parts of the path; or the
    database's name, the table and the row's key."""
    fields: Mapping[str, str | None] = field(default_factory=dict)
    """The values by field or column; None where they are not compared, such as those of tokens."""

    @property
    def told(self) -> str:
        """Return the write in words, such as `POST /cart/add (item, count)`."""
        rows = self.kind.islower()
        where = " ".join(self.place[:2]) if rows else "/".join(self.place)
        key = f" {self.place[2]}" if rows and len(self.place) > 2 else ""
        names = list(self.fields)[:_SHOWN_FIELDS]
        more = ", …" if len(self.fields) > _SHOWN_FIELDS else ""
        return f"{self.kind} {where}{key}" + (f" ({', '.join(names)}{more})" if names else "")


def requests_written(
    entries: Iterable[WireEntry],
    rules: TrafficRules,
    entry_url: str,
    redact: Callable[[str], str],
) -> Iterator[Write]:
    """Yield the requests of the code that may have changed something on a server.

    Those that the case's `traffic` calls reads or ignores are none, nor those that no server got.

    Args:
        entries: the requests of the attempt.
        rules: the case's rules for its traffic.
        entry_url: the address of the entry page.
        redact: removes secrets.
    """
    for entry in entries:
        answered = entry.status is not None and OWN_ANSWER.lower() not in {
            name.lower() for name in entry.response_headers
        }
        if not (entry.counted and answered and rules.writes(entry.method, entry.url)):
            continue
        if not rules.ignores(entry.method, entry.url):
            place = tuple(map(redact, _place(entry.url, entry_url)))
            yield Write(entry.method, place, dict(_fields(entry, rules, redact)))


def _place(url: str, entry_url: str) -> tuple[str, ...]:
    parts, origin = urlsplit(url), parse_origin(url)
    if origin == parse_origin(entry_url):
        return ("", *parts.path.split("/")[1:])
    host = parts.hostname or ""
    # The ports of servers of this machine differ from run to run.
    where = host if _is_here(host) else str(origin or parts.netloc)
    return (where, *parts.path.split("/")[1:])


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _fields(
    entry: WireEntry, rules: TrafficRules, redact: Callable[[str], str]
) -> Iterator[tuple[str, str | None]]:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(urlsplit(entry.url).query, keep_blank_values=True):
        if name not in rules.ignore_query:
            found.setdefault(f"?{name}", []).append(value)
    if entry.request_body:
        for name, value in _flat(fields_of(entry.request_body)):
            if name.rpartition(".")[2].removesuffix("[]") not in rules.ignore_body:
                found.setdefault(name, []).append(value)
    for name, values in list(found.items())[:_MOST_FIELDS]:
        private = is_sensitive_field(name) or entry.request_truncated
        yield name[:_VALUE_CHARS], None if private else _short(redact("\n".join(values)))


def _flat(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the texts of a body with the names of their fields, such as `items[].count`."""
    if depth > _DEEPEST:
        yield name, "…"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(inner, f"{name}[]", depth + 1)
    else:
        yield name or "body", value if isinstance(value, str) else json.dumps(value)


def _short(text: str) -> str:
    if len(text) <= _VALUE_CHARS:
        return text
    return f"{text[:_VALUE_CHARS]}… {hashlib.sha256(text.encode()).hexdigest()[:16]}"
