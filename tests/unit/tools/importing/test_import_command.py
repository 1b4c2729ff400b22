"""`autoweb benchmark import`: what others wrote becomes case files, and nothing else."""

import json
import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.judging.evidence.har_file import har_text
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.tools.importing import miniwob, task_lists, visualwebarena, webarena_verified
from pytest_autoweb.tools.importing.miniwob import case_files, solutions
from pytest_autoweb.tools.importing.task_lists import FieldMap, read_tasks
from pytest_autoweb.tools.importing.task_lists import case_files as listed_files
from pytest_autoweb.tools.importing.written_cases import tidy, write_case_files

HOSTILE = st.text() | st.sampled_from(
    [
        "{{ secrets.password }}",
        "{% raw %}{{ vars.x }}",
        "{# a",
        "a\n  expect: []\n  - id: b",
        '"\\u0000 {{',
        "# Step 1",
        "\u2028{{{{%\x85",
        "!!python/object x: &a *a",
        "\ud800 alone, and a cart \U0001f6d2",
    ]
)
"""Texts that mean something to YAML, to Jinja or to a line."""


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def loaded(folder: Path) -> list[Any]:
    files = sorted(folder.glob("*.yaml"))
    server = ServerHandle(url="http://127.0.0.1:1/", data=folder)
    return [one.resolve(server) for file in files for one in load_case_file(file)]


