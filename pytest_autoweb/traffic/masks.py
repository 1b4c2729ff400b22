"""What is taken out of recorded traffic before it is kept: cookies, logins, passwords, tokens.

A page must still work when it is replayed, so that nothing is taken out by its looks alone where
scripts could break. Instead values are learned where they are surely secret (headers, cookies,
fields by their names) and then replaced wherever they stand.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from email.message import Message
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pytest_autoweb.egress.traffic_reader import Headers, HttpAnswer, HttpRequest
from pytest_autoweb.evidence.wire import is_sensitive, redact_url
from pytest_autoweb.redaction import SECRET, Redactor, redact_keys
from pytest_autoweb.traffic.traffic_rules import is_sensitive_field

STAND_IN = "redacted"
"""What stands for a value that nobody declared; it is no tag and no quote, so that pages work."""
LONG_ENOUGH = 8
"""A shorter value is taken out of its own place only: elsewhere it may be an ordinary word."""

_TEXT = re.compile(
    r"(?i)^(?:text/|application/(?:[\w.+-]*\+)?(?:json|xml|javascript|x-javascript|ecmascript)\b"
    r"|application/x-www-form-urlencoded|image/svg)"
)
_INPUT = re.compile(r"<(?:input|meta)\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""(?i)\b(name|type|value|content)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))"""
)
_QUOTED = re.compile(
    r"""["']?([\w.\-\[\]]{2,40})["']?\s*[:=]\s*(["'])((?:(?!\2)[^\\\r\n]){8,4096})\2"""
)
_COOKIE = re.compile(r"^([^=;]+)=([^;]*)(.*)$", re.DOTALL)


def is_text(content_type: str) -> bool:
    """Tell whether a body of this type is kept as text."""
    return _TEXT.match(content_type) is not None


