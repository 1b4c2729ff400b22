"""The keys in an environment: which variables hold them, and how their values are masked."""

import re
from collections.abc import Iterable, Mapping, MutableMapping

from pytest_autoweb.redaction.key_shapes import redact_login
from pytest_autoweb.redaction.secret_forms import Redactor

MASK = "<key>"

_SECRET_NAMES = re.compile(r"(?:_|^)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
# Shorter values are words like `true`, and masking those would make texts unreadable.
_MIN_SECRET_CHARS = 8


def environment_keys(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the values of the variables that are named like keys."""
    named = (value for name, value in environ.items() if _SECRET_NAMES.search(name))
    return frozenset(value for value in named if len(value) >= _MIN_SECRET_CHARS)


class KeyMask:
    """A function that masks everything that is, or looks like, a provider's key."""

    def __init__(self, environ: Mapping[str, str], extra: Iterable[str] = ()) -> None:
        more = (value for value in extra if len(value) >= _MIN_SECRET_CHARS)
        self._known = Redactor({}, {*environment_keys(environ), *more}, MASK)

    def __call__(self, text: str) -> str:
        """Return the text with its keys masked."""
        return redact_login(self._known(text), MASK)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of the environment for a process that needs no keys."""
    return {name: value for name, value in environ.items() if not _SECRET_NAMES.search(name)}


def drop_empty_secrets(environ: MutableMapping[str, str]) -> None:
    """Unset key variables that are empty, as CI systems set them for pull requests from forks."""
    for name in [name for name, value in environ.items() if not value.strip()]:
        if _SECRET_NAMES.search(name):
            del environ[name]