# Without shrinking, which takes minutes here, and shows little that the texts do not.
@settings(deadline=None, max_examples=40, phases=(Phase.explicit, Phase.generate))
@given(st.lists(st.tuples(HOSTILE.filter(tidy), HOSTILE, HOSTILE), min_size=1, max_size=4))
def test_a_list_of_tasks_keeps_its_words_and_gains_no_expression(
    tmp_path_factory: pytest.TempPathFactory, tasks: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("list")
    lines = [
        json.dumps({"deep": {"c": task}, "web": "https://a.example/", "n": f"{named}{number}",
                    "said": answer, "tags": [named]})
        for number, (task, named, answer) in enumerate(tasks)
    ]  # fmt: skip
    (folder / "tasks.jsonl").write_text("\n".join(lines))
    fields = FieldMap.read(["task=deep.c,id=n", "answer=said"])

    read = read_tasks(folder / "tasks.jsonl", fields)
    write_case_files(folder / "cases", listed_files(read, "tasks", "judge/model"))

    cases = loaded(folder / "cases")
    assert [case.user_task for case in cases] == [tidy(task) for task, _, _ in tasks]
    assert len({case.id for case in cases}) == len(tasks)
    for case, (_, _, answer) in zip(cases, tasks, strict=True):
        (check,) = case.expect
        assert check.judge.rubric.endswith(tidy(answer) or "rightly.")
        assert case.oracle is None
        assert not case.secrets


def test_every_mistake_of_a_list_is_told_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    Path("live.jsonl").write_text(
        '{"ques": "Find tea", "web": "https://a.example/", "id": "x"}\n\n'
        '{"ques": "Find tea", "web": "a.example", "id": "y"}\n'
        '{"ques": "", "web": "https://a.example/"}\n'
        '{"ques": "Find more", "web": "https://a.example/", "id": "x"}\n'
        "[1]\n"
    )

    assert main(["benchmark", "import", "jsonl", "live.jsonl"]) == 4
    told = capsys.readouterr().err
    for place, why in (
        ("line 3", "must start with http:// or https://, got 'a.example'"),
        ("line 4", "name the field with --map task=NAME"),
        ("line 5", "the id 'x' is that of live.jsonl, line 1 already"),
        ("line 6", "must be an object"),
    ):
        assert any(place in line and why in line for line in told.splitlines()), told
    assert not Path("cases").exists()
    assert main(["benchmark", "import", "jsonl", "live.jsonl", "--map", "tsk=ques"]) == 4
    assert "PART=NAME" in capsys.readouterr().err


VOYAGER = {
    "web_name": "Cambridge Dictionary",
    "id": "Cambridge Dictionary--29",
    "ques": "Do an easy quiz about Animals and tell me your final score.",
    "web": "https://dictionary.cambridge.org/",
}
MIND2WEB = {
    "task_id": "0a1b_110325",
    "confirmed_task": "Find the opening hours of the nearest shop.",
    "website": "https://www.traderjoes.com/",
    "reference_length": 6,
    "level": "medium",
}
REAL = {
    "id": "omnizon-3",
    "goal": "Order headphones above 24$.",
    "website": {"id": "omnizon", "name": "Omnizon", "url": "https://real-omnizon.vercel.app/"},
    "difficulty": "medium",
    "challengeType": "action",
    "possible": True,
    "evals": [{"script": "eval_omnizon_3.py"}],
}
"""Tasks as the three lists write them."""


def test_the_three_lists_are_read_as_they_are_published() -> None:
    Path("WebVoyager_data.jsonl").write_text(json.dumps(VOYAGER) + "\n")
    Path("Online_Mind2Web.json").write_text(json.dumps([MIND2WEB], indent=2))
    Path("tasks").mkdir()
    never = {**REAL, "id": "omnizon-4", "goal": "Order a moon.", "possible": False}
    for task in (REAL, never):
        Path(f"tasks/{task['id']}.json").write_text(json.dumps(task, indent=2))

    judged = ("--judge-model", "openai/gpt-5")
    for source, tags, also in (
        ("WebVoyager_data.jsonl", "web_name", judged),
        ("Online_Mind2Web.json", "level", judged),
        ("tasks", "difficulty", ()),
    ):
        command = ["benchmark", "import", "jsonl", source, "--map", f"tags={tags}", *also]
        assert main([*command, "-o", f"cases/{source}"]) == 0
    (voyager,) = loaded(Path("cases/WebVoyager_data.jsonl"))
    assert voyager.id.startswith("Cambridge-Dictionary--29")
    assert (voyager.entry_url, voyager.user_task) == (VOYAGER["web"], VOYAGER["ques"])
    assert voyager.tags == ("cambridge-dictionary",)
    assert voyager.expect[0].judge.model == "openai/gpt-5"
    (mind2web,) = loaded(Path("cases/Online_Mind2Web.json"))
    assert (mind2web.id, mind2web.tags) == (MIND2WEB["task_id"], ("medium",))
    assert (mind2web.entry_url, mind2web.user_task) == (
        MIND2WEB["website"],
        MIND2WEB["confirmed_task"],
    )
    real, impossible = loaded(Path("cases/tasks"))
    assert (real.id, real.entry_url) == ("omnizon-3", "https://real-omnizon.vercel.app/")
    assert [check.name for check in real.expect] == ["judge"]
    assert [check.name for check in impossible.expect] == ["infeasible"]
    # A file of both kinds says in every task how to refuse one.
    assert real.user_task.startswith("Order headphones above 24$. If this task cannot be done")


def test_lists_are_split_and_nothing_is_replaced_unasked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_lists, "_PER_FILE", 4)
    many = [{"goal": f"Do {n}", "website": {"url": "http://a.example/"}} for n in range(6)]
    Path("real.json").write_text(json.dumps(many))

    assert main(["benchmark", "import", "jsonl", "real.json", "-o", "cases/real"]) == 0
    assert "6 cases" in capsys.readouterr().out
    assert {file.name for file in Path("cases/real").iterdir()} == {"real-1.yaml", "real-2.yaml"}
    assert loaded(Path("cases/real"))[5].id == "real-6"
    Path("cases/real/real-2.yaml").write_text("mine")
    assert main(["benchmark", "import", "jsonl", "real.json", "-o", "cases/real"]) == 4
    assert "is there already" in capsys.readouterr().err
    assert Path("cases/real/real-2.yaml").read_text() == "mine"
    assert (
        main(["benchmark", "import", "jsonl", "real.json", "-o", "cases/real", "--overwrite"]) == 0
    )
    assert len(loaded(Path("cases/real"))) == 6


