"""What a loaded case holds, and what its web server adds to it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.cases.case import Case, resolve_secrets
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cases.webserver_spec import Reset, ServerHandle, Webserver
from pytest_autoweb.judging.checks.page_checks import ElementCheck, UrlCheck
from pytest_autoweb.judging.checks.server_checks import SqlCheck

SERVER = ServerHandle(url="http://127.0.0.1:8123/", data=Path("/data/1"))

SHOP = """\
version: 1
webserver:
  command: "{python} -m shop --port {port} --user {{ vars.user }}"
  reset: {url: "{{ webserver.url }}reset?user={{ vars.user }}"}
vars:
  user: ana
  start: "{{ webserver.url }}start"
  total: 85.5
  rows: [[1, "{{ vars.total }}"]]
  page: {title: Shop, items: 3}
  seconds: 7
defaults:
  entry_url: "{{ vars.start }}"
  timeout: 60
  tags: [shop]
cases:
  - id: order
    user_task: "{{ vars.user }} orders at {{ webserver.url }} with {{ secrets.password }}"
    timeout: "{{ vars.seconds + 1 }}"
    must_pass: true
    secrets: {password: {env: SHOP_PASSWORD, default: demo}}
    expect:
      - url: {matches: "/orders/[0-9]+$"}
        weight: "{{ vars.page.items }}"
      - sql:
          url: "sqlite:///{{ webserver.data }}/shop.db"
          query: select id, total from orders
          rows: "{{ vars.rows }}"
      - element: {role: heading, name: "{{ vars.page.title }}", count: "{{ vars.page.items }}"}
  - id: look
    entry_url: http://other.test/
    user_task: Look around.
    tags: []
"""


def order(load: Any) -> Case:
    case: Case = load(SHOP)[0].resolve(SERVER)
    return case


def test_cases_come_in_the_order_of_the_file_with_their_lines(load: Any) -> None:
    cases = load(SHOP)

    assert [(case.id, case.line) for case in cases] == [("order", 17), ("look", 30)]


def test_a_default_holds_for_cases_without_the_field(load: Any) -> None:
    first, second = (case.resolve(SERVER) for case in load(SHOP))

    assert (first.tags, first.timeout) == (("shop",), 8)
    assert (second.tags, second.timeout) == ((), 60)


def test_expressions_see_variables_server_and_secrets(load: Any) -> None:
    case = order(load)

    assert case.entry_url == "http://127.0.0.1:8123/start"
    assert case.user_task == "ana orders at http://127.0.0.1:8123/ with <secret:password>"


def test_checks_are_typed_and_rendered(load: Any) -> None:
    url, sql, element = order(load).expect

    assert isinstance(url, UrlCheck)
    assert (url.url, url.weight) == (Pattern(matches="/orders/[0-9]+$"), 3)
    assert isinstance(sql, SqlCheck)
    assert sql.sql.url == "sqlite:////data/1/shop.db"
    assert isinstance(element, ElementCheck)
    assert (element.element.name, element.element.count) == ("Shop", 3)


def test_an_expression_in_compared_data_keeps_its_type(load: Any) -> None:
    sql = order(load).expect[1]

    assert isinstance(sql, SqlCheck)
    assert sql.sql.rows == [[1, 85.5]]


def test_before_the_server_runs_its_values_show_as_expressions(load: Any) -> None:
    case = load(SHOP)[0]

    assert case.entry_url_template == "{{ webserver.url }}start"
    assert case.user_task_template == "ana orders at {{ webserver.url }} with <secret:password>"


def test_a_case_that_computes_with_the_address_shows_its_text_as_written(load: Any) -> None:
    task = "Open port {{ webserver.url.split(':')[2] }}."
    text = SHOP.replace("Look around.", f'"{task}"')

    case = load(text)[1]

    assert case.user_task_template == task
    assert case.resolve(SERVER).user_task == "Open port 8123/."


def test_the_web_server_has_variables_filled_and_placeholders_left(load: Any) -> None:
    webserver = load(SHOP)[0].webserver

    assert webserver.command == "{python} -m shop --port {port} --user ana"


def test_the_reset_request_is_resolved_with_the_server(load: Any) -> None:
    reset = load(SHOP)[0].resolve_reset(SERVER)

    assert reset == Reset(method="POST", url="http://127.0.0.1:8123/reset?user=ana")


def test_restart_has_no_request(load: Any) -> None:
    text = SHOP.replace('reset: {url: "{{ webserver.url }}reset?user={{ vars.user }}"}', "#")
    text = text.replace("  #\n", "  reset: restart\n")

    case = load(text)[0]

    assert case.webserver.reset == "restart"
    assert case.resolve_reset(SERVER) is None


def test_a_case_with_a_web_server_is_not_resolved_without_it(load: Any) -> None:
    with pytest.raises(ValueError, match="needs its web server"):
        load(SHOP)[0].resolve(None)


def test_yaml_12_leaves_texts_alone(load: Any) -> None:
    text = """\
version: 1
cases:
  - id: a
    entry_url: http://shop.test/
    user_task: no
    answers: {when: 12:30:45, day: 2025-05-06, sure: yes, on: off}
"""

    case = load(text)[0].resolve(None)

    assert case.user_task == "no"
    assert case.answers == {"when": "12:30:45", "day": "2025-05-06", "sure": "yes", "on": "off"}


def test_a_variable_may_have_the_name_of_a_method(load: Any) -> None:
    text = """\
version: 1
vars: {items: 3, values: {keys: "k"}, by_number: {1: one}}
cases:
  - id: a
    url: http://x.test/
    task: "{{ vars.items }}{{ vars.values.keys }}{{ vars.by_number[1] }}"
