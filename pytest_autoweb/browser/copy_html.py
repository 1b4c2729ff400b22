"""Conversion of the tokens of `js/dom_copy.js` to HTML that looks as the page did. Pure.

The page's stylesheets are not kept. Instead, each element refers by number to a rule that sets
everything that affects visibility and accessible names: `display`, `visibility`, whether its box
is empty, and the text of its pseudo-elements.
"""

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_autoweb.browser.nesting import is_moved, text_is_moved

HIDDEN = "<hidden>"
"""Placeholder for the value of a password or hidden field."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
CUT = "data-autoweb-cut"

_VOID = frozenset(
    re.findall(r"\w+", "area base br col embed hr img input link meta source track wbr")
)
_DROPS_FIRST_LINE_BREAK = frozenset({"pre", "textarea"})
# Inside a body, a parser would merge, drop or never close these elements.
_RENAMED = {
    **dict.fromkeys(("frameset", "body", "html", "head"), "div"),
    **dict.fromkeys(("frame", "embed"), "iframe"),
    **dict.fromkeys(("plaintext", "xmp", "listing"), "pre"),
    "image": "span",
}
_TAG = re.compile(r"[a-z][^\s/>\0<]*")
_ATTRIBUTE = re.compile(r"[^\s\"'<>/=\0]+")
_CSS_WORDS = re.compile(r"[a-z -]{1,60}")
_CSS_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
# CSS functions that load something, which a copy must never do.
_LOADS = re.compile(r"(?i)(?:url|image|image-set|-webkit-image-set|src)\([^)]*\)?")
_SCRIPT_URL = re.compile(r"(?i)^[\s\0-\x1f]*(?:javascript|vbscript|data:text/html)")

_BASE = (
    "*{font-size:10px!important;line-height:normal!important;box-sizing:content-box!important;"
    "padding:1px!important;min-width:1px!important;min-height:1px!important;"
    "max-width:none!important;max-height:none!important;position:static!important;"
    "float:none!important;transform:none!important;scale:none!important;zoom:1!important;"
    "content-visibility:visible!important;animation:none!important;transition:none!important}"
)
_EMPTY_BOX = (
    "width:0!important;height:0!important;min-width:0!important;min-height:0!important;"
    "padding:0!important;border:0 none!important;font-size:0!important;overflow:hidden!important"
)


_GRAFT = ("<template data-autoweb-graft>", "</template>")


@dataclass(frozen=True, slots=True)
class CopiedDocument:
    """A document as `js/dom_copy.js` describes it."""

    tokens: Sequence[Any]
    styles: Sequence[str]
    title: str
    standards: bool
    root: Sequence[str]
    """Attributes of the `html` element."""
    root_look: int
    cut: bool


def document_html(
    document: CopiedDocument, frames: Mapping[int, str], redact: Callable[[str], str]
) -> str:
    """Return the document as one HTML text; `frames` holds the inner documents by number."""
    writer = _Writer(frames, redact, _rules(document.styles, redact))
    body = writer.body(document.tokens, document.root_look)
    root = writer.attributes(document.root)
    mark = f' {CUT}=""' if document.cut else ""
    look = f' data-autoweb="{document.root_look}"' if document.root_look >= 0 else ""
    return (
        f"{'<!doctype html>' if document.standards else ''}<html{root}{look}{mark}><head>"
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{html.escape(redact(document.title))}</title>"
        f"<style>{writer.sheet()}</style></head>{body}</html>"
    )


def _rules(styles: Sequence[str], redact: Callable[[str], str]) -> list[str]:
    """Return one CSS rule, with those of its pseudo-elements, for each distinct style."""
    rules: list[str] = []
    for number, text in enumerate(styles):
        display, visibility, position, floats, empty, before, after = json.loads(text)
        parts = [("display", display), ("visibility", visibility)]
        if position in ("absolute", "fixed"):
            parts.append(("position", "absolute"))
        if floats in ("left", "right"):
            parts.append(("float", floats))
        body = ";".join(f"{k}:{v}!important" for k, v in parts if _CSS_WORDS.fullmatch(str(v)))
        if empty:
            body += f";{_EMPTY_BOX}"
        rule = f'[data-autoweb="{number}"]{{{body}}}'
        for which, content in (("before", before), ("after", after)):
            if spelled := _content(content, redact):
                rule += f'[data-autoweb="{number}"]::{which}{{content:{spelled}}}'
        rules.append(rule)
    return rules


def _content(content: str, redact: Callable[[str], str]) -> str:
    """Return the texts of a CSS `content` in a form that cannot end the rule or style element."""
    shown, slash, instead = _outside_strings(content)
    spelled = " ".join(_css_string(redact(text)) for text in shown)
    if slash:
        other = " ".join(_css_string(redact(text)) for text in instead) or '""'
        return f"{spelled or chr(34) * 2} / {other}"
    return spelled


def _outside_strings(content: str) -> tuple[list[str], bool, list[str]]:
    before: list[str] = []
    after: list[str] = []
    slash, at = False, 0
    for match in _CSS_STRINGS.finditer(content):
        slash = slash or "/" in _LOADS.sub("", content[at : match.start()])
        (after if slash else before).append(_unescaped(match[0][1:-1]))
        at = match.end()
    return before, slash, after


def _grafted(text: str) -> str:
    """Wrap text that a parser would move, so that it stays in place; opening a copy unwraps it."""
    return _GRAFT[0] + text + _GRAFT[1]


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if code is None:
            return match[2] or ""
        number = int(code, 16)
        return chr(number) if 0 < number < 0x110000 else "\ufffd"

    return re.sub(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", plain, text, flags=re.DOTALL)


def _css_string(text: str) -> str:
    safe = (c if c.isalnum() or c in " .,:;!?*()+-" else f"\\{ord(c):x} " for c in text)
    return f'"{"".join(safe)}"'


class _Open(NamedTuple):
    """An element that has not ended yet."""

    end: str
    names: int
    """Number of names that it added to the stack of ancestors."""


@dataclass(slots=True)
class _Writer:
    frames: Mapping[int, str]
    redact: Callable[[str], str]
    rules: Sequence[str]
    out: list[str] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)
    ancestors: list[str] = field(default_factory=list)
    used: list[set[int]] = field(default_factory=list)
    """Rules used in the document and in each open shadow root, which needs a style sheet itself."""
    at_start: bool = False
    """Whether nothing has been written since the last start tag."""
    muted: int | None = None
    """Number of open elements when a frame or void element began, whose content is not written."""

    def body(self, tokens: Sequence[Any], root_look: int) -> str:
        self.used.append({root_look})
        for token in tokens:
            if isinstance(token, str):
                self.text(token)
            elif token == 0:
                self.end()
            elif token == 1:
                self.put('<template shadowrootmode="open">')
                self.ancestors.append("template")
                self.used.append(set())
            elif token == 2:
                self.put(f"<style>{self.sheet()}</style></template>")
                self.ancestors.pop()
            else:
                self.start(*token)
        return "".join(self.out)

    def sheet(self) -> str:
        """Return the style sheet of the innermost tree, which ends here."""
        return _BASE + "".join(self.rules[number] for number in sorted(self.used.pop() - {-1}))

    def put(self, text: str) -> None:
        if self.muted is None:
            self.out.append(text)

    def text(self, text: str) -> None:
        shown = html.escape(self.redact(text), quote=False)
        parent = self.ancestors[-1] if self.ancestors else ""
        # A parser drops the first line break in these elements, so it is written twice.
        if shown.startswith("\n") and parent in _DROPS_FIRST_LINE_BREAK and self.at_start:
            shown = "\n" + shown
        self.at_start = False
        self.put(_grafted(shown) if text_is_moved(text, parent) else shown)

    def start(
        self, tag: str, space: int, given: Sequence[str], look: int, state: Mapping[str, Any]
    ) -> None:
        name = self.name(tag, space, state)
        graft = space == 0 and is_moved(name, self.ancestors)
        before, after = _GRAFT if graft else ("", "")
        mark = f' data-autoweb="{look}"' if look >= 0 else ""
        self.used[-1].add(look)
        self.put(f"{before}<{name}{self.attributes(given)}{mark}{self.state(state)}>")
        void = space == 0 and name in _VOID
        names = ["template", name] if graft else [name]
        self.at_start = True
        self.open.append(_Open(("" if void else f"</{name}>") + after, len(names)))
        self.ancestors.extend(names)
        if (void or name == "iframe") and self.muted is None:
            self.muted = len(self.open)

    def name(self, tag: str, space: int, state: Mapping[str, Any]) -> str:
        if not self.ancestors:
            return "body"
        if not _TAG.fullmatch(tag):
            return "span"
        if space:
            return tag
        return "iframe" if state.get("frame") in self.frames else _RENAMED.get(tag, tag)

    def end(self) -> None:
        if self.muted == len(self.open):
            self.muted = None
        self.at_start = False
        last = self.open.pop()
        self.put(last.end)
        del self.ancestors[len(self.ancestors) - last.names :]

    def attributes(self, given: Sequence[str]) -> str:
        parts: list[str] = []
        for name, value in zip(given[::2], given[1::2], strict=True):
            if not _ATTRIBUTE.fullmatch(name):
                continue
            shown = self.redact(value)
            # The copy must load nothing and run nothing, and its own rules are all `!important`.
            if name == "style":
                shown = _LOADS.sub("none", shown.replace("!important", ""))
            elif _SCRIPT_URL.match(shown):
                shown = "javascript:"
            parts.append(f' {name}="{html.escape(shown)}"')
        return "".join(parts)

    def state(self, state: Mapping[str, Any]) -> str:
        parts: list[str] = []
        if "was" in state:
            parts.append(f' data-autoweb-was="{state["was"]}"')
        if "value" in state:
            value = self.redact(state["value"])
            if state.get("secret") and not re.fullmatch(r"<secret:\w+>", value):
                value = HIDDEN
            parts.append(f' data-autoweb-value="{html.escape(value)}"')
        if "checked" in state:
            parts.append(f' data-autoweb-checked="{int(state["checked"])}"')
        if state.get("indeterminate"):
            parts.append(' data-autoweb-indeterminate="1"')
        if "selected" in state:
            parts.append(f' data-autoweb-selected="{" ".join(map(str, state["selected"]))}"')
        if "frame" in state:
            parts.append(f' srcdoc="{html.escape(self.frames.get(state["frame"], ""))}"')
        return "".join(parts)
