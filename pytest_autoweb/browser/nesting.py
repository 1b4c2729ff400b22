"""Detection of elements that an HTML parser would not leave where they are written. Pure.

Scripts can build trees that no HTML text produces, such as a `div` in a `p` or a table row
without a row group.
"""

from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# These lists follow the rules for tree construction in the HTML standard.
_CLOSES_P = _words(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p pre search"
    " section summary table ul dd dt xmp plaintext"
)
_HEADINGS = _words("h1 h2 h3 h4 h5 h6")
_SCOPE = _words("applet caption html table td th marquee object template svg math foreignobject")
_TABLE_PARENTS = {
    "caption": _words("table"),
    "colgroup": _words("table"),
    "col": _words("colgroup"),
    "thead": _words("table"),
    "tbody": _words("table"),
    "tfoot": _words("table"),
    "tr": _words("thead tbody tfoot"),
    "td": _words("tr"),
    "th": _words("tr"),
}
_TABLE_CHILDREN = {
    "table": _words("caption colgroup thead tbody tfoot template"),
    "colgroup": _words("col template"),
    "thead": _words("tr template"),
    "tbody": _words("tr template"),
    "tfoot": _words("tr template"),
    "tr": _words("td th template"),
}
_SELECT_CHILDREN = {
    "select": _words("option optgroup hr template"),
    "optgroup": _words("option hr template"),
    "option": _words("template"),
}
_NEVER_INSIDE_ITSELF = _words("a button form nobr")
_SIBLING_CLOSERS = {"li": _words("li"), "dd": _words("dd dt"), "dt": _words("dd dt")}
_LIST_BARRIERS = _SCOPE | _words("ul ol dl menu button") | (_CLOSES_P - _words("address div p"))
_NOT_AGAIN = _words("html head body frameset frame")


def is_moved(tag: str, ancestors: Sequence[str]) -> bool:
    """Tell whether a parser would move a start tag, or close an ancestor because of it.

    Args:
        tag: the element's lower-case name.
        ancestors: names of the open elements up to `body`, outermost first. Inside a `template`
            a parser starts afresh.
    """
    if not ancestors or tag == "template":
        return False
    parent = ancestors[-1]
    if parent == "template":
        return tag in _NOT_AGAIN
    if tag in _NOT_AGAIN:
        return True
    if tag in _TABLE_PARENTS and parent not in _TABLE_PARENTS[tag]:
        return True
    if parent in _TABLE_CHILDREN and tag not in _TABLE_CHILDREN[parent]:
        return True
    if parent in _SELECT_CHILDREN and tag not in _SELECT_CHILDREN[parent]:
        return True
    if tag in _HEADINGS and parent in _HEADINGS:
        return True
    return _closes_an_ancestor(tag, ancestors)


def text_is_moved(text: str, parent: str) -> bool:
    """Tell whether a parser would move this text out of its parent, as it does in tables."""
    return parent in _TABLE_CHILDREN and bool(text.strip(" \t\n\f\r"))


def _closes_an_ancestor(tag: str, ancestors: Sequence[str]) -> bool:
    if tag in _CLOSES_P and _open("p", ancestors, _SCOPE | _words("button")):
        return True
    if tag in _NEVER_INSIDE_ITSELF and _open(tag, ancestors, _SCOPE):
        return True
    if tag == "form" and _open("form", ancestors, _words("template")):
        return True
    siblings = _SIBLING_CLOSERS.get(tag, frozenset())
    return any(_open(other, ancestors, _LIST_BARRIERS - siblings) for other in siblings)


def _open(tag: str, ancestors: Sequence[str], barriers: frozenset[str]) -> bool:
    for name in reversed(ancestors):
        if name == tag:
            return True
        if name in barriers:
            return False
    return False
