"""A shop with tools by WebMCP: proven by controls, solved by tools, compared with other agents."""

import json
from collections.abc import Iterator

import pytest
from local_site import Site
from session_server import autoweb_command, session_command
from shop_project import LEAN

SHOP = """<!doctype html><title>Shop</title><h1>Tea shop</h1><p id=cart>The cart is empty.</p>
<button onclick="add('tea')">Add</button>
<form id=ship toolname=ship_to tooldescription="Sets the address" toolautosubmit>
<label>Town <input name=town required></label><button>Ship</button></form>
BANNER
<script>
const add = (item) => { cart.textContent = `The cart holds ${item}.`; };
navigator.modelContext?.registerTool({
  name: 'add_to_cart', description: 'Puts an item into the cart',
  inputSchema: { type: 'object', required: ['item'], properties: { item: { type: 'string' } } },
  execute: ({ item }) => { add(item); return { content: [{ type: 'text', text: 'added' }] }; },
});
ship.onsubmit = (event) => { event.preventDefault();
  cart.textContent += ` Sent to ${ship.town.value}.`;
  if (event.agentInvoked) event.respondWith(Promise.resolve('sent')); };
</script>"""
BANNER = '<div id=cookies style="position: fixed; inset: 0; background: #ddd">Cookies?</div>'
CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: buy
    entry_url: "{{ webserver.url }}shop.html"
    user_task: "Put tea into the cart and have it sent to Ulm."
    oracle: |
      # Step 1: buy
      page.get_by_role("button", name="Add").click()
      page.get_by_label("Town").fill("Ulm")
      page.get_by_role("button", name="Ship").click()
    expect:
      - text: "The cart holds tea. Sent to Ulm."
      - webmcp: {tool: add_to_cart, arguments: {item: tea}, result: added}
"""
CLIENT = '''
import json
import re

from pytest_autoweb.testing import ScriptedClient


def call(seen, words, **arguments):
    """The line that calls the tool with these words in its description, if one is offered."""
    found = re.search(rf'tool "(\\S+)"[^\\n]*{words}', seen)
    return f'tool("{found[1]}", {json.dumps(arguments)})' if found else ""


def generate(request):
    seen = "\\n".join(message.content for message in request.messages[1:])
    if "was carried out" in seen:
        return "DONE"
    lines = [call(seen, "into the cart", item="tea"), call(seen, "address", town="Ulm")]
    if not all(lines):
        lines = ['page.get_by_role("button", name="Add").click(timeout=500)']
    return "I do it.\\n```\\n" + "\\n".join(lines) + "\\n```"


def decide(request):
    found = re.search(r'^\\[(\\d+)\\] \\S+ "Add"', request.messages[-1].content, re.MULTILINE)
    if found is None:
        return '{"action": "done"}'
    return json.dumps({"action": "click", "mark_id": int(found[1]), "expected_text": "Add"})


def pytest_autoweb_client(spec):
    if spec.name.startswith("fake/"):
        return ScriptedClient({"generate": generate, "decide": decide})
'''


@pytest.fixture
def shop(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setattr(pytester, "_getpytestargs", session_command)
    pytester.makeconftest(CLIENT)
    pytester.makeini(f"[pytest]\naddopts = {LEAN}\n")
    for name, text in (("site/shop.html", SHOP.replace("BANNER", "")), ("cases/shop.yaml", CASES)):
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return pytester


@pytest.mark.long
def test_a_model_that_knows_only_the_tools_solves_what_controls_prove(
    shop: pytest.Pytester,
) -> None:
    """The browser's own API is on, as a cell of the session needs it; doing nothing fails."""
    result = shop.runpytest_subprocess(
        "cases", "--autoweb-models=builtin/noop,builtin/oracle,fake/m", "--autoweb-agent=webmcp"
    )

    result.assert_outcomes(passed=2, xfailed=1)
    report = json.loads((shop.path / "autoweb-report/report.json").read_text("utf-8"))
    cells = {cell["model"]: cell for cell in report["cases"][0]["cells"]}
    (attempt,) = cells["fake/m"]["attempts"]
    assert attempt["site_tools"] == {
        "engine": "browser", "names": ["add_to_cart", "ship_to"], "turns_without": 0, "calls": 2,
        "failed": 0}  # fmt: skip
    calls = [call for call in attempt["tool_calls"] if call["method"] == "call_tool"]
    assert [call["arguments"] for call in calls] == [
        "'add_to_cart', {'item': 'tea'}", "'ship_to', {'town': 'Ulm'}"]  # fmt: skip
    assert calls[0]["result"] == '"added"'
    assert "page.call_tool('add_to_cart'" in attempt["code"]


@pytest.fixture
def covered() -> Iterator[str]:
    """The address of the shop, whose page lies under a banner."""
    site = Site()
    yield site.put("/shop", SHOP.replace("BANNER", BANNER))
    site.close()


@pytest.mark.long
def test_try_compares_agents_and_says_where_they_failed(
    shop: pytest.Pytester, covered: str
) -> None:
    result = shop.run(
        *autoweb_command(), "try", covered, "Send tea to Ulm.", "--models=fake/m",
        "--agents=codegen,act,webmcp", "--expect-text=The cart holds tea. Sent to Ulm.",
        "--", "--autoweb-max-repairs=0", "--autoweb-max-steps=2",
    )  # fmt: skip

    assert result.ret == 1
    said = result.stdout.str()
    table = said[said.index("agent    passed") :].splitlines()
    rows = {line.split()[0]: line.split()[1:4] for line in table[1:4]}
    assert rows == {name: [passed, "of", "1"] for name, passed in
                    (("codegen", "0"), ("act", "0"), ("webmcp", "1"))}  # fmt: skip
    assert "codegen and webmcp: only codegen passed 0, only webmcp passed 1, of 1 pair" in said
    failed = said[said.index("where agents failed:") :]
    (line,) = (line for line in failed.splitlines() if line.startswith("codegen"))
    assert [word for word in ("covered", "Add", "cookies") if word not in line] == []
    report = json.loads((shop.path / "autoweb-try/report.json").read_text("utf-8"))
    assert [one["agent"] for one in report["readiness"]["agents"]] == ["codegen", "act", "webmcp"]
    (panel,) = (panel for panel in report["panels"] if panel["name"] == "agents")
    assert panel["facts"]["webmcp"].startswith("1 of 1 passed (95%: 21%–100%)")
    assert ["codegen", "covered"] in [[row[0], row[2]] for row in panel["rows"]]
