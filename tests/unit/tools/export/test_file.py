"""The written file: its checks, its set-up and its server, whatever a case and a model say."""

import ast
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.cli.commands.export import _best, file_name
from pytest_autoweb.results.records import Attempt, CellResult, CheckResult, StepResult, ToolCall
from pytest_autoweb.tools.export.plain_code import NotExportable
from pytest_autoweb.tools.export.written_test import Source, refuse_secrets, write_file, write_test

SERVER = {
    "command": "{python} app.py --port {port} --data={data}",
    "url": "http://127.0.0.1:{port}/app/",
    "env": {"PLACE": "{data}", "PLAIN": "x"},
    "reset": {"url": "{{ webserver.url }}reset", "body": "all"},
}


def cell(model: str = "m", strategy: str = "codegen", **attempt: Any) -> CellResult:
    ended = StepResult(step_index=1, ok=True, status="ok")
    known = {"code": "# Step 1\npage.click('a')\n", "step_results": (ended,), **attempt}
    return CellResult(
        case_id="one", case_path="cases/c.yaml", entry_url="http://x/", user_task="t", model=model,
        capture_mode="ARIA", outcome="passed", started=datetime(2026, 1, 1, tzinfo=UTC),
        strategy=strategy, attempts=(Attempt(**known),),
    )  # fmt: skip


def written(
    folder: Path,
    *checks: dict[str, Any],
    server: dict[str, Any] | None = None,
    case: dict[str, Any] | None = None,
    of: CellResult | None = None,
    actions: bool = True,
) -> str:
    """The file for a case with these checks."""
    entry = "{{ webserver.url }}start" if server else "https://shop.example/start"
    fields = {"id": "one", "entry_url": entry, "user_task": "Do it.", "expect": checks}
    document: dict[str, Any] = {"version": 1, "cases": [{**fields, **(case or {})}]}
    path = folder / "cases" / "c.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document | ({"webserver": server} if server else {})))
    source = Source(of or cell(), load_case_file(path)[0])
    text = write_file([write_test(source)], [source], folder / "tests", actions=actions)
    compile(text, "written", "exec")
    assert all(line.isprintable() for line in text.splitlines())
    return text


@pytest.mark.parametrize(
    ("check", "line"),
    [
        ({"url": {"matches": "a$"}}, 'page.wait_for_url(re.compile("a$"), wait_until="commit"'),
        ({"element": {"css": "#a", "checked": False}}, ".not_to_be_checked()"),
        ({"element": {"role": "row", "text": "a b", "enabled": True}},
         'page.get_by_role("row").filter(has_text=re.compile("a\\\\s+b")).filter(visible=True)'),
        ({"element": {"label": "L", "test_id": "T"}},
         'page.get_by_label("L", exact=True).and_(page.get_by_test_id("T"))'),
        ({"request": {"url": "https://x/{a,b}", "status": 201, "reply": {"json": {"n": 1}}}},
         "holds(reply.json(), {\"n\": 1})"),
        ({"request": {"url": "https://x/", "contains": "q", "count": 2}}, "== 2"),
        ({"http": {"url": "https://x/", "redirects": "no", "status": 302}}, "max_redirects=0"),
        ({"http": {"url": "https://x/", "method": "POST"}}, "assert served()"),
        ({"sql": {"url": "sqlite:////tmp/a.db", "query": "select 1", "rows": [[1]]}},
         "holds(stored(), [[1]])"),
        ({"file": {"path": "/tmp/a", "exists": False}}, 'not Path("/tmp/a").exists()'),
        ({"download": {"equals": "a\r\n", "count": 1}}, 'rstrip("\\n") == "a"'),
    ],
)  # fmt: skip
def test_each_check_has_its_assertion(tmp_path: Path, check: dict[str, Any], line: str) -> None:
    assert line in written(tmp_path, check)


@pytest.mark.parametrize(
    ("spec", "answer", "line"),
    [
        ({"equals": 42}, 42, "assert answers[-1] == 42"),
        ({"equals": 42}, "42 ", 'assert answers[-1].strip() == "42"'),
        # Of several ways to write the same, the one that passed is asked for.
        ({"equals": 85, "type": "money", "currency": "EUR"}, "85,00 €",
         'assert answers[-1] == "85,00 €"'),
        ({"equals": 1}, True, "assert answers[-1] == True"),
        ({"contains": "b"}, "abc", 'assert "b" in answers[-1]'),
        ({"matches": "^a"}, "abc", 'assert re.search("^a", answers[-1])'),
        ({"matches": "1"}, [1], "json.dumps(answers[-1], ensure_ascii=False)"),
    ],
)  # fmt: skip
def test_answers_are_compared_as_the_case_did(
    tmp_path: Path, spec: dict[str, Any], answer: Any, line: str
) -> None:
    of = cell(answer=answer, code="# Step 1\nanswer(page.title())\n")

    assert line in written(tmp_path, {"answer": spec}, of=of)


def test_without_its_actions_a_test_keeps_set_up_and_checks(tmp_path: Path) -> None:
    of = cell(code="# Step 1\nanswer(page.title())\n")
    text = written(tmp_path, {"answer": {"equals": 1}}, of=of, actions=False)

    assert "page.title" not in text
    assert 'assert answers, "the test came to no answer"' in text


def test_checks_without_a_like_are_named_and_a_test_of_only_such_is_refused(tmp_path: Path) -> None:
    judged = {"judge": {"rubric": "Is it\nnice?"}}

    assert "    # Not checked here: judge: " in written(tmp_path, judged, {"text": "a"})
    with pytest.raises(NotExportable, match="no check can be written as an assertion"):
        written(tmp_path, judged)
    elsewhere = written(tmp_path, {"text": "b", "tab": 2}, {"seen": {"text": "c"}}, {"text": "a"})
    assert "it looks at another tab" in elsewhere
    assert "only cells record what passes by" in elsewhere