"""

    assert load(text)[0].resolve(None).user_task == "3kone"


def test_a_variable_as_json_is_readable_by_javascript(load: Any) -> None:
    text = """\
version: 1
vars: {order: {item: 'a "b"', n: [1, null]}}
cases:
  - {id: a, url: "http://x.test/", task: t, setup: {js: "f({{ vars.order | tojson }})"}}
"""

    assert load(text)[0].resolve(None).setup.js == 'f({"item": "a \\"b\\"", "n": [1, null]})'


def test_braces_stay_in_a_raw_block(load: Any) -> None:
    text = """\
version: 1
cases:
  - id: a
    url: http://x.test/
    task: t
    oracle: |
      # Step 1
      {% raw %}log(f"{{x}}"){% endraw %}
"""

    assert load(text)[0].resolve(None).oracle == '# Step 1\nlog(f"{{x}}")\n'


def test_the_checksum_changes_with_the_content_and_with_nothing_else(load: Any) -> None:
    first, other = load(SHOP)
    moved = load(f"# a comment\n{SHOP}", "moved.yaml")[0]
    total, other_after = load(SHOP.replace("85.5", "86"))
    server = load(SHOP.replace("-m shop", "-m store"))[0]
    default = load(SHOP.replace("tags: [shop]", "tags: [store]"))[0]

    assert first.checksum == moved.checksum
    assert other.checksum == other_after.checksum
    assert len({c.checksum for c in (first, other, server, default)}) == 4
    assert total.checksum == first.checksum
    assert total.checks_checksum != first.checks_checksum == server.checks_checksum


def test_each_check_has_a_checksum_of_what_decides_it(load: Any) -> None:
    text = """\
version: 1
webserver: {static: ., url: "http://127.0.0.1:{port}/x/"}
cases:
  - id: a
    url: "{{ webserver.url }}"
    task: t
    expect:
      - text: one
      - {text: one, weight: 3, message: again}
      - text: two
"""
    case = load(text)[0]
    one, again, two = case.check_checksums

    assert one == again != two
    assert case.checks_checksum != load(text.replace("weight: 3", "weight: 2"))[0].checks_checksum


def test_whether_there_are_checks_is_known(load: Any) -> None:
    assert [case.has_expect for case in load(SHOP)] == [True, False]


@pytest.mark.parametrize(
    "aliases",
    [
        ("id", "entry_url", "user_task"),
        ("caseId", "entryUrl", "userTask"),
        ("name", "url", "task"),
        ("id", "entry", "prompt"),
        ("id", "entryURL", "task"),
    ],
)
@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_the_names_of_the_seeds_are_accepted(
    load: Any, aliases: tuple[str, str, str], ending: str
) -> None:
    case = dict(zip(aliases, ("a", "http://x.test/?q=1#top", "Buy."), strict=True))
    text = json.dumps({"version": 1, "cases": [case]})

    resolved = load(text, f"cases.{ending}")[0].resolve(None)

    assert (resolved.id, resolved.entry_url, resolved.user_task) == (
        "a",
        "http://x.test/?q=1#top",
        "Buy.",
    )


def test_json_may_be_a_bare_list_and_numbers_its_cases(load: Any) -> None:
    text = """[{"url": "http://a.test/", "task": "A."},
{"id": 7, "url": "http://b.test/", "task": "B."}]"""

    cases = load(text, "cases.json")

    assert [(case.id, case.line) for case in cases] == [("1", 1), ("7", 2)]


def test_json_may_be_a_single_case(load: Any) -> None:
    cases = load('{"url": "http://a.test/", "task": "\\ud83d\\uded2 A."}', "cases.json")

    assert [(case.id, case.user_task_template) for case in cases] == [("1", "🛒 A.")]


def test_the_bundled_cases_load() -> None:
    folder = Path(__file__).parents[3] / "cases"
    files = sorted(folder.glob("*.yaml"))

    assert files
    for file in files:
        assert all(case.has_expect for case in load_case_file(file))


def secrets_case(**sources: dict[str, str]) -> Case:
    return Case.model_validate(
        {"id": "a", "entry_url": "http://x.test/", "user_task": "t", "secrets": sources}
    )


def test_a_secret_comes_from_the_environment_before_its_default() -> None:
    case = secrets_case(pin={"env": "PIN", "default": "0000"}, name={"default": "ana"})

    assert resolve_secrets(case, {"PIN": "1234"}) == {"pin": "1234", "name": "ana"}
    assert resolve_secrets(case, {"PIN": ""}) == {"pin": "0000", "name": "ana"}


def test_a_secret_without_value_names_its_variable() -> None:
    case = secrets_case(pin={"env": "SHOP_PIN"})

    with pytest.raises(CaseError, match=r"secrets\.pin: case 'a' needs the .* SHOP_PIN"):
        resolve_secrets(case, {}, Path("shop.yaml"))


def test_a_saved_case_is_read_back(load: Any) -> None:
    case = order(load)

    assert Case.model_validate_json(case.model_dump_json(by_alias=True)) == case


def test_webserver_defaults_suit_a_folder_of_files() -> None:
    assert Webserver(static="site").url == "http://127.0.0.1:{port}/"


def test_what_only_the_server_makes_is_not_missed_before_it_runs(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "version: 1\nwebserver: {command: x}\ncases:\n"
        "  - id: a\n    entry_url: http://a.test/\n    user_task: Look.\n"
        "    files: [gone.txt]\n"
        "    setup: {storage_state: '{{ webserver.data }}/auth.json'}\n"
    )
    (case,) = load_case_file(tmp_path / "a.yaml")

    assert [error.field for error in case.unmet({}, Path())] == ["cases[0].files[0]"]
