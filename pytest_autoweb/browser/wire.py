"""What goes over the wire between an attempt's pages and their servers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class WireEntry:
    """One request and what came back.

    URL and bodies are as sent, so that checks can compare them: whoever lets them leave the
    process redacts them. Values of login headers and cookies are never in here.
    """

    method: str
    url: str
    status: int | None = None
    """None: no answer yet, or none at all."""
    status_text: str = ""
    resource_type: str = "other"
    """Playwright's word: `document`, `xhr`, `fetch`, `image`, …"""
    request_headers: Mapping[str, str] = field(default_factory=dict)
    request_body: str | None = None
    """Text, at most `BODY_CHARS`; None: there is none, or it is not text."""
    request_truncated: bool = False
    response_headers: Mapping[str, str] = field(default_factory=dict)
    response_body: str | None = None
    """The beginning of a textual answer to a document, XHR or fetch; None: not kept."""
    response_truncated: bool = False
    started: datetime | None = None
    duration_ms: float | None = None
    failed: str = ""
    """Why there is no answer, in the browser's words."""
    page_url: str = ""
    """URL of the page that asked."""
    frame_url: str = ""
    """URL of its frame; empty for the page itself."""
    counted: bool = True
    """False: asked for while pages were looked at for the prompt, before any code ran. Such
    requests are recorded, but no `request` check counts them."""
