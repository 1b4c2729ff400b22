"""Strategy `collect` in whole sessions: learned with a model, done again without one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

PAGE = """<!doctype html><meta charset="utf-8"><title>公告</title>
<nav><a href="index.html">首页</a></nav><ul>{rows}</ul><p class="pages">{following}</p>"""
FILTER = """<form action="list1.html"><label>类别 <select name="kind"><option>全部<option>招标
</select></label> <button>查询</button></form><ul><li><a href="n9.html">其他第9号</a></li></ul>"""
CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: notices
    entry_url: "{{ webserver.url }}filter.html"
    user_task: "收集全部公告的网址。"
    strategy: collect
    collect: {rate: {delay: 0}, CONFIG}
    expect:
      - answer: {urls: [/n1.html, /n2.html, /n3.html, /n4.html, /n5.html, /n6.html]}
    oracle: |
      # Step 1
      page.get_by_label("类别").select_option("招标")
      page.get_by_role("button", name="查询").click()
      # Step 2
      try:
          collect_urls(targt=5)
      except Error as error:
          log(str(error))
      answer(collect_urls(xpath="//ul/li/a", delay=0))
"""
# The second word is on no element: the choice is refused and told back.
REPLIES = """{"fake/m": {
    "navigate": [
        '{"action": "select", "mark_id": 1, "expected_text": "类别", "option": "招标"}',
        '{"action": "click", "mark_id": 2, "expected_text": "查询"}',
        '{"action": "done"}',
    ],
    "explore": [
        '{"action": "select_detail_links", "mark_id_text_map": {"2": "公告第9号"}}',
        '{"mark_id_text_map": {"2": "公告第1号", "3": "公告第2号"}}',
        '{"action": "select_detail_links", "mark_ids": [4], "expected_texts": ["公告第3号"]}',
    ],
}, "fake/silent": {}}"""


def write_site(project: pytest.Pytester) -> None:
    site = project.path / "site"
    for number in (1, 2):
        entries = range(3 * number - 2, 3 * number + 1)
        rows = "".join(f'<li><a href="n{n}.html">公告第{n}号</a></li>' for n in entries)
        following = '<a href="list2.html">下一页</a>' if number == 1 else ""
        text = PAGE.format(rows=rows, following=following)
        (site / f"list{number}.html").write_text(text, encoding="utf-8")
    (site / "filter.html").write_text(f"<!doctype html><meta charset=utf-8>{FILTER}")
    for number in range(1, 7):
        (site / f"n{number}.html").write_text(f"<h1>{number}</h1>", encoding="utf-8")


def write_cases(project: pytest.Pytester, config: str) -> None:
    text = CASES.replace("CONFIG", config)
    (project.path / "cases" / "shop.yaml").write_text(text, encoding="utf-8")


def read_attempt(project: pytest.Pytester, model: str) -> dict[str, Any]:
    (path,) = (project.path / "autoweb-report").glob(f"cells/*/{model}-*/*/cell.json")
    attempts: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["attempts"]
    return attempts[0]


@pytest.mark.long
def test_a_collection_learned_with_a_model_is_done_again_without_one(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    write_site(project)
    write_cases(project, "scroll: false")
    scripted(REPLIES)

    learned = project.runpytest_subprocess("cases", "--autoweb-models=fake/m")
    first = read_attempt(project, "fake-m")
    (saved,) = (project.path / "autoweb-report").rglob("collection.json")
    (project.path / "cases" / "collection.json").write_bytes(saved.read_bytes())
    write_cases(project, "config: collection.json")
    models = "--autoweb-models=fake/silent,builtin/oracle"
    again = project.runpytest_subprocess("cases", models)
    second = read_attempt(project, "fake-silent")
    script = read_attempt(project, "builtin-oracle")

    learned.assert_outcomes(passed=1)
    again.assert_outcomes(passed=2)
    decisions = [(d["phase"], d["status"]) for d in first["decisions"]]
    assert decisions == [
        *[("navigate", "performed")] * 3,
        ("explore", "refused"),
        ("explore", "performed"),
        ("explore", "performed"),
    ]
    told = "[2] does not match: expected '公告第9号', but it reads '公告第1号'"
    assert first["decisions"][4]["feedback"] == [told]
    prompts = [exchange["prompt"] for exchange in first["exchanges"]]
    assert told in prompts[4]
    assert f"decision 4: {told}" in first["run_log_head"].splitlines()
    assert "- select 招标 in 类别: the list did not change yet" in prompts[1]
    assert "- click 查询: the list changed" in prompts[2]
    assert second["exchanges"] == second["decisions"] == []
    assert first["answer"][0].endswith("/n1.html")
    assert len(second["answer"]) == len(script["answer"]) == 6
    assert "targt: Extra inputs are not permitted" in script["run_log_head"]


@pytest.mark.long
def test_a_site_on_this_machine_is_ones_own_unless_the_case_says_otherwise(
    project: pytest.Pytester,
) -> None:
    write_site(project)
    (project.path / "site" / "robots.txt").write_text("User-agent: *\nDisallow: /list2")
    text = CASES.partition("    oracle:")[0].replace("filter.html", "list1.html")
    text = text.replace("{rate", "{xpath: //ul/li/a, rate")
    for file, config in (("shop", "target: 50"), ("foreign", "own_site: false")):
        written = text.replace("CONFIG", config).replace("id: notices", f"id: {file}")
        (project.path / f"cases/{file}.yaml").write_text(written, encoding="utf-8")
    project.makeconftest(
        "from pytest_autoweb.testing import ScriptedClient\n"
        "def pytest_autoweb_client(spec):\n"
        "    return ScriptedClient({}) if spec.name == 'fake/m' else None\n"
    )
    project.runpytest_subprocess("cases", "--autoweb-models=fake/m", "--autoweb-max-repairs=0")

    for case, outcome in (("shop", "passed"), ("foreign", "failed")):
        (path,) = (project.path / "autoweb-report").glob(f"cells/{case}/*/*/cell.json")
        cell = json.loads(path.read_text(encoding="utf-8"))
        assert cell["outcome"] == outcome, cell["reason"]
        assert ("robots.txt forbids" in json.dumps(cell)) == (outcome == "failed")
