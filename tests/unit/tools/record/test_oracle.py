"""What becomes of recorded actions, of secrets among them, and of what changed on the page."""

import ast
import json
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.judging.checks.page_checks import TextCheck
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.tools.record.keyboard import chosen_numbers
from pytest_autoweb.tools.record.oracle import (
    in_case,
    in_template,
    make_oracle,
    read_acts,
    refuse_oracle,
)
from pytest_autoweb.tools.record.proposed_checks import Seen, propose
from pytest_autoweb.tools.record.recorded_case import RecordedCase
from pytest_autoweb.tools.record.recorder import RecordedWork

CODEGEN = r"""
import re
from playwright.sync_api import Playwright, sync_playwright, expect

def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch(headless=False)
    context = browser.new_context()
    page = context.new_page()
    page.goto("http://127.0.0.1:8000/login")
    page.get_by_role("textbox", name="User").click()
    page.get_by_role("textbox", name="User").fill("ana")
    page.get_by_role("textbox", name="User").press("CapsLock")
    page.get_by_role("textbox", name="Password").fill("hunter22")
    page.get_by_role("button", name="Scan").fill("C:\\fakepath\\scan.pdf")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Sign in").click()
    with page.expect_popup() as page1_info:
        page.get_by_role("link", name="Help").click()
    page1 = page1_info.value
    page1.goto("http://127.0.0.1:8000/help")
    page.get_by_text("hunter22 {{ x }}").dblclick()
    page1.close()

    # ---------------------
    context.close()
    browser.close()

with sync_playwright() as playwright:
    run(playwright)
"""
ORACLE = """\
# Step 1
page.get_by_role("textbox", name="User").fill("ana")
page.get_by_role("textbox", name="Password").fill("<secret:password>")
page.get_by_role("button", name="Scan").set_input_files("scan.pdf")
page.once("dialog", lambda dialog: dialog.accept())
page.get_by_role("button", name="Sign in").click()

# Step 2
with page.expect_popup() as page1_info:
    page.get_by_role("link", name="Help").click()
page1 = page1_info.value

# Step 3
page1.goto("{{ webserver.url }}help")

# Step 4
page.get_by_text("<secret:password> {{ '{' }}{ x }}").dblclick()
"""
SITE = "http://127.0.0.1:8000/"


def test_a_script_of_codegen_becomes_steps_without_what_only_surrounds_them() -> None:
    oracle = make_oracle(read_acts(CODEGEN), {}, accept_dialogs=True)

    assert oracle.entry_url == f"{SITE}login"
    assert in_template(oracle.code, SITE) == ORACLE
    assert dict(oracle.secrets) == {"password": "hunter22"}
    assert oracle.files == ("scan.pdf",)
    refuse_oracle(oracle.code)


def test_what_the_step_language_lacks_is_named_with_its_line() -> None:
    with pytest.raises(SettingsError, match=r"`page\.route\(\"\*\", print\)`"):
        refuse_oracle(make_oracle(read_acts('page.route("*", print)'), {}).code)
    with pytest.raises(SettingsError, match="not valid Python"):
        read_acts("page.click(")


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


@given(texts=st.lists(TEXTS, min_size=1, max_size=5), secret=TEXTS.filter(str.strip))
def test_what_was_typed_is_typed_again_and_secrets_are_not_there(
    texts: list[str], secret: str
) -> None:
    lines = [f'page.get_by_label("{n}").fill({text!r})' for n, text in enumerate(texts)]
    lines.append(f'page.get_by_label("own").fill({secret!r})')

    oracle = make_oracle(read_acts("\n".join(lines)), {secret: "code"})
    case = RecordedCase(
        id="a",
        entry_url=SITE,
        task=texts[0],
        oracle=in_template(oracle.code),
        variables={"code": "A_CODE"},
        webserver={},
    )
    file = yaml.safe_load(case.text())

    typed = [
        node.args[0].value
        for node in ast.walk(ast.parse(oracle.code))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "fill"
        and isinstance(node.args[0], ast.Constant)
    ]
    assert typed[-1] == "<secret:code>"
    for text, again in zip(texts, typed, strict=False):
        assert again == text or "<secret:code>" in str(again)
    # Braces that people type are no expressions of the case file.
    assert "{{" not in file["cases"][0]["oracle"].replace("{{ '{' }}", "")


