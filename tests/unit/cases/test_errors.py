"""Every mistake in a case file is told at its line, with its field and what was meant."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.cases.loader import LoadedCase, load_case_file

CASE = """\
version: 1
cases:
  - id: login
    entry_url: http://shop.test/
    user_task: Log in.
"""


def with_field(text: str) -> str:
    return f"{CASE}    {text}\n"


def with_top(text: str) -> str:
    return f"{CASE}{text}\n"


def with_task(text: str) -> str:
    return CASE.replace("Log in.", text)


MISTAKES: dict[str, tuple[str, int | None, str | None, str]] = {
    "misspelt field": (
        CASE.replace("entry_url", "entry_ulr"),
        4,
        "cases[0].entry_ulr",
        "unknown key 'entry_ulr'; did you mean 'entry_url'? (allowed: id, entry_url,",
    ),
    "misspelt alias in camel case": (
        CASE.replace("entry_url", "EntryUrll"),
        4,
        "cases[0].EntryUrll",
        "did you mean 'entryUrl'?",
    ),
    "misspelt section": (
        with_top("webservre: {command: x}"),
        6,
        "webservre",
        "did you mean 'webserver'? (allowed: version, webserver, webservers, vars, defaults, ",
    ),
    "field missing": (
        CASE.replace("    user_task: Log in.\n", ""),
        3,
        "cases[0].user_task",
        "is missing",
    ),
    "no id in YAML": (
        CASE.replace("- id: login\n    entry", "- entry"),
        3,
        "cases[0].id",
        "is missing",
    ),
    "two names of one field": (
        with_field("task: again"),
        6,
        "cases[0].task",
        "is the same field as 'user_task'",
    ),
    "number for a text": (
        CASE.replace("Log in.", "5"),
        5,
        "cases[0].user_task",
        "must be text, got 5; put quotes around it",
    ),
    "nothing for a text": (CASE.replace("Log in.", ""), 5, "cases[0].user_task", "got nothing"),
    "empty task": (with_task("''"), 5, "cases[0].user_task", "must not be empty"),
    "text for a number": (with_field("timeout: soon"), 6, "cases[0].timeout", "must be a number"),
    "truth for a number": (
        with_field("timeout: true"),
        6,
        "cases[0].timeout",
        "must be a number, got true",
    ),
    "truth for a count": (
        with_field("expect: [{element: {role: link, count: true}}]"),
        6,
        "cases[0].expect[0].element.count",
        "must be a whole number, got true",
    ),
    "a check of another tool": (
        with_field("expect: [{title: Home}]"),
        6,
        "cases[0].expect[0].title",
        """write js: "() => document.title === 'Home'\"""",
    ),
    "misspelt role": (
        with_field("expect: [{element: {role: buton}}]"),
        6,
        "cases[0].expect[0].element.role",
        "'buton' is not a role; did you mean 'button'?",
    ),
    "a slow expression within a selector": (
        with_field("expect: [{element: {css: 'li:text-matches(\"(a+)+$\")'}}]"),
        6,
        "cases[0].expect[0].element.css",
        "can be matched in too many ways",
    ),
    "a slow expression behind a selector": (
        with_field("expect: [{element: {css: 'li >> text=/(a{1,10}){1,10}b/'}}]"),
        6,
        "cases[0].expect[0].element.css",
        "can be matched in too many ways",
    ),
    "a tag for a role": (
        with_field("expect: [{element: {role: h2}}]"),
        6,
        "cases[0].expect[0].element.role",
        "did you mean 'heading'?",
    ),
    "a relative address": (
        CASE.replace("http://shop.test/", "/login"),
        4,
        "cases[0].entry_url",
        "an address such as /login needs --base-url",
    ),
    "a variable without its scope": (
        with_top("vars: {user: ana}").replace("Log in.", '"Log in as {{ user }}"'),
        5,
        "cases[0].user_task",
        "write vars.user",
    ),
    "infinite number": (with_field("timeout: inf"), 6, "cases[0].timeout", "must be a finite"),
    "negative number": (with_field("timeout: -1"), 6, "cases[0].timeout", "greater than 0, got -1"),
    "text for a list": (with_field("tags: smoke"), 6, "cases[0].tags", "must be a list"),
    "mark nobody can select": (with_field("tags: [_x]"), 6, "cases[0].tags[0]", "must be a word"),
    "mark with a meaning": (with_field("tags: [not]"), 6, "cases[0].tags[0]", "must be no word"),
    "text for a truth": (with_field("must_pass: maybe"), 6, "cases[0].must_pass", "true or false"),
    "bad id": (CASE.replace("login", "a/b"), 3, "cases[0].id", "may hold only letters"),
    "not http": (
        CASE.replace("http:", "file:"),
        4,
        "cases[0].entry_url",
        "must start with http://",
    ),
    "same id twice": (
        with_top("  - {id: login, url: 'http://x/', task: Pay.}"),
        6,
        "cases[1].id",
        "'login' is taken by the case on line 3",
    ),
    "nested key": (
        with_field("setup: {cookies: [{nam: a, value: b}]}"),
        6,
        "cases[0].setup.cookies[0].nam",
        "did you mean 'name'?",
    ),
    "secret without source": (
        with_field("secrets: {pin: {}}"),
        6,
        "cases[0].secrets.pin",
        "needs env, default or both",
    ),
    "key of a secret": (
        with_field("secrets: {pin: {evn: PIN}}"),
        6,
        "cases[0].secrets.pin.evn",
        "did you mean 'env'?",
    ),
    "name of a secret": (
        with_field("secrets: {my pin: {env: PIN}}"),
        6,
        "cases[0].secrets.my pin",
        "must be a name of letters",
    ),
    "secret nobody declared": (
        with_field("oracle: page.fill('<secret:pin>')"),
        6,
        "cases[0].oracle",
        "unknown secret 'pin'",
    ),
    "unknown strategy": (
        with_field("strategy: fly"),
        6,
        "cases[0].strategy",
        "unknown strategy 'fly' (allowed: act, agent-browser, agentlab, ",
    ),
    "wrong default": (
        with_top("defaults:\n  timeout: soon"),
        7,
        "defaults.timeout",
        "must be a number",
    ),
    "id as default": (with_top("defaults: {id: a}"), 6, "defaults.id", "cannot have a default"),
    "vars is a list": (with_top("vars: [a]"), 6, "vars", "must be a mapping"),
    "cases is empty": ("version: 1\ncases: []\n", 2, "cases", "at least one case"),
    "case is a text": ("version: 1\ncases: [a]\n", 2, "cases[0]", "must be a mapping with id"),
    "no version": (CASE.replace("version: 1\n", ""), 1, None, "'version: 1' is missing"),
    "other version": (CASE.replace("version: 1", "version: 2"), 1, "version", "must be 1"),
    "version is a truth": (CASE.replace("version: 1", "version: true"), 1, "version", "must be 1"),
    "a list in YAML": ("- id: a\n", 1, None, "must be a mapping with 'version: 1'"),
}

