"""Cases that a model proposes: asking for them, reading the reply, and limiting their content.

A proposal is untrusted text. It may act on the site that was shown and look at it, and nothing
else: no files, no functions, no databases, no secrets, no other sites. The model sees the entry
page and some pages behind its links.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urljoin

import yaml
from msgspec import Struct, field
from msgspec.structs import replace
from playwright.sync_api import Error, Page

from pytest_autoweb.base.documents.readers import Unreadable, read_yaml
from pytest_autoweb.base.errors import BrowserError, CaseError, ModelError
from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.base.redaction import redact_shapes
from pytest_autoweb.browser.egress.request_policy import parse_origin
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.browser.page.opening import normalise_url, open_page
from pytest_autoweb.cases.case import ID_PATTERN
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.models.client import Client, ask_once
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import closed_block, strip_reasoning
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.records import Usage
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.sandbox.lint import lint_code

_OPEN_MS = 30_000
_MOST_LINKS = 300
_LINKS = f"""() => [...document.querySelectorAll('a[href]')]
  .filter(link => link.checkVisibility() && !link.target && !link.download)
  .slice(0, {_MOST_LINKS}).map(link => [link.innerText.trim().slice(0, 60),
    link.href.slice(0, 500)])"""
_LEAVES = re.compile(r"(?i)log[\s_-]?out|sign[\s_-]?out|delete|remove|unsubscribe|cancel|destroy")
"""Addresses and names of links where a mere visit may change something."""

PROMPT_OVERHEAD_TOKENS = 1_800
FIELDS = ("id", "entry_url", "user_task", "expect", "oracle")
"""All fields of a proposed case."""
CHECKS_TO_PROPOSE = ("url", "text", "element", "answer", "request", "download", "http")
"""The checks that look only at the site; others read files, run code or ask models."""
DRAFT_S = 30
"""Seconds for an attempt in the proof: a wrong oracle must not wait as long as a model may."""
_BLOCK = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?:ya?ml|json)?[ \t]*\n"
    r"(?P<body>.*?)(?:^[ \t]*(?P=mark)[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_REPLY_CHARS = 100_000
_EXPRESSION = re.compile(r"\{[{%#]")
_HEAD = """\
# Written by `autoweb explore`. Each case is proven: its oracle passed three times, doing nothing
# failed, and a check noticed every step and every request that was left out (`autoweb prove`).
"""


class PageLink(NamedTuple):
    """A visible link of a page."""

    name: str
    address: str


class SeenPage(NamedTuple):
    """A page as shown to a model."""

    url: str
    text: str


def links_of(page: Page) -> list[PageLink]:
    """Return the visible links of a page that open in its own tab."""
    return [PageLink(str(name), str(address)) for name, address in page.evaluate(_LINKS)]


def see_pages(
    page: Page, entry: str, most: int, budget: int, say: Callable[[str], None]
) -> list[SeenPage]:
    """Capture the entry page and linked pages of its site, nearest first.

    Nothing is pressed and no form is sent; links whose name or address suggests that they end or
    delete something are skipped.

    Args:
        page: opens them.
        entry: the address of the first one.
        most: limit on the pages.
        budget: limit on their total tokens.
        say: called with a line about each page.

    Raises:
        BrowserError: the entry page cannot be opened.
    """
    seen: list[SeenPage] = []
    waiting, known = [entry], {normalise_url(entry)}
    while waiting and len(seen) < most:
        url = waiting.pop(0)
        if failure := open_page(page, url, timeout_ms=_OPEN_MS):
            if url == entry:
                raise BrowserError(failure.message)
            say(f"left out {url}: {failure.message}")
            continue
        if parse_origin(page.url) != parse_origin(entry):
            if url == entry:
                raise BrowserError(f"{entry} leads to {page.url}; start there")
            continue
        seen.append(SeenPage(page.url, _shown(page, budget // most)))
        say(f"looked at {page.url}")
        for address in _further(page, entry):
            if normalise_url(address) not in known:
                known.add(normalise_url(address))
                waiting.append(address)
    return seen


def _shown(page: Page, budget: int) -> str:
    snapshot = capture_snapshot(
        page, "ARIA", url=page.url, entry_action="", step_indexes=(), budget_tokens=budget
    )
    return snapshot.text


def _further(page: Page, entry: str) -> Iterator[str]:
    """Yield the addresses on the same site that a page links to."""
    try:
        links = links_of(page)
    except Error:
        return
    for name, address in links:
        plain = address.partition("#")[0]
        if parse_origin(plain) == parse_origin(entry) and not _LEAVES.search(f"{name} {plain}"):
            yield plain


class ProposedCase(Struct, frozen=True):
    """A case as a model wrote it."""

    id: str
    fields: Mapping[str, Any]
    """Its fields, as they stand in the case file."""
    problem: str = ""
    """Why it cannot be proven; empty if it can."""


class CaseFileForm(Struct, frozen=True):
    """The format of a site's case files.

    Args:
        site: the address of the started server; "" if there is none.
        entry: the address of the entry page.
        webserver: the section about the server; empty if there is none.
    """

    site: str
    entry: str
    webserver: Mapping[str, Any]

    def draft(self, case: ProposedCase) -> str:
        """Return the text of a case file for the proof of one case."""
        return self.text([case], "", {"defaults": {"timeout": DRAFT_S}})

    def text(
        self,
        cases: Sequence[ProposedCase],
        head: str = _HEAD,
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> str:
        """Return the text of a case file.

        Args:
            cases: its cases.
            head: comments above everything.
            more: more sections.
        """
        document: dict[str, Any] = {"version": 1, **more}
        if self.webserver:
            document["webserver"] = dict(self.webserver)
        document["cases"] = [dict(case.fields) for case in cases]
        return head + yaml.dump(
            document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
        )

    def proposed(self, raw: object, taken: Sequence[str]) -> ProposedCase:
        """Return a case of a reply, in the form of a case file.

        Args:
            raw: the model's text.
            taken: the ids of other cases.
        """
        if not isinstance(raw, Mapping):
            return ProposedCase(_unique("case", taken), {}, f"must be a mapping, got {raw!r:.80}")
        id_ = _unique(_as_id(str(raw.get("id") or "case")), taken)
        fields = {name: raw[name] for name in FIELDS if name in raw} | {"id": id_}
        unknown = [str(key) for key in raw if key not in FIELDS]
        missing = [name for name in FIELDS if not raw.get(name) and name != "entry_url"]
        if unknown:
            return ProposedCase(
                id_, fields, one_line(f"has fields that nobody asked for: {unknown}")
            )
        if missing:
            return ProposedCase(id_, fields, f"has no {' and no '.join(missing)}")
        if _EXPRESSION.search("\n".join(_texts(fields))):
            return ProposedCase(id_, fields, "holds {{, {% or {#, which stand for expressions")
        fields["entry_url"] = urljoin(self.entry, str(fields.get("entry_url") or self.entry))
        fields = {name: fields[name] for name in FIELDS}
        problem = "; ".join(self._problems(fields))
        return ProposedCase(id_, self._with_server(fields), problem)

    def _problems(self, fields: Mapping[str, Any]) -> Iterator[str]:
        if parse_origin(str(fields["entry_url"])) != parse_origin(self.entry):
            yield f"entry_url must be a page of {self.entry}"
        for check in fields["expect"] if isinstance(fields["expect"], list) else ():
            kinds = [str(key) for key in check] if isinstance(check, Mapping) else []
            if wrong := [key for key in kinds if key not in CHECKS_TO_PROPOSE]:
                yield one_line(f"{wrong[0]}: the checks are {', '.join(CHECKS_TO_PROPOSE)}")
            asked = check["http"] if "http" in kinds else None
            if isinstance(asked, Mapping) and (
                parse_origin(urljoin(self.entry, str(asked.get("url")))) != parse_origin(self.entry)
                or set(asked) - {"url", "status", "json", "contains"}
            ):
                yield "http: asks for an address of the site, with status, json and contains"
        if findings := lint_code(str(fields["oracle"])):
            yield f"oracle: {findings[0]}"

    def _with_server(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields with the name of the server in place of its address."""
        if not self.site:
            return dict(fields)
        known = self.site.rstrip("/")
        changed: dict[str, Any] = map_texts(
            fields, lambda text: text.replace(f"{known}/", "{{ webserver.url }}")
        )
        return changed


