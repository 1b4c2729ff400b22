"""The placeholders of secrets in what the code types or opens, and where they may be typed."""

import re
from urllib.parse import urlsplit

from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.rules import Refusal

_PLACEHOLDER = re.compile(r"<secret:([A-Za-z0-9_.-]{1,64})>")


def holds_secret(text: object) -> bool:
    return isinstance(text, str) and _PLACEHOLDER.search(text) is not None


def with_link(url: object, border: SandboxBorder) -> object:
    """Return the address of a secret that is a link; any other URL as it is."""
    named = _PLACEHOLDER.fullmatch(url.strip()) if isinstance(url, str) else None
    return border.secrets[named[1]] if named and named[1] in border.links else url


def with_secrets(text: str, urls: list[str], border: SandboxBorder) -> str:
    """Replace each `<secret:name>` in the text by its value.

    Args:
        text: what the code wants to type.
        urls: the addresses of the page and of every frame that could receive the text.
        border: holds the secrets and knows where they may be typed.
    """
    # Every frame that receives the text can read it, so all of their origins must be trusted.
    for url in urls:
        if not border.secret_allowed(url):
            parts = urlsplit(url)
            place = f"{parts.scheme}://{parts.netloc}" if parts.netloc else url[:80]
            raise Refusal("AW503", f"a secret may not be typed on {border.redact(place)}")

    def value(match: re.Match[str]) -> str:
        if match[1] not in border.secrets:
            known = ", ".join(sorted(border.secrets)) or "none"
            raise Refusal("AW503", f"the case has no secret {match[1]!r} (secrets: {known})")
        return border.secrets[match[1]]

    return _PLACEHOLDER.sub(value, text)
