"""The keys in an environment: which variables hold them, and how their values are masked."""

import re
from collections.abc import Iterable, Mapping, MutableMapping

from pytest_autoweb.base.redaction.http_credentials import redact_login
from pytest_autoweb.base.redaction.secret_forms import Redactor

MASK = "<key>"

_SECRET_NAMES = re.compile(r"(?:_|^)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
# Shorter values are words like `true`, and masking those would make texts unreadable.
_MIN_SECRET_CHARS = 8
_AROUND_A_KEY = re.compile(r"\A[\s\ufeff\u200b]+|[\s\ufeff\u200b]+\Z")


def environment_keys(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the values of the variables that are named like keys."""
    named = (value for name, value in environ.items() if _SECRET_NAMES.search(name))
    return frozenset(value for value in named if len(value) >= _MIN_SECRET_CHARS)


class KeyMask:
    """A function that masks everything that is, or looks like, a provider's key."""

    def __init__(self, environ: Mapping[str, str], extra: Iterable[str] = ()) -> None:
        more = (value for value in extra if len(value) >= _MIN_SECRET_CHARS)
        given = {*environment_keys(environ), *more}
        tidy = {key for value in given if len(key := tidy_key(value)) >= _MIN_SECRET_CHARS}
        # An error may quote the bytes of a header.
        self._known = Redactor({}, {*given, *tidy, *map(_in_bytes, given)}, MASK)

    def __call__(self, text: str) -> str:
        return redact_login(self._known(text), MASK)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of the environment for a process that needs no keys."""
    return {name: value for name, value in environ.items() if not _SECRET_NAMES.search(name)}


def tidy_secrets(environ: MutableMapping[str, str]) -> None:
    """Tidy the key variables, and unset those that are empty.

    CI systems set them to nothing for pull requests from forks, and files of secrets often end in
    a line break or begin with a byte order mark.
    """
    for name in [name for name in environ if _SECRET_NAMES.search(name)]:
        if key := tidy_key(environ[name]):
            environ[name] = key
        else:
            del environ[name]


def tidy_key(text: str) -> str:
    """Return a key without the blanks, line breaks and marks at its ends."""
    return _AROUND_A_KEY.sub("", text)


def _in_bytes(value: str) -> str:
    """Return the value as the representation of its bytes writes it."""
    return repr(value.encode("utf-8", "surrogateescape"))[2:-1]