class TrafficMasks:
    """Takes secrets out of the traffic of one attempt, and learns more of them on the way.

    Args:
        secrets: those that the case declares, by name.
        remembered: the password fields of pages, which other attempts have seen.
    """

    def __init__(self, secrets: dict[str, str], remembered: Iterable[str] = ()) -> None:
        self._secrets = dict(secrets)
        self._declared = Redactor(secrets)
        self._learned: set[str] = set()
        self.password_fields = set(remembered)
        """Names of fields of the type password, whatever they are called."""
        self._all: Redactor | None = None

    def learn_request(self, request: HttpRequest) -> None:
        """Learn from the headers and fields of a request."""
        for name, value in request.headers:
            if name.lower() == "cookie":
                for part in value.split(";"):
                    self._learn(part.partition("=")[2].strip(), sure=False)
            elif is_sensitive(name):
                self._learn(value.rpartition(" ")[2])
        for name, value in self._fields(request):
            if self._hides(name):
                self._learn(value)

    def learn_answer(self, answer: HttpAnswer) -> None:
        """Learn from the cookies, forms and tokens of an answer."""
        for name, value in answer.headers:
            if name.lower() == "set-cookie" and (match := _COOKIE.match(value)):
                self._learn(match[2].strip(), sure=False)
            elif is_sensitive(name):
                self._learn(value)
        kind = answer.header("content-type")
        if not is_text(kind):
            return
        text = answer.body.decode("utf-8", "replace")
        if "html" in kind:
            self._learn_forms(text)
        if "json" in kind or "html" in kind:
            for match in _QUOTED.finditer(text):
                if is_sensitive_field(match[1]):
                    self._learn(match[3])

    def _learn_forms(self, text: str) -> None:
        for tag in _INPUT.findall(text):
            said = {m[0].lower(): m[1] or m[2] or m[3] for m in _ATTRIBUTE.findall(tag)}
            name, value = said.get("name", ""), said.get("value") or said.get("content", "")
            if said.get("type", "").lower() == "password":
                self.password_fields.add(name)
            if self._hides(name):
                self._learn(value)

    def _hides(self, name: str) -> bool:
        return name in self.password_fields or is_sensitive_field(name)

    def _learn(self, value: str, *, sure: bool = True) -> None:
        """Learn a value; one that need not be secret only if it looks like a token."""
        random = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        if not (len(value) >= LONG_ENOUGH if sure else len(value) >= 12 and random):
            return
        if value not in self._learned and STAND_IN not in value:
            self._learned.add(value)
            self._all = None

    def text(self, text: str) -> str:
        """Return a text without the secrets known so far."""
        if self._all is None:
            named = {
                f"learned{number}": value for number, value in enumerate(sorted(self._learned))
            }
            self._all = Redactor(named)
        hidden = self._all(self._declared(text))
        return re.sub(r"<secret:learned\d+>", STAND_IN, hidden)

    def url(self, url: str) -> str:
        """Return an address without secrets."""
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        clean = [(name, STAND_IN if self._hides(name) else value) for name, value in pairs]
        if clean != pairs:
            url = parts._replace(query=urlencode(clean)).geturl()
        return redact_url(url, self.text)

    def headers(self, headers: Headers) -> list[dict[str, str]]:
        """Return headers as they are kept."""
        return [{"name": name, "value": self._header(name.lower(), v)} for name, v in headers]

    def _header(self, name: str, value: str) -> str:
        if name == "set-cookie" and (match := _COOKIE.match(value)):
            return f"{match[1]}={STAND_IN}{match[3]}"
        if is_sensitive(name):
            return STAND_IN
        if name in ("location", "referer", "origin", "refresh", "content-location"):
            return self.url(value)
        return redact_keys(self.text(value))

    def request_body(self, request: HttpRequest) -> str:
        """Return the body of a request in the form in which it is kept and compared."""
        kind = request.header("content-type").lower()
        if not request.body:
            return ""
        if "application/x-www-form-urlencoded" in kind:
            return self.text(urlencode(self._shown(self._fields(request))))
        if kind.startswith("multipart/"):
            return self.text(json.dumps(self._shown(self._fields(request)), ensure_ascii=False))
        try:
            text = request.body.decode("utf-8")
        except UnicodeDecodeError:
            return _digest(request.body)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return redact_keys(self.text(text))
        return self.text(json.dumps(self._in_json(value), ensure_ascii=False))

    def _shown(self, fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(name, STAND_IN if self._hides(name) else value) for name, value in fields]

    def _in_json(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: STAND_IN
                if self._hides(key) and isinstance(one, str | int | float)
                else self._in_json(one)
                for key, one in value.items()
            }
        return [self._in_json(one) for one in value] if isinstance(value, list) else value

    def _fields(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Return the fields of a form or the members of an object; files are only their digests."""
        kind = request.header("content-type").lower()
        if "application/x-www-form-urlencoded" in kind:
            return parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True)
        if kind.startswith("multipart/"):
            return _parts(request.header("content-type"), request.body)
        if "json" not in kind:
            return []
        try:
            value = json.loads(request.body)
        except (ValueError, RecursionError):
            return []
        members = value.items() if isinstance(value, dict) else ()
        return [(name, one) for name, one in members if isinstance(one, str)]

    def answer_text(self, text: str, content_type: str) -> str:
        """Return the body of an answer as it is kept."""
        if "json" in content_type:
            return self.text(_json_without(text, self._in_json))
        return self.text(text)

    def restored(self, text: str, secrets: dict[str, str]) -> str:
        """Return a kept text with the secrets that the case declares, for the page of a replay."""
        return SECRET.sub(lambda match: secrets.get(match[1], match[0]), text)


def _json_without(text: str, change: Callable[[Any], Any]) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    clean = change(value)
    return text if clean == value else json.dumps(clean, ensure_ascii=False)


def _parts(content_type: str, body: bytes) -> list[tuple[str, str]]:
    parsed: Message = BytesParser().parsebytes(
        b"Content-Type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n" + body
    )
    found = []
    for part in parsed.walk():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            continue
        file = part.get_filename()
        shown = content.decode("utf-8", "replace") if file is None else _digest(content)
        found.append((name, shown))
    return found


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}, {len(content):,} bytes"
