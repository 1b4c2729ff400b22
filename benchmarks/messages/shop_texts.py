"""What real applications tell their users: the words of django-oscar's shop and of Django.

The texts come out of the message catalogues that these packages ship, in the languages in which
they have them; the values put in are ours.
"""

import gettext
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from provoked import Provoked

FOLDERS = {
    "django-oscar": ("oscar", "locale"),
    "django": ("django", "conf/locale"),
    "django admin": ("django", "contrib/admin/locale"),
    "django auth": ("django", "contrib/auth/locale"),
}
VALUES = {
    "max": 2, "code": "SAVE10", "status": "frozen", "name": "Batch", "object_name": "batch",
    "escaped_object": "MB-001", "class_name": "Batch", "model_name": "Batch", "username": "ana",
    "field_label": "code", "verbose_name": "batch", "page_number": 9, "message": "no such page",
    "items": "batches", "lookup_type": "month", "date_field_label": "day", "field_labels": "code",
    "minimum": 20, "email": "ana@example.org", "key": 7, "path": "/a", "min_length": 8,
    "verbose_name_plural": "batches", "class_name_plural": "batches", "count": 0, "actions": "all",
}  # fmt: skip
TEXTS = (
    ("django-oscar", "no stock available", "BUSINESS_ERROR"),
    ("django-oscar", "a maximum of %(max)d can be bought", "BUSINESS_ERROR"),
    ("django-oscar", "Unavailable", "BUSINESS_ERROR"),
    ("django-oscar", "This voucher has already been used", "BUSINESS_ERROR"),
    ("django-oscar", "You have already used this voucher in a previous order", "BUSINESS_ERROR"),
    ("django-oscar", "The '%(code)s' voucher has expired", "BUSINESS_ERROR"),
    ("django-oscar", "The '%(code)s' voucher is not active", "BUSINESS_ERROR"),
    ("django-oscar", "Your basket does not qualify for a voucher discount", "BUSINESS_ERROR"),
    ("django-oscar", "Your submitted shipping method is not permitted", "BUSINESS_ERROR"),
    ("django-oscar", "We do not ship to this country", "BUSINESS_ERROR"),
    ("django-oscar", "Empty baskets cannot be submitted", "BUSINESS_ERROR"),
    ("django-oscar", "Frozen - the basket cannot be modified", "BUSINESS_ERROR"),
    ("django-oscar", "This product is not available to buy", "BUSINESS_ERROR"),
    ("django-oscar", "This voucher is only available to signed in users", "PERMISSION_ERROR"),
    ("django-oscar", "You can't save an item for later if you're not logged in!",
     "PERMISSION_ERROR"),
    ("django-oscar", "A user with that email address already exists", "RESOURCE_CONFLICT"),
    ("django-oscar", "There is already an active stock alert for %s", "RESOURCE_CONFLICT"),
    ("django-oscar", "You already have an active alert for this product", "RESOURCE_CONFLICT"),
    ("django-oscar", "You have already added the '%(code)s' voucher to your basket",
     "RESOURCE_CONFLICT"),
    ("django-oscar", "No voucher found with code '%(code)s'", "DATA_NOT_FOUND"),
    ("django-oscar", "Order not found", "DATA_NOT_FOUND"),
    ("django-oscar", "No products found.", "DATA_NOT_FOUND"),
    ("django-oscar", "The entered password is not valid!", "VALIDATION_ERROR"),
    ("django", "%(model_name)s with this %(field_label)s already exists.", "RESOURCE_CONFLICT"),
    ("django", "%(field_label)s must be unique for %(date_field_label)s %(lookup_type)s.",
     "RESOURCE_CONFLICT"),
    ("django", "Page not found", "DATA_NOT_FOUND"),
    ("django", "No %(verbose_name)s found matching the query", "DATA_NOT_FOUND"),
    ("django", "Invalid page (%(page_number)s): %(message)s", "DATA_NOT_FOUND"),
    ("django", "That page contains no results", "DATA_NOT_FOUND"),
    ("django", "Forbidden", "PERMISSION_ERROR"),
    ("django", "CSRF verification failed. Request aborted.", "PERMISSION_ERROR"),
    ("django", "This field is required.", "VALIDATION_ERROR"),
    ("django", "Please submit at most %d form.", "VALIDATION_ERROR"),
    ("django", "Please correct the duplicate data for %(field)s.", "VALIDATION_ERROR"),
    ("django admin", "Please correct the error below.", "VALIDATION_ERROR"),
    ("django admin", "Cannot delete %(name)s", "BUSINESS_ERROR"),
    ("django admin", "Items must be selected in order to perform actions on them. No items have"
     " been changed.", "BUSINESS_ERROR"),
    ("django admin", "You don’t have permission to view or edit anything.", "PERMISSION_ERROR"),
    ("django admin", "%(name)s with ID “%(key)s” doesn’t exist. Perhaps it was deleted?",
     "DATA_NOT_FOUND"),
    ("django admin", "Server Error (500)", "SERVICE_UNAVAILABLE"),
    ("django auth", "This account is inactive.", "PERMISSION_ERROR"),
    ("django auth", "Please enter a correct %(username)s and password. Note that both fields may"
     " be case-sensitive.", "PERMISSION_ERROR"),
    ("django auth", "Your old password was entered incorrectly. Please enter it again.",
     "VALIDATION_ERROR"),
    ("django auth", "The two password fields didn’t match.", "VALIDATION_ERROR"),
    ("django auth", "A user with that username already exists.", "RESOURCE_CONFLICT"),
)  # fmt: skip
LANGUAGES = ("zh_Hans", "zh_CN", "de", "es", "ja")


def shop_texts() -> Iterator[Provoked]:
    """Each text in English and in up to four languages that have a translation of it."""
    for package, msgid, label in TEXTS:
        module, below = FOLDERS[package]
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent / below
        release = version(package.split()[0])
        said = {"en": _filled(msgid)}
        for language in LANGUAGES:
            translated = _translated(folder, language, msgid)
            if translated:
                said.setdefault(language, _filled(translated))
        for language, text in said.items():
            source = f"{package} {release}: {language}"
            yield Provoked("", text, None, label, "", source)


def _translated(folder: Path, language: str, msgid: str) -> str | None:
    if not list(folder.glob(f"{language}/LC_MESSAGES/django.mo")):
        return None
    text = gettext.translation("django", folder, [language]).gettext(msgid)
    return text if text != msgid else None


def _filled(text: str) -> str:
    values = VALUES | {"field": "code"}
    if "%(" in text:
        return text % values
    return text % 3 if "%d" in text else text % "code" if "%s" in text else text