CHECKS: dict[str, tuple[str, str, str]] = {
    "unknown": (
        "txt: a",
        ".txt",
        "unknown check 'txt'; did you mean 'text'? (allowed: answer,",
    ),
    "two at once": ("{text: a, url: b}", ".url", "write text, url as separate entries"),
    "none": ("message: a", "", "names no check; a check is one of answer, assertion, "),
    "a text": ("text", "", "must be a mapping such as"),
    "wrong type": ("text: 5", ".text", "must be text, got 5; put quotes around it"),
    "pattern key": ("text: {matchs: a}", ".text.matchs", "did you mean 'matches'?"),
    "broken regex": ("url: {matches: '('}", ".url.matches", "is not a regular expression"),
    "weight": ("{text: a, weight: 0}", ".weight", "must be greater than 0"),
    "no element": ("element: {name: a}", ".element", "needs one of role, label,"),
    "element key": ("element: {rol: a}", ".element.rol", "did you mean 'role'?"),
    "count": ("element: {role: link, count: -1}", ".element.count", "must be at least 0"),
    "rows": (
        "sql: {url: 'sqlite:///a', query: q, rows: 3}",
        ".sql.rows",
        "must be a list, got 3",
    ),
    "row": ("sql: {url: 'sqlite:///a', query: q, rows: [3]}", ".sql.rows[0]", "must be a list"),
    "database": ("sql: {url: 'mysql://a', query: q, rows: []}", ".sql.url", "sqlite:///"),
    "http": ("http: {url: /orders}", ".http.url", "must start with http://"),
    "answers": ("answer: {equals: 1, contains: 2}", ".answer", "needs exactly one of equals"),
    "request key": ("request: {ulr: '**'}", ".request.ulr", "did you mean 'url'?"),
    "reply key": ("request: {url: a, reply: {jsn: 1}}", ".request.reply.jsn", "mean 'json'?"),
    "request count": ("request: {url: a, count: -1}", ".request.count", "must be at least 0"),
    "download key": ("download: {nmae: a}", ".download.nmae", "did you mean 'name'?"),
    "digest": ("download: {sha256: abc}", ".download.sha256", "must be 64 hexadecimal digits"),
    "function": ("python: shop.checks", ".python", "must be written package.module:function"),
    "arguments": ("{python: 'a:b', wth: {}}", ".wth", "did you mean 'with'?"),
    "with elsewhere": ("{text: a, with: {}}", ".with", "unknown check 'with'"),
    "judge": ("judge: the order is paid", ".judge", "must be a mapping, got"),
    "rubric": ("judge: {rubric: ''}", ".judge.rubric", "must not be empty"),
    "no condition": ("answer: {records: {where: {}}}", ".answer.records.where", "not be empty"),
    "no where": ("answer: {records: {min: 1}}", ".answer.records.where", "is missing"),
    "condition": (
        "answer: {records: {where: {n: {minn: 1}}}}",
        ".answer.records.where.n.minn",
        "unknown key 'minn'; did you mean 'min'? (allowed: type, locale, currency, equals,",
    ),
    "empty condition": (
        "answer: {records: {where: {n: {type: date}}}}",
        ".answer.records.where.n",
        "needs one of equals, contains, matches, in, min, max",
    ),
    "bounds": ("answer: {records: {where: {n: 1}, max: 0, min: 2}}", ".answer.records", "max must"),
    "urls": ("answer: {urls: []}", ".answer.urls", "must not be empty"),
    "share": (
        "answer: {urls: {want: [a], min_recall: 2}}",
        ".answer.urls.min_recall",
        "must be at most 1",
    ),
    "type": ("answer: {equals: 1, type: dat}", ".answer.type", "must be 'text', 'number', 'money'"),
    "locale alone": ("answer: {equals: 1, locale: de}", ".answer", "locale and currency need a"),
    "type of a pattern": ("answer: {matches: a, type: date}", ".answer", "go with equals and"),
}