def test_the_set_up_and_the_server_of_the_case_are_those_of_the_test(tmp_path: Path) -> None:
    setup = {
        "clock": {"time": "2026-04-03T09:00:00Z"},
        "color_scheme": "dark",
        "storage_state": "auth.json",
        "cookies": [{"name": "c", "value": "v", "domain": "x.example"}],
        "http_credentials": {"username": "ana", "password": "{{ secrets.pw }}"},
    }
    ran = "http://127.0.0.1:41999/app/start"
    frame: dict[str, Any] = {
        "index": 0,
        "type": "text",
        "passed": True,
        "expected": "e",
        "actual": "a",
    }
    text = written(
        tmp_path,
        {"text": "in {{ webserver.data }}"},
        server=SERVER,
        case={"setup": setup, "secrets": {"pw": {"default": "hush-hush"}}, "files": ["a.pdf"]},
        of=cell(
            entry_url_used=ran,
            code="# Step 1\npage.goto('http://127.0.0.1:41999/app/x')\n",
            checks=(CheckResult(**frame, where=f"{ran} frame 2 about:srcdoc"),),
        ),
    )

    for line in (
        '@pytest.mark.browser_context_args(color_scheme="dark", '
        'storage_state=str(FOLDER / "auth.json"))',
        'page = new_context(http_credentials={"username": "ana", "password": secret_pw, '
        '"origin": server}).new_page()',
        'page.clock.install(time="2026-04-03T09:00:00Z")',
        'page.context.add_cookies([{"name": "c", "value": "v", "domain": "x.example", '
        '"path": "/"}])',
        'page.goto(f"{server}/app/start")',
        'page.goto(f"{server}/app/x")',
        "# text: in {data}",
        'expect(page.frames[2].locator("body")).to_contain_text(f"in {data}"',
        'command = [sys.executable, "app.py", "--port", str(port), f"--data={data}"]',
        'env = {**os.environ, "PLACE": str(data), "PLAIN": "x"}',
        'answering(f"http://127.0.0.1:{port}/app/", process, seconds=30)',
        'f"{application.url}/app/reset", data="all".encode(), headers={}, method="POST"',
        'FOLDER = (Path(__file__).parent / "../cases").resolve()',
        'os.environ.get("PW")',
    ):
        assert line in text
    assert "hush" not in text
    assert "new_context: Callable[..., BrowserContext], " not in text.partition("page: Page")[0]


WILD = st.text(st.sampled_from("ab{}\"'\\\n\r\t#<>%☃\x1b\u2028;")) | st.text()


@settings(max_examples=40)
@given(WILD, WILD, WILD)
def test_no_text_of_a_case_or_a_model_becomes_code(
    tmp_path_factory: pytest.TempPathFactory, task: str, wanted: str, model: str
) -> None:
    task, wanted, model = (text.encode(errors="replace").decode() for text in (task, wanted, model))
    plan = {"index": 1, "description": task}
    of = cell(model=model, plan_steps=(plan,))
    # These would be expressions of the case file, which are resolved before.
    assume(not any(tag in text for tag in ("{{", "{%", "{#") for text in (task, wanted)))
    folder, case = tmp_path_factory.mktemp("w"), {"user_task": f"x{task}"}
    text = written(folder, {"text": f"x{wanted}"}, case=case, of=of)

    (test,) = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    opened, clicked, checked = test.body[1:]
    assert ast.unparse(opened) == "page.goto('https://shop.example/start')"
    assert ast.unparse(clicked) == "page.click('a')"
    assert isinstance(checked, ast.Expr)
    assert isinstance(checked.value, ast.Call)
    assert ast.literal_eval(checked.value.args[0]) == f"x{wanted}"


def test_secrets_code_that_is_refused_and_other_strategies_are_never_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(NotExportable, match="would hold the value of a secret"):
        refuse_secrets("x = 'hush-hush'", ["hush-hush"])
    with pytest.raises(NotExportable, match=r"would be refused today: .*AW101"):
        written(tmp_path, {"text": "a"}, of=cell(code="# Step 1\nimport os\npage.click('a')\n"))
    with pytest.raises(NotExportable, match="the strategy 'collect'"):
        written(tmp_path, {"text": "a"}, of=cell(strategy="collect"))
    with pytest.raises(NotExportable, match="nothing was done"):
        written(tmp_path, {"text": "a"}, of=cell(code="# Step 1\n# nothing\n"))


def test_of_several_cells_the_one_that_makes_the_plainest_test_is_the_best() -> None:
    act = ToolCall(
        step_index=1, seq=0, target="page", method="click", arguments="", acting=True, ok=True,
        duration_ms=1,
    )  # fmt: skip
    long, short = cell("long", tool_calls=(act, act)), cell("short", tool_calls=(act,))
    control, sighted = cell("builtin/oracle"), cell("sighted", strategy="act")
    failed = cell("failed").model_copy(update={"outcome": "failed"})

    assert [one.model for one in _best([control, sighted, long, short, failed])] == ["short"]
    assert [one.model for one in _best([control, sighted])] == ["sighted"]
    assert _best([failed]) == []
    assert file_name("a/my shop-é") == "test_a_my_shop__.py"


def test_what_is_no_run_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "login", "--run", str(tmp_path / "none"), "-o", str(tmp_path)]) == 4
    assert "autoweb: " in capsys.readouterr().err
