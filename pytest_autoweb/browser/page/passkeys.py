"""The passkeys of a case, held by Playwright's virtual authenticator in place of a device."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playwright.sync_api import BrowserContext, Error

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.base.redaction import SECRET

_FIELDS = {
    "id": "id",
    "userHandle": "user_handle",
    "privateKey": "private_key",
    "publicKey": "public_key",
}
"""The fields of a passkey, all of them base64url, and Playwright's arguments for them."""
_FIELD = "setup.passkeys"


def add_passkeys(
    context: BrowserContext,
    passkeys: Sequence[str] | None,
    reveal: Callable[[str], str],
    hide: Callable[[str, str], None],
) -> None:
    """Let pages sign in with passkeys and register new ones, without a person's finger.

    Args:
        context: of pages that are opened later.
        passkeys: placeholders of secrets, whose values are what `context.credentials.get()` returns
            of one, as JSON; None leaves the browser as it is.
        reveal: puts the values of secrets in.
        hide: is told the name of a secret and each private key in it.

    Raises:
        CaseError: a value is no passkey, or Playwright has no virtual authenticator.
    """
    if passkeys is None:
        return
    authenticator = getattr(context, "credentials", None)
    if authenticator is None:
        raise CaseError("needs Playwright 1.65 or newer", field=_FIELD)
    authenticator.install()
    for place in passkeys:
        name = SECRET.sub(r"\1", place)
        told = _read(name, reveal(place))
        hide(name, str(told["privateKey"]))
        arguments = {argument: told[field] for field, argument in _FIELDS.items()}
        try:
            authenticator.create(
                str(told["rpId"]), **arguments, sign_count=told.get("signCount", 0)
            )
        except Error:
            # What Playwright says may quote the keys.
            raise CaseError(f"Playwright refuses the passkey {name!r}", field=_FIELD) from None


def _read(name: str, text: str) -> Mapping[str, Any]:
    wanted = ("rpId", *_FIELDS)
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if (
        not isinstance(told, Mapping)
        or not all(isinstance(told.get(one), str) for one in wanted)
        or not isinstance(told.get("signCount", 0), int)
    ):
        raise CaseError(
            f"the secret {name!r} is no passkey: a JSON object with {', '.join(wanted)}, as "
            "Playwright's context.credentials.get() returns it",
            field=_FIELD,
        )
    return told
