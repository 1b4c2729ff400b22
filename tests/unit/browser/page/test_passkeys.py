"""What is no passkey is refused before a browser gets it, in words without the secret."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.sync_api import BrowserContext

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.browser.page.passkeys import add_passkeys

PASSKEY = {name: f"{name}-tea-time" for name in ("id", "userHandle", "privateKey", "publicKey")}


@pytest.mark.parametrize(
    "value",
    [
        "tea-time",
        '["tea-time"]',
        json.dumps(PASSKEY),
        json.dumps({**PASSKEY, "rpId": "shop.test", "privateKey": ["tea-time"]}),
        json.dumps({**PASSKEY, "rpId": "shop.test", "signCount": "tea-time"}),
    ],
)
def test_what_is_no_passkey_is_refused_without_being_told(value: str) -> None:
    made: list[Any] = []
    authenticator = SimpleNamespace(install=lambda: None, create=lambda *_, **__: made.append(1))
    context = cast(BrowserContext, SimpleNamespace(credentials=authenticator))

    with pytest.raises(CaseError, match="the secret 'key' is no passkey") as caught:
        add_passkeys(context, ["<secret:key>"], lambda _: value, lambda *_: None)

    assert made == []
    assert "tea-time" not in str(caught.value)
