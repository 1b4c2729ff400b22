"""Finding by sight in whole sessions, and by the command; fakes and a local server answer."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from local_site import Site
from openai_server import Answer, OpenAIServer
from session_server import autoweb_command

PAGE = """<!doctype html><title>Team</title><style>button{position:absolute;width:30px;height:30px}
</style><p>Ana</p><p>Bo</p>
<button style="left:300px;top:10px" onclick="out.textContent='Ana gone'"></button>
<button style="left:300px;top:60px" onclick="out.textContent='Bo gone'"></button><p id=out></p>"""

CONFTEST = '''
from pytest_autoweb.testing import ScriptedClient, scripted_plan
from pytest_autoweb.testing.pixels import PixelReadingClient, PixelTarget

CODE = """```python
# Step 1
page.get_by_sight("the red button in the row of Bo").click()
# Step 2
page.get_by_sight("a purple cow").click()
```"""

class VisionModel:
    """Plans and writes from a script, and looks at pictures."""

    def __init__(self):
        plan = scripted_plan("press it", "and the cow")
        self.script = ScriptedClient({"plan": plan, "generate": CODE, "repair": CODE})
        red = PixelTarget(300, 60, 30, 30)
        targets = {"the red button in the row of Bo": red, "a purple cow": None}
        self.eyes = PixelReadingClient(targets)

    def complete(self, request):
        if request.stage == "generate":
            offered = "get_by_sight" in request.messages[-1].content
            assert offered == (request.model == "fake/seeing")
        return (self.eyes if request.stage == "locate" else self.script).complete(request)

def pytest_autoweb_client(spec):
    if spec.name.startswith("fake/"):
        return VisionModel()
'''


@pytest.mark.long
def test_a_script_finds_by_sight_where_the_model_sees(project: pytest.Pytester) -> None:
    (project.path / "site/team.html").write_text(PAGE, encoding="utf-8")
    (project.path / "cases/shop.yaml").write_text(
        "version: 1\nwebserver: {static: ../site}\ncases:\n  - id: team\n"
        '    entry_url: "{{ webserver.url }}team.html"\n    user_task: Remove Bo.\n'
        '    expect: [{text: "Bo gone"}]\n'
    )
    (project.path / "models.yaml").write_text("fake/seeing: {vision: true}\nfake/blind: {}")
    project.makeconftest(CONFTEST)

    project.runpytest_subprocess(
        *("cases", "--autoweb-models=fake/seeing,fake/blind", "--autoweb-models-file=models.yaml"),
        "--autoweb-max-repairs=0",
    )

    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    cells = {cell["model"]: cell for cell in report["cases"][0]["cells"]}
    blind = cells["fake/blind"]["attempts"][0]
    assert blind["failure"]["rule"] == "AW309"
    assert "'get_by_sight' is not available in this cell" in blind["failure"]["message"]
    seeing = cells["fake/seeing"]["attempts"][0]
    found, missing = seeing["locations"]
    assert (found["status"], missing["status"]) == ("found", "not_found")
    assert seeing["usage"]["locate"]["calls"] == found["calls"] + missing["calls"]
    assert seeing["failure"]["kind"] == "step"
    assert "nothing on the page fits it" in seeing["failure"]["message"]
    assert seeing["failure"]["evidence"]["location"] == "not_found"
    assert [check["passed"] for check in seeing["checks"]] == [True]
    folder = project.path / "autoweb-report" / cells["fake/seeing"]["folder"]
    page = (project.path / "autoweb-report/index.html").read_text()
    for probe in found["probes"]:
        assert (folder / probe["picture"]).is_file()
        assert f"{cells['fake/seeing']['folder']}/{probe['picture']}" in page


@pytest.mark.long
def test_the_command_leaves_a_film_and_says_how_it_ended(tmp_path: Path) -> None:
    site = Site()
    url = site.put("/one", "<button>Save</button>")
    found = '{"found": true, "v": "crossed", "h": "crossed", "mark": 1, "text": "Save"}'
    by_model = {"eyes": [Answer(found)], "shut": [Answer('{"found": false}')]}
    by_model["broken"] = [Answer(status=401, error="wrong key")]

    with OpenAIServer(by_model=by_model) as server:
        settings = {"api_base": server.api_base, "vision": True}
        models = {f"openai/{name}": settings for name in by_model} | {"openai/blind": {}}
        (tmp_path / "models.json").write_text(json.dumps(models))

        def locate(name: str) -> "subprocess.Popen[str]":
            model = ["--model", f"openai/{name}", "--models-file", "models.json", "--out", name]
            return subprocess.Popen(
                [*autoweb_command(), "debug", "locate", url, "the button", *model],
                cwd=tmp_path,
                env={**os.environ, "OPENAI_API_KEY": "sk-test-0123456789abcdef"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

        runs = {name: locate(name) for name in ("eyes", "shut", "broken", "blind")}
        said = {name: run.communicate(timeout=120) for name, run in runs.items()}
    site.close()

    codes = {name: run.returncode for name, run in runs.items()}
    assert codes == {"eyes": 0, "shut": 1, "broken": 4, "blind": 4}
    assert "found: button “Save” at 8,8" in said["eyes"][0]
    assert "not_found: " in said["shut"][0]
    assert "wrong key" in said["broken"][1]
    assert "vision = true" in said["blind"][1]
    search = json.loads((tmp_path / "eyes/location.json").read_text())
    assert search["status"] == "found"
    for probe in search["probes"]:
        assert (tmp_path / "eyes" / probe["picture"]).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "eyes/film.html").is_file()
