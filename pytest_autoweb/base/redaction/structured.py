"""Hides what stands under sensitive names: in addresses, forms, JSON, multipart, XML and HTML.

The form of a body is told by its content, because many servers send JSON as something else.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct

from pytest_autoweb.base.redaction.secret_forms import SECRET

_DEEP = 60
_INNER = 4
_PREFIX = re.compile(r"\ufeff?\s*(?:\)\]\}'?,?|for\s*\(;;\);|while\s*\(1\);)?\s*(?=[\[{])")
_CALLBACK = re.compile(r"\s*(?:/\*\*/)?[\w.$]+\((?=\s*[\[{])")
_LINE = re.compile(r"[^\r\n\x1e]+")
_DATA = re.compile(r"\s*(?:data:\s*)?(?=[\[{])")
_FORM = re.compile(
    r"[\w.~%+*\-\[\]$:]{1,200}=[^\s&<>{}\"]*(?:&[\w.~%+*\-\[\]$:]{1,200}=[^\s&<>\"]*)*"
)
_PART = re.compile(
    r"(content-disposition:[^\r\n]*?\bname=(?:\"([^\"\r\n]*)\"|([^;\s]+))[^\r\n]*"
    r"(?:\r?\n[^\r\n]+)*\r?\n\r?\n)([\s\S]*?)(?=\r?\n--|\Z)",
    re.IGNORECASE,
)
_TAG = re.compile(r"<(?P<end>/)?(?:[\w.-]+:)?(?P<name>[\w.-]+)(?:\s[^<>]*?)?(?P<empty>/)?>")
_ASSIGNED = re.compile(r"=\s*(?=[\[{])")
_INPUT = re.compile(r"<(?:input|meta)\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""(?i)\b(name|type|value|content)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))"""
)
_SCRIPT = re.compile(
    r"(<script\b[^>]*>)(.*?)(?=</script)",
    re.IGNORECASE | re.DOTALL,
)

Field = tuple[str, str]


