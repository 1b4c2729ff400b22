"""Rendering a case may run any expression of the user's, so it happens once and is kept."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.cases.expressions import Expressions
from pytest_autoweb.cases.webserver_spec import ServerHandle

SERVER = ServerHandle(url="http://127.0.0.1:8123/", data=Path("/data/1"))
PLAIN = """\
version: 1
vars: {user: ana}
cases:
  - id: order
    entry_url: "http://shop.test/{{ vars.user }}"
    user_task: "{{ vars.user }} orders."
    timeout: 30
    expect:
      - url: {matches: "{{ vars.user }}$"}
      - text: "Welcome, {{ vars.user }}"
"""
SERVED = PLAIN.replace("http://shop.test/", "{{ webserver.url }}").replace(
    "vars: {user", "webserver: {static: ., reset: {url: '{{ webserver.url }}r'}}\nvars: {user"
)
FIELDS = ("id", "entry_url", "user_task", "timeout", "expect")


@pytest.fixture
def renderings(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each field of a case is rendered as a whole."""
    counted: Counter[str] = Counter()
    tree = Expressions.tree

    def counting(self: Expressions, value: Any, at: Any, *others: Any) -> Any:
        # Inner calls of a list or a mapping have longer places; the reset's is ("webserver", …).
        if len(at) == 1 or at == ("webserver", "reset"):
            counted[at[-1]] += 1
        return tree(self, value, at, *others)

    monkeypatch.setattr(Expressions, "tree", counting)
    return counted


def test_a_case_without_a_server_is_rendered_once_for_collection_and_all_attempts(
    load: Any, renderings: Counter[str]
) -> None:
    (case,) = load(PLAIN)
    attempts = [case.resolve(None) for _ in range(3)]

    assert attempts[0].user_task == "ana orders."
    assert renderings == dict.fromkeys(FIELDS, 1)


def test_a_case_with_a_server_is_rendered_once_for_collection_and_once_an_attempt(
    load: Any, renderings: Counter[str]
) -> None:
    (case,) = load(SERVED)
    # Lists of cases show these two with the server's values still named.
    shown = Counter(("entry_url", "user_task"))

    assert renderings == Counter((*FIELDS, "reset")) + shown

    renderings.clear()
    assert case.resolve(SERVER).entry_url == "http://127.0.0.1:8123/ana"
    assert renderings == Counter(FIELDS)
