"""What Babel knows of a locale, in the forms that reading needs."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babel import Locale

LANGUAGES = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "da", "sv", "nb", "fi", "pl", "cs", "sk", "hu"),
    *("ro", "tr", "el", "ru", "uk", "bg", "hr", "id", "vi", "ar", "he", "hi", "ja", "ko", "zh"),
)
"""Whose words are known when a check names no locale."""


class UnknownLocale(ValueError):
    """Raised when there is no locale of that name."""


@cache
def locale_of(name: str) -> "Locale":
    """The locale; `de-DE` is `de_DE`.

    Raises:
        UnknownLocale: there is none of that name.
    """
    from babel import Locale
    from babel.core import UnknownLocaleError

    try:
        return Locale.parse(name.replace("-", "_"))
    except (ValueError, TypeError, UnknownLocaleError) as error:
        raise UnknownLocale(f"{name!r} is not a locale such as de_DE or en") from error


def word_sources(locale: str | None) -> tuple[tuple[str, ...], ...]:
    """The locales whose words are looked up, the first group that knows a word decides."""
    if locale is not None:
        return (locale,), ("en",)
    return ("en",), LANGUAGES