EXPRESSIONS: dict[str, tuple[str, str]] = {
    "unknown variable": ("{{ vars.usr }}", "unknown name 'vars.usr'; did you mean 'user'?"),
    "unknown nested variable": ("{{ vars.address.twon }}", "did you mean 'town'?"),
    "unknown word": ("{{ vers.user }}", "unknown name 'vers'; did you mean 'vars'?"),
    "no such matrix": ("{{ matrix.item }}", "unknown name 'matrix' (allowed: vars, env, secrets)"),
    "no such server": ("{{ webserver.url }}", "unknown name 'webserver'"),
    "unknown secret": ("{{ secrets.pin }}", "unknown name 'secrets.pin'"),
    "whole scope": ("all {{ vars }}", "'vars' holds several values"),
    "unclosed": ("{{ vars.user", "is not a valid expression"),
    "loop": ("{% for a in vars.list %}{{ a }}{% endfor %}", "a 'for' block is not available"),
    "division": ("{{ 1 / 0 }}", "cannot be rendered: division by zero"),
    "nothing": ("{{ vars.nothing }}", "the expression gives null"),
    "method": ("{{ vars.user.upper }}", "which is not a value"),
    "inside of Python": ("{{ vars.user.__class__ }}", "unsafe"),
    "power": ("{{ 10 ** 10 ** 10 }}", "'**' is not available"),
    "repetition": ("{{ 'a' * 1000000000 }}", "the repeated text is too long"),
    "itself": ("{{ vars.loop }}", "the variable refers to itself"),
    "deep": ("{{ " + "(" * 5000 + " }}", "cannot be rendered"),
}

