"""One-time codes are those of RFC 6238, whatever form a key is given in."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.one_time_codes import OneTimeCode

SEED = b"12345678901234567890"
SEEDS = {"SHA1": SEED, "SHA256": (SEED * 2)[:32], "SHA512": (SEED * 4)[:64]}
# RFC 6238, appendix B.
VECTORS = {
    59: ("94287082", "46119246", "90693936"),
    1111111109: ("07081804", "68084774", "25091201"),
    1111111111: ("14050471", "67062674", "99943326"),
    1234567890: ("89005924", "91819424", "93441116"),
    2000000000: ("69279037", "90698825", "38618901"),
    20000000000: ("65353130", "77737706", "47863826"),
}


@pytest.mark.parametrize("seconds", VECTORS)
@pytest.mark.parametrize("place", range(3))
def test_codes_are_those_of_the_standard(seconds: int, place: int) -> None:
    algorithm = list(SEEDS)[place]
    key = base64.b32encode(SEEDS[algorithm]).decode()
    address = f"otpauth://totp/Shop:ana?secret={key}&algorithm={algorithm}&digits=8&period=30"

    assert OneTimeCode.read(address).at(seconds) == VECTORS[seconds][place]


def test_a_key_may_be_written_as_sites_show_it() -> None:
    key = base64.b32encode(SEED).decode()
    in_groups = " ".join(key[at : at + 4] for at in range(0, len(key), 4)).lower()

    assert OneTimeCode.read(in_groups) == OneTimeCode.read(key) == OneTimeCode(SEED)
    assert OneTimeCode.read(key).at(59) == "287082"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no base32 key"),
        ("JBSWY3DP", "no base32 key"),
        ("not-base32-at-all-1890!", "no base32 key"),
        ("otpauth://hotp/a?secret=JBSWY3DPEHPK3PXP", "another kind than totp"),
        ("otpauth://totp/a?secret=JBSWY3DPEHPK3PXP&algorithm=MD5", "algorithm other than SHA1"),
        ("otpauth://totp/a?secret=JBSWY3DPEHPK3PXP&digits=99", "digits other than 6 to 8"),
        ("otpauth://totp/a?secret=JBSWY3DPEHPK3PXP&period=0", "a period of 0"),
        ("otpauth://totp/a", "no base32 key"),
    ],
)
def test_what_makes_no_codes_is_named_without_the_key(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        OneTimeCode.read(text)

    assert "JBSWY3DP" not in str(caught.value)


@given(st.text() | st.builds("otpauth://totp/{}".format, st.text()))
def test_any_text_is_a_key_or_a_value_error(text: str) -> None:
    found: Any
    try:
        found = OneTimeCode.read(text)
    except ValueError:
        return
    assert len(found.at(0)) == found.digits