class FieldMasks(Struct, frozen=True):
    """Replaces the values of sensitive fields.

    Args:
        hides: tells whether a field of a name is sensitive.
        mask: stands in place of a value.
        text: removes known values from any other text.
    """

    hides: Callable[[str], bool]
    mask: str
    text: Callable[[str], str]

    def url(self, url: str, depth: int = 0) -> str:
        """Return an address whose query and fragment hold no value of a sensitive field."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return self.text(url)
        place, at, host = parts.netloc.rpartition("@")
        if at:
            parts = parts._replace(netloc=f"{place.partition(':')[0]}:{self.mask}@{host}")
        before, mark, inside = parts.fragment.rpartition("?")
        fragment = before + mark + self._query(inside, depth)
        changed = parts._replace(query=self._query(parts.query, depth), fragment=fragment)
        return self.text(url if not at and changed == parts else changed.geturl())

    def _query(self, query: str, depth: int) -> str:
        if "=" not in query:
            return query
        pairs = parse_qsl(query, keep_blank_values=True)
        clean = [(self.text(name), self._of_field(name, value, depth)) for name, value in pairs]
        return query if clean == pairs else urlencode(clean, safe="<>:")

    def _of_field(self, name: str, value: str, depth: int = 0) -> str:
        return self.hidden(value) if self.hides(name) else self.value(value, depth + 1)

    def hidden(self, value: str) -> str:
        """Return what stands in place of a sensitive value: a declared one keeps its name."""
        shown = self.text(value)
        return shown if not value or SECRET.fullmatch(shown) else self.mask

    def value(self, text: str, depth: int = 0) -> str:
        """Return a value, which may itself be JSON or an address."""
        if depth > _INNER:
            return self.text(text)
        if text.lstrip()[:1] in ("{", "[") and (clean := self._json(text, depth)) is not None:
            return clean
        if re.match(r"(?:[a-z][a-z0-9+.-]*:/)?/\S*[?#]\S*=", text, re.IGNORECASE):
            return self.url(text, depth)
        return self.text(text)

    def body(self, text: str, content_type: str = "") -> str:
        kind = content_type.lower()
        if (clean := self._json(text)) is not None:
            return clean
        if "html" in kind or re.match(r"\s*<(?:!doctype html|html)\b", text[:500], re.IGNORECASE):
            return self.text(self._html(text))
        if "x-www-form-urlencoded" in kind or _FORM.fullmatch(text.strip()):
            return self.text(self._query(text.strip(), 0))
        if kind.startswith("multipart/") or _PART.search(text[:2_000]):
            return self.text(_PART.sub(self._part, text))
        if "xml" in kind or text.lstrip()[:1] == "<":
            return self.text(self._xml(text))
        if "javascript" in kind or "ecmascript" in kind:
            return self.text(self._script(text))
        if "{" in text[:10_000] and "javascript" not in kind and "css" not in kind:
            return self.text(_LINE.sub(self._line, text))
        return self.text(text)

    def _line(self, match: re.Match[str]) -> str:
        """Return a line, as of newline-delimited JSON or of an event stream."""
        begin = _DATA.match(match[0])
        clean = self._json(match[0][begin.end() :]) if begin else None
        return match[0] if clean is None or not begin else begin[0] + clean

    def _part(self, match: re.Match[str]) -> str:
        return match[1] + self._of_field(match[2] or match[3], match[4])

    def _xml(self, text: str) -> str:
        """Return XML; below a sensitive element, nothing of it but its structure stays."""
        parts, below, depth, at = [], "", 0, 0
        for match in _TAG.finditer(text):
            between = text[at : match.start()]
            parts += [self._in_element(between) if below else between, match[0]]
            at = match.end()
            name = match["name"]
            if below:
                depth += (name == below) * (-1 if match["end"] else not match["empty"])
                below = below if depth else ""
            elif not match["end"] and not match["empty"] and self.hides(name):
                below, depth = name, 1
        return "".join([*parts, text[at:]])

    def _in_element(self, text: str) -> str:
        data = text.strip().removeprefix("<![CDATA[").removesuffix("]]>")
        return text.replace(data, self.hidden(data)) if data else text

    def _script(self, text: str) -> str:
        """Return a script in which JSON is assigned, as the first state of a page is."""
        parts, at = [], 0
        for match in _ASSIGNED.finditer(text):
            if match.end() < at:
                continue
            with suppress(ValueError, RecursionError):
                value, end = json.JSONDecoder().raw_decode(text, match.end())
                if (clean := self.in_json(value)) != value:
                    written = json.dumps(clean, ensure_ascii=False).replace("</", "<\\/")
                    parts += [text[at : match.end()], written]
                    at = end
        return "".join([*parts, text[at:]])

    def _html(self, text: str) -> str:
        def field(match: re.Match[str]) -> str:
            said = attributes(match[0])
            secret = said.get("type", "").lower() == "password" or self.hides(said.get("name", ""))
            return _ATTRIBUTE.sub(value, match[0]) if secret else match[0]

        def value(match: re.Match[str]) -> str:
            known = match[1].lower() in ("value", "content") and (match[2] or match[3] or match[4])
            return f'{match[1]}="{self.mask}"' if known else match[0]

        def script(match: re.Match[str]) -> str:
            clean = self._json(match[2])
            if clean is None:
                return match[1] + self._script(match[2])
            return match[1] + clean.replace("</", "<\\/")

        return _SCRIPT.sub(script, _INPUT.sub(field, text))

    def _json(self, text: str, depth: int = 0) -> str | None:
        """Return JSON without sensitive values; None if the text is none."""
        begin, end, value, repeated = read_json(text)
        if end < 0:
            return None
        clean = self.in_json(value, depth)
        if clean == value and not repeated:
            return self.text(text)
        written = json.dumps(clean, ensure_ascii=False)
        return self.text(text[:begin] + written + text[end:])

    def in_json(self, value: Any, depth: int = 0, *, below: bool = False, level: int = 0) -> Any:
        """Return a value of JSON; below a sensitive name, nothing of it but its structure stays."""
        if level > _DEEP:
            return self.mask
        if isinstance(value, dict):
            return {
                self.text(key): self.in_json(
                    one, depth, below=below or self.hides(key), level=level + 1
                )
                for key, one in value.items()
            }
        if isinstance(value, list):
            return [self.in_json(one, depth, below=below, level=level + 1) for one in value]
        if isinstance(value, str):
            return self.hidden(value) if below else self.value(value, depth + 1)
        if value is None or isinstance(value, bool):
            return value
        spelled = json.dumps(value)
        # A secret made of digits may occur as a number.
        shown = self.hidden(spelled) if below else self.text(spelled)
        return value if shown == spelled else shown

    def fields(self, text: str, content_type: str = "") -> Iterator[Field]:
        """Yield the sensitive fields of a body, with their names and values."""
        kind = content_type.lower()
        stripped = text.strip()
        if "html" in kind and read_json(text)[1] < 0:
            for said in map(attributes, _INPUT.findall(text)):
                yield from self._known([(said.get("name", ""), field_value(said))])
        elif "x-www-form-urlencoded" in kind or _FORM.fullmatch(stripped):
            yield from self._known(parse_qsl(stripped, keep_blank_values=True))
        elif (found := _PART.findall(text)) and kind.startswith(("multipart/", "")):
            yield from self._known([(name or bare, value) for _, name, bare, value in found])
        else:
            whole = read_json(text)
            lines = [text] if whole[1] >= 0 else _LINE.findall(text)
            for line in lines if "{" in text else ():
                begin = _DATA.match(line)
                _, end, value, _ = read_json(line[begin.end() :] if begin else line)
                if end >= 0:
                    yield from self._in_value(value, "", False, 0)

    def _known(self, pairs: Iterable[Field]) -> Iterator[Field]:
        return ((name, value) for name, value in pairs if value and self.hides(name))

    def _in_value(self, value: Any, name: str, below: bool, level: int) -> Iterator[Field]:
        if level > _DEEP:
            return
        if isinstance(value, dict):
            for key, one in value.items():
                yield from self._in_value(one, key, below or self.hides(key), level + 1)
        elif isinstance(value, list):
            for one in value:
                yield from self._in_value(one, name, below, level + 1)
        elif below and isinstance(value, str) and value:
            yield name, value


def attributes(tag: str) -> dict[str, str]:
    """Return the attributes of a form's field that say what it is."""
    return {m[0].lower(): m[1] or m[2] or m[3] for m in _ATTRIBUTE.findall(tag)}


def field_value(said: dict[str, str]) -> str:
    """Return the value of a field, from its attributes."""
    return said.get("value") or said.get("content", "")


def password_names(html: str) -> set[str]:
    tags = map(attributes, _INPUT.findall(html))
    return {said.get("name", "") for said in tags if said.get("type", "").lower() == "password"}


def read_json(text: str) -> tuple[int, int, Any, bool]:
    """Return where JSON begins and ends in a text, what it is, and whether a name is repeated.

    Servers put it behind a prefix against inclusion, or into the call of a function. Where there is
    none, the end is -1.
    """
    begin = _PREFIX.match(text) or _CALLBACK.match(text)
    if begin is None:
        return 0, -1, None, False
    repeated: list[bool] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.append(True)
        return found

    try:
        decoder = json.JSONDecoder(object_pairs_hook=members)
        value, end = decoder.raw_decode(text, begin.end())
    except (ValueError, RecursionError):
        return 0, -1, None, False
    tail = text[end:].strip()
    if tail and (not tail.startswith(")") or len(tail) > 2):
        return 0, -1, None, False
    return begin.end(), end, value, bool(repeated)