VARIABLES = """\
vars:
  user: ana
  address: {town: Ulm}
  list: [1, 2]
  nothing: null
  loop: '{{ vars.loop }}'
"""

WEBSERVERS: dict[str, tuple[str, str, str]] = {
    "nothing to run": ("{url: 'http://127.0.0.1/'}", "", "needs exactly one of command, static"),
    "both": ("{command: a, static: b}", "", "needs exactly one of command, static"),
    "key": ("{comand: a}", ".comand", "did you mean 'command'?"),
    "url": ("{command: a, url: 'ftp://x'}", ".url", "must start with http://"),
    "reset word": ("{command: a, reset: again}", ".reset", "must be 'restart', got 'again'"),
    "reset key": ("{command: a, reset: {ulr: a}}", ".reset.ulr", "did you mean 'url'?"),
    "reset name": (
        "{command: a, reset: {url: '{{ webserver.ulr }}'}}",
        ".reset.url",
        "did you mean 'url'?",
    ),
    "reset url": ("{command: a, reset: {url: /reset}}", ".reset.url", "must start with http://"),
    "a text": ("python -m shop", "", "must be a mapping"),
}

TEXTS: dict[str, tuple[str, int, str]] = {
    "empty": ("\n \n", 1, "is empty"),
    "syntax": ("version: 1\ncases: {a: b", 2, "is not valid YAML"),
    "anchor": ("version: 1\nvars: {a: &x 1, b: *x}", 2, "anchors and aliases"),
    "tag": ("version: 1\nvars: !!python/object:os.system x", 2, "tags (here"),
    "duplicate": ("version: 1\nvars: {}\nvars: {}", 3, "'vars'; the first one is on line 2"),
    "unquoted": ("version: 1\nvars:\n  a: {{ vars.b }}", 3, "write expressions in quotes"),
    "two documents": ("version: 1\n---\nversion: 1", 2, "more than one YAML document"),
    "control": ("version: 1\n\x01", 2, "control character"),
    "nested": ("a: " + "[" * 100_000, 1, "nested deeper than 20"),
    "long": ("a: [" + "1," * 20_001 + "]", 1, "more than 20000"),
    "large": ("#" * 262_145, 1, "larger than 256 KB"),
    "number": ("version: " + "9" * 5000, 1, "is too large"),
    "float": ("version: 1e999", 1, "is too large"),
    "surrogate": (r'version: "\ud800"', 1, "half of a surrogate pair"),
    "escape": (r'version: "\UFFFFFFFF"', 1, "is not valid YAML"),
    "colon": (with_task("Log in: as ana"), 5, 'needs quotes: user_task: "Log in: as ana"'),
    "colon at the end": (with_task("Log in:"), 5, 'needs quotes: user_task: "Log in:"'),
    "at sign": (with_task("@ana logs in"), 5, 'the whole of it: user_task: "@ana logs in"'),
    "quotes in the text": (
        with_task('"Save" the form'),
        5,
        "of it: user_task: '\"Save\" the form'",
    ),
    "apostrophe": (with_task("'It's done'"), 5, 'user_task: "It\'s done"'),
    "backslash": (with_task(r'"C:\Users"'), 5, r"write user_task: 'C:\Users'"),
    "open bracket": (with_task("[Save, or"), 5, "a [ on this line is not closed"),
    "star": (with_task("*Save"), 5, "begins with & or * in quotes"),
    "exclamation mark": (with_task("!Save"), 5, "begins with ! in quotes"),
    "open quote": (with_task('"Log in'), 5, "a quote that begins on this line is never closed"),
    "tab": (CASE.replace("    user", "\tuser"), 5, "indented with a tab; use spaces"),
    "deeper": (
        CASE.replace("    user", "      user"),
        5,
        "in column 7, the line above in column 5",
    ),
    "shallower": (
        CASE.replace("    user", "   user"),
        5,
        "in column 4, the line above in column 5",
    ),
    "no blank after a colon": (CASE.replace("task: ", "task:"), 5, "after the colon of the key"),
    "no blank after a dash": (CASE.replace("- id", "-id"), 4, "after the dash on line 3"),
    "no colon": (CASE.replace("task: ", "task "), 5, "a colon and a blank are missing"),
    "behind a former line break": (
        with_task("Log\u2028in\x85to: the shop"),
        5,
        "needs quotes",
    ),
}


