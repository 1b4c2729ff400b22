"""Turns Playwright code from its recorder or `playwright codegen` into an oracle."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from msgspec import Struct

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.python_source import NOT_PYTHON, read_python
from pytest_autoweb.base.redaction import SECRET, SECRET_PLACE, Redactor
from pytest_autoweb.sandbox.lint import lint_code

# The recorder knows the name of a chosen file only with this prefix.
_FAKE_PATH = "C:\\fakepath\\"
TYPING = frozenset({"fill", "type", "press_sequentially", "insert_text"})
"""Methods that put a text into a field."""
_FILLING = TYPING | {"press", "select_option", "set_input_files"}
_ENDING = frozenset(
    {"click", "dblclick", "goto", "press", "reload", "go_back", "go_forward", "tap"}
)
"""Methods that usually have an effect; a step ends after one of these."""
_BROWSER = frozenset({"browser", "context", "playwright"})
_NOISE = frozenset({"CapsLock", "NumLock"})
_HALVES = re.compile("[\ud800-\udfff]")
_INVISIBLE = re.compile("[\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")
_TEMPLATE = re.compile(r"\{(?=[{%#])")


class Act(NamedTuple):
    """One statement of Playwright code, taken apart."""

    code: str
    method: str = ""
    """The last method that the statement calls on a page or a locator."""
    receiver: str = ""
    """The code of the object it is called on."""
    text: str | None = None
    """Its first argument, if that is a string literal."""
    call: str = ""
    """The code of the call."""

    def calling(self, arguments: str, method: str = "") -> str:
        """Return the statement with other arguments, or another method, in its call."""
        return self.code.replace(self.call, f"{self.receiver}.{method or self.method}({arguments})")


class Oracle(Struct, frozen=True):
    """A script in the step language, with everything a case needs to run it."""

    code: str
    """Without braces escaped, which only a case file needs."""
    entry_url: str
    """The page of the first `goto`; empty if there is none."""
    secrets: Mapping[str, str]
    """The value of each secret by its name; empty where only the name is known."""
    files: tuple[str, ...] = ()
    """The files that are uploaded, as the code named them."""


def read_acts(code: str) -> list[Act]:
    """Return the acts of a script: one by `playwright codegen`, or lines of the step language.

    Raises:
        SettingsError: it is not Python.
    """
    try:
        tree = ast.parse(code)
    except NOT_PYTHON as error:
        raise SettingsError(f"the recorded script is not valid Python: {error}") from None
    return [_act(node, code) for node in _statements(tree.body) if not _starts_browser(node)]


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that drive the page, unwrapped from codegen's functions."""
    for node in body:
        with_browser = isinstance(node, ast.With) and "sync_playwright" in ast.unparse(node)
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.With) and with_browser):
            yield from _statements(node.body)
        else:
            yield node


