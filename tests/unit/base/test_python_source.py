"""Text that only looks like Python is None, whatever the parser makes of it."""

import ast

import pytest

from pytest_autoweb.base.python_source import is_python, read_expression, read_python

NO_PYTHON = {
    "words": "click the button",
    "a null byte": "x = 1\0",
    "half of a surrogate pair": "x = '\ud83d'",
    "nested too deeply": "(" * 5_000 + ")" * 5_000,
    "nested deeper than the stack": "-" * 100_000 + "1",
}


@pytest.mark.parametrize("text", NO_PYTHON.values(), ids=NO_PYTHON)
def test_no_python_is_none_and_never_an_error(text: str) -> None:
    assert read_python(text) is None
    assert read_expression(text) is None
    assert not is_python(text)


def test_code_is_a_tree_and_an_expression_is_only_one() -> None:
    tree, expression = read_python("x = 1\ny = 2"), read_expression("page.title()")

    assert tree is not None
    assert [ast.unparse(node) for node in tree.body] == ["x = 1", "y = 2"]
    assert isinstance(expression, ast.Call)
    assert read_expression("x = 1") is None
    assert is_python("")