def test_goals_of_pages_are_text_and_long_imports_are_split(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(miniwob, "MOST_CASES", 4)
    hostile = "{{ secrets.x }} \"'\\ {% include 'y' %} \u202e"
    goals = {
        "login-user": {1: hostile, 2: "b"},
        "drag-cube": {1: "no oracle", 2: "c"},
        "click-test": {1: "x", 2: "y"},
    }

    files = case_files(Path("/pages"), goals, [1, 2], "positive", packaged=False)
    write_case_files(Path("wob"), files)

    assert sorted(files) == ["miniwob-1.yaml", "miniwob-2.yaml"]
    cases = {case.id: case for case in loaded(Path("wob"))}
    assert cases["miniwob-login-user-1"].user_task == hostile
    assert cases["miniwob-login-user-2"].oracle == solutions()["login-user"]
    assert cases["miniwob-drag-cube-1"].oracle is None
    assert len(cases) == 2 * len(goals)


TASKS = [
    {
        "sites": ["gitlab", "wikipedia"],
        "task_id": 5,
        "start_urls": ["__GITLAB__/explore", "__WIKIPEDIA__"],
        "intent": 'Read {{ vars.sites.gitlab }}\n and "compare"',
        "eval": [
            {
                "evaluator": "AgentResponseEvaluator",
                "expected": {"task_type": "retrieve", "status": "NOT_FOUND_ERROR"},
            }
        ],
    },
    {
        "sites": ["map"],
        "task_id": 7,
        "start_urls": ["__MAP__"],
        "intent": "Open it",
        "eval": [
            {
                "evaluator": "AgentResponseEvaluator",
                "expected": {"task_type": "navigate", "status": "SUCCESS"},
            }
        ],
    },
]


def test_webarena_tasks_name_their_sites_and_ask_its_own_evaluators(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("data.json").write_text(json.dumps(TASKS))
    command = ["benchmark", "import", "webarena-verified", "--data", "data.json", "-o", "wa"]
    command += ["--init", "gitlab=http://10.0.0.5:8877/"]

    assert main([*command, "--site", "gitlab=http://10.0.0.5:1/"]) == 0
    assert {file.name for file in Path("wa").iterdir()} == {"gitlab-wikipedia.yaml", "map.yaml"}
    both, one = loaded(Path("wa"))
    assert both.entry_url == "http://10.0.0.5:1/explore"
    assert both.allowed_origins == ("http://localhost:8888",)
    assert both.user_task.startswith(
        'Read {{ vars.sites.gitlab }} and "compare" It also concerns http://localhost:8888. At the '
    )
    assert both.tags == ("webarena", "gitlab", "wikipedia", "retrieve", "infeasible")
    (found,) = load_case_file(Path("wa/gitlab-wikipedia.yaml"))
    assert {name: server.running for name, server in found.webservers.items()} == {"gitlab": True}
    reset = found.resolve_reset(ServerHandle(url="http://a.test/", data=Path()), "gitlab")
    assert reset is not None
    assert (reset.method, reset.url) == ("POST", "http://10.0.0.5:8877/init")
    assert both.infeasible == "own_checks"
    assert "begins with" not in both.user_task
    assert one.tags == ("webarena", "map", "navigate")
    check = both.expect[0]
    assert check.python == "pytest_autoweb.tools.importing.webarena_verified:solved"
    assert check.arguments == {
        "task_id": 5,
        "sites": {"gitlab": "http://10.0.0.5:1", "wikipedia": "http://localhost:8888"},
    }

    assert main([*command, "--overwrite", "--site", "gitlub=x"]) == 4
    assert "write NAME=URL with one of gitlab" in capsys.readouterr().err
    Path("data.json").write_text('[{"task_id": 1}]')
    assert main([*command, "--overwrite"]) == 4
    assert "not a WebArena-Verified task list" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "passed"), [("success", True), ("failure", False), ("error", None)]
)
def test_the_evaluators_are_given_the_answer_and_the_traffic(
    status: str, passed: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    class Benchmark:
        def __init__(self, config: Any) -> None:
            asked["sites"] = config

        def get_task(self, task_id: int) -> Any:
            kinds = {"headers": {"Cookie": "a"} if task_id == 9 else None, "response_cookies": None}
            return SimpleNamespace(eval=[SimpleNamespace(expected=SimpleNamespace(**kinds))])

        def evaluate_task(self, **given: Any) -> Any:
            asked.update(given)
            one = SimpleNamespace(evaluator_name="AgentResponseEvaluator", status=status)
            return SimpleNamespace(status=status, evaluators_results=(one,), error_msg="broke")

    package, config = types.ModuleType("webarena_verified"), types.ModuleType("config")
    package.__dict__.update(WebArenaVerified=Benchmark, __spec__=SimpleNamespace())
    config.__dict__.update(WebArenaVerifiedConfig=lambda environments: environments)
    monkeypatch.setitem(sys.modules, "webarena_verified", package)
    monkeypatch.setitem(sys.modules, "webarena_verified.types.config", config)
    webarena_verified._benchmark.cache_clear()
    requests = [
        WireEntry("GET", "http://localhost:8023/a", 200, resource_type="document"),
        WireEntry(
            "POST",
            "http://localhost:8023/b",
            302,
            resource_type="fetch",
            request_body="x=1",
            request_headers={"content-type": "application/x-www-form-urlencoded"},
        ),
    ]
    context: Any = SimpleNamespace(answered=True, answer={"status": "SUCCESS"}, requests=requests)

    verdict = webarena_verified.solved(context, 7, {"gitlab": "http://localhost:8023"})

    assert verdict.passed is passed
    assert verdict.actual == f"AgentResponseEvaluator: {status}"
    assert verdict.reason == ("broke" if passed is None else "")
    assert asked["sites"] == {"__GITLAB__": {"urls": ["http://localhost:8023"]}}
    assert (asked["task_id"], asked["agent_response"]) == (7, {"status": "SUCCESS"})
    page, sent = asked["network_trace"]
    assert {"name": "accept", "value": "text/html"} in page["request"]["headers"]
    assert (sent["request"]["method"], sent["response"]["status"]) == ("POST", 302)
    assert sent["request"]["postData"]["text"] == "x=1"
    assert not any(header["name"] == "accept" for header in sent["request"]["headers"])
    undecided = webarena_verified.solved(context, 9, {"gitlab": "http://localhost:8023"})
    assert undecided.passed is None
    assert "cookies" in undecided.reason
    webarena_verified._benchmark.cache_clear()


def test_without_the_package_the_check_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webarena_verified, "find_spec", lambda name: None)
    context: Any = SimpleNamespace(answered=False, answer=None, requests=[])

    verdict = webarena_verified.solved(context, 7, {})

    assert verdict.passed is None
    assert "pip install webarena-verified" in verdict.reason


