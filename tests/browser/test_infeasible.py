"""Tasks that cannot be done: every way of asking offers an answer, to all cases of the file."""

import re
from pathlib import Path
from typing import Any

import pytest
from acting import run_one, settings
from local_site import Site
from playwright.sync_api import Browser

from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.testing import ScriptedClient, scripted_plan

PAGE = "<h1>Shop</h1><button>Buy</button> <button>Sell</button>"
REFUSED = "infeasible: there are no boats"
IN_CODE = f'```python\nanswer("{REFUSED}")\n```\nDONE'
KINDS: dict[str, dict[str, Any]] = {
    "infeasible": {"infeasible": True},
    "infeasible, judged by its own checks": {"infeasible": "own_checks", "expect": [{"text": "x"}]},
    "infeasible, by its check": {"expect": [{"infeasible": True}]},
    "question": {"expect": [{"answer": {"equals": 7}}]},
    "action": {"expect": [{"text": "Bought"}]},
}
WAYS: dict[str, tuple[StrategyName, dict[str, Any], str]] = {
    "turns": ("codegen", {"codegen": "turns"}, IN_CODE),
    "once": ("codegen", {"codegen": "once"}, IN_CODE),
    "refs": ("codegen", {"dialect": "refs", "constrained": "gbnf"}, f'answer("{REFUSED}")'),
    "refs by turns": (
        "codegen",
        {"dialect": "refs", "codegen": "turns"},
        f'```\nanswer("{REFUSED}")\n```\nDONE',
    ),
    "act": (
        "act",
        {"constrained": "json_schema"},
        f'{{"action": "done", "answer": "{REFUSED}", "confidence": 1}}',
    ),
    "act, brief": (
        "act",
        {"name": "fake/model-1.5b", "dialect": "refs", "constrained": "gbnf"},
        f'{{"action": "done", "answer": "{REFUSED}"}}',
    ),
}


def asked(
    browser: Browser, folder: Path, site: Site, way: str, case: dict[str, Any], *others: str
) -> tuple[CellResult, str]:
    """A cell's result, and all it was asked, with the grammars and schemas of replies."""
    strategy, spec, reply = WAYS[way]
    told = dict.fromkeys(("generate", "decide", "repair"), reply)
    client = ScriptedClient({"plan": scripted_plan("answer"), **told})  # type: ignore[dict-item]
    common = {"entry_url": site.put("/", PAGE), "user_task": "Do it."}
    beside = ({"id": f"other-{at}", **common, **KINDS[kind]} for at, kind in enumerate(others))
    result = run_one(
        browser,
        {**common, **case},
        client,
        settings(folder, check_timeout=0.1),
        strategy=strategy,
        spec=spec,
        opened=lambda page: None,
        others=tuple(beside),
    )
    requests = (
        (request.messages, request.grammar, request.json_schema) for request in client.requests
    )
    return result, re.sub(r"\b[0-9a-f]{8}\b|:\d{4,5}/", "…", "\n".join(map(repr, requests)))


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_nothing_but_the_task_tells_which_questions_have_no_answer(
    browser: Browser, tmp_path: Path, site: Site, way: str
) -> None:
    _, question = asked(browser, tmp_path, site, way, KINDS["question"], "infeasible")
    _, action = asked(browser, tmp_path, site, way, KINDS["action"], "infeasible")
    infeasible, refusal = asked(browser, tmp_path, site, way, KINDS["infeasible"], "action")

    assert (infeasible.outcome, infeasible.reason) == ("passed", "")
    assert question == refusal
    assert action == refusal


@pytest.mark.long
@pytest.mark.parametrize("kind", ["judged by its own checks", "by its check"])
@pytest.mark.parametrize("way", ["turns", "act"])
def test_cases_without_the_common_sentence_count_as_well(
    browser: Browser, tmp_path: Path, site: Site, way: str, kind: str
) -> None:
    kind = f"infeasible, {kind}"
    _, action = asked(browser, tmp_path, site, way, KINDS["action"], kind)
    _, refusal = asked(browser, tmp_path, site, way, KINDS[kind], "action")
    _, question = asked(browser, tmp_path, site, way, KINDS["question"], kind)

    assert action == refusal == question
