"""WebArena-Verified: its 812 tasks as cases, and its own evaluators as their check.

The package `webarena-verified` holds the data set and the evaluators. They judge the code's answer
and its network traffic, both of which every cell keeps as evidence. `--parity` measures, on the
logs of their tests, how far our check agrees with their verdicts.
"""

import importlib
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from msgspec.structs import replace

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.judging.checks.delegated_checks import CheckContext, CheckVerdict
from pytest_autoweb.judging.evidence.har_file import har_text, read_har
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.tools.importing.written_cases import (
    named_parts,
    parts_within,
    quoted,
    read_json,
    scalar,
)

SITES: Mapping[str, str] = {
    "gitlab": "http://localhost:8023",
    "map": "http://localhost:3030",
    "reddit": "http://localhost:9999",
    "shopping": "http://localhost:7770",
    "shopping_admin": "http://localhost:7780/admin",
    "wikipedia": "http://localhost:8888",
}
"""The addresses at which the benchmark's own images serve the sites."""

INSTALL = "pip install webarena-verified"

_DATA = "assets/dataset/webarena-verified.json"
_HARD = "assets/dataset/subsets/webarena-verified-hard.json"
_CHECK = f"{__name__}:solved"
_INIT_S = 300
"""Seconds allowed for resetting a site; the large ones take minutes."""
_FILE_BYTES = 20_000_000
_REPLY = (
    "At the end return the result with answer(...): an object with task_type (RETRIEVE, NAVIGATE "
    "or MUTATE), status (SUCCESS, NOT_FOUND_ERROR, ACTION_NOT_ALLOWED_ERROR, "
    "PERMISSION_DENIED_ERROR, DATA_VALIDATION_ERROR or UNKNOWN_ERROR), retrieved_data (a list for "
    "RETRIEVE, else null) and error_details (null after SUCCESS)."
)
KNOWN_WRONG = "known-wrong"
"""The tag of tasks that their evaluators refuse however they are done."""
_WRONG: Mapping[int, tuple[int, str]] = {
    339: (2, "expects a filter of issues at an address that the site does not use (#46)"),
    429: (2, "expects two pages, of which its evaluator sees the last alone (#42)"),
    475: (2, "expects a field of a box that is not checked, which browsers do not send (#46)"),
    600: (2, "expects a form's address that the site does not use (#46)"),
    625: (2, "expects a form's address that the site does not use (#46)"),
    676: (2, "its evaluator takes a later request for the one that decides (#46)"),
    699: (2, "expects fields of a form under names that the site does not use (#46)"),
    700: (2, "expects fields of a form under names that the site does not use (#46)"),
}
"""Tasks by number, with the last revision that is known to be wrong, and the reason with the number
of the issue or pull request at ServiceNow/webarena-verified."""
_RIGHT_FROM = {
    22: ((1, 1, 2), "its evaluator before version 1.1.2 fails where no data is right (#5)")
}
"""Tasks that only the evaluators of earlier versions refuse."""
_COOKIES = "needs values of cookies, which the record of the wire never holds"

_NEVER_KEPT = re.compile(r"(?i)cookie|authorization|token|secret|session|^accept|^sec-fetch|^host$")
_LOGS = (
    "examples/agent_logs/demo/107",
    "examples/agent_logs/demo/108",
    "tests/assets/cli/agent_logs/108",
)
_ANSWERS = "tests/assets/e2e_test_retrieved_data.json"


def read_data(named: Path | None, *, hard: bool) -> list[Mapping[str, Any]]:
    """Return the tasks of a file, or those of the installed package.

    Args:
        named: a file in the format of the package's data set; None means the package's own.
        hard: only tasks in the package's hard subset.

    Raises:
        SettingsError: the data cannot be found or read.
    """
    tasks = read_json(named or _packaged(_DATA), _FILE_BYTES)
    if not isinstance(tasks, list) or not tasks or not all(map(_is_task, tasks)):
        raise SettingsError(f"{named or 'the data set'} is not a WebArena-Verified task list")
    if not hard:
        return tasks
    wanted = set(read_json(_packaged(_HARD), _FILE_BYTES)["task_ids"])
    return [task for task in tasks if task["task_id"] in wanted]


