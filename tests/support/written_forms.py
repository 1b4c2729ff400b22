"""How pages, servers and tools write a text down."""

import html
import json
import re
import string
import struct
from collections.abc import Callable
from html.entities import codepoint2name
from urllib.parse import quote, quote_plus, urlencode


def js(escape: str) -> Callable[[str], str]:
    safe = {"encodeURIComponent": "!~*'()", "encodeURI": ";/?:@&=+$,#!~*'()"}[escape]
    return lambda value: quote(value, safe=safe)


def json_for_html(value: str) -> str:
    text = json.dumps(value)[1:-1]
    for char in "<>&'+":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def css_escape(value: str) -> str:
    """Return what `CSS.escape` of a browser returns."""
    out = []
    for at, char in enumerate(value):
        code = ord(char)
        if code < 32 or code == 127 or (char.isascii() and char.isdigit() and at == 0):
            out.append(f"\\{code:x} ")
        elif code >= 128 or char.isalnum() or char in "_-":
            out.append(char)
        else:
            out.append(f"\\{char}")
    return "".join(out)


def named_entities(value: str) -> str:
    names = codepoint2name
    return "".join(f"&{names[ord(c)]};" if ord(c) in names else c for c in value)


def units(value: str) -> tuple[int, ...]:
    data = value.encode("utf-16-le")
    return struct.unpack(f"<{len(data) // 2}H", data)


def in_script(value: str) -> str:
    """Return what JavaScript's `escape` returns."""
    safe = set((string.ascii_letters + string.digits + "@*_+-./").encode())
    return "".join(
        chr(unit) if unit in safe else f"%{unit:02X}" if unit < 256 else f"%u{unit:04X}"
        for unit in units(value)
    )


def mixed_case(value: str) -> str:
    """Return percent encoding whose letters are in turn large and small."""
    turns = iter(range(1_000_000))
    encoded = quote(value, safe="")
    return re.sub("%..", lambda m: m[0].lower() if next(turns) % 2 else m[0], encoded)


ENCODERS: dict[str, Callable[[str], str]] = {
    "JSON": lambda value: json.dumps(value)[1:-1],
    "JSON as UTF-8": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "Python": lambda value: repr(value)[1:-1],
    "HTML": html.escape,
    "XML": lambda value: html.escape(value).replace("&#x27;", "&apos;"),
    "decimal entities": lambda value: "".join(
        c if c.isascii() and c.isalnum() else f"&#{ord(c)};" for c in value
    ),
    "hex entities": lambda value: "".join(
        c if c.isascii() and c.isalnum() else f"&#x{ord(c):X};" for c in value
    ),
    "named entities": named_entities,
    "an address": lambda value: quote(value, safe=""),
    "a query": quote_plus,
    "a mixed address": mixed_case,
    "a pattern": re.escape,
    "a selector": css_escape,
}
"""How one text is put into another, one after the other in any order."""

FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in a path": quote,
    "in a query": quote_plus,
    "in a form": lambda value: urlencode({"q": f"x {value} y"}),
    "by encodeURIComponent": js("encodeURIComponent"),
    "by encodeURI": js("encodeURI"),
    "in a URL within a URL": lambda value: quote(quote(value, safe=""), safe=""),
    "in HTML": html.escape,
    "in HTML text": lambda value: html.escape(value, quote=False),
    "in JSON": json.dumps,
    "in JSON as UTF-8": lambda value: json.dumps(value, ensure_ascii=False),
    "in JSON within HTML": json_for_html,
    "in Python": repr,
    "in JSON within JSON": lambda value: json.dumps(json.dumps({"a": value})),
    "in XML": lambda value: ENCODERS["XML"](value),
    "as decimal entities": lambda value: "".join(f"&#{ord(c)};" for c in value),
    "as hex entities": lambda value: "".join(f"&#x{ord(c):x};" for c in value),
    "as named entities": named_entities,
    "in an address of Latin-1": lambda value: (
        quote(value, encoding="latin-1") if max(map(ord, value)) < 256 else quote(value)
    ),
    "in an address in both cases": mixed_case,
    "by escape": in_script,
    "as numbers of JavaScript": lambda value: "".join(f"\\u{one:04x}" for one in units(value)),
    "as bytes of Python": lambda value: "".join(f"\\x{byte:02x}" for byte in value.encode()),
    "in a pattern": re.escape,
    "in a selector": css_escape,
    "in hex": lambda value: value.encode().hex(),
    "in upper hex": lambda value: value.encode().hex().upper(),
}