def seen_at(url: str, answer: Any = None) -> Any:
    return SimpleNamespace(answered=answer is not None, answer=answer, url=url)


def test_tasks_that_the_benchmark_itself_knows_to_be_wrong_say_so_until_they_are_revised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = {**TASKS[1], "task_id": 429, "revision": 2}
    right = {**wrong, "task_id": 475, "revision": 3}
    Path("data.json").write_text(json.dumps([wrong, right]))

    assert main(["benchmark", "import", "webarena-verified", "--data", "data.json", "-o", "w"]) == 0
    assert {case.id: "known-wrong" in case.tags for case in loaded(Path("w"))} == {
        "webarena-429": True,
        "webarena-475": False,
    }
    said = capsys.readouterr().out
    assert "known to be wrong: webarena-429: expects two pages" in said
    assert "webarena-475:" not in said


def test_tasks_of_visualwebarena_are_judged_by_its_rules_and_others_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared = {"sites": ["shopping"], "start_url": "__SHOPPING__/a |AND| __REDDIT__", "image": None}
    told = {
        "eval_types": ["string_match", "url_match"],
        "reference_answers": {"must_include": ["7 |OR| seven", "__REDDIT__/f"]},
        "reference_url": "__SHOPPING__/x |OR| __SHOPPING__/y",
        "url_note": "EXACT",
    }
    tasks = [
        {**shared, "task_id": 1, "intent": "Say {{ vars.sites }}", "eval": told},
        {**shared, "task_id": 2, "intent": "Look", "eval": told, "image": "__HOMEPAGE__/a.png"},
        {**shared, "task_id": 3, "intent": "Do", "eval": {"eval_types": ["program_html"]}},
        {**shared, "task_id": 4, "intent": "Why", "eval": {
            "eval_types": ["string_match"], "reference_answers": {"fuzzy_match": "N/A"}}},
    ]  # fmt: skip
    Path("vwa.json").write_text(json.dumps(tasks))
    command = ["benchmark", "import", "visualwebarena", "--data", "vwa.json", "-o", "vwa"]

    assert main([*command, "--site", "shopping=http://10.0.0.5:1/"]) == 0
    said = capsys.readouterr().out
    assert "left out 1: it shows a picture" in said
    assert "left out 1: its evaluation opens pages" in said
    assert "left out 1: its evaluation asks a model" in said
    (case,) = loaded(Path("vwa"))
    assert (case.id, case.entry_url) == ("visualwebarena-1", "http://10.0.0.5:1/a")
    assert case.user_task.startswith("Say {{ vars.sites }} It also concerns http://localhost:9999.")
    assert case.allowed_origins == ("http://localhost:9999",)
    given = case.expect[0].arguments
    for answer, url, passed in (
        ("Seven, see http://localhost:9999/f", "http://10.0.0.5:1/y/", True),
        ("7 at http://localhost:9999/f", "http://10.0.0.5:1/x", True),
        ("17 at http://localhost:9999/f", "http://10.0.0.5:1/x", False),
        ("7", "http://10.0.0.5:1/x", False),
        ("7 at http://localhost:9999/f", "http://10.0.0.5:1/x?p=2", False),
        (None, "http://10.0.0.5:1/x", False),
    ):
        assert visualwebarena.solved(seen_at(url, answer), **given).passed is passed, answer
    holds = visualwebarena.answer_holds
    assert holds("exact_match", "'7'", '"7"')
    assert not holds("exact_match", "7", "7 or 8")
    assert holds("must_exclude", ["8"], "7, 18")
    assert not holds("must_exclude", ["8"], "7 and 8.")
    assert holds("one_of", ["b", "c"], "abc")
    assert visualwebarena.words("It's $5.50 (12:30), isn't it?") == [
        *("It", "'s", "$", "5.50", "(", "12:30", ")", ",", "is", "n't", "it", "?"),
    ]
    Path("vwa.json").write_text('[{"task_id": 1}]')
    assert main([*command, "--overwrite"]) == 4
    assert "not a VisualWebArena task list" in capsys.readouterr().err


