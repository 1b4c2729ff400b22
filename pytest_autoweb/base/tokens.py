"""Compares what somebody sent with a secret of this process."""

import hmac


def is_token(given: str, token: str) -> bool:
    """Tell whether a text from outside is the token.

    The comparison takes the same time for every text of the token's length, so that the delay of an
    answer says nothing about it. Any text is allowed, also one that is no ASCII or no UTF-8.
    """
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())