def error_of(load: Callable[..., Any], text: str, name: str = "shop.yaml") -> CaseError:
    with pytest.raises(CaseError) as caught:
        load(text, name)
    assert caught.value.path is not None
    assert caught.value.path.name == name
    return caught.value


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_line_and_field(load: Any, mistake: str) -> None:
    text, line, field, reason = MISTAKES[mistake]

    error = error_of(load, text)

    assert (error.line, error.field) == (line, field)
    assert reason in error.reason


@pytest.mark.parametrize("mistake", CHECKS)
def test_a_mistake_in_a_check_is_told(load: Any, mistake: str) -> None:
    entry, field, reason = CHECKS[mistake]

    error = error_of(load, with_field(f"expect:\n    - url: '**'\n    - {entry}"))

    assert (error.line, error.field) == (8, f"cases[0].expect[1]{field}")
    assert reason in error.reason


@pytest.mark.parametrize("mistake", EXPRESSIONS)
def test_a_mistake_in_an_expression_is_told(load: Any, mistake: str) -> None:
    expression, reason = EXPRESSIONS[mistake]

    error = error_of(load, with_task(f'"{expression}"') + VARIABLES)

    assert (error.line, error.field) == (5, "cases[0].user_task")
    assert reason in error.reason


@pytest.mark.parametrize("mistake", WEBSERVERS)
def test_a_mistake_in_the_webserver_is_told(load: Any, mistake: str) -> None:
    section, field, reason = WEBSERVERS[mistake]

    error = error_of(load, with_top(f"webserver: {section}"))

    assert (error.line, error.field) == (6, f"webserver{field}")
    assert reason in error.reason


@pytest.mark.parametrize("mistake", TEXTS)
def test_what_is_no_plain_yaml_is_refused_with_its_line(load: Any, mistake: str) -> None:
    text, line, reason = TEXTS[mistake]

    error = error_of(load, text)

    assert error.line == line
    assert reason in error.reason


def test_a_broken_variable_is_told_even_when_nothing_uses_it(load: Any) -> None:
    error = error_of(load, with_top("vars: {a: '{{ b'}"))

    assert error.field == "vars.a"
    assert "is not a valid expression" in error.reason


def test_an_error_names_file_line_and_field_in_its_text(load: Any, tmp_path: Path) -> None:
    error = error_of(load, CASE.replace("entry_url", "entry_ulr"))

    assert str(error).startswith(
        f"{tmp_path / 'shop.yaml'}:4: cases[0].entry_ulr: unknown key 'entry_ulr'; did you mean"
    )