def test_parity_tells_where_our_verdict_on_a_log_is_another_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def status(answer: Any, network_trace: Any) -> str:
        # Nothing of a cookie is ever kept, so that our side of it must come out differently.
        told = [h["name"] for entry in network_trace for h in entry["request"]["headers"]]
        return "success" if "Cookie" in told or answer["retrieved_data"] == ["7"] else "failure"

    class Benchmark:
        def __init__(self, config: Any) -> None:
            pass

        def get_task(self, task_id: int) -> Any:
            return SimpleNamespace(eval=[])

        def evaluate_task(self, *, agent_response: Any, network_trace: Any, **_: Any) -> Any:
            found = status(agent_response, network_trace)
            return SimpleNamespace(status=found, evaluators_results=(), error_msg="")

    package, config = types.ModuleType("webarena_verified"), types.ModuleType("config")
    package.__dict__.update(WebArenaVerified=Benchmark, __spec__=SimpleNamespace())
    config.__dict__.update(WebArenaVerifiedConfig=lambda environments: environments)
    monkeypatch.setitem(sys.modules, "webarena_verified", package)
    monkeypatch.setitem(sys.modules, "webarena_verified.types.config", config)
    webarena_verified._benchmark.cache_clear()
    plain = har_text([WireEntry("GET", "http://a.test/", 200)], str)
    cookie = json.loads(plain)
    cookie["log"]["entries"][0]["request"]["headers"].append({"name": "Cookie", "value": "a=1"})
    for place, har in (
        ("examples/agent_logs/demo/107", plain),
        ("examples/agent_logs/demo/108", json.dumps(cookie)),
        ("tests/assets/cli/agent_logs/108", plain),
    ):
        folder = Path("repository") / place
        folder.mkdir(parents=True)
        (folder / "network.har").write_text(har)
        (folder / "agent_response.json").write_text('{"retrieved_data": ["no"]}')
    answers = {"5": {"valid": {"exact": ["7"]}, "invalid": {"other": ["8"]}}}
    (folder.parents[2] / "e2e_test_retrieved_data.json").write_text(json.dumps(answers))
    command = ["benchmark", "import", "webarena-verified", "--parity", "repository"]

    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("task 108, examples/agent_logs/demo/108: solved, and not solved")
    assert "valid: the package solved, our check solved: 1" in lines
    assert "invalid: the package not solved, our check not solved: 1" in lines
    (Path("repository") / "examples/agent_logs/demo/108/network.har").write_text(plain)
    assert main(command) == 0
    assert main([*command[:-1], "elsewhere"]) == 4
    assert "is not its repository" in capsys.readouterr().err
    webarena_verified._benchmark.cache_clear()

    Path("run/cells").mkdir(parents=True)
    assert main(["benchmark", "import", "miniwob", "--parity", "run"]) == 4
    assert "has no BrowserGym" in capsys.readouterr().err
    assert not Path("cases").exists()
