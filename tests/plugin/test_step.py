"""A step by a model inside an ordinary test: `autoweb_step`."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from openai_server import Answer, OpenAIServer, Seen
from session_server import autoweb_command
from shop_project import LEAN, SharedProject

pytestmark = pytest.mark.long

PAGE = """<!doctype html><html lang="en"><title>Shop</title><h1>Shirts</h1>
<p>Blue shirt $20.00 <button onclick="add(20)">Add blue</button></p>
<p>Red shirt $25.50 <button onclick="add(25.5)">Add red</button></p>
<p id="n">The cart is empty</p><p>Total: <span id="t">$0.00</span></p>
<label>Coupon <input id="c"></label>
<button onclick="call()">Call</button>
<p id="told"></p>
<script>let n = 0, sum = 0;
function told(text) { document.getElementById('told').textContent = text }
function call() { fetch('ELSEWHERE/spy').then(() => told('sent'), () => told('refused')) }
function add(price) { n++; sum += price;
  document.getElementById('n').textContent = n + ' item in the cart';
  document.getElementById('t').textContent = '$' + sum.toFixed(2) }</script>"""

SERVED = """
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
import pytest

class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("access-control-allow-origin", "*")
        self.end_headers()
        elsewhere = f"http://localhost:{self.server.server_port}"
        text = Path("page.html").read_text().replace("ELSEWHERE", elsewhere)
        self.wfile.write(b"" if self.path == "/spy" else text.encode())

    def log_message(self, *args):
        pass

@pytest.fixture(scope="session")
def shop():
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
"""

SCRIPTED = (
    SERVED
    + """
import json
import re
from pytest_autoweb.testing import ScriptedClient

def press(name):
    return f'Now.\\n```python\\npage.get_by_role("button", name="{name}").click()\\n```\\nDONE'

def turn(request):
    task = request.messages[1].content
    if "coupon" in task:
        return 'Now.\\n```python\\npage.get_by_label("Coupon").fill("<secret:COUPON>")\\n```\\nDONE'
    if "dither" in task:
        return f'Now.\\n```python\\npage.get_by_label("Coupon").fill("{request.turn}")\\n```'
    named = [n for n in ("Add blue", "Add red", "Call", "Add green") if n.lower() in task]
    return press(named[0])

def verdict(request):
    rubric = request.messages[1].content
    if "two items" in rubric:
        return '{"quotes": ["1 item in the cart"], "reason": "it is one", "verdict": "fail"}'
    quote = "9 items" if "nine" in rubric else "1 item in the cart"
    return json.dumps({"quotes": [quote], "reason": "so it says", "verdict": "pass"})

VALUES = {
    "total": "Total: $20.00", "made up": "$99.00", "prices": ["$20.00", "$25.50"],
    "empty": {"shown": "1 item in the cart", "value": False},
    "shirt": {"name": "Blue shirt", "price": "$20.00"},
}

def value(request):
    asked = request.messages[1].content
    found = next(value for name, value in VALUES.items() if name in asked)
    return json.dumps({"found": True, "value": found})

def decide(request):
    listed = request.messages[-1].content
    if "1 item in the cart" in listed:
        return '{"action": "done"}'
    mark = int(re.search(r'^\\[(\\d+)\\] \\S+ "Add red"', listed, re.M)[1])
    return json.dumps(
        {"action": "click", "mark_id": mark, "expected_text": "Add red", "confidence": 0.9}
    )

def pytest_autoweb_client(spec):
    if spec.name.startswith("fake/"):
        return ScriptedClient(
            {"generate": turn, "judge": verdict, "read": value, "decide": decide}
        )
"""
)

TESTS = """
import pytest
from pydantic import BaseModel

pytestmark = pytest.mark.autoweb_step(model="fake/m")

class Shirt(BaseModel):
    name: str
    price: float

class TestCart:
    def test_works_with_the_tests_own_lines(self, page, shop, autoweb_step):
        page.goto(shop)
        autoweb_step("add blue")
        assert page.locator("#n").inner_text() == "1 item in the cart"
        autoweb_step.check("the cart shows one item")
        assert autoweb_step.read("the total", float) == 20.0
        assert autoweb_step.read("the prices", list[float]) == [20.0, 25.5]
        assert autoweb_step.read("is it empty", bool) is False
        assert autoweb_step.read("the shirt", Shirt) == Shirt(name="Blue shirt", price=20)
        page.get_by_role("button", name="Add red").click()
        assert page.locator("#t").inner_text() == "$45.50"

def test_other_page(context, shop, autoweb_step):
    other = context.new_page()
    other.goto(shop)
    autoweb_step("add red", page=other)
    assert other.locator("#t").inner_text() == "$25.50"

