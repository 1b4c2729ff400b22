"""What real applications tell their users, in the words of their own message catalogues.

The rules were first written against django-oscar and Django. On the texts of pretix, Wagtail,
Django REST framework, django-allauth and WTForms, which they had not seen, they were right in 68 %
together with the calls of `held_out_calls`; they were then written more generally. Weblate, Shuup,
Misago and django-helpdesk are held out: chosen and labelled after that. The values put in are ours.
"""

import gettext
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from provoked import Provoked

FOLDERS = {
    "django-oscar": ("oscar", "locale"),
    "django": ("django", "conf/locale"),
    "django admin": ("django", "contrib/admin/locale"),
    "django auth": ("django", "contrib/auth/locale"),
    "djangorestframework": ("rest_framework", "locale"),
    "django-allauth": ("allauth", "locale"),
    "wtforms": ("wtforms", "locale"),
    "pretix": ("pretix", "locale"),
    "wagtail": ("wagtail", "admin/locale"),
    "weblate": ("weblate", "locale"),
    "shuup core": ("shuup", "core/locale"),
    "shuup front": ("shuup", "front/locale"),
    "misago": ("misago", "locale"),
    "helpdesk": ("helpdesk", "locale"),
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
LATER = (
    ("djangorestframework", "A server error occurred.", "SERVICE_UNAVAILABLE"),
    ("djangorestframework", "Request was throttled.", "SERVICE_UNAVAILABLE"),
    ("djangorestframework", "Malformed request.", "PARAMETER_ERROR"),
    ("djangorestframework", "Incorrect authentication credentials.", "PERMISSION_ERROR"),
    ("djangorestframework", "Authentication credentials were not provided.", "PERMISSION_ERROR"),
    ("djangorestframework", "You do not have permission to perform this action.",
     "PERMISSION_ERROR"),
    ("djangorestframework", "Unable to log in with provided credentials.", "PERMISSION_ERROR"),
    ("djangorestframework", "User inactive or deleted.", "PERMISSION_ERROR"),
    ("djangorestframework", "Invalid username/password.", "PERMISSION_ERROR"),
    ("djangorestframework", "Not found.", "DATA_NOT_FOUND"),
    ("djangorestframework", "Invalid page.", "DATA_NOT_FOUND"),
    ("djangorestframework", "Invalid hyperlink - Object does not exist.", "DATA_NOT_FOUND"),
    ("djangorestframework", "Could not satisfy the request Accept header.", "PARAMETER_ERROR"),
    ("djangorestframework", "This field must be unique.", "RESOURCE_CONFLICT"),
    ("djangorestframework", "This field may not be blank.", "VALIDATION_ERROR"),
    ("djangorestframework", "This field may not be null.", "VALIDATION_ERROR"),
    ("djangorestframework", "A valid integer is required.", "VALIDATION_ERROR"),
    ("djangorestframework", "Must be a valid UUID.", "VALIDATION_ERROR"),
    ("djangorestframework", "Not a valid string.", "VALIDATION_ERROR"),
    ("djangorestframework", "This list may not be empty.", "VALIDATION_ERROR"),
    ("djangorestframework", "Value must be valid JSON.", "VALIDATION_ERROR"),
    ("djangorestframework", "Enter a valid IPv4 or IPv6 address.", "VALIDATION_ERROR"),
    ("djangorestframework", "This value does not match the required pattern.",
     "VALIDATION_ERROR"),
    ("djangorestframework", "No file was submitted.", "VALIDATION_ERROR"),
    ("django-allauth", "A user is already registered with this email address.",
     "RESOURCE_CONFLICT"),
    ("django-allauth", "A user is already registered with this phone number.",
     "RESOURCE_CONFLICT"),
    ("django-allauth", "This email address is already associated with this account.",
     "RESOURCE_CONFLICT"),
    ("django-allauth", "The third-party account is already connected to a different account.",
     "RESOURCE_CONFLICT"),
    ("django-allauth", "Too many failed login attempts. Try again later.", "SERVICE_UNAVAILABLE"),
    ("django-allauth", "The email address and/or password you specified are not correct.",
     "PERMISSION_ERROR"),
    ("django-allauth", "The username and/or password you specified are not correct.",
     "PERMISSION_ERROR"),
    ("django-allauth", "Incorrect code.", "VALIDATION_ERROR"),
    ("django-allauth", "Incorrect password.", "VALIDATION_ERROR"),
    ("django-allauth", "You must type the same password each time.", "VALIDATION_ERROR"),
    ("django-allauth", "Please select only one.", "VALIDATION_ERROR"),
    ("django-allauth", "You cannot add more than %d email addresses.", "BUSINESS_ERROR"),
    ("django-allauth", "You cannot remove your primary email address.", "BUSINESS_ERROR"),
    ("django-allauth", "You cannot deactivate two-factor authentication.", "BUSINESS_ERROR"),
    ("django-allauth", "The email address is not assigned to any user account.",
     "DATA_NOT_FOUND"),
    ("wtforms", "CSRF token expired.", "PERMISSION_ERROR"),
    ("wtforms", "Invalid CSRF Token.", "PERMISSION_ERROR"),
    ("wtforms", "Not a valid choice.", "VALIDATION_ERROR"),
    ("wtforms", "Not a valid date value.", "VALIDATION_ERROR"),
    ("wtforms", "Not a valid integer value.", "VALIDATION_ERROR"),
    ("wtforms", "Invalid email address.", "VALIDATION_ERROR"),
    ("wtforms", "Invalid IP address.", "VALIDATION_ERROR"),
    ("wtforms", "Number must be at least %(min)s.", "VALIDATION_ERROR"),
    ("wtforms", "Field must be equal to %(other_name)s.", "VALIDATION_ERROR"),
    ("pretix", "This product is currently not available.", "BUSINESS_ERROR"),
    ("pretix", "This voucher is not valid for this product.", "BUSINESS_ERROR"),
    ("pretix", "This voucher is expired.", "BUSINESS_ERROR"),
    ("pretix", "You cannot generate an invoice for this order.", "BUSINESS_ERROR"),
    ("pretix", "The payment for this order cannot be continued.", "BUSINESS_ERROR"),
    ("pretix", "The order has already been canceled.", "BUSINESS_ERROR"),
    ("pretix", "The payment method for this order cannot be changed.", "BUSINESS_ERROR"),
    ("pretix", "You cannot modify this order", "BUSINESS_ERROR"),
    ("pretix", "You cannot cancel this order.", "BUSINESS_ERROR"),
    ("pretix", "Ticket already used", "BUSINESS_ERROR"),
    ("pretix", "Order already paid", "BUSINESS_ERROR"),
    ("pretix", "This ticket has already been redeemed.", "BUSINESS_ERROR"),
    ("pretix", "Some of the products you selected are no longer available. Please see below for"
     " details.", "BUSINESS_ERROR"),
    ("pretix", "A voucher can not be deleted if it already has been redeemed.",
     "BUSINESS_ERROR"),
    ("pretix", "You cannot pay with gift cards when buying a gift card.", "BUSINESS_ERROR"),
    ("pretix", "The seat you selected has already been taken. Please select a different seat.",
     "RESOURCE_CONFLICT"),
    ("pretix", "A voucher with this code already exists.", "RESOURCE_CONFLICT"),
    ("pretix", "This slug is already in use. Please choose a different one.",
     "RESOURCE_CONFLICT"),
    ("pretix", "You already registered with that email address, please use the login form.",
     "RESOURCE_CONFLICT"),
    ("pretix", "You are already on this waiting list! We will notify you as soon as we have a"
     " ticket available for you.", "RESOURCE_CONFLICT"),
    ("pretix", "The requested product does not exist.", "DATA_NOT_FOUND"),
    ("pretix", "The selected event was not found.", "DATA_NOT_FOUND"),
    ("pretix", "Waiting list entry not found.", "DATA_NOT_FOUND"),
    ("pretix", "The given voucher code does not exist.", "DATA_NOT_FOUND"),
    ("pretix", "Permission denied", "PERMISSION_ERROR"),
    ("pretix", "You do not have permission to clone this event.", "PERMISSION_ERROR"),
    ("pretix", "We were not able to process your request completely as the server was too busy."
     " Please try again.", "SERVICE_UNAVAILABLE"),
    ("pretix", "An internal error occurred, please try again.", "SERVICE_UNAVAILABLE"),
    ("pretix", "An error occurred during connecting with PayPal, please try again.",
     "SERVICE_UNAVAILABLE"),
    ("pretix", "The password you entered was invalid, please try again.", "VALIDATION_ERROR"),
    ("pretix", "You entered an invalid number.", "VALIDATION_ERROR"),
    ("pretix", "The event cannot end before it starts.", "VALIDATION_ERROR"),
    ("pretix", "Filetype not allowed!", "VALIDATION_ERROR"),
    ("wagtail", "Sorry, you do not have permission to access this area.", "PERMISSION_ERROR"),
    ("wagtail", "You do not have permission to access the admin.", "PERMISSION_ERROR"),
    ("wagtail", "The requested page could not be found.", "DATA_NOT_FOUND"),
    ("wagtail", "This page is locked to further editing", "RESOURCE_CONFLICT"),
    ("wagtail", "Sorry, you cannot create a page at this location.", "BUSINESS_ERROR"),
    ("wagtail", "This collection cannot be deleted, because it is not empty. It contains:",
     "BUSINESS_ERROR"),
    ("wagtail", "You cannot copy a page into itself when copying subpages", "BUSINESS_ERROR"),
)  # fmt: skip
HELD_OUT = (
    ("weblate", "A user with that username already exists.", "RESOURCE_CONFLICT"),
    ("weblate", "A user with this e-mail already exists.", "RESOURCE_CONFLICT"),
    ("weblate", "Component or category with the same URL slug already exists at this level.",
     "RESOURCE_CONFLICT"),
    ("weblate", "The given language already exists.", "RESOURCE_CONFLICT"),
    ("weblate", "The supplied user identity is already in use for another account.",
     "RESOURCE_CONFLICT"),
    ("weblate", "Password reset has been already completed.", "BUSINESS_ERROR"),
    ("weblate", "Please enter the correct username and password.", "PERMISSION_ERROR"),
    ("weblate", "You currently do not have permission to create projects.", "PERMISSION_ERROR"),
    ("weblate", "You have been signed out, please sign in and try again later.",
     "PERMISSION_ERROR"),
    ("weblate", "The entered token is not valid.", "VALIDATION_ERROR"),
    ("weblate", "You have entered an invalid password.", "VALIDATION_ERROR"),
    ("weblate", "The weight value must be between 0 and 1: %s", "VALIDATION_ERROR"),
    ("weblate", "The supplied configuration is incorrect. Please check the errors below.",
     "VALIDATION_ERROR"),
    ("weblate", "Please avoid using special characters in the full name.", "VALIDATION_ERROR"),
    ("weblate", "Too many search queries, please try again later.", "SERVICE_UNAVAILABLE"),
    ("weblate", "The upstream repository could not be temporarily accessed. Please try it "
     "again later.", "SERVICE_UNAVAILABLE"),
    ("weblate", "Your request was rejected because you have performed too many operations "
     "recently.", "SERVICE_UNAVAILABLE"),
    ("weblate", "Service is no longer available", "SERVICE_UNAVAILABLE"),
    ("weblate", "The source string cannot be edited.", "BUSINESS_ERROR"),
    ("weblate", "Your Weblate is exceeding service limits. Please upgrade the subscription.",
     "BUSINESS_ERROR"),
    ("weblate", "Invalid search query!", "PARAMETER_ERROR"),
    ("weblate", "Invalid base64 encoded string", "PARAMETER_ERROR"),
    ("shuup core", "Can't delete. This object is protected.", "BUSINESS_ERROR"),
    ("shuup core", "Maximum weight exceeded.", "BUSINESS_ERROR"),
    ("shuup core", "Service is not available for this country.", "BUSINESS_ERROR"),
    ("shuup core", "The purchase quantity needs to be at least %d for this product.",
     "BUSINESS_ERROR"),
    ("shuup core", "This field cannot be changed since it is protected.", "BUSINESS_ERROR"),
    ("shuup core", "You don't have the required permission to assign this customer.",
     "PERMISSION_ERROR"),
    ("shuup core", "Please provide either username or email.", "VALIDATION_ERROR"),
    ("shuup core", "Please provide either username or email, not both.", "VALIDATION_ERROR"),
    ("shuup core", "Invalid color", "VALIDATION_ERROR"),
    ("shuup front", "Coupon is not available.", "BUSINESS_ERROR"),
    ("shuup front", "Combination not available", "BUSINESS_ERROR"),
    ("shuup front", "Invalid coupon code.", "BUSINESS_ERROR"),
    ("shuup front", "Internal Server Error", "SERVICE_UNAVAILABLE"),
    ("shuup front", "Page Not Found", "DATA_NOT_FOUND"),
    ("shuup front", "Permission Denied", "PERMISSION_ERROR"),
    ("shuup front", "Tax number is not valid.", "VALIDATION_ERROR"),
    ("shuup front", "Tax number is required with the company name.", "VALIDATION_ERROR"),
    ("shuup front", "Please fill out these fields if you are ordering for a company.",
     "VALIDATION_ERROR"),
    ("shuup front", "There were errors on submitted form fields. Please check them and try "
     "again.", "VALIDATION_ERROR"),
    ("shuup front", "Unfortunately an internal server error occurred. Try refreshing the page "
     "or try again later.", "SERVICE_UNAVAILABLE"),
    ("shuup front", "Unfortunately the page you were looking for does not exist.",
     "DATA_NOT_FOUND"),
    ("shuup front", "Unfortunately you didn't have permission to display this page.",
     "PERMISSION_ERROR"),
    ("misago", "Active theme can't be deleted.", "BUSINESS_ERROR"),
    ("misago", "Content approval can't be reversed.", "BUSINESS_ERROR"),
    ("misago", "This thread is closed. You can't edit it.", "BUSINESS_ERROR"),
    ("misago", "%(user)s, your account is already active.", "RESOURCE_CONFLICT"),
    ("misago", "One or more poll choices are invalid.", "VALIDATION_ERROR"),
    ("misago", "One or more posts to split could not be found.", "DATA_NOT_FOUND"),
    ("misago", "Requested page could not be found.", "DATA_NOT_FOUND"),
    ("misago", "Requested social login provider does not exist.", "DATA_NOT_FOUND"),
    ("misago", "This e-mail address is not allowed.", "VALIDATION_ERROR"),
    ("misago", "You don't have permission to see unapproved content lists.", "PERMISSION_ERROR"),
    ("misago", "You have to sign in to reveal events.", "PERMISSION_ERROR"),
    ("misago", "You need to add at least two choices to a poll.", "VALIDATION_ERROR"),
    ("helpdesk", "Invalid ticket ID or e-mail address. Please try again.", "DATA_NOT_FOUND"),
    ("helpdesk", "This ticket cannot be resolved or closed until the tickets it depends on "
     "are resolved.", "BUSINESS_ERROR"),
    ("helpdesk", "You haven't created any tickets yet, so you cannot run any reports.",
     "BUSINESS_ERROR"),
    ("helpdesk", "Your username and password didn't match. Please try again.", "PERMISSION_ERROR"),
)  # fmt: skip
LANGUAGES = ("zh_Hans", "zh_CN", "zh", "de", "es", "ja")


def shop_texts() -> Iterator[Provoked]:
    """Yield the texts that the rules were written against."""
    yield from _spoken(TEXTS + LATER)


def held_out_texts() -> Iterator[Provoked]:
    """Yield the texts that no rule was written against."""
    yield from _spoken(HELD_OUT)


def _spoken(texts: Iterable[tuple[str, str, str]]) -> Iterator[Provoked]:
    """Yield each text in English and in the languages that have a translation of it."""
    for package, msgid, label in texts:
        module, below = FOLDERS[package]
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent / below
        name = package.split()[0]
        release = version("django-helpdesk" if name == "helpdesk" else name)
        said = {"en": _filled(msgid)}
        for language in LANGUAGES:
            translated = _translated(folder, language, msgid)
            if translated:
                said.setdefault(language, _filled(translated))
        for language, text in said.items():
            source = f"{package} {release}: {language}"
            yield Provoked("", text, None, label, "", source)


def _translated(folder: Path, language: str, msgid: str) -> str | None:
    for catalogue in folder.glob(f"{language}/LC_MESSAGES/*.mo"):
        if catalogue.stem in ("django", "wtforms"):
            with catalogue.open("rb") as lines:
                text = gettext.GNUTranslations(lines).gettext(msgid)
            return text if text != msgid else None
    return None


def _filled(text: str) -> str:
    values = VALUES | {"field": "code", "min": 3, "other_name": "code", "user": "ana"}
    if "%(" in text:
        return text % values
    return text % 3 if "%d" in text else text % "code" if "%s" in text else text
