"""Removes secrets from recorded traffic, by what it holds and not by what servers call it.

A replayed page must still work, so words stay. Instead, values are learned where they are certainly
secret (headers, cookies, fields by name) and then replaced everywhere; what has the shape of a key
goes as well. A body that cannot be read is not kept if it holds a secret, or might.
"""

import codecs
import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from email.message import Message
from email.parser import BytesParser
from secrets import token_hex
from typing import NamedTuple

from pytest_autoweb.base.redaction import (
    SECRET,
    FieldMasks,
    Redactor,
    is_sensitive,
    is_sensitive_field,
    password_names,
    redact_keys,
    redact_shapes,
    unlike_words,
)
from pytest_autoweb.browser.egress.http_messages import Headers
from pytest_autoweb.browser.egress.traffic_reader import HttpAnswer, HttpRequest

STAND_IN = "redacted"
"""Replaces an undeclared secret; it contains no tag or quote, so that pages still work."""
LONG_ENOUGH = 8
"""A shorter value is removed only where it was found: elsewhere it may be an ordinary word."""

_TEXT = re.compile(
    r"(?i)^(?:text/|application/(?:[\w.+-]*\+)?(?:json|xml|javascript|x-javascript|ecmascript)\b"
    r"|application/x-www-form-urlencoded|image/svg)"
)
_CHARSET = re.compile(r"(?i)charset\s*=\s*[\"']?([\w.:-]{2,40})")
_QUOTED = re.compile(
    r"""["']?([\w.\-\[\]]{2,40})["']?\s*[:=]\s*(["'])((?:(?!\2)[^\\\r\n]){8,4096})\2"""
)
_IN_LINK = re.compile(r"(?:[?&#]|&amp;)([\w.\-\[\]]{2,40})=([^\s&#\"'<>\\]{8,4096})")
_COOKIE = re.compile(r"^([^=;]+)=([^;]*)(.*)$", re.DOTALL)
_FOREIGN = re.compile(r"<secret:(?=:*[^<>:]*>)")
_ESCAPED = re.compile(r"<secret:(:+)(?=[^<>:]*>)")
_RUN = re.compile(rb"[\x20-\x7e]{4,}")
_NO_TEXT = re.compile(r"[\x00-\x06\x0e-\x1a\x7f]")
_UNPACKED_BYTES = 64_000_000
_ARCHIVE_FILES = 2_000
UNREAD = "its encoding cannot be read, so it may hold a secret"
HOLDS = "it contains a secret of the case"


class StoredBody(NamedTuple):
    """A body in stored form, or the reason why it is not kept."""

    body: bytes = b""
    is_text: bool = False
    not_kept: str = ""