JSON_TEXTS: dict[str, tuple[str, int, str]] = {
    "syntax": ('[\n{"id": }]', 2, "is not valid JSON"),
    "duplicate": ('{"id": "a",\n"id": "b"}', 2, "duplicate key 'id'; the first one is on line 1"),
    "nested": ("[" * 100_000, 1, "nested deeper than 20"),
    "long": ("[" + "1," * 30_000 + "1]", 1, "more than 20000"),
    "number": ('{"timeout": 1e999}', 1, "is too large"),
    "not a number": ('{"timeout": NaN}', 1, "NaN is not a JSON number"),
    "surrogate": (r'{"id": "\ud800"}', 1, "half of a surrogate pair"),
    "field": (
        '[\n {"id": "a",\n  "entryUrll": "http://x/", "task": "a"}]',
        3,
        "did you mean 'entryUrl'?",
    ),
    "a text": ('"login"', 1, "must be a mapping"),
}


@pytest.mark.parametrize("mistake", JSON_TEXTS)
def test_a_mistake_in_json_is_told_with_its_line(load: Any, mistake: str) -> None:
    text, line, reason = JSON_TEXTS[mistake]

    error = error_of(load, text, "shop.json")

    assert error.line == line
    assert reason in error.reason


def test_bytes_that_are_not_utf8_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_bytes(b"version: 1\nvars: {a: \xff}\n")

    with pytest.raises(CaseError, match="is not UTF-8") as caught:
        load_case_file(path)

    assert caught.value.line == 2


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"shop\.yaml: cannot be read: No such file"):
        load_case_file(tmp_path / "shop.yaml")