def test_a_secret_that_is_also_a_name_does_not_take_the_code_apart() -> None:
    acts = read_acts(CODEGEN)
    plain = make_oracle(acts, {})
    named = make_oracle(acts, {"page": "code", "click": "code", "name": "code"})
    assert named.code == plain.code


def test_the_last_text_of_each_secret_field_counts_and_every_one_that_was_sent() -> None:
    recording = RecordedWork()
    for field, value, done in (
        ("a", "hun", False), ("a", "hunter1", True), ("a", "h", False), ("a", "hunter22", False),
        ("b", "123456", False),
    ):  # fmt: skip
        kind = "password" if field == "a" else "code"
        told = {"id": field, "kind": kind, "value": value, "done": done}
        recording.take_secret(json.dumps(told))
    recording.take_secret("a page may tell nonsense")
    recording.take_secret(json.dumps({"id": "c", "kind": "x: y", "value": "z", "done": True}))

    assert recording.secrets() == {
        "hunter1": "password",
        "hunter22": "password",
        "123456": "code",
    }
    code = "\n".join(f'page.get_by_label("P").fill("{value}")' for value in ("hunter1", "hunter22"))
    written = make_oracle(read_acts(code), recording.secrets()).code
    assert "<secret:password>" in written
    assert "<secret:password_2>" in written


def test_proposed_is_what_every_play_shows_and_no_play_of_doing_nothing() -> None:
    def played(luck: str) -> Seen:
        order = WireEntry(
            method="POST",
            url=f"{SITE}order",
            status=201,
            request_headers={"content-type": "application/json"},
            request_body=json.dumps({"item": "tea", "at": luck, "csrf_token": "x"}),
        )
        return Seen(
            f"{SITE}orders?page=1",
            headings=("Shop", "Orders"),
            messages=("Thank you",),
            lines=(
                "Shop",
                "Orders",
                "Thank you",
                "1 x tea",
                f"Tick {luck}",
                "for <secret:password>",
            ),
            fields=({"role": "checkbox", "name": "Gift", "checked": True},),
            requests=(order,),
            downloads=("orders[1].csv",),
        )

    idle = Seen(SITE, headings=("Shop",), lines=("Shop", "Tick 0"))
    proposals = propose([played("1"), played("2")], [idle, idle])

    assert [(proposal.check, proposal.likely) for proposal in proposals] == [
        ({"url": {"matches": r"/orders\?page=1$"}}, True),
        (
            {"request": {"method": "POST", "url": "**/order", "status": 201,
                         "json": {"item": "tea"}}},
            True,
        ),
        ({"download": {"name": {"matches": r"^orders\[1\]\.csv$"}}}, True),
        ({"element": {"role": "heading", "name": "Orders"}}, True),
        ({"text": "Thank you"}, True),
        ({"text": "1 x tea"}, False),
        ({"element": {"role": "checkbox", "name": "Gift", "checked": True}}, False),
    ]  # fmt: skip


def test_where_nothing_is_sure_a_new_line_goes_before_the_state_of_a_form() -> None:
    typed = ({"role": "textbox", "name": "Name", "value": "ana"},)
    played, idle = Seen(SITE, lines=("Welcome",), fields=typed), Seen(SITE)

    proposals = propose([played, played], [idle, idle])

    assert [(proposal.check, proposal.likely) for proposal in proposals] == [
        ({"text": "Welcome"}, True),
        ({"element": typed[0]}, False),
    ]
    (only,) = propose([replace(played, lines=())] * 2, [idle, idle])
    assert (only.check, only.likely) == ({"element": typed[0]}, True)


