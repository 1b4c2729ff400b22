"""A desk that asks for many hands of the dialect `refs`, and who knows only what it is sent."""

import json
import subprocess

import pytest
from session_server import autoweb_command
from shop_project import LEAN

DESK = """<!doctype html><title>Desk</title><style>
#rows { height: 150px; overflow-y: auto } #rows p { height: 30px; margin: 0 }
.keys { width: 1px; height: 1px; opacity: 0 }
</style><h1>Desk</h1><p id=state></p>
<button onclick="cancel()">Cancel order</button> <a href=prices.csv download>Prices</a>
<a href=terms.html target=_blank>Terms</a><div id=rows></div>
<div><textarea class=keys aria-label=Notice></textarea><pre id=notice>Closed today</pre></div>
<button onclick="state.textContent += ' saved ' + notice.textContent">Save</button>
<script>
function cancel() {
  const why = confirm('Cancel order 28?') && prompt('Why?', 'no reason');
  state.textContent = 'cancelled: ' + why;
}
let count = 0;
const more = () => {
  for (let i = 0; i < 10; i += 1) {
    count += 1;
    const row = document.createElement('p');
    row.innerHTML = `Order ${count} <button>Open</button>`;
    const name = ` opened ${count}`;
    row.lastChild.onclick = () => { state.textContent += name; };
    rows.append(row);
  }
};
rows.onscroll = () => {
  if (count < 30 && rows.scrollTop + rows.clientHeight > rows.scrollHeight - 40) more();
};
more();
const keys = document.querySelector('.keys');
let all = false;
keys.addEventListener('keydown', (event) => { all = event.ctrlKey && event.key === 'a'; });
keys.addEventListener('input', () => {
  notice.textContent = (all ? '' : notice.textContent) + keys.value;
  keys.value = '';
});
</script>"""
CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: desk
    entry_url: "{{ webserver.url }}desk.html"
    user_task: >-
      Cancel the order as damaged, open order 28, put the code of the price list and the number of
      the terms' clause into the notice in place of what it says, save, and return the code.
    oracle: |
      replies = ["damaged", ""]
      page.on("dialog", lambda dialog: dialog.accept(replies.pop()))
      page.get_by_role("button", name="Cancel order").click()
      with page.expect_download() as info:
          page.get_by_role("link", name="Prices").click()
      code = open(info.value.path()).read().split()[-1]
      for _ in range(9):
          page.get_by_role("button", name="Open").last.hover()
          page.mouse.wheel(0, 120)
          page.wait_for_timeout(50)
      page.locator("#rows p").nth(27).get_by_role("button").click()
      page.get_by_label("Notice").press("Control+a")
      page.keyboard.insert_text(f"{code} 9")
      page.get_by_role("button", name="Save").click()
      answer(code)
    expect:
      - text: "cancelled: damaged opened 28 saved V-77 9"
      - answer: {equals: V-77}
      - download: {name: prices.csv}
"""
CLIENT = '''
import re
from pytest_autoweb.testing import ScriptedClient


def number_of(prompt, before, text):
    """The number that the newest listing gives an element, behind another text of the page."""
    page = prompt.rpartition("<<page ")[2]
    start = page.index(before)
    until = page.index('"' + text + '"', start)
    return re.findall(r"\\be\\d+\\b", page[:until])[-1]


def block(*lines):
    return "\\n".join(["I go on.", "```", *lines, "```"])


class Player:
    def __init__(self):
        self.turn, self.code, self.clause = 0, "", ""

    def reply(self, request):
        prompt = "\\n".join(message.content for message in request.messages)
        find = lambda text, before="": number_of(prompt, before, text)
        self.code = self.code or "".join(re.findall(r"VAT code (V-\\d+)", prompt)[:1])
        self.clause = self.clause or "".join(re.findall(r"Clause (\\d+)", prompt)[:1])
        if self.turn == 3 and "Order 28 " not in prompt and "Order 28\\"" not in prompt:
            return block(find("Open") + '.scroll("bottom")')
        self.turn += 1
        match self.turn:
            case 1:
                click = find("Cancel order") + ".click()"
                return block("accept_dialog()", 'accept_dialog("damaged")', click)
            case 2:
                return block(find("Prices") + ".click()")
            case 3:
                return block("read_download()")
            case 4:
                return block(find("Open", "Order 28") + ".click()")
            case 5:
                return block(find("Terms") + ".click()")
            case 6:
                return block("close_tab()")
            case 7:
                fill = f'{find("Notice")}.fill("{self.code} {self.clause}")'
                save = find("Save") + ".click()"
                return block(fill, save, f'answer("{self.code}")') + "\\nDONE"
        return "DONE"


def pytest_autoweb_client(spec):
    if spec.litellm_model == "fake/hands":
        return ScriptedClient({"generate": Player().reply})
    if spec.litellm_model.startswith("fake/"):
        return ScriptedClient({"generate": "done()"})
'''


@pytest.mark.long
def test_a_client_that_knows_only_what_it_is_sent_solves_the_desk(
    project: pytest.Pytester,
) -> None:
    site = project.path / "site"
    (site / "desk.html").write_text(DESK, encoding="utf-8")
    (site / "terms.html").write_text("<title>Terms</title><h1>Clause 9</h1>", encoding="utf-8")
    (site / "prices.csv").write_text("tea,3\nVAT code V-77\n", encoding="utf-8")
    (project.path / "cases/shop.yaml").write_text(CASES, encoding="utf-8")
    models = "fake/hands: {dialect: refs}\nfake/tiny-1b: {dialect: refs}\n"
    (project.path / "models.yaml").write_text(models, encoding="utf-8")
    project.makeconftest(CLIENT)

    ran = project.runpytest_subprocess(
        *("cases", "--autoweb-models=builtin/oracle,builtin/noop,fake/hands,fake/tiny-1b"),
        *("--autoweb-models-file=models.yaml", "--autoweb-max-repairs=0"),
    )

    # The oracle passes, doing nothing fails as it should.
    report = json.loads((project.path / "autoweb-report/report.json").read_text("utf-8"))
    cells = {cell["model"]: cell for case in report["cases"] for cell in case["cells"]}
    outcomes = {model: cell["outcome"] for model, cell in cells.items()}
    assert outcomes["builtin/oracle"] == outcomes["fake/hands"] == "passed", ran.stdout.str()
    assert outcomes["builtin/noop"] == outcomes["fake/tiny-1b"] == "failed"
    # What the short dialect of small models has no means for is said before it runs.
    lacking = "hover, read downloads, scroll or type into prompts"
    ran.stdout.fnmatch_lines(
        [f"autoweb: fake/tiny-1b (the dialect refs) cannot {lacking}, which case desk may need"]
    )
    (attempt,) = cells["fake/tiny-1b"]["attempts"]
    assert "this strategy cannot " in attempt["code_notes"][0]
    # It can be written as a plain test, which passes without this package, and fails untouched.
    words = ("export", "desk[fake/hands]", "-o", "e2e", "--", *LEAN.split())
    command = [*autoweb_command(), *words]
    done = subprocess.run(command, cwd=project.path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
