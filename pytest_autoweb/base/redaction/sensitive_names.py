"""Names of headers and fields whose values let one in."""

import re
from itertools import pairwise

_SENSITIVE_HEADER = re.compile(
    r"(?i)^(?:.*(?:cookie|token|secret|api-?key|passw|session|signature|credential|csrf|xsrf|jwt)"
    r"|(?:.*[-_])?(?:auth|authorization|authentication)(?:[-_].*)?$"
    r"|x-access(?![a-z])|.*(?:access|subscription|functions|private|admin|master|app)-key$|dpop$)"
)
_NO_SECRET = ("access-control-", "www-authenticate", "proxy-authenticate")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
_SECRET_WORDS = frozenset(
    (
        *("pass", "passwd", "passphrase", "passcode", "kennwort", "pwd", "pw", "mdp", "senha"),
        *("contrasena", "otp", "totp", "pin", "cvv", "cvc", "csrf", "xsrf", "nonce", "bearer"),
        *("csrfmiddlewaretoken", "jwt", "sid", "sessid", "jsessionid", "phpsessid", "sessionid"),
        *("signature", "sig", "credential", "authorization", "apikey", "privatekey", "accesskey"),
        *("secretkey", "passwordconfirmation", "csrftoken"),
    )
)
_SECRET_ENDS = ("password", "passwort", "passwd", "token", "secret")
_SECRET_PAIRS = frozenset(
    (
        *(("api", "key"), ("private", "key"), ("access", "key"), ("secret", "key")),
        *(("session", "id"), ("auth", "code"), ("x", "auth"), ("x", "access"), ("set", "cookie")),
        *(("security", "code"), ("session", "key"), ("auth", "key"), ("account", "key")),
        *(("encryption", "key"), ("signing", "key"), ("recovery", "code"), ("backup", "code")),
        *(("verification", "code"), ("mfa", "code"), ("code", "verifier"), ("saml", "response")),
    )
)
_SINGLE = _SECRET_WORDS | {"access"}
"""Words that end in an `s` without being a plural."""
_ALONE = frozenset({"auth", "session", "cookie", "cookies"})
# What is said about a secret is none: `token_type`, `password_policy`, `prompt_tokens`.
_ABOUT = frozenset(
    (
        *("count", "used", "limit", "length", "size", "type", "expires", "expiry", "ttl", "url"),
        *("required", "enabled", "policy", "strength", "uri", "endpoint", "label", "placeholder"),
    )
)
_COUNTED = frozenset(
    ("max", "min", "total", "num", "prompt", "completion", "input", "output", "cached", "reasoning")
)

SECRET_PLACE = re.compile(
    r"(?i)pass[-_ ]?(?:word|wort|code|phrase)|\bpwd\b|kennwort|contrase|mot de passe|senha|"
    r"has[łl]o|пароль|密码|パスワード|비밀번호|\b(?:otp|one[-_ ]time|totp)\b|type=.?password"
)
"""Fits locators of fields for secrets, in the languages that people are likely to write them in."""


def is_sensitive(header: str) -> bool:
    """Return whether a header's value grants access to something."""
    if header.lower().startswith(_NO_SECRET):
        return False
    return _SENSITIVE_HEADER.search(header) is not None or is_sensitive_field(header)


def is_sensitive_field(name: str) -> bool:
    """Tell whether a field of this name holds a secret or a short-lived token.

    Names are read by their words: `accessToken`, `user[password]`, `X-CSRF`, `passwords`.
    """
    words = [word.lower() for word in _WORDS.findall(name[:200])]
    if not words or words[-1] in _ABOUT or (words[-1] == "tokens" and words[0] in _COUNTED):
        return False
    single = [word if word in _SINGLE else word.removesuffix("s") for word in words]
    return (
        any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDS) for word in single)
        or any(pair in _SECRET_PAIRS for pair in pairwise(single))
        or (len(words) == 1 and words[0] in _ALONE)
    )


def unlike_words(value: str) -> bool:
    """Tell whether a value can be hidden in any text without hitting a word of it."""
    random = re.search(r"\d|[a-z][A-Z]|[^\w\s'’.,:;!?()-]", value)
    return len(value) >= 8 and random is not None and not re.search(r"\s", value)