def test_a_folder_is_no_case_file(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").mkdir()

    with pytest.raises(CaseError, match="cannot be read"):
        load_case_file(tmp_path / "shop.yaml")


def test_other_endings_are_refused(load: Callable[..., tuple[LoadedCase, ...]]) -> None:
    with pytest.raises(CaseError, match=r"ends in \.yaml, \.yml, \.json"):
        load(CASE, "shop.toml")


MANY = """\
version: 1
vars: {a: 1}
cases:
  - id: one
    entry_ulr: http://shop.test/
    user_task: "{{ vars.b }}"
    tmieout: 3
  - id: two
    user_task: 7
    timeout: -1
    expect:
      - txt: Welcome
      - url: {matches: "("}
  - id: two
    entry_url: http://shop.test/
    user_task: "{{ vars.b }} {{ nothing }}"
    setup: {js: "{{ nowhere }}"}
  - id: three
    entry_url: http://shop.test/
    user_task: Type <secret:pin> and <secret:pan>.
    matrix: {a: [1, 2, 3]}
"""


def test_all_mistakes_of_a_file_are_told_at_once(
    load: Callable[[str], tuple[LoadedCase, ...]],
) -> None:
    with pytest.raises(CaseError) as raised:
        load(MANY)

    assert [(error.line, error.field) for error in raised.value.all()] == [
        (5, "cases[0].entry_ulr"),
        (6, "cases[0].user_task"),
        (7, "cases[0].tmieout"),
        (8, "cases[1].entry_url"),
        (9, "cases[1].user_task"),
        (10, "cases[1].timeout"),
        (12, "cases[1].expect[0].txt"),
        (13, "cases[1].expect[1].url.matches"),
        (14, "cases[2].id"),
        (16, "cases[2].user_task"),
        (16, "cases[2].user_task"),
        (17, "cases[2].setup.js"),
        (20, "cases[3].user_task"),
        (20, "cases[3].user_task"),
    ]
    lines = str(raised.value).splitlines()
    assert len(lines) == 14
    assert all(line.startswith(f"{raised.value.path}:") for line in lines)


SECTIONS = """\
version: 1
vars: {good: ana, bad: "{{ nobody", twice: "{{ vars.bad }}"}
defaults: {tiemout: 3, entry_url: "http://shop.test/", id: shop}
websevrer: {command: shop, prot: 3}
cases:
  - id: one
    user_task: "{{ vars.bad }} {{ vars.goood }} {{ webserver.url }} {{ vars.twice }}"
    setup: {js: "{{ nothing }}", cookies: [{nam: a, value: b}]}
    expect:
      - {text: "{{ nothing }}", wieght: 2}
      - {txt: a, mesage: b}
      - url: {matches: "("}
  - id: two
    matrix: {a: [], b: 3}
    user_task: "{{ matrix.a }} {{ matrix.c"
    timeout: soon
  - three
"""


def test_mistakes_in_the_sections_hide_no_mistakes_of_the_cases(load: Any) -> None:
    with pytest.raises(CaseError) as raised:
        load(SECTIONS)

    assert [(error.line, error.field) for error in raised.value.all()] == [
        (2, "vars.bad"),
        (3, "defaults.tiemout"),
        (3, "defaults.id"),
        (4, "websevrer"),
        (7, "cases[0].user_task"),
        (8, "cases[0].setup.js"),
        (8, "cases[0].setup.cookies[0].nam"),
        (10, "cases[0].expect[0].text"),
        (10, "cases[0].expect[0].wieght"),
        (11, "cases[0].expect[1].txt"),
        (11, "cases[0].expect[1].mesage"),
        (12, "cases[0].expect[2].url.matches"),
        (14, "cases[1].matrix.a"),
        (14, "cases[1].matrix.b"),
        (15, "cases[1].user_task"),
        (16, "cases[1].timeout"),
        (17, "cases[2]"),
    ]
    assert "did you mean 'good'?" in str(raised.value)


@pytest.mark.parametrize(
    ("section", "fields"),
    [
        ("vars: [a]", ["vars"]),
        ("varz: {user: ana}", ["varz"]),
        ("defaults: 3", ["defaults"]),
        ("webserver: 3", ["webserver"]),
        ("webserver: {command: a, url: x}", ["webserver.url"]),
        ("server: {command: a, url: x}", ["server"]),
        ("webserver: {command: '{{ nobody }}', prot: 3}", ["webserver.command", "webserver.prot"]),
    ],
)
def test_what_only_follows_from_a_broken_section_is_not_told(
    load: Any, section: str, fields: list[str]
) -> None:
    text = CASE.replace("Log in.", '"{{ vars.user }} {{ webserver.url }}"')
    text = text.replace("cases:", f"{section}\ncases:") + "    timeout: soon\n"
    if "vars" not in section and "varz" not in section:
        text += "vars: {user: ana}\n"
    if "server" not in section:
        text += "webserver: {command: a}\n"
    if "defaults" in section:
        text = text.replace("    entry_url: http://shop.test/\n", "")

    with pytest.raises(CaseError) as raised:
        load(text)

    told = [error.field for error in raised.value.all()]
    assert told == [*fields, "cases[0].timeout"]


def test_what_every_case_shares_is_told_once(load: Callable[[str], tuple[LoadedCase, ...]]) -> None:
    with pytest.raises(CaseError) as raised:
        load("version: 1\ndefaults: {timeout: soon}\ncases:\n" + CASE.partition("cases:\n")[2] * 2)
    assert [(error.line, error.field) for error in raised.value.all()] == [
        (2, "defaults.timeout"),
        (7, "cases[1].id"),
    ]


def test_the_list_of_mistakes_ends_somewhere(load: Callable[[str], tuple[LoadedCase, ...]]) -> None:
    cases = "".join(f"  - {{id: c{i}, user_task: Buy., url: http://a.test}}\n" for i in range(70))
    with pytest.raises(CaseError) as raised:
        load("version: 1\ncases:\n" + cases.replace("Buy.", "''"))

    lines = str(raised.value).splitlines()
    assert len(lines) == 51
    assert lines[-1].endswith("and 20 more errors")
