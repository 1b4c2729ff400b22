"""A case's checks as plain Playwright assertions, as far as possible. Pure text."""

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.base.values.url_globs import GLOB_TOKEN
from pytest_autoweb.judging.checks.answer_checks import AnswerCheck
from pytest_autoweb.judging.checks.assertion_checks import AssertionCheck
from pytest_autoweb.judging.checks.check_type import Check
from pytest_autoweb.judging.checks.compared_values import as_text
from pytest_autoweb.judging.checks.expected_values import AnswerSpec
from pytest_autoweb.judging.checks.page_checks import (
    ElementCheck,
    ElementQuery,
    JsCheck,
    TabCheck,
    TextCheck,
    UrlCheck,
)
from pytest_autoweb.judging.checks.server_checks import FileCheck, HttpCheck, SqlCheck
from pytest_autoweb.judging.checks.wire_checks import DownloadCheck, RequestCheck, RequestQuery
from pytest_autoweb.results.records import CheckResult
from pytest_autoweb.tools.export.plain_code import NotExportable, RuntimeTexts, literal

WAIT_MS = 5_000
"""The same as the timeout of Playwright's `expect`."""
_IN_FRAME = re.compile(r" frame (\d+) ")
_STATEMENTS = re.compile(r"\breturn\b|;\s*\S")
_FUNCTION = re.compile(r"\s*(?:async\b|function\b|\(|[A-Za-z_$][\w$]*\s*=>)")


class Assertion(NamedTuple):
    """A check in the exported test."""

    lines: tuple[str, ...]
    """The lines after the steps."""
    before: tuple[str, ...] = ()
    """The lines needed before the steps, such as a record of requests."""


class AssertionInputs(NamedTuple):
    """The inputs of an assertion besides the check."""

    runtime: RuntimeTexts
    result: CheckResult | None
    """The check's result when the cell passed."""
    answer: Any = None
    """The answer that passed."""
    answers: str = "answers"
    """The name of the list of answers in the test."""


def assertion(check: Check, inputs: AssertionInputs) -> Assertion:
    """Return a check as an assertion.

    Raises:
        NotExportable: there is no equivalent assertion.
    """
    if isinstance(check, TabCheck) and check.tab not in (None, 1):
        raise NotExportable("it looks at another tab")
    for kind, write in _WRITERS.items():
        if isinstance(check, kind):
            return write(check, inputs)
    raise NotExportable(_WHY_NOT.get(check.name, "it is a check type of the project's own"))


_WHY_NOT = {
    "judge": "a model decides it",
    "python": "it calls a function with what only cells record",
    "seen": "only cells record what passes by",
    "writes": "only cells record what else is written",
}


def _pattern(wanted: str | Pattern, runtime: RuntimeTexts) -> str:
    if isinstance(wanted, Pattern):
        return f"re.compile({runtime.expression(wanted.matches)})"
    return runtime.expression(wanted)


def _url(check: UrlCheck, inputs: AssertionInputs) -> Assertion:
    wanted = _pattern(check.url, inputs.runtime)
    # `expect(page).to_have_url` does not support globs.
    return Assertion((f'page.wait_for_url({wanted}, wait_until="commit", timeout={WAIT_MS})',))


def _root(inputs: AssertionInputs) -> str:
    """Return the page, or the frame in which the check found its match."""
    place = _IN_FRAME.search(inputs.result.where) if inputs.result else None
    return f"page.frames[{place[1]}]" if place else "page"


def _text(check: TextCheck, inputs: AssertionInputs) -> Assertion:
    wanted = _pattern(check.text, inputs.runtime)
    inner = "use_inner_text=True"
    return Assertion(
        (f'expect({_root(inputs)}.locator("body")).to_contain_text({wanted}, {inner})',)
    )


def _element(check: ElementCheck, inputs: AssertionInputs) -> Assertion:
    query, found = check.element, _located(check.element, inputs)
    shown = f"{found}.filter(visible=True)"
    if query.visible is False:
        lines = [f"expect({shown}).to_have_count(0)"]
        if query.count is not None:
            lines.append(f"expect({found}).to_have_count({query.count})")
        return Assertion(tuple(lines))
    states = _states(query, inputs.runtime)
    if states and query.count not in (None, 1):
        raise NotExportable("it counts elements in a state")
    if query.count is not None and not states:
        return Assertion((f"expect({shown}).to_have_count({query.count})",))
    if not states:
        return Assertion((f"expect({shown}.first).to_be_visible()",))
    return Assertion(tuple(f"expect({shown}).{state}" for state in states))


