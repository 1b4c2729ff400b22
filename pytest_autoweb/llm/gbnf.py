"""Pieces of GBNF, the grammar that llama.cpp's server holds a reply to."""


def literal(text: str) -> str:
    """A terminal that stands for exactly this text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def string_rule(max_chars: int) -> str:
    """The rule `str`: a quoted string on one line, without escapes."""
    return 'str ::= "\\"" [^"\\\\\\n]{0,' + str(max_chars) + '} "\\""'
