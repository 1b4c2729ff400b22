"""A failed attempt as if made at its server's new address."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace
from pydantic import BaseModel

from pytest_autoweb.agents.correction.guidance import Guidance
from pytest_autoweb.base.language import StepProblem
from pytest_autoweb.results.records import Attempt


def at_new_address(failed: Attempt, entry_url: str) -> Attempt:
    """Return a failed attempt as if its server had used the new server's port.

    A case's own server may have another port in each attempt, and a faithful repair would keep the
    old one.

    Args:
        failed: the attempt that is retried.
        entry_url: the page on which the retry starts.
    """
    old, new = urlsplit(failed.entry_url_used), urlsplit(entry_url)
    if old.hostname != new.hostname or old.port == new.port or not old.port or not new.port:
        return failed
    there = re.compile(rf"(?<![\w.]){re.escape(old.netloc)}(?!\d)")
    moved: Attempt = _with_texts(failed, lambda text: there.sub(new.netloc, text))
    return moved


def guidance_at(guidance: Guidance, entry_url: str) -> Guidance:
    """Return a retry's guidance, with its attempts as if made at the new address."""
    attempts = (at_new_address(attempt, entry_url) for attempt in guidance.attempts)
    return replace(guidance, attempts=tuple(attempts))


def _with_texts(value: Any, change_text: Callable[[str], str]) -> Any:
    """Return a value with all its texts changed, even those in tuples, mappings and records."""
    if isinstance(value, str):
        return change_text(value)
    if isinstance(value, BaseModel):
        # Text sent to the model stays as it was sent.
        fields = type(value).model_fields.keys() - {"exchanges"}
        changed = {name: _with_texts(getattr(value, name), change_text) for name in fields}
        return value.model_copy(update=changed)
    if isinstance(value, StepProblem):
        return StepProblem(*(change_text(text) for text in (value.where, value.en, value.zh)))
    if isinstance(value, dict):
        return {key: _with_texts(item, change_text) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_texts(item, change_text) for item in value)
    return value