def _packaged(name: str) -> Path:
    spec = find_spec("webarena_verified")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(place) / name).is_file():
            return path
    raise SettingsError(f"the package webarena-verified is missing: {INSTALL}, or name its data")


def _is_task(entry: Any) -> bool:
    return (
        isinstance(entry, Mapping)
        and isinstance(entry.get("task_id"), int)
        and isinstance(entry.get("intent"), str)
        and _are_texts(entry.get("sites"))
        and _are_texts(entry.get("start_urls"))
        and isinstance(entry.get("eval"), list)
        and set(entry["sites"]) <= set(SITES)
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def case_files(
    tasks: Sequence[Mapping[str, Any]],
    sites: Mapping[str, str],
    controls: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the case files by name, separately for each site and each pair of sites.

    Args:
        tasks: the data set.
        sites: the address of each site.
        controls: for sites that have one, the address where `POST /init` resets them.
    """
    groups: dict[str, list[str]] = {}
    for task in tasks:
        groups.setdefault("-".join(sorted(task["sites"])), []).append(_case(task))
    files: dict[str, str] = {}
    for name, cases in sorted(groups.items()):
        used = {site: sites[site] for site in SITES if site in name.split("-")}
        head = _head(used, {site: controls[site] for site in used if site in controls})
        files |= named_parts(name, [head + part for part in parts_within(cases)])
    return files


def _head(sites: Mapping[str, str], controls: Mapping[str, str]) -> str:
    lines = [
        "# WebArena-Verified, imported by `autoweb benchmark import webarena-verified`",
        "#",
        "# The package's own evaluators decide. Its sites are started, and put back between runs,",
        "# by its own commands (`webarena-verified env start --site SITE`). Say how to log in",
        "# under `defaults`, for example with `setup: {storage_state: FILE}`.",
        "version: 1",
        "vars:",
        "  sites:",
        *(f"    {site}: {scalar(address)}" for site, address in sites.items()),
        *(("  controls:",) if controls else ()),
        *(f"    {site}: {scalar(address)}" for site, address in controls.items()),
        *(("webservers:",) if controls else ()),
        *(_put_back(site) for site in controls),
        "cases:",
    ]
    return "\n".join(lines) + "\n"


def _put_back(site: str) -> str:
    """Return the server of a site that is already running and is reset before each attempt."""
    return (
        f'  {site}: {{running: true, url: "{{{{ vars.sites.{site} }}}}", timeout: {_INIT_S}, '
        f'reset: {{method: POST, url: "{{{{ vars.controls.{site} }}}}/init"}}}}'
    )


def why_wrong(task: Mapping[str, Any]) -> str:
    """Return why a task cannot be solved in its revision; empty if nothing is known against it."""
    last, reason = _WRONG.get(task["task_id"], (0, ""))
    revision = task.get("revision", 1)
    # Whoever mends a task counts its revision up.
    if isinstance(revision, int) and revision <= last:
        return reason
    right, reason = _RIGHT_FROM.get(task["task_id"], ((), ""))
    return reason if _installed() < right else ""


@cache
def _installed() -> tuple[int, ...]:
    """Return the version of the evaluators here; without any, that of the latest there may be."""
    try:
        numbers = re.findall(r"\d+", version("webarena-verified"))[:3]
    except PackageNotFoundError:
        return (sys.maxsize,)
    return tuple(map(int, numbers))


def known_wrong(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the tasks that are known to be wrong, one a line, with the reason."""
    return [f"webarena-{task['task_id']}: {why}" for task in tasks if (why := why_wrong(task))]


def _case(task: Mapping[str, Any]) -> str:
    first, *others = task["start_urls"]
    also = [f"It also concerns {_address(url)}." for url in others]
    words = " ".join([quoted(task["intent"]), *also, quoted(_REPLY)])
    further = [f"{{{{ vars.sites.{site} }}}}" for site in task["sites"] if not _is_at(first, site)]
    lines = [
        f"  - id: webarena-{task['task_id']}",
        f'    entry_url: "{_address(first)}"',
        f'    user_task: "{words}"',
        f"    tags: {json.dumps(_tags(task))}",
        # The wording of such an answer, and its verdict, belong to the benchmark's form and
        # evaluators.
        *(["    infeasible: own_checks"] if "infeasible" in _tags(task) else []),
        *([f"    allowed_origins: {json.dumps(further)}"] if further else []),
        "    expect:",
        f"      - python: {_CHECK}",
        f'        with: {{task_id: {task["task_id"]}, sites: "{{{{ vars.sites }}}}"}}',
    ]
    return "\n".join(lines) + "\n"


def _is_at(url: str, site: str) -> bool:
    return url.startswith(f"__{site.upper()}__")


def _address(url: str) -> str:
    """Return an address with the site's variable in place of its placeholder."""
    for site in SITES:
        if _is_at(url, site):
            return f"{{{{ vars.sites.{site} }}}}{quoted(url.removeprefix(f'__{site.upper()}__'))}"
    return quoted(url)


def _tags(task: Mapping[str, Any]) -> list[str]:
    answers = [one.get("expected", {}) for one in task["eval"] if "Agent" in one["evaluator"]]
    kind = str(answers[0].get("task_type", "")) if answers else ""
    feasible = all(answer.get("status", "SUCCESS") == "SUCCESS" for answer in answers)
    wrong = [KNOWN_WRONG] if why_wrong(task) else []
    tags = ["webarena", *task["sites"], *([kind] if kind.isalpha() else []), *wrong]
    return tags if feasible else [*tags, "infeasible"]


def counts(tasks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return dict(Counter(tag for task in tasks for tag in _tags(task)))


def solved(context: CheckContext, task_id: int, sites: Mapping[str, str]) -> CheckVerdict:
    """Ask the benchmark's own evaluators whether a task was done: the check of its cases.

    Args:
        context: the end of an attempt.
        task_id: the task's number in the data set.
        sites: the address of each of its sites.
    """
    if find_spec("webarena_verified") is None:
        return CheckVerdict(None, reason=f"the package webarena-verified is missing: {INSTALL}")
    benchmark = _benchmark(tuple(sorted(sites.items())))
    if _asks_for_cookies(benchmark.get_task(task_id)):
        return CheckVerdict(None, reason=_COOKIES)
    found = benchmark.evaluate_task(
        task_id=task_id,
        agent_response=context.answer if context.answered else None,
        network_trace=wire_of(context),
    )
    status = str(found.status)
    seen = "; ".join(_words(one) for one in found.evaluators_results) or status
    if status not in ("success", "failure"):
        return CheckVerdict(None, seen, reason=found.error_msg or f"its evaluators say {status}")
    return CheckVerdict(status == "success", seen, where=f"task {task_id}", finding=status)


@cache
def _benchmark(sites: tuple[tuple[str, str], ...]) -> Any:
    # Late, because the package is needed only where its cases are run.
    api = importlib.import_module("webarena_verified")
    config = importlib.import_module("webarena_verified.types.config")
    environments = {f"__{site.upper()}__": {"urls": [address]} for site, address in sites}
    return api.WebArenaVerified(config=config.WebArenaVerifiedConfig(environments=environments))


def _asks_for_cookies(task: Any) -> bool:
    expected = [getattr(one, "expected", None) for one in task.eval]
    return any(
        getattr(one, "response_cookies", None)
        or "cookie" in map(str.lower, getattr(one, "headers", None) or ())
        for one in expected
    )


def _words(result: Any) -> str:
    return f"{result.evaluator_name}: {result.status}"


def wire_of(context: CheckContext) -> list[dict[str, Any]]:
    """Return the requests of an attempt as entries of a HAR file, which the evaluators read.

    The evaluators recognise a navigation by the Accept header, which Playwright does not report. A
    request for a document is equivalent.
    """
    entries: list[dict[str, Any]] = json.loads(har_text(context.requests, str, whole=True))["log"][
        "entries"
    ]
    for entry in entries:
        headers = entry["request"]["headers"]
        named = {header["name"].lower() for header in headers}
        if entry["_resourceType"] == "document" and "accept" not in named:
            headers.append({"name": "accept", "value": "text/html"})
    return entries


class _Log(NamedTuple):
    """The answer to a task, with its traffic."""

    name: str
    task_id: int
    answer: Any
    har: list[dict[str, Any]]


def _logs(repository: Path) -> Iterator[_Log]:
    """Yield the logs of whole runs, and the answers with the traffic of one of them."""
    for place in _LOGS:
        folder = repository / place
        har = json.loads((folder / "network.har").read_text("utf-8"))["log"]["entries"]
        answer = json.loads((folder / "agent_response.json").read_text("utf-8"))
        yield _Log(place, int(folder.name), answer, har)
    listed = json.loads((repository / _ANSWERS).read_text("utf-8"))
    for task_id, variations in listed.items():
        for kind in ("valid", "invalid"):
            for name, data in variations[kind].items():
                answer = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": data}
                yield _Log(f"{kind} {name}", int(task_id), answer, har[:20])
        # An answer that solves no task.
        wrong = {"task_type": "RETRIEVE", "status": "UNKNOWN_ERROR", "retrieved_data": None}
        yield _Log("gave up", int(task_id), wrong, har[:20])


def _kept(har: list[dict[str, Any]]) -> tuple[WireEntry, ...]:
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
    return {name.lower(): value for name, value in headers.items() if not _NEVER_KEPT.search(name)}


class LogVerdicts(NamedTuple):
    """Agreement between both sides' verdicts over all logs."""

    counts: Counter[tuple[str, str, str]]
    """Counts by kind of log, the package's verdict and ours."""
    differing: tuple[str, ...]
    """The logs on which they differ."""

    def lines(self) -> list[str]:
        return [
            f"{kind}: the package {theirs}, our check {ours}: {count}"
            for (kind, theirs, ours), count in sorted(self.counts.items())
        ]


def parity(repository: Path) -> LogVerdicts:
    """Judge every log of the package's repository twice.

    Raises:
        SettingsError: the package is missing, or the folder is not a clone of its repository.
    """
    if find_spec("webarena_verified") is None:
        raise SettingsError(
            f"its evaluators are needed in this environment: {INSTALL}; and its logs are in its "
            "repository: git clone https://github.com/ServiceNow/webarena-verified"
        )
    # Late, because the package is needed only here and where its cases are run.
    api: Any = import_module("webarena_verified")
    config: Any = import_module("webarena_verified.types.config")
    environments = {f"__{site.upper()}__": {"urls": [url]} for site, url in SITES.items()}
    settings = config.WebArenaVerifiedConfig(environments=environments)
    benchmark = api.WebArenaVerified(config=settings)
    counts: Counter[tuple[str, str, str]] = Counter()
    differing = []
    # The package logs each refusal as an error.
    logging.disable(logging.CRITICAL)
    try:
        for log in _logs(repository):
            found = benchmark.evaluate_task(
                task_id=log.task_id, agent_response=log.answer, network_trace=log.har
            )
            context: Any = SimpleNamespace(
                answered=True, answer=log.answer, requests=_kept(log.har)
            )
            verdict = solved(context, log.task_id, SITES)
            theirs = _THEIRS.get(str(found.status), "no verdict")
            ours = _OURS[verdict.passed]
            counts[log.name if log.name in _LOGS else log.name.split()[0], theirs, ours] += 1
            if theirs != ours:
                differing.append(
                    f"task {log.task_id}, {log.name}: {theirs}, and {ours} ({verdict.reason})"
                )
    except (OSError, ValueError, KeyError) as error:
        raise SettingsError(f"{repository} is not its repository: {error}") from None
    finally:
        logging.disable(logging.NOTSET)
    return LogVerdicts(counts, tuple(differing))


_THEIRS = {"success": "solved", "failure": "not solved"}
_OURS = {True: "solved", False: "not solved", None: "no verdict"}
