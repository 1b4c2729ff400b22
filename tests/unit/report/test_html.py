import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, run_info

from pytest_autoweb.report.html_page import render_html
from pytest_autoweb.report.json_report import build_report
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.saving import plain

HOSTILE = "</script><img src=x onerror=alert(1)>{{ 7*7 }}{% raw %}<!--\u2028\u2029&amp;'\""


def page_of(task: str, pictures: dict[str, str] | None = None) -> str:
    result = cell(CellKey("a", "m"), user_task=task)
    report: dict[str, Any] = plain(build_report(RecordedRun(Path(), run_info([result]), (result,))))
    return render_html(report, pictures or {})


def inside(page: str, opening: str, closing: str) -> str:
    return page.split(opening, 1)[1].split(closing, 1)[0]


def data_of(page: str) -> Any:
    return json.loads(inside(page, '<script type="application/json" id="data">', "</script>"))


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])) | st.just(HOSTILE))
def test_any_text_travels_whole_and_cannot_end_its_script(task: str) -> None:
    page = page_of(task)

    data = inside(page, '<script type="application/json" id="data">', "</script>")
    assert not set("<>&\u2028\u2029") & set(data)
    assert json.loads(data)["report"]["cases"][0]["user_task"] == task


def test_no_markup_of_a_case_is_in_the_page() -> None:
    page = page_of(HOSTILE)

    assert "<img" not in page
    assert "{{ 7*7 }}" in data_of(page)["report"]["cases"][0]["user_task"]
    assert page.count("</script>") == 2


def test_the_policy_names_exactly_the_pages_own_script_and_style() -> None:
    page = page_of("x")

    policy = inside(page, 'Content-Security-Policy" content="', '"').replace("&#39;", "'")
    script = inside(page, '<script type="module">', "</script>")
    style = inside(page, "<style>", "</style>")
    for content, directive in ((script, "script-src"), (style, "style-src")):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_script_only_writes_text() -> None:
    script = inside(page_of("x"), '<script type="module">', "</script>")

    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", script)
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)


def test_the_page_asks_nobody_for_anything() -> None:
    page = page_of("x")

    assert not re.search(r"<(link|script|img|iframe)[^>]+(src|href)=", page)
    assert "url(" not in inside(page, "<style>", "</style>")


def test_a_title_is_escaped() -> None:
    result = cell(CellKey("a", "m"))
    info = run_info([result], ts="<b>&")
    page = render_html(plain(build_report(RecordedRun(Path(), info, (result,)))), {})

    assert "<title>autoweb report &lt;b&gt;&amp;</title>" in page