@pytest.mark.autoweb_step(agent="act")
def test_by_decisions(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step("put the red shirt into the cart")
    assert page.locator("#t").inner_text() == "$25.50"

def test_dithers(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step("dither")

def test_not_done(page, shop, autoweb_step):
    page.set_default_timeout(2000)
    page.goto(shop)
    autoweb_step("add green")

def test_does_not_hold(page, shop, autoweb_step):
    page.goto(shop)
    page.get_by_role("button", name="Add blue").click()
    with pytest.raises(AssertionError, match="it is one"):
        autoweb_step.check("there are two items")
    autoweb_step.check("there are nine items")

def test_made_up(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step.read("the made up price", float)

def test_secret(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step(f"fill in the coupon {autoweb_step.secret('COUPON')}")
    assert page.get_by_label("Coupon").input_value() == "hush-hush-4711"
    with pytest.raises(pytest.UsageError, match="NOT_THERE"):
        autoweb_step.secret("NOT_THERE")

def test_other_origins(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step("press call")
    page.get_by_text("refused").wait_for()
    page.get_by_role("button", name="Call").click()
    page.get_by_text("sent").wait_for()

@pytest.mark.autoweb_step(allowed_origins=["http://localhost:1"], agent="codegen:once")
def test_blank(page, autoweb_step):
    autoweb_step("add blue")

@pytest.mark.autoweb_step(agent="stagehand")
def test_agent_with_pages_of_its_own(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step("add blue")

@pytest.mark.autoweb_step(modle="x")
def test_misspelt(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step("add blue")

def test_type(page, shop, autoweb_step):
    page.goto(shop)
    with pytest.raises(TypeError, match="not dict"):
        autoweb_step.read("it", dict)
"""
WITHOUT_MODEL = """
def test_without_model(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step("add blue")
"""
INI = f"[pytest]\naddopts = {LEAN}\nautoweb_check_timeout = 1\nautoweb_step_timeout = 5\n"
INI += "autoweb_max_turns = 2\n"


def furnish(folder: Path, tests: str, conftest: str = SERVED) -> SharedProject:
    (folder / "page.html").write_text(PAGE)
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_shop.py").write_text(tests)
    (folder / "tox.ini").write_text(INI)
    return SharedProject(folder, furnished=True)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[pytest.RunResult, Path]:
    """One session without a flag, in which each test takes a step."""
    folder = tmp_path_factory.mktemp("steps")
    project = furnish(folder, TESTS, SCRIPTED)
    (folder / "test_without.py").write_text(WITHOUT_MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUPON", "hush-hush-4711")
        return project.run(), folder


def _said(ran: tuple[pytest.RunResult, Path], test: str) -> str:
    """What pytest prints of a failed test."""
    output = ran[0].stdout.str() + "\n_____ "
    found = re.search(rf"_ {re.escape(test)}\[chromium\] _+\n(.*?)\n_{{5,}} ", output, re.S)
    assert found, output
    return found[1]


def test_steps_checks_and_values_work_on_the_tests_own_page(
    ran: tuple[pytest.RunResult, Path],
) -> None:
    passed = {
        "test_by_decisions",
        "test_other_page",
        "test_secret",
        "test_other_origins",
        "test_type",
    }
    output = ran[0].stdout.str()

    assert not [name for name in (*passed, "test_works") if f"_ {name}" in output], output
    assert ran[0].parseoutcomes() == {"passed": 6, "failed": 8}


def test_a_failed_step_says_what_was_asked_what_failed_and_where_its_files_are(
    ran: tuple[pytest.RunResult, Path],
) -> None:
    said = _said(ran, "test_not_done")

    assert "autoweb_step('add green') on fake/m: " in said
    assert 'page.get_by_role("button", name="Add green").click()' in said
    picture = re.search(r"picture: (\S+)", said)
    assert picture is not None
    assert Path(picture[1]).is_file()
    # Neither frames of this package nor of the pipeline below it.
    assert "pytest_autoweb/session" not in said.partition("Captured")[0]


def test_a_verdict_has_to_quote_the_page_and_a_value_to_stand_there(
    ran: tuple[pytest.RunResult, Path],
) -> None:
    assert "The limit of 2 turns was reached" in _said(ran, "test_dithers")
    assert "unfounded" in _said(ran, "test_does_not_hold")
    assert "the page does not show “$99.00”" in _said(ran, "test_made_up")


def test_what_cannot_be_done_is_refused_in_a_sentence(ran: tuple[pytest.RunResult, Path]) -> None:
    assert "call page.goto(…) first" in _said(ran, "test_blank")
    assert "'stagehand' opens pages of its own" in _said(ran, "test_agent_with_pages_of_its_own")
    assert "modle" in _said(ran, "test_misspelt")
    assert "autoweb_step needs a model" in _said(ran, "test_without_model")


def test_several_models_make_several_tests_unless_a_mark_names_one(
    pytester: pytest.Pytester,
) -> None:
    furnish(pytester.path, TESTS.replace("pytestmark", "unused"), SCRIPTED)
    (pytester.path / "test_marked.py").write_text(TESTS)
    models = "--autoweb-models=fake/a,builtin/noop,fake/b"
    listed = pytester.runpytest(models, "--collect-only", "-q", "-k", "not_done").stdout.str()

    assert re.findall(r"^test_\S+", listed, re.M) == [
        "test_marked.py::test_not_done[chromium]",
        "test_shop.py::test_not_done[fake/a-chromium]",
        "test_shop.py::test_not_done[fake/b-chromium]",
    ]


def test_a_secret_is_in_none_of_the_files(ran: tuple[pytest.RunResult, Path]) -> None:
    files = [path for path in (ran[1] / "autoweb-report").rglob("*") if path.is_file()]

    assert any(path.name == "cell.json" for path in files)
    assert not [path for path in files if b"hush-hush-4711" in path.read_bytes()]


class ShopModel(OpenAIServer):
    """A model that presses what the task names, and reads the total."""

    def answer(self, seen: Seen) -> tuple[Answer, bytes]:
        self.requests.append(seen)
        said = json.dumps(seen.body["messages"])
        text = '{"found": true, "value": "$20.00"}'
        if "Add blue" in said and "You find a value" not in said:
            name = "Put blue" if "Put blue" in said else "Add blue"
            text = f'Now.\n```python\npage.get_by_role("button", name="{name}").click()\n```\nDONE'
        answer = Answer(text)
        return answer, answer.body(seen.body["model"])


RECORDED = """
import pytest

@pytest.mark.parametrize("price", [20.0, 20])
def test_cart(page, shop, autoweb_step, price):
    page.goto(shop)
    autoweb_step("Add blue to the cart")
    assert autoweb_step.read("the total", type(price)) == price
"""


def test_recorded_steps_replay_on_workers_without_model_and_say_when_the_page_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = furnish(tmp_path, RECORDED)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    with ShopModel([Answer()]) as server:
        (tmp_path / "models.yaml").write_text(
            f"models: {{openai/m: {{api_base: '{server.api_base}'}}}}"
        )
        flags = ("--autoweb-models=openai/m", "--autoweb-models-file=models.yaml")
        recorded = project.run(*flags, "--autoweb-record-mode=record")
        asked = len(server.requests)
    cassettes = sorted((tmp_path / "cases/cassettes").rglob("*.json"))
    monkeypatch.delenv("OPENAI_API_KEY")
    replayed = project.run(*flags, "--autoweb-record-mode=replay", "-n", "2")
    (tmp_path / "page.html").write_text(PAGE.replace("Add blue", "Put blue"))
    changed = project.run(*flags, "--autoweb-record-mode=replay", "-k", "20.0")

    assert recorded.parseoutcomes() == {"passed": 2}, recorded.stdout.str()
    # A cassette for each call, so that steps may come and go around it.
    assert (asked, len(cassettes)) == (4, 4)
    assert replayed.parseoutcomes()["passed"] == 2, replayed.stdout.str()
    said = changed.stdout.str()
    assert "autoweb_step('Add blue to the cart') on openai/m: broken: " in said
    assert "--autoweb-record-mode=extend asks for what is missing" in said


EXPORTED = """import pytest

class TestCart:
    def test_adds(self, page, shop, autoweb_step):
        page.goto(shop)
        autoweb_step("add blue to the cart")
        autoweb_step.check("the cart shows one item")
        assert autoweb_step.read("the total", float) == 20.0

def test_unnoticed(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step("add red")

def test_reads(page, shop, autoweb_step):
    page.goto(shop)
    autoweb_step("add blue")
    assert autoweb_step.read("the prices", list[float]) == [20, 25.5]
"""


def test_export_writes_proven_calls_as_plain_lines_and_refuses_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = furnish(tmp_path, EXPORTED, SCRIPTED)
    ran = project.run("--autoweb-models=fake/m")
    monkeypatch.chdir(tmp_path)
    exported = subprocess.run(
        [*autoweb_command(), "export", "autoweb-report", "--", *LEAN.split()],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    said = exported.stdout + exported.stderr

    assert ran.parseoutcomes() == {"passed": 3}, ran.stdout.str()
    assert exported.returncode == 1, said
    assert "wrote   test_shop_plain.py::TestCart::test_adds" in said
    assert "refused test_unnoticed: it passes without its actions as well" in said
    assert "refused test_reads: line 17 reads a value" in said
    assert (
        (tmp_path / "test_shop_plain.py")
        .read_text()
        .startswith(
            """import re
from playwright.sync_api import expect

import pytest

class TestCart:
    def test_adds(self, page, shop):
        page.goto(shop)
        # add blue to the cart
        page.get_by_role("button", name="Add blue").click()
        # the cart shows one item
        expect(page.locator("body")).to_contain_text("1 item in the cart", use_inner_text=True)
        assert float(re.sub(r"[^\\d.-]", "", page.get_by_text("Total:").inner_text())) == 20.0

def test_unnoticed(page, shop, autoweb_step):
"""
        )
    )