def check_with_loader(case: ProposedCase, form: CaseFileForm, file: Path) -> ProposedCase:
    """Write a case into a file of its own, and return it with the loader's verdict."""
    if case.problem:
        return case
    try:
        write_text_atomic(file, form.draft(case))
        load_case_file(file)
    except CaseError as error:
        said = str(error).replace(str(file), "").lstrip(": ")
        return replace(case, problem=one_line(said, 400))
    except yaml.YAMLError as error:
        return replace(case, problem=one_line(f"cannot be written: {error}", 400))
    return case


class Proposer(Struct):
    """Asks a model for cases.

    Args:
        client: calls the model.
        spec: the model.
        about: the subject of the cases; "" for any.
    """

    client: Client
    spec: ModelSpec
    about: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def budget(self) -> int:
        """Return the token limit of all pages together."""
        room = self.spec.context_tokens - self.spec.max_tokens - PROMPT_OVERHEAD_TOKENS
        return max(400, min(room, self.spec.page_tokens))

    def ask(
        self, pages: Sequence[SeenPage], entry: str, cases: int, wrong: Sequence[ProposedCase] = ()
    ) -> list[object]:
        """Return the cases of a reply unchanged, at most as many as requested.

        Args:
            pages: the pages to show to the model.
            entry: the address of the entry page.
            cases: the number of cases to request.
            wrong: cases to be rewritten, with their problems.

        Raises:
            ModelError: there is no reply.
            Unreadable: the reply holds no cases.
        """
        messages = render(
            "explore",
            entry=entry,
            pages=[SeenPage(page.url, fence(redact_shapes(page.text), "page")) for page in pages],
            cases=cases,
            about=self.about,
            tried="\n".join(map(_told, wrong)),
        )
        request = Request(
            model=self.spec.name, messages=messages, stage="explore", turn=int(bool(wrong))
        )
        answered = ask_once(self.client, request, redact_shapes, usable=closed_block)
        self.usage += answered.exchange.usage
        if isinstance(answered.outcome, ModelError):
            raise answered.outcome
        return cases_in(answered.outcome.text)[:cases]


