"""The evidence as a judging model reads it: what the page and the network show.

What the judged model says of itself is not in it: plan, code, comments, log lines and the source
of scripts that it ran in the page are left out on purpose. What the code returned is shown only
where a check asks for it.
"""

import base64
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.checks.check_type import Evidence
from pytest_autoweb.checks.value_matching import as_text
from pytest_autoweb.evidence.page_state import shot
from pytest_autoweb.evidence.wire import WireEntry
from pytest_autoweb.llm.prompts import fence
from pytest_autoweb.page.capture import capture_snapshot
from pytest_autoweb.redaction import redact_keys
from pytest_autoweb.results import ToolCall

_LINES = 40
_LINE_CHARS = 300
_ANSWER_CHARS = 4_000
_SHOWN_KINDS = ("document", "xhr", "fetch")
_RUNS_SCRIPTS = re.compile(r"eval|script|function")
_SCRIPT_IN_TARGET = re.compile(r"(eval\w*)\(.*", re.DOTALL)
_NOTHING = "(none)"


class JudgeEvidence(NamedTuple):
    """Everything on which one question to a judge rests, redacted."""

    page: str
    actions: str
    wire: str
    downloads: str
    answer: str
    picture: str | None
    """A picture of the page as a `data:` URI, if there is one."""

    @property
    def text(self) -> str:
        """Return all of the evidence that can be quoted."""
        return "\n".join((self.page, self.actions, self.wire, self.downloads, self.answer))

    def fenced(self) -> dict[str, str]:
        """Return the variables of the prompt, each marked as data."""
        parts = {
            "page": fence(self.page, "page"),
            "actions": fence(self.actions or _NOTHING, "actions"),
            "wire": fence(self.wire or _NOTHING, "network"),
        }
        return parts | {
            "downloads": fence(self.downloads, "files") if self.downloads else "",
            "answer": fence(self.answer, "answer") if self.answer else "",
        }


def collect_evidence(
    evidence: Evidence, *, with_answer: bool, with_picture: bool, page_tokens: int
) -> JudgeEvidence:
    """Look at the page once, without touching it."""

    def clean(text: str) -> str:
        return redact_keys(evidence.redact(text))

    page = evidence.page
    snapshot = capture_snapshot(
        page,
        "ARIA_SNAPSHOT",
        url=page.url,
        entry_action="",
        step_indexes=(),
        budget_tokens=page_tokens,
    )
    files = [f"{download.name} ({download.size} bytes)" for download in evidence.downloads]
    answer = ""
    if with_answer:
        answer = as_text(evidence.answer) if evidence.answered else "(no answer was given)"
    return JudgeEvidence(
        page=clean(f"URL: {page.url}\n{snapshot.text}"),
        actions=clean(_lines(map(_action, filter(_is_action, evidence.actions)))),
        wire=clean(_lines(map(_request, filter(_is_told, evidence.wire)))),
        downloads=clean(_lines(files)),
        answer=clean(answer)[:_ANSWER_CHARS],
        picture=_picture(evidence) if with_picture else None,
    )


def _lines(lines: Iterable[str]) -> str:
    """Return the last lines, each cut to length, because what happened at the end decides."""
    shown = [" ".join(line.split())[:_LINE_CHARS] for line in lines]
    left_out = [f"({len(shown) - _LINES} earlier ones)"] if len(shown) > _LINES else []
    return "\n".join((*left_out, *shown[-_LINES:]))


def _is_action(call: ToolCall) -> bool:
    return call.acting and not call.replayed


def _action(call: ToolCall) -> str:
    # The source of a script may hold comments, in which a model could plead its own case.
    arguments = "<script>" if _RUNS_SCRIPTS.search(call.method) else call.arguments
    target = _SCRIPT_IN_TARGET.sub(r"\1(<script>)", call.target)
    return f"{target}.{call.method}({arguments}): {'done' if call.ok else 'failed'}"


def _is_told(entry: WireEntry) -> bool:
    return entry.counted and (
        entry.resource_type in _SHOWN_KINDS or entry.method not in ("GET", "HEAD")
    )


def _request(entry: WireEntry) -> str:
    status = str(entry.status) if entry.status is not None else entry.failed or "no answer"
    return f"{entry.method} {entry.url} -> {status}"


def _picture(evidence: Evidence) -> str | None:
    """Take a picture of the viewport, with password fields covered."""
    with tempfile.TemporaryDirectory(prefix="autoweb-judge-") as folder:
        path = Path(folder) / "page.jpg"
        if not shot(evidence.page, path):
            return None
        return "data:image/jpeg;base64," + base64.b64encode(path.read_bytes()).decode()