def _starts_browser(node: ast.stmt) -> bool:
    """Tell whether a statement concerns the browser rather than the page."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    call = _last_call(node)
    if call is None:
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    first = call.func
    while isinstance(first, ast.Attribute | ast.Call):
        first = first.value if isinstance(first, ast.Attribute) else first.func
    name = first.id if isinstance(first, ast.Name) else ""
    closes = isinstance(call.func, ast.Attribute) and call.func.attr == "close"
    return name in _BROWSER or name == "run" or closes


def _last_call(node: ast.stmt) -> ast.Call | None:
    """Return the call that a statement makes, or the block of a `with`."""
    if isinstance(node, ast.With):
        found = [call for part in node.body if (call := _last_call(part))]
        return found[-1] if found else None
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    return value if isinstance(value, ast.Call) else None


def _act(node: ast.stmt, source: str) -> Act:
    # Statements come from functions and blocks, so their indentation is removed.
    written = ast.get_source_segment(source, node, padded=True) or ""
    indent = len(written) - len(written.lstrip())
    code = "\n".join(
        line[indent:] if not line[:indent].strip() else line for line in written.splitlines()
    )
    call = _last_call(node)
    if call is None or not isinstance(call.func, ast.Attribute):
        return Act(code)
    first = call.args[0] if call.args else None
    text = first.value if isinstance(first, ast.Constant) else None
    return Act(
        code,
        method=call.func.attr,
        receiver=ast.get_source_segment(source, call.func.value) or "",
        text=text if isinstance(text, str) else None,
        call=ast.get_source_segment(source, call) or "",
    )


def make_oracle(
    acts: Sequence[Act], secrets: Mapping[str, str], *, accept_dialogs: bool = False
) -> Oracle:
    """Write the acts as a script of steps, without secrets and needless acts.

    Args:
        acts: the person's actions.
        secrets: values that were typed into secret fields, with the kind of field.
        accept_dialogs: whether to accept the page's dialogs.
    """
    names = _named({**secrets, **_by_locator(acts)})
    # A text that is also a name in the code would take the code apart.
    words = _words(acts)
    redact = Redactor({name: value for name, value in names.items() if value not in words})
    entry, acts = _entry(acts)
    files: list[str] = []
    kept: list[Act] = []
    for position, act in enumerate(acts):
        following = acts[position + 1] if position + 1 < len(acts) else Act("")
        if _is_needless(act, following):
            continue
        code = _with_files(act, files) or _with_placeholder(act, names)
        if accept_dialogs:
            code = code.replace("lambda dialog: dialog.dismiss()", "lambda dialog: dialog.accept()")
        kept.append(act._replace(code=redact(code)))
    known = {name: "" for act in kept for name in SECRET.findall(act.code)}
    return Oracle(_in_steps(kept), entry, known | names, tuple(dict.fromkeys(files)))


def _words(acts: Iterable[Act]) -> frozenset[str]:
    """Return the identifiers of the code of some acts."""
    found: set[object] = set()
    for act in acts:
        if tree := read_python(act.code):
            for node in ast.walk(tree):
                found |= {getattr(node, field, None) for field in ("id", "attr", "arg")}
    return frozenset(word for word in found if isinstance(word, str))


def _by_locator(acts: Iterable[Act]) -> dict[str, str]:
    """Return texts typed into fields whose locator marks them as secret."""
    return {
        act.text: "password"
        for act in acts
        if act.method in TYPING
        and act.text
        and not SECRET.search(act.text)
        and SECRET_PLACE.search(act.receiver)
    }


def _named(kinds: Mapping[str, str]) -> dict[str, str]:
    """Return a name for each secret value: `password`, `password_2`, `code`."""
    named: dict[str, str] = {}
    for value, kind in kinds.items():
        same = sum(re.sub(r"_\d+$", "", name) == kind for name in named)
        named[f"{kind}_{same + 1}" if same else kind] = value
    return named


def _entry(acts: Sequence[Act]) -> tuple[str, Sequence[Act]]:
    """Remove the first `goto`, because a case opens its entry page anyway."""
    if acts and acts[0].method == "goto" and acts[0].text:
        return acts[0].text, acts[1:]
    return "", acts


def _is_needless(act: Act, following: Act) -> bool:
    """Tell whether an act only leads to the following one, or does nothing."""
    if act.method == "click" and following.method in _FILLING:
        return act.receiver == following.receiver and act.code.endswith(".click()")
    return act.method == "press" and act.text in _NOISE


def _with_files(act: Act, files: list[str]) -> str:
    """Return an upload with bare file names, and note the files; "" if it is not an upload."""
    if act.method == "fill" and (act.text or "").startswith(_FAKE_PATH):
        paths = [(act.text or "").removeprefix(_FAKE_PATH)]
    elif act.method == "set_input_files":
        call = ast.parse(act.code).body[0]
        arguments = found.args if (found := _last_call(call)) else []
        if any(isinstance(node, ast.Dict) for one in arguments for node in ast.walk(one)):
            return ""  # Bytes that the code itself holds.
        paths = [
            node.value
            for argument in arguments
            for node in ast.walk(argument)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
    else:
        return ""
    files += paths
    names = [PurePosixPath(PureWindowsPath(path).as_posix()).name for path in paths]
    chosen = json.dumps(names[0] if len(names) == 1 else names, ensure_ascii=False)
    return act.calling(chosen, "set_input_files")


def _with_placeholder(act: Act, names: Mapping[str, str]) -> str:
    """Return the code with a placeholder for a secret typed as a whole, however short it is."""
    name = next((name for name, value in names.items() if value == act.text), "")
    if act.method not in TYPING or not name:
        return act.code
    return act.calling(f'"<secret:{name}>"')


def in_template(text: str, site: str = "") -> str:
    """Return text escaped for a case file, in which double braces begin an expression.

    Args:
        text: a text, or code.
        site: the address of the case file's web server. Quoted addresses that begin with it become
            expressions.
    """
    parts = re.split(r"(?<=[\"'])" + re.escape(site), text) if site else [text]
    return "{{ webserver.url }}".join(_TEMPLATE.sub("{{ '{' }}", part) for part in parts)


def in_json(value: Any) -> str:
    """Return a value as JSON that YAML reads alike: invisible characters are escaped."""
    return visible(json.dumps(value, ensure_ascii=False))


def visible(text: str) -> str:
    """Return JSON or code with escapes in place of what YAML does not take, or nobody sees."""
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", _HALVES.sub("\ufffd", text))


def in_case(value: Any) -> str:
    """Return a value that holds text of pages as a case file writes it: never an expression."""
    return in_template(in_json(value))


def names_secret(value: Any) -> bool:
    """Tell whether text of a page would be taken for a secret, which no case file can write."""
    return bool(SECRET.search(json.dumps(value, ensure_ascii=False)))


def _in_steps(acts: Sequence[Act]) -> str:
    """Return the acts as blocks, each ending with an act that has an effect.

    Assertions stand in blocks of their own: one that fails must not keep an act from being done,
    or a proof would take the lack of the act for what the checks have noticed.
    """
    steps: list[list[str]] = [[]]
    ended = looks = False
    for act in acts:
        takes_value = not act.method and re.match(r"\w+ = \w+\.value$", act.code)
        turns = looks != act.code.startswith("expect(")
        if (ended or turns) and not takes_value:
            steps.append([])
            ended = False
        looks = act.code.startswith("expect(")
        steps[-1].append(act.code)
        ended = ended or (act.method in _ENDING and act.text != "Tab")
    blocks = [
        f"# Step {number}\n" + "\n".join(lines)
        for number, lines in enumerate(filter(None, steps), start=1)
    ]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def refuse_oracle(code: str) -> None:
    """Raise if the step language does not allow the code.

    Raises:
        SettingsError: the first finding, with its line.
    """
    if findings := lint_code(code):
        first = findings[0]
        line = code.splitlines()[first.line - 1].strip() if first.line else ""
        raise SettingsError(
            f"the step language does not allow what was recorded, `{line}`: {first.message}"
        )


def secret_variables(names: Iterable[str], case_id: str) -> dict[str, str]:
    """Return the environment variable of each secret: `SHOP_PASSWORD` for the case `shop`."""
    start = _variable(case_id)
    start = start if start[:1].isalpha() else f"CASE_{start}"
    return {name: f"{start}_{_variable(name)}" for name in names}


def _variable(text: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")