def test_choices_are_numbers_all_or_the_suggestion() -> None:
    assert chosen_numbers("", [1, 4], 5) == [1, 4]
    assert chosen_numbers("3, 1", [4], 5) == [1, 3]
    assert chosen_numbers("ALL", [4], 3) == [1, 2, 3]
    with pytest.raises(SettingsError, match="numbers from 1 to 3"):
        chosen_numbers("4", [1], 3)


def test_a_case_with_an_answer_is_one_that_pytest_reads(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    case = RecordedCase(
        id="a",
        entry_url="{{ webserver.url }}x",
        task='What costs "{% tea %}"?',
        oracle="# Step 1\npage.reload()\n",
        variables={"password": "A_PASSWORD"},
        webserver={"static": "."},
        origins=("https://cdn.example",),
    )
    file.write_text(case.with_answer("{{ 3 }} €").text(), encoding="utf-8")

    (loaded,) = load_case_file(file)
    resolved = yaml.safe_load(file.read_text(encoding="utf-8"))["cases"][0]
    assert loaded.id == "a"
    assert resolved["expect"] == [{"answer": {"equals": "{{ '{' }}{ 3 }} €"}}]
    assert resolved["oracle"].endswith("answer(\"{{ '{' }}{ 3 }} €\")\n")


@given(st.text(st.sampled_from("{}%#'\"\\ -\n\t\x7f\x85\u2028\ufeffa€🛒7*")) | st.text())
@example("{{ 7*7 }}")
@example("{% if 1 %}{# }}{{ {{{{")
@example("{{ vars.x }}{%- raw %}")
def test_text_of_a_page_stays_that_text_in_a_case_file(text: str) -> None:
    whole = text.encode("utf-8", "replace").decode()
    case = RecordedCase(
        id="a",
        entry_url="http://x.invalid/",
        task=f"Say {text}!",
        oracle=f"page.get_by_text({in_case(text)}).click()\n",
        variables={},
        webserver={},
        files=(),
    )
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "a.yaml"
        file.write_text(case.with_checks([{"text": f"x{text}x"}]).text(), encoding="utf-8")
        (loaded,) = load_case_file(file)

    resolved = loaded.resolve(None)
    (check,) = resolved.expect
    assert resolved.user_task == f"Say {whole}!".strip()
    assert isinstance(check, TextCheck)
    assert check.text == f"x{whole}x"
    (call,) = ast.parse(resolved.oracle or "").body
    (said,) = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
    assert said == whole


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("http://shop.example/",), "name the task with --task"),
        (("http://shop.example/", "--task=t", "-o", "there.yaml"), "exists and is not changed"),
        (("http://shop.example/", "--task=t", "-o", "case.txt"), "must end in .yaml"),
        (("http://shop.example/", "--task=t"), "--debug-port 9222"),
        (("--task=t",), "name the page to start on"),
        (("--task=t", "--from", "none.py"), "none.py cannot be read"),
        (("--task=t", "--from", "old.py"), "set the environment variable RECORDED_PASSWORD"),
        (("--task=t", "--from", "file.py"), "where is a.pdf, which was uploaded"),
        (("--task=t", "--from", "old.py", "--secret=NOT_SET"), "NOT_SET is not set"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_with_the_way_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.platform", "linux")
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "there.yaml").write_text("mine")
    start = f'page.goto("{SITE}")\n'
    (tmp_path / "old.py").write_text(f'{start}page.get_by_label("P").fill("<secret:password>")')
    (tmp_path / "file.py").write_text(f'{start}page.get_by_label("F").set_input_files("a.pdf")')

    assert main(["record", *arguments]) == 4
    assert said in capsys.readouterr().err
    assert (tmp_path / "there.yaml").read_text() == "mine"
    assert not (tmp_path / "cases").exists()
