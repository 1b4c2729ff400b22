"""One-time codes that a person typed while a case was recorded."""

import pytest

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.one_time_codes import OneTimeCode
from pytest_autoweb.tools.record.accounts import (
    read_accounts,
    with_placeholders,
    without_codes,
)
from pytest_autoweb.tools.record.oracle import make_oracle, read_acts

KEY = "JBSWY3DPEHPK3PXPJBSWY3DP"
BEGAN = 1_800_000_000.0
ACCOUNTS = read_accounts(["SHOP_KEY"], [], {"SHOP_KEY": KEY})


@pytest.mark.parametrize("later", [-30, 0, 29, 61, 90])
@pytest.mark.parametrize("between", ["", " "])
def test_a_code_of_the_time_of_recording_becomes_a_placeholder(later: int, between: str) -> None:
    code = OneTimeCode.read(KEY).at(BEGAN + later)
    acts = read_acts(f'page.get_by_label("Code").fill("{code[:3]}{between}{code[3:]}")')

    found = ACCOUNTS.codes(BEGAN, BEGAN + 70)
    oracle = make_oracle(with_placeholders(acts, found), {})

    assert 'page.get_by_label("Code").fill("<secret:shop_key>")' in oracle.code
    assert oracle.secrets == {"shop_key": ""}


def test_fields_for_codes_leave_no_second_secret_and_passwords_stay() -> None:
    code = OneTimeCode.read(KEY).at(BEGAN)
    typed = {code: "code", code[:3]: "code", "12": "code_of_the_door", "open sesame": "password"}
    codes = ACCOUNTS.codes(BEGAN, BEGAN)
    assert without_codes(typed, codes) == {"12": "code_of_the_door", "open sesame": "password"}


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("NOT_SET", "--totp: the environment variable NOT_SET is not set"),
        ("TEA", "--totp: the value of TEA is no base32 key"),
        ("A-B", "--totp: 'A-B' is no name of an environment variable"),
    ],
)
def test_an_account_that_cannot_be_used_is_refused_without_its_value(
    variable: str, said: str
) -> None:
    with pytest.raises(SettingsError) as error:
        read_accounts([variable], [], {"TEA": "tea-time-1"})
    assert said in str(error.value)
    assert "tea-time" not in str(error.value)
