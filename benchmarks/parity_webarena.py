"""Compare our check of WebArena-Verified's tasks with its own verdict on its own test logs.

    git clone https://github.com/ServiceNow/webarena-verified
    python benchmarks/parity_webarena.py webarena-verified

Needs the package in this environment (`pip install webarena-verified`). Its repository holds three
logs of whole runs (an answer and a HAR file), and answers to 216 tasks, right and wrong. Each is
judged by the package as it is given, and by the check of our cases from what a cell keeps: the
requests are read as our record of the wire would hold them, without cookies and login headers and
without what Playwright does not tell, then written as HAR again.
"""

import argparse
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from pytest_autoweb.evidence.har import read_har
from pytest_autoweb.evidence.wire import WireEntry
from pytest_autoweb.importing.webarena_verified import SITES, solved

NEVER_KEPT = re.compile(r"(?i)cookie|authorization|token|secret|session|^accept|^sec-fetch|^host$")
LOGS = (
    "examples/agent_logs/demo/107",
    "examples/agent_logs/demo/108",
    "tests/assets/cli/agent_logs/108",
)
ANSWERS = "tests/assets/e2e_test_retrieved_data.json"


class Log(NamedTuple):
    """An answer to a task, and its traffic."""

    name: str
    task_id: int
    answer: Any
    har: list[dict[str, Any]]


def logs(repository: Path) -> Iterator[Log]:
    """Yield the logs of whole runs, and the answers with the traffic of one of them."""
    for place in LOGS:
        folder = repository / place
        har = json.loads((folder / "network.har").read_text("utf-8"))["log"]["entries"]
        answer = json.loads((folder / "agent_response.json").read_text("utf-8"))
        yield Log(place, int(folder.name), answer, har)
    listed = json.loads((repository / ANSWERS).read_text("utf-8"))
    for task_id, variations in listed.items():
        for kind in ("valid", "invalid"):
            for name, data in variations[kind].items():
                answer = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": data}
                yield Log(f"{kind} {name}", int(task_id), answer, har[:20])
        # What no task is solved by.
        wrong = {"task_type": "RETRIEVE", "status": "UNKNOWN_ERROR", "retrieved_data": None}
        yield Log("gave up", int(task_id), wrong, har[:20])


def kept(har: list[dict[str, Any]]) -> tuple[WireEntry, ...]:
    """Return requests as our record holds them."""
    for entry in har:
        fetched = [h["value"] for h in entry["request"]["headers"] if h["name"] == "Sec-Fetch-Dest"]
        kind = "document" if "document" in fetched else entry.get("_resourceType", "other")
        entry["_resourceType"] = kind
    entries = read_har(json.dumps({"log": {"entries": har}}))
    return tuple(
        replace(
            entry,
            request_headers=_told(entry.request_headers),
            response_headers=_told(entry.response_headers),
        )
        for entry in entries
    )


def _told(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items() if not NEVER_KEPT.search(name)}


def main() -> None:
    """Judge every log twice, print what differs and how often both agreed."""
    api: Any = import_module("webarena_verified")
    config: Any = import_module("webarena_verified.types.config")
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=Path)
    repository = parser.parse_args().repository
    environments = {f"__{site.upper()}__": {"urls": [url]} for site, url in SITES.items()}
    settings = config.WebArenaVerifiedConfig(environments=environments)
    benchmark = api.WebArenaVerified(config=settings)
    agreed: Counter[tuple[str, str, str]] = Counter()
    for log in logs(repository):
        found = benchmark.evaluate_task(
            task_id=log.task_id, agent_response=log.answer, network_trace=log.har
        )
        context: Any = SimpleNamespace(answered=True, answer=log.answer, requests=kept(log.har))
        verdict = solved(context, log.task_id, SITES)
        theirs = {"success": "solved", "failure": "not solved"}.get(str(found.status), "no verdict")
        ours = {True: "solved", False: "not solved", None: "no verdict"}[verdict.passed]
        kind = log.name if log.name in LOGS else log.name.split()[0]
        agreed[kind, theirs, ours] += 1
        if theirs != ours:
            print(f"task {log.task_id}, {log.name}: {theirs}, and {ours} ({verdict.reason})")
    for (kind, theirs, ours), count in sorted(agreed.items()):
        print(f"{kind}: the package {theirs}, our check {ours}: {count}")


if __name__ == "__main__":
    main()
