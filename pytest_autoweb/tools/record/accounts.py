"""What a person signs in with while a case is recorded: codes, some by mail, and passkeys."""

import math
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.one_time_codes import OneTimeCode
from pytest_autoweb.tools.record.oracle import TYPING, Act

_MOST_CODES = 2_000


class Accounts(Struct, frozen=True):
    """The accounts of a person, each in an environment variable and by the name of a secret."""

    variables: Mapping[str, str]
    """The environment variable of each secret."""
    totp: Mapping[str, OneTimeCode]
    passkeys: Mapping[str, str]
    """The JSON of each passkey."""

    def codes(self, since: float, until: float) -> dict[str, str]:
        """Return the secret of each code of a time, with one before it and one after it.

        Args:
            since: when the person began, in seconds since 1970.
            until: when the person was done.
        """
        found: dict[str, str] = {}
        for name, account in self.totp.items():
            steps = math.ceil((until - since) / account.period) + 2
            for step in range(-1, min(steps, _MOST_CODES)):
                found[account.at(since + step * account.period)] = name
        return found


def read_accounts(
    totp: Iterable[str], passkeys: Iterable[str], environ: Mapping[str, str]
) -> Accounts:
    """Read accounts from the environment variables that hold them.

    Raises:
        SettingsError: a variable is not set, or holds no key; the message quotes no value.
    """
    variables: dict[str, str] = {}
    keys: dict[str, OneTimeCode] = {}
    for variable in totp:
        value = _value("--totp", variable, environ)
        try:
            keys[variable.lower()] = OneTimeCode.read(value)
        except ValueError as why:
            raise SettingsError(f"--totp: the value of {variable} {why}") from None
        variables[variable.lower()] = variable
    held = {name.lower(): _value("--passkey", name, environ) for name in passkeys}
    return Accounts(variables | {name.lower(): name for name in passkeys}, keys, held)


def _value(flag: str, variable: str, environ: Mapping[str, str]) -> str:
    if not variable.isidentifier():
        raise SettingsError(f"{flag}: {variable!r} is no name of an environment variable")
    if not (value := environ.get(variable, "")):
        raise SettingsError(f"{flag}: the environment variable {variable} is not set")
    return value


def with_placeholders(acts: Iterable[Act], codes: Mapping[str, str]) -> list[Act]:
    """Return acts with a placeholder where a code of a secret is typed, or a link is opened.

    Args:
        acts: what a person did.
        codes: the name of the secret of each code, and of each link.
    """
    return [_with_placeholder(act, codes) for act in acts]


def _with_placeholder(act: Act, codes: Mapping[str, str]) -> Act:
    name = next((codes[form] for form in typed_forms(act.text or "") if form in codes), None)
    if act.method not in TYPING | {"goto"} or name is None:
        return act
    said = f"<secret:{name}>"
    arguments = f'"{said}"'
    call = f"{act.receiver}.{act.method}({arguments})"
    return act._replace(code=act.calling(arguments), text=said, call=call)


def typed_forms(text: str) -> tuple[str, str, str]:
    """Return what was typed, and the same without the signs with which people group digits."""
    return text, "".join(text.split()), re.sub(r"[\s-]", "", text)


def without_codes(secrets: Mapping[str, str], codes: Iterable[str]) -> dict[str, str]:
    """Return the values of secret fields that are no codes, nor the beginning of one."""
    known = tuple(codes)

    def is_code(value: str, kind: str) -> bool:
        plain = "".join(value.split())
        whole = any(form in known for form in typed_forms(value))
        return whole or (kind == "code" and any(one.startswith(plain) for one in known))

    return {value: kind for value, kind in secrets.items() if not is_code(value, kind)}