def cases_in(reply: str) -> list[object]:
    """Return the cases of a reply in YAML or JSON, fenced or not.

    Raises:
        Unreadable: there are no cases.
    """
    text = strip_reasoning(reply)[:_REPLY_CHARS]
    blocks = [match["body"] for match in _BLOCK.finditer(text)] or [text]
    found: list[object] = []
    problem = Unreadable("the reply holds no list of cases", 1)
    for block in blocks:
        try:
            data, _ = read_yaml(block)
        except Unreadable as error:
            problem = error
            continue
        if isinstance(data, Mapping):
            data = data.get("cases") or ([data] if "user_task" in data else [])
        if isinstance(data, list):
            found += data
    if not found:
        raise problem
    return found


def _told(case: ProposedCase) -> str:
    shown = yaml.dump([dict(case.fields)], Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    reason = redact_shapes(one_line(case.problem, 600))
    return f"{fence(shown, 'case')}\nIt cannot be used: {fence(reason, 'reason')}"


class _Dumper(yaml.SafeDumper):
    """Writes multi-line texts as blocks, and no anchors, which case files do not allow."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write a value out each time."""
        return True


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for pair in value.items() for part in pair for text in _texts(part)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return [value] if isinstance(value, str) else []


def _as_id(text: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:60]
    return plain if re.match(ID_PATTERN, plain) else "case"


def _unique(name: str, taken: Sequence[str]) -> str:
    number, first = 1, name
    while name in taken:
        number += 1
        name = f"{first}-{number}"
    return name