def _states(query: ElementQuery, runtime: RuntimeTexts) -> list[str]:
    states = []
    if query.value is not None:
        states.append(f"to_have_value({runtime.expression(query.value)})")
    if query.checked is not None:
        states.append("to_be_checked()" if query.checked else "not_to_be_checked()")
    if query.enabled is not None:
        states.append("to_be_enabled()" if query.enabled else "to_be_disabled()")
    return states


def _located(query: ElementQuery, inputs: AssertionInputs) -> str:
    """Return the locator of a query, built as the check builds its own."""
    root = _root(inputs)
    say = inputs.runtime.expression
    parts = []
    if query.role is not None:
        name = ""
        if query.name is not None:
            exact = ", exact=True" if isinstance(query.name, str) else ""
            name = f", name={_pattern(query.name, inputs.runtime)}{exact}"
        parts.append(f"{root}.get_by_role({say(query.role)}{name})")
    if query.label is not None:
        parts.append(f"{root}.get_by_label({say(query.label)}, exact=True)")
    if query.test_id is not None:
        parts.append(f"{root}.get_by_test_id({say(query.test_id)})")
    if query.css is not None:
        selector = f"css={query.css}"
        parts.append(f"{root}.locator({say(selector)})")
    if query.text is not None:
        spaced = r"\s+".join(map(re.escape, query.text.split()))
        words = f"re.compile({say(spaced)})"
        if not parts:
            return f"{root}.get_by_text({words})"
        parts[0] += f".filter(has_text={words})"
    whole, *others = parts
    return whole + "".join(f".and_({other})" for other in others)


def as_script(js: str, runtime: RuntimeTexts) -> str:
    """Return a case author's JavaScript as an argument of `evaluate` or `wait_for_function`."""
    if _STATEMENTS.search(js) and not _FUNCTION.match(js):
        js = f"async () => {{ {js} }}"
    return runtime.expression(js.strip())


def _js(check: JsCheck, inputs: AssertionInputs) -> Assertion:
    script = as_script(check.js, inputs.runtime)
    return Assertion((f"page.wait_for_function({script}, timeout={WAIT_MS})",))


class _AtRunTime(ast.NodeTransformer):
    """Puts names in place of texts that are known only when the test runs."""

    def __init__(self, runtime: RuntimeTexts) -> None:
        self._runtime = runtime

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str) and self._runtime.inside(node.value):
            return ast.parse(self._runtime.expression(node.value), mode="eval").body
        return node


def _playwrights(check: AssertionCheck, inputs: AssertionInputs) -> Assertion:
    tree = ast.parse(check.assertion.strip(), mode="eval")
    return Assertion((ast.unparse(_AtRunTime(inputs.runtime).visit(tree)),))


def _answer(check: AnswerCheck, inputs: AssertionInputs) -> Assertion:
    spec, answer, runtime = check.answer, inputs.answer, inputs.runtime
    given = f"{inputs.answers}[-1]"
    asked = f'assert {inputs.answers}, "the test came to no answer"'
    if spec.kind == "matches":
        shown = given if isinstance(answer, str) else f"json.dumps({given}, ensure_ascii=False)"
        wanted = runtime.expression(spec.matches or "")
        return Assertion((asked, f"assert re.search({wanted}, {shown})"))
    if spec.kind == "contains" and _plainly_in(spec.contains, answer):
        wanted = runtime.expression(spec.contains)
        return Assertion((asked, f"assert {wanted} in {given}"))
    if spec.kind == "equals":
        return Assertion((asked, *_equals(spec, given, inputs)))
    raise NotExportable(f"plain Python has nothing like `{spec.kind}`, as this answer needs it")


def _plainly_in(wanted: Any, answer: Any) -> bool:
    if isinstance(wanted, str) and isinstance(answer, str):
        return wanted in answer
    return isinstance(answer, list) and wanted in answer


def _equals(spec: AnswerSpec, given: str, inputs: AssertionInputs) -> tuple[str, ...]:
    wanted = inputs.runtime.expression(spec.equals)
    if _same(inputs.answer, spec.equals):
        return (f"assert {given} == {wanted}",)
    plain = as_text(spec.equals).strip()
    if isinstance(inputs.answer, str) and inputs.answer.strip() == plain:
        return (f"assert {given}.strip() == {inputs.runtime.expression(plain)}",)
    # The case accepts several notations for the same value; the one that passed is among them.
    said = f"# The case asks for {_one_line(as_text(spec.equals))}, and took this for the same."
    return (said, f"assert {given} == {inputs.runtime.expression(inputs.answer)}")


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and bool(first == second)