class TrafficMasks:
    """Removes secrets from the traffic of one attempt, and learns more of them on the way.

    Args:
        secrets: those that the case declares, by name.
        remembered: the password fields of pages that other attempts have seen.
    """

    def __init__(self, secrets: dict[str, str], remembered: Iterable[str] = ()) -> None:
        # Texts of others are decoded on the way, so whatever they hold may only then look like a
        # placeholder. What only this object knows tells ours apart until the text is stored.
        self._own = f"{token_hex(8)}."
        self._known = Redactor({self._own + n: v for n, v in secrets.items()}, mask=STAND_IN)
        self.password_fields = set(remembered)
        """Names of fields of the type password, whatever they are called."""
        self._fields = FieldMasks(self._hides, STAND_IN, self._shown)

    def learn_code(self, name: str, code: str) -> None:
        """Learn a one-time code, so that all codes of a secret read the same.

        Args:
            name: the code's name in stored texts.
            code: the code.
        """
        self._known.learn(code, self._own + name)

    def _hides(self, name: str) -> bool:
        return name in self.password_fields or is_sensitive_field(name)

    def learn_request(self, request: HttpRequest) -> None:
        """Learn from the headers and fields of a request."""
        for name, value in request.headers:
            if name.lower() == "cookie":
                for part in value.split(";"):
                    cookie, _, content = part.partition("=")
                    self._learn_cookie(cookie, content)
            elif is_sensitive(name):
                self._learn(value.rpartition(" ")[2])
        self._learn_address(request.url)
        kind = request.header("content-type")
        text = readable_text(request.body, kind)
        for _, value in self._fields.fields(text or "", kind):
            self._learn(value)

    def learn_answer(self, answer: HttpAnswer) -> None:
        """Learn from the cookies, forms and tokens of an answer."""
        for name, value in answer.headers:
            if name.lower() == "set-cookie" and (match := _COOKIE.match(value)):
                self._learn_cookie(match[1], match[2], kept="httponly" in match[3].lower())
            elif is_sensitive(name):
                self._learn(value)
        self._learn_address(answer.header("location"))
        kind = answer.header("content-type")
        text = readable_text(answer.body, kind)
        if text is None:
            return
        self.password_fields |= password_names(text) if "html" in kind.lower() else set()
        for _, value in self._fields.fields(text, kind):
            if "html" in kind.lower() or unlike_words(value):
                self._learn(value)
        if not kind.lower().startswith(("text/css", "font/", "image/")):
            for match in _QUOTED.finditer(text):
                if unlike_words(match[3]) and is_sensitive_field(match[1]):
                    self._learn(match[3])
            for match in _IN_LINK.finditer(text):
                if unlike_words(match[2]) and is_sensitive_field(match[1]):
                    self._learn(match[2])

    def _learn_address(self, url: str) -> None:
        for part in re.split(r"[?#]", url)[1:]:
            for _, value in self._fields.fields(part, "application/x-www-form-urlencoded"):
                self._learn(value)

    def _learn_cookie(self, name: str, value: str, *, kept: bool = False) -> None:
        """Learn a cookie whose value looks like a token, or whose name grants access."""
        value = value.strip().strip('"')
        random = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        sure = (kept or is_sensitive_field(name)) and unlike_words(value)
        if sure or (len(value) >= 12 and random):
            self._learn(value)

    def _learn(self, value: str) -> None:
        if len(value) >= LONG_ENOUGH and STAND_IN not in value and not SECRET.search(value):
            self._known.learn(value)

    def text(self, text: str) -> str:
        """Return a text without the secrets known so far, in stored form."""
        return self._stored(self._shown(text))

    def _stored(self, text: str) -> str:
        """Return a masked text with our placeholders as they are stored.

        What only looks like one of them is marked, so that a replay does not fill it in.
        """
        ours = f"<secret:{self._own}"
        parts = (_FOREIGN.sub("<secret::", part) for part in text.split(ours))
        return "<secret:".join(parts)

    def _shown(self, text: str) -> str:
        return redact_shapes(self._known(text), STAND_IN)

    def url(self, url: str) -> str:
        """Return an address without secrets."""
        return self._stored(self._fields.url(url))

    def headers(self, headers: Headers) -> list[dict[str, str]]:
        """Return headers in stored form."""
        return [
            {"name": self.text(name), "value": self._header(name.lower(), value)}
            for name, value in headers
        ]

    def _header(self, name: str, value: str) -> str:
        if name == "set-cookie" and (match := _COOKIE.match(value)):
            return f"{match[1]}={STAND_IN}{match[3]}"
        if is_sensitive(name):
            return STAND_IN
        return redact_keys(self.url(value) if "?" in value or "#" in value else self.text(value))

    def request_body(self, request: HttpRequest) -> str:
        if not request.body:
            return ""
        kind = request.header("content-type")
        if kind.lower().startswith("multipart/"):
            parts = [[name, self._part(name, value)] for name, value in _parts(kind, request.body)]
            return self.text(json.dumps(parts, ensure_ascii=False))
        text = readable_text(request.body, kind)
        if text is None or request.header("content-encoding").lower() not in ("", "identity"):
            return _digest(request.body)
        return self._stored(self._fields.body(text, kind))

    def _part(self, name: str, value: str) -> str:
        return self._fields.hidden(value) if self._hides(name) else self._fields.value(value)

    def answer_text(self, text: str, content_type: str) -> str:
        """Return the body of an answer in stored form."""
        return self._stored(self._fields.body(text, content_type))

    def answer_body(self, answer: HttpAnswer) -> StoredBody:
        """Return the body of an answer in stored form, or why it is not kept."""
        if not answer.body:
            return StoredBody()
        kind = answer.header("content-type")
        if answer.header("content-encoding").lower() not in ("", "identity"):
            return StoredBody(not_kept=UNREAD)
        text = readable_text(answer.body, kind)
        if text is not None:
            charset = _charset_of(answer.body, kind)
            clean = self.answer_text(text, kind)
            return StoredBody(clean.encode(charset, "replace"), charset in ("utf-8", "latin-1"))
        try:
            hidden = self._holds_secret(answer.body)
        except (zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):
            return StoredBody(not_kept=UNREAD)
        return StoredBody(not_kept=HOLDS) if hidden else StoredBody(answer.body)

    def _holds_secret(self, data: bytes, depth: int = 0) -> bool:
        """Tell whether a body that is no text holds a known value, also in what it has packed.

        Raises:
            zlib.error: it is packed and cannot be unpacked.
        """
        inner = _unpacked(data) if depth < 3 else ()
        if any(self._holds_secret(one, depth + 1) for one in inner):
            return True
        runs = b"\n".join(_RUN.findall(data)).decode("ascii")
        # Signs that are not of ASCII, and the wide characters of some programs.
        texts = [runs]
        if self._known.has_wide_values:
            texts += [data.decode("utf-8", "ignore"), data.decode("latin-1")]
        if b"\0" in data:
            wide = [
                part.decode(charset, "ignore")
                for part in (data, data[1:])
                for charset in ("utf-16-le", "utf-16-be")
            ]
            texts += [re.sub(r"[^\x20-\x7e\xa0-\u024f]+", "\n", one) for one in wide]
        return any(self._known(text) != text for text in texts)

    def restored(self, text: str, secrets: dict[str, str]) -> str:
        """Return a stored text with the case's declared secrets restored, for replay."""
        text = SECRET.sub(lambda match: secrets.get(match[1], match[0]), text)
        return _ESCAPED.sub(lambda match: f"<secret:{match[1][1:]}", text)


