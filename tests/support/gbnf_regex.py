"""GBNF grammars without recursion as regular expressions, to tell or to draw what they admit."""

import re

_TOKEN = re.compile(
    r'"(?P<literal>(?:\\.|[^"\\])*)"|(?P<name>[a-z]+)|(?P<open>\()|\s+'
    r"|(?P<kept>\[(?:\\.|[^\]\\])*\]|\{\d+,\d*\}|[|?)])"
)


def regex_of(grammar: str) -> str:
    """Return a regular expression that matches, as a whole, what the grammar admits."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.splitlines())

    def written(match: re.Match[str]) -> str:
        if match["literal"] is not None:
            return re.escape(re.sub(r"\\(.)", _unescaped, match["literal"]))
        if match["name"]:
            return expanded(match["name"])
        return "(?:" if match["open"] else match["kept"] or ""

    def expanded(name: str) -> str:
        assert _TOKEN.sub("", rules[name]) == "", f"cannot read the rule {name}"
        return f"(?:{_TOKEN.sub(written, rules[name])})"

    return expanded("root")


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