def _one_line(text: str) -> str:
    return "".join(char for char in " ".join(text.split())[:80] if char.isprintable())


def _request(check: RequestCheck, inputs: AssertionInputs) -> Assertion:
    query, runtime = check.request, inputs.runtime
    answered = query.status is not None or query.reply is not None
    tests = _request_tests(query, runtime)
    kept, event = ("seen_replies", "response") if answered else ("seen_requests", "request")
    one = "sent = reply.request" if answered else ""
    name = "reply" if answered else "sent"
    counted = f"sum(fits({name}) for {name} in {kept})"
    enough = f"{counted} == {query.count}" if query.count is not None else f"any(map(fits, {kept}))"
    body = [f"    {one}"] if one else []
    kind = "Response" if answered else "Request"
    lines = (
        f"def fits({name}: {kind}) -> bool:",
        *body,
        *_returning(tests),
        f"eventually(page, lambda: {enough})",
    )
    before = (
        f"{kept}: list[{kind}] = []",
        f'page.context.on("{event}", lambda {name}: {kept}.append({name}))',
    )
    return Assertion(lines, before)


def _returning(tests: list[str]) -> Iterator[str]:
    """Yield the end of a function that returns whether all tests hold."""
    yield "    return bool("
    yield from (f"        {'and ' if number else ''}{test}" for number, test in enumerate(tests))
    yield from ("    )", "")


def _request_tests(query: RequestQuery, runtime: RuntimeTexts) -> list[str]:
    tests = [_fits(query.url, "sent.url", runtime)]
    body = '(sent.post_data or "")'
    if query.method is not None:
        tests.append(f"sent.method == {literal(query.method.upper())}")
    if query.status is not None:
        tests.append(f"reply.status == {query.status}")
    if query.json_subset is not None:
        tests.append(f"holds(sent.post_data_json, {runtime.expression(query.json_subset)})")
    if query.contains is not None:
        wanted = runtime.expression(query.contains)
        tests.append(f"({wanted} in {body} or {wanted} in unquote_plus{body})")
    if query.body is not None:
        tests.append(f"{body}.strip() == {runtime.expression(query.body.strip())}")
    if query.reply is not None and query.reply.json_subset is not None:
        tests.append(f"holds(reply.json(), {runtime.expression(query.reply.json_subset)})")
    if query.reply is not None and query.reply.contains is not None:
        tests.append(f"{runtime.expression(query.reply.contains)} in reply.text()")
    return tests


def _fits(wanted: str | Pattern, seen: str, runtime: RuntimeTexts) -> str:
    if isinstance(wanted, Pattern):
        return f"re.search({runtime.expression(wanted.matches)}, {seen})"
    if not re.search(r"[*{\\]", wanted):
        return f"{seen} == {runtime.expression(wanted)}"
    return f"re.fullmatch({_glob_expression(wanted, runtime)}, {seen})"


def _glob_expression(glob: str, runtime: RuntimeTexts) -> str:
    """Return a glob as the expression of a regular expression."""
    parts = [
        f"re.escape({part})" if stands_for else literal(regex_of_glob(part))
        for part, stands_for in runtime.pieces(glob)
    ]
    return " + ".join(parts)


def regex_of_glob(glob: str) -> str:
    """Return the regular expression, for whole texts, of a glob of `values.url_globs`."""
    inside, before, regex = False, "", []
    for token in GLOB_TOKEN.findall(glob):
        if token[0] == "*":
            regex.append(_wildcard(token, after_slash=before == "/"))
        elif token == "{":
            inside = True
            regex.append("(?:")
        elif token == "}" and inside:
            inside = False
            regex.append(")")
        else:
            regex.append("|" if token == "," and inside else re.escape(token[-1]))
        before = token[-1]
    return "".join(regex)


def _wildcard(token: str, *, after_slash: bool) -> str:
    stars = token.rstrip("/")
    if len(stars) == 1:
        return "[^/]*" + token[1:]
    if token != stars and after_slash:
        # `/**/` is also a single slash, but never two with nothing between them.
        return "(?:.+/)?"
    return ".*" + token[len(stars) :]


def _whole_text(text: str, wanted: str, runtime: RuntimeTexts) -> str:
    """Return a test that a file has the wanted text, regardless of line endings."""
    plain = wanted.replace("\r\n", "\n").rstrip("\n")
    return f'{text}.rstrip("\\n") == {runtime.expression(plain)}'


