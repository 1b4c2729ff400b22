"""How pages, servers and tools write a text down."""

import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode


def js(escape: str) -> Callable[[str], str]:
    safe = {"encodeURIComponent": "!~*'()", "encodeURI": ";/?:@&=+$,#!~*'()"}[escape]
    return lambda value: quote(value, safe=safe)


def json_for_html(value: str) -> str:
    text = json.dumps(value)[1:-1]
    for char in "<>&'+":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


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
    "in hex": lambda value: value.encode().hex(),
    "in upper hex": lambda value: value.encode().hex().upper(),
}
