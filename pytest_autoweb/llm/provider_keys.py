"""Masking of provider keys in everything that is written or shown."""

import re
from collections.abc import Iterable, Mapping, MutableMapping

MASK = "<key>"

_SECRET_NAMES = re.compile(r"(?:_|^)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
# Shorter values are words like `true`, and masking those would make texts unreadable.
_MIN_SECRET_CHARS = 8

_SHAPES = re.compile(
    r"""
      (?i:\bbearer[ ]+)[A-Za-z0-9._~+/=-]{8,}
    | \bsk-[A-Za-z0-9_-]{12,}                   # OpenAI, Anthropic, OpenRouter, DeepSeek
    | \bAIza[A-Za-z0-9_-]{30,}                  # Google
    | \b(?:gsk|xai|hf|pplx|r8|nvapi|fw|csk)[_-][A-Za-z0-9_-]{16,}
    | \bgh[opsur]_[A-Za-z0-9]{20,}
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bA(?:KIA|SIA)[A-Z0-9]{16}\b
    """,
    re.VERBOSE,
)


class KeyMask:
    """A function that masks everything that is, or looks like, a provider's key."""

    def __init__(self, environ: Mapping[str, str], extra: Iterable[str] = ()) -> None:
        named = (value for name, value in environ.items() if _SECRET_NAMES.search(name))
        values = {value for value in (*named, *extra) if len(value) >= _MIN_SECRET_CHARS}
        # Longest first: a secret that contains another one must be masked as a whole.
        ordered = sorted(values, key=lambda value: (-len(value), value))
        self._values = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __call__(self, text: str) -> str:
        """Return the text with its keys masked."""
        if self._values is not None:
            text = self._values.sub(MASK, text)
        return _SHAPES.sub(MASK, text)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of the environment for a process that needs no keys."""
    return {name: value for name, value in environ.items() if not _SECRET_NAMES.search(name)}


def drop_empty_secrets(environ: MutableMapping[str, str]) -> None:
    """Unset key variables that are empty, as CI systems set them for pull requests from forks."""
    for name in [name for name, value in environ.items() if not value.strip()]:
        if _SECRET_NAMES.search(name):
            del environ[name]