def _download(check: DownloadCheck, inputs: AssertionInputs) -> Assertion:
    query, runtime = check.download, inputs.runtime
    tests = ["not file.failure()"]
    if query.name is not None:
        tests.append(_fits(query.name, "file.suggested_filename", runtime))
    text = 'Path(file.path()).read_text(encoding="utf-8", errors="replace")'
    if query.contains is not None:
        tests.append(f"{runtime.expression(query.contains)} in {text}")
    if query.equals is not None:
        tests.append(_whole_text(text, query.equals, runtime))
    if query.sha256 is not None:
        seen = "hashlib.sha256(Path(file.path()).read_bytes()).hexdigest()"
        tests.append(f"{seen} == {literal(query.sha256.lower())}")
    counted = f"sum(map(whole, seen_downloads)) == {query.count}"
    enough = counted if query.count is not None else "any(map(whole, seen_downloads))"
    lines = (
        "def whole(file: Download) -> bool:",
        *_returning(tests),
        f"eventually(page, lambda: {enough})",
    )
    before = (
        "seen_downloads: list[Download] = []",
        'page.on("download", lambda file: seen_downloads.append(file))',
    )
    return Assertion(lines, before)


def _http(check: HttpCheck, inputs: AssertionInputs) -> Assertion:
    query, say = check.http, inputs.runtime.expression
    options = [say(query.url), f"method={literal(query.method.upper())}"]
    if query.headers:
        options.append(f"headers={say(query.headers)}")
    if query.body is not None:
        options.append(f"data={say(query.body)}")
    if query.redirects == "no":
        options.append("max_redirects=0")
    tests = [f"reply.status == {query.status}"]
    if query.contains is not None:
        tests.append(f"{say(query.contains)} in reply.text()")
    if query.json_subset is not None:
        tests.append(f"holds(reply.json(), {say(query.json_subset)})")
    safe = query.method.upper() in ("GET", "HEAD", "OPTIONS")
    lines = (
        "def served() -> bool:",
        f"    reply = playwright.request.new_context().fetch({', '.join(options)})",
        f"    return {' and '.join(tests)}",
        "",
        "eventually(page, served)" if safe else "assert served()",
    )
    return Assertion(lines)


def _sql(check: SqlCheck, inputs: AssertionInputs) -> Assertion:
    query, say = check.sql, inputs.runtime.expression
    path = query.url.removeprefix("sqlite:///")
    lines = (
        "def stored() -> list[list[object]]:",
        f'    place = Path({say(path)}).absolute().as_uri() + "?mode=ro"',
        "    with closing(sqlite3.connect(place, uri=True)) as database:",
        f"        return [list(row) for row in database.execute({say(query.query)})]",
        "",
        f"eventually(page, lambda: holds(stored(), {say(query.rows)}))",
    )
    return Assertion(lines)


def _file(check: FileCheck, inputs: AssertionInputs) -> Assertion:
    query, say = check.file, inputs.runtime.expression
    if not query.exists:
        tests = [f"not Path({say(query.path)}).exists()"]
    else:
        tests = [f"Path({say(query.path)}).exists()"]
    text = f'Path({say(query.path)}).read_text(encoding="utf-8", errors="replace")'
    if query.exists and query.contains is not None:
        tests.append(f"{say(query.contains)} in {text}")
    if query.exists and query.equals is not None:
        tests.append(_whole_text(text, query.equals, inputs.runtime))
    return Assertion((f"eventually(page, lambda: {' and '.join(tests)})",))


_WRITERS: dict[type[Check], Callable[[Any, AssertionInputs], Assertion]] = {
    UrlCheck: _url,
    TextCheck: _text,
    ElementCheck: _element,
    JsCheck: _js,
    AssertionCheck: _playwrights,
    AnswerCheck: _answer,
    RequestCheck: _request,
    DownloadCheck: _download,
    HttpCheck: _http,
    SqlCheck: _sql,
    FileCheck: _file,
}


def described(check: Check, runtime: RuntimeTexts) -> str:
    """Return a check on one line, as written in its case, for comments and the terminal."""
    said = check.model_dump(mode="json", by_alias=True, exclude_unset=True).get(check.name, "")
    known = (f"{{{part}}}" if later else part for part, later in runtime.pieces(as_text(said)))
    return _one_line(f"{check.name}: {''.join(known)}")
