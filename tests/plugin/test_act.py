"""The strategy `act` in whole sessions."""

import json

import pytest


@pytest.mark.long
def test_models_act_by_sight_on_workers_and_look_twice_for_what_was_refused_twice(
    project: pytest.Pytester,
) -> None:
    (project.path / "site/unread.html").write_text(UNREAD, encoding="utf-8")
    (project.path / "cases/shop.yaml").write_text(CASES)
    (project.path / "models.yaml").write_text("fake/eyes: {vision: true}")
    project.makeconftest(CONFTEST)

    result = project.runpytest_subprocess(
        *("cases", "--autoweb-models=fake/eyes,builtin/oracle", "--autoweb-strategy=act"),
        *("--autoweb-models-file=models.yaml", "--autoweb-max-repairs=0", "-n", "2"),
    )

    result.assert_outcomes(passed=4)
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    cells = {
        (case["id"], cell["model"]): cell for case in report["cases"] for cell in case["cells"]
    }
    strategies = {model: cell["strategy"] for (_, model), cell in cells.items()}
    assert strategies == {"fake/eyes": "act", "builtin/oracle": "codegen"}
    cell = cells["login", "fake/eyes"]
    attempt = cell["attempts"][0]
    clicked = attempt["decisions"][1]
    assert (clicked["chosen"][0]["mark"], clicked["chosen"][0]["taken"]) == (1, 3)
    assert (clicked["status"], clicked["confidence"]) == ("performed", 0.8)
    assert [call["method"] for call in attempt["tool_calls"] if call["acting"]] == ["fill", "click"]
    # An exported test finds them without numbers.
    assert [call["located"] for call in attempt["tool_calls"] if call["located"]] == [
        'page.get_by_role("textbox", name="Name", exact=True)',
        'page.get_by_role("button", name="Log in", exact=True)',
    ]
    assert "decide" in cell["usage"]
    picture = project.path / "autoweb-report" / cell["folder"] / clicked["picture"]
    assert picture.read_bytes().startswith(b"\x89PNG")

    attempt = cells["unread", "fake/eyes"]["attempts"][0]
    statuses = [decision["status"] for decision in attempt["decisions"]]
    assert statuses == ["refused", "performed", "refused", "performed", "performed"]
    assert [decision["location"] for decision in attempt["decisions"]] == [None, 0, None, 1, None]
    assert [found["status"] for found in attempt["locations"]] == ["found", "found"]
    assert "page.mouse.click(" in attempt["code"].splitlines()[-1]


CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: login
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Log in as ana."
    expect: [{text: "Welcome, ana"}]
    oracle: |
      # Step 1
      page.get_by_label("Name").fill("ana")
      page.get_by_role("button", name="Log in").click()
  - id: unread
    entry_url: "{{ webserver.url }}unread.html"
    user_task: "Remove Bo and hit the red dot."
    expect: [{text: "Bo gone"}, {text: "dot hit"}]
    oracle: |
      # Step 1
      page.get_by_role("button").nth(2).click()
      page.mouse.click(420, 220)
"""
# Two buttons that show no text, and a drawing whose parts are no elements.
UNREAD = """<!doctype html><title>Team</title><style>button{position:absolute;height:30px}</style>
<button style="left:10px;top:110px">Help</button>
<button style="left:300px;top:10px;width:30px" onclick="out.textContent='Ana gone'"></button>
<button style="left:300px;top:60px;width:30px" onclick="out.textContent='Bo gone'"></button>
<canvas width=400 height=300 style="position:absolute;left:200px;top:120px"></canvas>
<p id=out></p><p id=hit></p><script>
const canvas = document.querySelector('canvas'), pen = canvas.getContext('2d');
pen.fillStyle = '#d00'; pen.beginPath(); pen.arc(220, 100, 20, 0, 7); pen.fill();
document.onclick = ({ target, offsetX, offsetY }) => {
  const away = Math.hypot(offsetX - 220, offsetY - 100);
  if (target === canvas && away < 20) hit.textContent = 'dot hit';
};
</script>"""
# The client of a worker answers for its cases in any order.
CONFTEST = '''
import json

from pytest_autoweb.testing import ScriptedClient
from pytest_autoweb.testing.pixels import PixelReadingClient, PixelTarget

DECISIONS = {
    "login": [
        {"action": "type", "mark_id": 1, "expected_text": "Name", "text": "ana"},
        {"action": "click", "mark_id": 1, "expected_text": "Log in", "confidence": 0.8},
        {"action": "done"},
    ],
    "unread": [
        *[{"action": "click", "mark_id": 3, "expected_text": "Remove Bo"}] * 2,
        *[{"action": "click", "mark_id": 3, "expected_text": "Red dot"}] * 2,
        {"action": "done"},
    ],
}
TARGETS = {"Remove Bo": PixelTarget(300, 60, 30, 30), "Red dot": PixelTarget(400, 200, 40, 40)}

class VisionModel:
    """Decides from a script, and looks at the locator's pictures."""

    def __init__(self):
        self.scripts = {
            case: ScriptedClient({"decide": [json.dumps(one) for one in decisions]})
            for case, decisions in DECISIONS.items()
        }
        self.eyes = PixelReadingClient(TARGETS)

    def complete(self, request):
        script = self.scripts[request.case_id]
        return (self.eyes if request.stage == "locate" else script).complete(request)

def pytest_autoweb_client(spec):
    if spec.name == "fake/eyes":
        return VisionModel()
'''
