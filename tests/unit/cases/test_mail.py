"""What a case may say about mails, and where it may use the code or the link in one."""

from typing import Any

import pytest

from pytest_autoweb.base.errors import CaseError

SENDS = 'webserver: {command: "shop {mail_port}"%s}\n'
CASE = """cases:
  - id: sign-in
    entry_url: http://shop.test/
    user_task: "%s"
"""


def test_code_and_link_are_secrets_that_need_not_be_declared(load: Any) -> None:
    task = "Sign in as {{ mail.address }} with {{ mail.link }} and {{ mail.code }}."
    (case,) = load("version: 1\n" + SENDS % "" + CASE % task)

    assert case.shape.secrets["mail_code"].mail
    assert case.shape.secrets["mail_link"].mail == "link"
    assert case.shape.user_task.endswith("with <secret:mail_link> and <secret:mail_code>.")
    assert case.user_task_template.startswith("Sign in as {{ mail.address }} with")
    assert case.has_secrets


def test_a_case_that_uses_no_code_has_no_secret(load: Any) -> None:
    (case,) = load("version: 1\n" + SENDS % "" + CASE % "Look.")
    assert not case.has_secrets


@pytest.mark.parametrize(
    ("server", "task", "more", "said"),
    [
        ("", "Type {{ mail.code }}", "", "user_task: mail is not known; hand {mail_port} to"),
        ("", "Look", "mail: {within: 3}", "mail: no web server is handed {mail_port}"),
        ("", "Look", "secrets: {code: {mail: true}}", "no web server is handed {mail_port}"),
        (SENDS % "", "Look", "mail: {address: a@b.test}", "give the web server a reset"),
        (SENDS % "", "Look", "mail: {code: '('}", "mail.code: is not a regular expression"),
        (SENDS % "", "Look", "secrets: {code: {mail: true, env: A}}", "takes nothing beside mail"),
        (SENDS % "", "Look", 'setup: {js: "{{ mail.code }}"}', "only while the task is done"),
        (SENDS % "", "Look", 'expect: [text: "{{ mail.code }}"]', "only while the task is done"),
        (SENDS % "", "Look", 'tags: ["{{ mail.address }}"]', "mail is not known"),
    ],
)
def test_mail_that_cannot_come_is_refused(
    load: Any, server: str, task: str, more: str, said: str
) -> None:
    with pytest.raises(CaseError) as error:
        load("version: 1\n" + server + CASE % task + (f"    {more}\n" if more else ""))
    assert said in str(error.value)


def test_an_own_address_is_what_the_task_says(load: Any) -> None:
    text = SENDS % ", reset: restart" + CASE % "Sign in as {{ mail.address }}."
    (case,) = load(
        "version: 1\nvars: {who: ana}\n" + text + "    mail: {address: '{{ vars.who }}@b.test'}\n"
    )
    assert case.shape.user_task == "Sign in as ana@b.test."
