"""Time-based one-time passwords (RFC 6238), as authenticator apps show them.

One HMAC of the standard library; the vectors of the RFC's appendix B are among the tests.
"""

import base64
import binascii
import hmac
import re
import time
from typing import Literal, cast, get_args
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

Algorithm = Literal["SHA1", "SHA256", "SHA512"]
_DIGITS = range(6, 9)
_LEAST_KEY = 10
"""RFC 4226 demands 16 bytes; many sites hand out 10."""


class OneTimeCode(Struct, frozen=True):
    """What an authenticator app keeps of an account."""

    key: bytes
    digits: int = 6
    period: int = 30
    """Seconds for which a code is valid."""
    algorithm: Algorithm = "SHA1"

    @classmethod
    def read(cls, text: str) -> "OneTimeCode":
        """Read the key that a site shows, or the address in its QR code.

        Args:
            text: base32, with or without spaces and padding, or `otpauth://totp/…?secret=…`.

        Raises:
            ValueError: it is neither, or asks for what no authenticator app offers; the message
                holds nothing of the key.
        """
        if not text.strip().lower().startswith("otpauth:"):
            return cls(_key(text))
        parts = urlsplit(text.strip())
        if parts.netloc.lower() != "totp":
            raise ValueError("is an otpauth address of another kind than totp")
        said = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        algorithm = said.get("algorithm", "SHA1").upper()
        if algorithm not in get_args(Algorithm):
            raise ValueError(f"has an algorithm other than {', '.join(get_args(Algorithm))}")
        digits, period = (_number(said, *one) for one in (("digits", 6), ("period", 30)))
        if digits not in _DIGITS or not period:
            raise ValueError("has digits other than 6 to 8, or a period of 0")
        return cls(_key(said.get("secret", "")), digits, period, cast("Algorithm", algorithm))

    def now(self) -> str:
        """Return the code of this moment."""
        return self.at(time.time())

    def at(self, seconds: float) -> str:
        """Return the code at a moment, in seconds since 1970."""
        step = int(seconds // self.period).to_bytes(8, "big")
        digest = hmac.digest(self.key, step, self.algorithm)
        place = digest[-1] & 0x0F
        number = int.from_bytes(digest[place : place + 4], "big") & 0x7FFFFFFF
        return str(number % 10**self.digits).zfill(self.digits)


def _key(text: str) -> bytes:
    letters = re.sub(r"[\s-]|=+$", "", text).upper()
    try:
        key = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except (binascii.Error, ValueError):
        key = b""
    if len(key) < _LEAST_KEY:
        raise ValueError("is no base32 key of 16 letters or more, and no otpauth://totp address")
    return key


def _number(said: dict[str, str], name: str, default: int) -> int:
    text = said.get(name, str(default))
    return int(text) if re.fullmatch("[0-9]{1,3}", text) else 0