def readable_text(data: bytes, content_type: str) -> str | None:
    """Return a body as text, or None if it is none, whatever its type says."""
    try:
        text = data.decode(_charset_of(data, content_type))
    except UnicodeDecodeError:
        return None
    return None if _NO_TEXT.search(text[:65_536]) and not _TEXT.match(content_type) else text


def _charset_of(data: bytes, content_type: str) -> str:
    """Return the charset of a body; Latin-1, in which any byte is a character, as the last one."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    named = _CHARSET.search(content_type)
    if named and named[1].lower().startswith("utf-16"):
        return "utf-16-be" if named[1].lower().endswith("be") else "utf-16-le"
    return "latin-1" if _TEXT.match(content_type) else "utf-8"


def _unpacked(data: bytes) -> list[bytes]:
    """Return what is packed in a body.

    Raises:
        zlib.error: it is too much, or damaged.
        zipfile.BadZipFile: it is damaged.
    """
    if data.startswith(b"\x1f\x8b"):
        return [_inflated(data, 47)]
    if data[:1] == b"\x78" and data[1:2] in b"\x01\x5e\x9c\xda" and len(data) > 6:
        with suppress(zlib.error):
            # Its first bytes may be those of something else.
            return [_inflated(data, 15)]
        return []
    if not data.startswith(b"PK\x03\x04"):
        return []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > _ARCHIVE_FILES or sum(m.file_size for m in members) > _UNPACKED_BYTES:
            raise zlib.error("too large")
        return [archive.read(member) for member in members]


def _inflated(data: bytes, wbits: int) -> bytes:
    inflater = zlib.decompressobj(wbits)
    plain = inflater.decompress(data, _UNPACKED_BYTES)
    if inflater.unconsumed_tail:
        raise zlib.error("too large")
    return plain


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
