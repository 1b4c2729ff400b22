"""What a case needs done on its page, and which strategies have no way of doing it.

A case says it by the files that it offers for uploads, and by its oracle: what the script that
proves the case has to do, whoever solves the case may have to do as well. That is no proof, as
there may be another way, so it is said and nothing is refused.
"""

import ast
from collections.abc import Collection, Iterator, Mapping
from functools import cache

from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.cases.case import Case

ACCEPT = "accept dialogs"
DOUBLE_CLICK = "double-click"
DOWNLOAD = "read downloads"
DRAG = "drag"
HOVER = "hover"
PLACE = "click at a place in a drawing"
PROMPT = "type into prompts"
RIGHT_CLICK = "right-click"
SCROLL = "scroll"
TABS = "use several tabs"
UPLOAD = "upload files"

_BY_MEMBER: Mapping[str, str] = {
    "dblclick": DOUBLE_CLICK,
    "drag_and_drop": DRAG,
    "drag_to": DRAG,
    "expect_file_chooser": UPLOAD,
    "expect_page": TABS,
    "expect_popup": TABS,
    "hover": HOVER,
    "new_page": TABS,
    "save_as": DOWNLOAD,
    "set_files": UPLOAD,
    "set_input_files": UPLOAD,
}


def needs_of(case: Case) -> frozenset[str]:
    """Return what a case needs done, each as the end of a sentence about who cannot do it."""
    files = {UPLOAD} if case.files else set()
    return _needs_of_script(case.oracle or "") | files


@cache
def _needs_of_script(script: str) -> frozenset[str]:
    tree = read_python(script)
    return frozenset(_found(tree)) if tree is not None else frozenset()


def _found(tree: ast.AST) -> Iterator[str]:
    scrolls = any(isinstance(one, ast.Attribute) and one.attr == "wheel" for one in ast.walk(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Attribute(attr="mouse"), attr=name):
                # The mouse is moved to what it scrolls as well.
                yield SCROLL if name == "wheel" or (name == "move" and scrolls) else PLACE
            case ast.Attribute(attr=name) if name in _BY_MEMBER:
                yield _BY_MEMBER[name]
            case ast.Call(func=ast.Attribute(attr="accept"), args=args, keywords=named):
                yield PROMPT if args or named else ACCEPT
            case ast.Call(func=ast.Name(id="open")):
                yield DOWNLOAD
            case ast.keyword(arg="button", value=ast.Constant(value="right")):
                yield RIGHT_CLICK


def lacking_told(lacking: Collection[str], who: str = "this strategy", where: str = "") -> str:
    """Return one sentence about what a strategy cannot do, though a case may need it."""
    *before, last = sorted(lacking)
    listed = f"{', '.join(before)} or {last}" if before else last
    return f"{who} cannot {listed}, which {where or 'the case'} may need"
