"""Building blocks of GBNF, the grammar format by which llama.cpp's server constrains replies."""


def literal(text: str) -> str:
    """Return the terminal that matches exactly this text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def string_rule(max_chars: int) -> str:
    """Return the rule `str`: a quoted string on one line, without escapes."""
    return 'str ::= "\\"" [^"\\\\\\n]{0,' + str(max_chars) + '} "\\""'
