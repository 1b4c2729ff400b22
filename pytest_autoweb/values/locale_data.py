"""Locale data from Babel, in the forms that the readers of values need."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babel import Locale

LANGUAGES = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "da", "sv", "nb", "fi", "pl", "cs", "sk", "hu"),
    *("ro", "tr", "el", "ru", "uk", "bg", "hr", "id", "vi", "ar", "he", "hi", "ja", "ko", "zh"),
)
"""The languages whose words are tried when a check names no locale."""


class UnknownLocale(ValueError):
    """Raised when there is no locale of that name."""


@cache
def locale_of(name: str) -> "Locale":
    """Return the locale of a name; `de-DE` and `de_DE` are the same.

    Raises:
        UnknownLocale: there is no locale of that name.
    """
    # Late, here and below: most cases compare no localised values, and Babel takes long to load.
    from babel import Locale
    from babel.core import UnknownLocaleError

    try:
        return Locale.parse(name.replace("-", "_"))
    except (ValueError, TypeError, UnknownLocaleError) as error:
        raise UnknownLocale(f"{name!r} is not a locale such as de_DE or en") from error


def word_sources(locale: str | None) -> tuple[tuple[str, ...], ...]:
    """Return groups of locales whose words are tried; the first that knows a word decides."""
    if locale is not None:
        return (locale,), ("en",)
    return ("en",), LANGUAGES
