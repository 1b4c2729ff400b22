"""The published JSON Schema accepts what the loader accepts and refuses its common mistakes."""

import functools
import importlib
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.base.documents.readers import read_yaml
from pytest_autoweb.cases.file_layout import ALIASES, CASE_KEYS, FILE_KEYS, case_json_schema
from pytest_autoweb.judging.checks.check_type import CHECKS

jsonschema: Any = importlib.import_module("jsonschema")


def test_the_schema_is_valid_itself() -> None:
    jsonschema.Draft202012Validator.check_schema(validator().schema)


def test_every_feature_is_accepted() -> None:
    validate(read_yaml(COMPLETE)[0])


def test_the_bundled_cases_are_accepted() -> None:
    for file in sorted((Path(__file__).parents[3] / "cases").glob("*.yaml")):
        validate(read_yaml(file.read_text())[0])


REFUSED: dict[str, dict[str, Any]] = {
    "misspelt field": {"entry_ulr": "http://x.test/"},
    "no check": {"expect": [{"message": "x"}]},
    "two checks": {"expect": [{"text": "a", "url": "b"}]},
    "request without a URL": {"expect": [{"request": {}}]},
    "function without a module": {"expect": [{"python": "check"}]},
    "arguments of another check": {"expect": [{"text": "a", "with": {}}]},
    "type alone": {"expect": [{"answer": {"type": "date"}}]},
    "unknown type": {"expect": [{"answer": {"equals": 1, "type": "dat"}}]},
    "unknown condition": {"expect": [{"answer": {"records": {"where": {"n": {"minn": 1}}}}}]},
    "two answers": {"expect": [{"answer": {"equals": 1, "contains": 2}}]},
    "text for a number": {"timeout": "soon"},
    "bad id": {"id": "a b"},
    "matrix of single values": {"matrix": {"n": 1}},
    "bad name of a secret": {"secrets": {"my pin": {"env": "PIN"}}},
    "plain password": {"setup": {"http_credentials": {"username": "a", "password": "b"}}},
    "unknown colours": {"setup": {"color_scheme": "darkish"}},
    "unknown strategy": {"strategy": "fly"},
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_is_refused(mistake: str) -> None:
    case = {"id": "a", "entry_url": "http://x.test/", "user_task": "t", **REFUSED[mistake]}

    with pytest.raises(jsonschema.ValidationError):
        validate({"version": 1, "cases": [case]})


@pytest.mark.parametrize("data", [{}, {"version": 2, "cases": [{"id": "a"}]}, {"version": 1}])
def test_a_file_needs_version_and_cases(data: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validate(data)


def test_every_name_is_in_the_schema_with_a_description() -> None:
    schema = validator().schema
    fields = schema["$defs"]["Case"]["properties"]
    names = {*CASE_KEYS, *(alias for aliases in ALIASES.values() for alias in aliases)}

    assert set(fields) == names
    assert [name for name in names if not fields[name].get("description")] == []
    assert set(schema["properties"]) == {"$schema", *FILE_KEYS}
    assert {f"{kind.__name__}" for kind in CHECKS.values()} <= set(schema["$defs"])


COMPLETE = """\
$schema: ./case.schema.json
version: 1
webserver:
  command: "python -m shop --port {port}"
  timeout: "{{ vars.patience }}"
  reset: {method: POST, url: "{{ webserver.url }}reset"}
  env: {DEBUG: "1"}
vars: {patience: 10}
defaults: {entryUrl: "{{ webserver.url }}", timeout: 60, matrix: {n: "{{ vars.n }}"}}
cases:
  - id: login
    user_task: Log in.
    strategy: codegen
    tags: [smoke]
    must_pass: "{{ true }}"
    secrets: {password: {env: SHOP_PASSWORD, default: demo}}
    allowed_origins: [https://cdn.test]
    files: [invoice.pdf]
    setup:
      js: "() => 1"
      storage_state: auth.json
      cookies: [{name: a, value: b, url: "http://x.test/"}]
      http_credentials: {username: ana, password: "{{ secrets.password }}"}
      viewport: {width: 390, height: "{{ vars.height }}"}
      locale: de-DE
      timezone_id: "{{ matrix.zone }}"
      clock: {time: "2026-04-03T09:00:00Z", fixed: "{{ vars.fixed }}"}
      geolocation: {latitude: 52.5, longitude: 13.4}
      permissions: [geolocation, "{{ vars.more }}"]
      color_scheme: "{{ vars.colours }}"
    answers: {"which account?": the private one}
    expect:
      - {url: "**/account", weight: 2, message: the account page is open}
      - url: {matches: "account$"}
      - text: Welcome
      - element: {role: heading, name: {matches: ana}, count: "{{ vars.n }}", visible: true}
      - js: "() => true"
      - answer: {equals: 42}
      - answer: {schema: {type: object}}
      - answer: {equals: 2025-05-06, type: date, locale: de_DE}
      - answer:
          equals: {due: 2025-05-06, total: 8.5}
          type: {due: date, total: {type: money, currency: EUR}}
      - answer: {records: {where: {batch: MB-001, n: {min: 1, max: "{{ vars.n }}"}}, min: 1}}
      - answer: {urls: ["http://x.test/a"]}
      - answer: {urls: {want: ["http://x.test/a"], min_recall: 0.5, duplicates: true}}
      - request: {method: POST, url: "**/orders", status: 201, json: {a: 1}, reply: {json: {b: 2}}}
      - download: {name: "*.csv", contains: total, count: 1}
      - {python: "shop.checks:is_paid", with: {order: 1}}
      - judge: {rubric: The order is shown as paid., model: openai/gpt-5}
      - http: {url: "http://x.test/", status: "{{ vars.n }}", json: {a: [1]}}
      - sql: {url: "sqlite:///x.db", query: select 1, rows: [[1, "{{ vars.n }}"]]}
      - file: {path: a.csv, exists: false}
    oracle: "page.click('a')"
    matrix: {item: [a, 1, true]}
  - {caseId: 7, url: "http://x.test/", prompt: Look.}
"""


@functools.cache
def validator() -> Any:
    return jsonschema.Draft202012Validator(case_json_schema())


def validate(data: Any) -> None:
    validator().validate(data)
