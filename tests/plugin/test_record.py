"""`autoweb record`: what a person does in a browser becomes a proven case."""

import os
import signal
import socket
import subprocess
from pathlib import Path
from shutil import copy

import pytest
import yaml
from order_shop import PROGRAM, SECRET
from playwright.sync_api import Locator, Page, Playwright
from session_server import autoweb_command
from shop_project import LEAN

SERVED = ("--command", "{python} shop.py {port}")
TASK = f"Sign in as ana with {SECRET}, save the list, and order tea as a gift."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    copy(PROGRAM, tmp_path / "shop.py")
    # Long enough for an order to be answered on a machine that others use as well.
    (tmp_path / "tox.ini").write_text(
        f"[pytest]\nautoweb_check_timeout = 2\naddopts = -q -x {LEAN}\n"
    )
    return tmp_path


def click(page: Page, there: Locator) -> None:
    """Click as a hand does, by coordinates."""
    box = there.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def order_tea(page: Page) -> None:
    click(page, page.get_by_label("User"))
    page.keyboard.type("ana")
    page.keyboard.press("Tab")
    page.keyboard.type(SECRET)
    page.keyboard.press("Enter")
    page.wait_for_url("**/shop")
    click(page, page.get_by_label("Item"))
    page.keyboard.type("tea")
    click(page, page.get_by_label("Gift"))
    with page.expect_download():
        click(page, page.get_by_text("Export"))
    click(page, page.get_by_role("button", name="Order"))
    page.get_by_text("1 x tea").wait_for()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.long
def test_what_a_person_does_without_a_display_becomes_a_proven_case_without_secrets(
    project: Path, playwright: Playwright
) -> None:
    port = free_port()
    flags = ("--debug-port", str(port), "-o", "cases/order.yaml", "--dialogs=accept")
    command = [*autoweb_command(), "record", *SERVED, *flags, "--task", TASK, "--checks=all"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=project, text=True, **streams) as process:  # type: ignore[call-overload]
        assert process.stdout is not None
        said = ""
        while "Recording." not in said and (line := process.stdout.readline()):
            said += line
        browser = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        (page,) = browser.contexts[0].pages
        # Two programs steer the browser; the recorder is the one that answers.
        page.on("dialog", lambda dialog: None)
        order_tea(page)
        # What was done is kept already, should the machine go down now.
        draft = (project / "cases/order.recorded.py").read_text()
        assert '.fill("<secret:password>")' in draft
        process.send_signal(signal.SIGINT)
        said += process.stdout.read()

    assert process.returncode == 0, said
    assert ": the oracle, time 2: played" in said
    assert ": the oracle, time 3: passed" in said
    (case,) = yaml.safe_load((project / "cases/order.yaml").read_text())["cases"]
    assert case["user_task"].startswith("Sign in as ana with <secret:password>, save")
    assert case["secrets"] == {"password": {"env": "ORDER_PASSWORD"}}
    order = {
        "method": "POST",
        "url": "**/order",
        "status": 200,
        "json": {"item": "tea", "gift": True},
    }
    login = {"method": "POST", "url": "**/login", "status": 303, "json": {"user": "ana"}}
    for check in (
        {"url": "**/shop"},
        {"request": order},
        {"request": login},
        {"download": {"name": "orders.csv"}},
        {"element": {"role": "heading", "name": "Orders"}},
        {"text": "Thank you"},
        {"text": "1 x tea"},
    ):
        assert check in case["expect"], case["expect"]
    # A number that differs each time is no check.
    assert not any("Visit" in str(check) for check in case["expect"])
    assert case["oracle"].splitlines()[-3:] == [
        "# Step 3",
        'page.once("dialog", lambda dialog: dialog.accept())',
        'page.get_by_role("button", name="Order").click()',
    ]
    assert [file.name for file in (project / "cases").iterdir()] == ["order.yaml"]
    assert SECRET not in said
    written = [file for file in project.rglob("*") if file.is_file() and file.name != "shop.py"]
    assert [file for file in written if SECRET.encode() in file.read_bytes()] == []


@pytest.mark.long
def test_what_cannot_be_played_again_is_refused_and_kept(project: Path) -> None:
    script = project / "recorded.py"
    script.write_text(
        'page.goto("http://localhost:1/")\npage.get_by_label("Secret word").fill("open sesame 7")\n'
        'page.get_by_role("button").click()\nassert page.title() == "Elsewhere"\n'
    )
    command = [*autoweb_command(), "record", "--from", "recorded.py", *SERVED, "--task=Sign in."]
    ran = subprocess.run(
        [*command, "--secret", "WORD"], cwd=project, env={**os.environ, "WORD": SECRET},
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip

    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "refused: played again, it does not come to its end" in ran.stdout
    assert "autoweb record --from recorded.py" in ran.stdout
    assert SECRET in script.read_text()
    assert SECRET not in ran.stdout + ran.stderr
    assert list((project / "cases").iterdir()) == []
