"""What a tester wrote when YAML's own grammar refuses a case file, and what to write instead.

A parser names the token it did not expect. Most such errors are one of a few slips: a text that
needs quotes, a tab, an indentation that fits no line above, a missing blank.
"""

import json
import re
from typing import NamedTuple

import yaml

_FIELD = re.compile(
    r"""^(?P<lead>\s*(?:-\s+)*)(?P<key>[\w.-]+|"[^"]*"|'[^']*'):\s+(?P<value>\S.*)$"""
)
_TAB = re.compile(r"^ *\t")
_NO_BLANK = re.compile(r"^\s*(?:-\s+)*[\w.-]+:\S")
_NO_BLANK_AFTER_DASH = re.compile(r"^\s*-[\w\"']")
_BEGIN = re.compile(r"^(?P<dashes>\s*(?:-\s+)*)\S")
_QUOTED = re.compile(r"""^(["'])(.*)\1$""")
_MAX_SHOWN = 80
_WITH_A_MEANING = "@`%*&!|>?[]{},#\"'"
"""Characters that mean something to YAML at the beginning of a value."""

_UNCLOSED = re.compile(r"expected ',' or '([\]}])', but got")


class Mistake(NamedTuple):
    """A sentence about a file that is not YAML, and the 1-based line to look at."""

    sentence: str
    line: int


def mistake(text: str, error: yaml.MarkedYAMLError) -> Mistake:
    """Return what is wrong with a text that PyYAML refused, in a tester's words."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Mistake(str(error.problem or error.context), 1)
    lines = text.split("\n")
    began = error.context_mark.line if error.context_mark else mark.line
    problem = error.problem or ""
    if problem == "found unexpected end of stream":
        return Mistake("a quote that begins on this line is never closed", began + 1)
    if bracket := _UNCLOSED.match(problem):
        opened = "[" if bracket[1] == "]" else "{"
        why = f"a {opened} on this line is not closed; a text that begins with it needs quotes"
        return Mistake(why, began + 1)
    if problem == "could not find expected ':'":
        return Mistake(_without_colon(_line(lines, began)), began + 1)
    line = _line(lines, mark.line)
    sentence = (
        _tab(line, mark.column)
        or _value(line, mark.column)
        or _dash(lines, mark.line)
        or (_indentation(lines, mark.line) if _is_about_structure(problem) else "")
    )
    return Mistake(sentence or problem or str(error.context), mark.line + 1)


def _line(lines: list[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""


def _tab(line: str, column: int) -> str:
    if _TAB.match(line):
        return "the line is indented with a tab; use spaces"
    if line[column : column + 1] == "\t":
        return "a tab stands where a space must be; use spaces"
    return ""


def _value(line: str, column: int) -> str:
    """Return the sentence about a value that needs quotes, with the quotes added."""
    found = _FIELD.match(line)
    if found is None or column < found.start("value"):
        return ""
    key, value = found["key"], found["value"].rstrip()
    quoted = _QUOTED.match(value)
    if quoted and quoted[1] == '"' and "\\" in value:
        return f"in double quotes a backslash begins an escape; write {key}: {_single(quoted[2])}"
    if value[0] in _WITH_A_MEANING:
        why = f"a text that begins with {value[0]} needs quotes around the whole of it"
    elif value[column - found.start("value") :].startswith(":"):
        why = "a text that holds a colon and a blank, or ends in a colon, needs quotes"
    else:
        why = "the text needs quotes"
    shown = _in_quotes(quoted[2] if quoted else value)
    return f"{why}: {key}: {shown}" if len(shown) <= _MAX_SHOWN else why


def _in_quotes(text: str) -> str:
    return (
        _single(text) if '"' in text and "'" not in text else json.dumps(text, ensure_ascii=False)
    )


def _single(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _without_colon(line: str) -> str:
    if _NO_BLANK.match(line):
        return "a blank is missing after the colon of the key"
    return (
        "the line is no `key: value`: a colon and a blank are missing after the key, or it goes on "
        "with a text above that needs quotes"
    )


def _dash(lines: list[str], number: int) -> str:
    above = _above(lines, number)
    if above is not None and _NO_BLANK_AFTER_DASH.match(lines[above]):
        return f"a blank is missing after the dash on line {above + 1}"
    return ""


def _is_about_structure(problem: str) -> bool:
    return problem.startswith(("expected <block end>", "mapping values are", "mapping keys are"))


def _indentation(lines: list[str], number: int) -> str:
    """Return the sentence about a line that begins where no line above does."""
    above = _above(lines, number)
    if above is None:
        return ""
    here, there = _column(lines[number]), _column(lines[above])
    return (
        f"its indentation fits no line above: it begins in column {here}, the line above in column "
        f"{there}; what belongs together begins in the same column"
    )


def _above(lines: list[str], number: int) -> int | None:
    """Return the nearest line above that is neither empty nor a comment."""
    return next(
        (n for n in range(number - 1, -1, -1) if (line := lines[n].strip()) and line[0] != "#"),
        None,
    )


def _column(line: str) -> int:
    """Return the 1-based column of the line's first key; its dashes count as indentation."""
    begin = _BEGIN.match(line)
    return len(begin["dashes"]) + 1 if begin else 1
