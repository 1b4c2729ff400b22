"""Packs cases as tasks of Harbor, the harness of Terminal-Bench 2: one folder for each.

Source of the format: https://www.harborframework.com/docs/tasks. What a task cannot say is listed
with the reason, and a case that needs it is left out: without it, the case would be another one.
"""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from pytest_autoweb import __version__
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.browser.page.setup import Setup
from pytest_autoweb.browser.traffic.traffic_rules import TrafficRules
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cases.file_layout import how_to_refuse
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.cases.webserver_spec import Reset, ServerHandle, Webserver
from pytest_autoweb.judging.checks.check_type import Check, Ground
from pytest_autoweb.judging.checks.server_checks import FileCheck, HttpCheck, SqlCheck
from pytest_autoweb.judging.verdicts import graded
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.session.servers.webservers import Placeholders
from pytest_autoweb.tools.importing.written_cases import scalar, usable_id
from pytest_autoweb.tools.publishing.benchmark_files import CollectedFiles, PackingRules

_STATE = PurePosixPath("/state")
_DATA = _STATE / "data"
_VALUES = Placeholders(port=8000, data=Path(_DATA), python="python3")
_APP = PurePosixPath("/app")
_PIP = "pip install "
_ServerCheck = FileCheck | HttpCheck | SqlCheck
_SPENT: dict[Ground, str] = {
    "page": "looks at the page, which is closed before a verifier runs",
    "address": "looks at the page's address, and the page is closed before a verifier runs",
    "appearances": "looks at what passed by on the page, which nobody records",
    "answer": "looks at the answer, and a task of Harbor takes none",
    "requests": "looks at the traffic of the page, which nobody records",
    "downloads": "looks at downloads, which nobody records",
    "opinion": "asks a model, and a verifier has none",
    "live": "needs the browser or code of yours, which a verifier does not have",
}


class NoTask(Struct, frozen=True):
    """A case that is no task."""

    case: str
    """Its file and id."""
    reasons: tuple[str, ...]
    """All that a task of Harbor cannot say."""


def sorted_out(cases: Sequence[LoadedCase]) -> tuple[list[LoadedCase], list[NoTask]]:
    """Return the cases that can be tasks, and the others with all reasons."""
    packed, left = [], []
    for case in cases:
        if reasons := tuple(dict.fromkeys(_unsayable(case))):
            left.append(NoTask(f"{case.path}::{case.id}", reasons))
        else:
            packed.append(case)
    return packed, left


def _unsayable(case: LoadedCase) -> Iterator[str]:
    server = case.webserver
    if server is None or len(case.webservers) != 1 or server.command is None:
        yield "it needs exactly one web server that a command starts"
        return
    if isinstance(server.reset, Reset):
        yield "a request puts its state back, and nobody sends it before a trial"
    if case.secrets:
        yield "it has secrets, and nothing hides them from an agent"
        return
    resolved = case.resolve(_running(server))
    for told, why in (
        (resolved.files, "its files for uploads would have to lie in the agent's container"),
        (resolved.setup != Setup(), "`setup` prepares the browser, and agents start their own"),
        (resolved.infeasible, "it cannot be done, and a task takes no answer that says so"),
        (resolved.collect or case.strategy == "collect", "it collects records, which are answers"),
        (resolved.traffic != TrafficRules(), "nobody records, replays or holds traffic"),
        (resolved.allowed_origins, "its page needs other sites, which are not in the pack"),
        (not resolved.expect, "it has no check"),
    ):
        if told:
            yield why
    for check in resolved.expect:
        yield from _unsayable_check(check, _running(server))


def _unsayable_check(check: Check, server: ServerHandle) -> Iterator[str]:
    match check:
        case HttpCheck(http=query) if urlsplit(query.url)[:2] != urlsplit(server.url)[:2]:
            yield "the check `http` asks a server that is not in the pack"
        case FileCheck(file=query) if not Path(query.path).is_relative_to(_DATA):
            yield "the check `file` looks beyond `{{ webserver.data }}`"
        case SqlCheck(sql=query) if not query.path.is_relative_to(_DATA):
            yield "the check `sql` looks beyond `{{ webserver.data }}`"
        case _ if not isinstance(check, _ServerCheck):
            yield f"the check `{check.name}` {_SPENT[check.rests_on]}"


def _running(server: Webserver) -> ServerHandle:
    return ServerHandle(url=_VALUES.fill(server.url), data=_VALUES.data)


def harbor_content(
    cases: Sequence[LoadedCase], left: Sequence[NoTask], found: CollectedFiles, title: str
) -> dict[str, bytes]:
    """Return each file of the pack, by its path.

    Args:
        cases: the cases that can be tasks.
        left: the others.
        found: what the first depend on.
        title: the name and release of the benchmark.

    Raises:
        SettingsError: a web server's command is broken.
    """
    org = _harbor_name(usable_id(title.split()[0]))
    named = _task_names(cases)
    content = {
        f"{name}/{path}": text
        for name, case in named.items()
        for path, text in _task(case, found, org, name).items()
    }
    content["README.md"] = _template("README.md").format(
        title=title,
        version=__version__,
        packed=len(cases),
        all=count_of(len(cases) + len(left), "case"),
        left_out="\n".join(f"- `{one.case}`: {'; '.join(one.reasons)}" for one in left)
        or "All cases are packed.",
        needs="\n".join(f"- {word}" for word in _other_needs(found.rules)) or "Nothing else.",
    )
    return {path: text.encode() for path, text in content.items()} | {
        f"{name}/environment/app/files/{path}": data
        for name in named
        for path, (data, role) in found.content.items()
        # Not the cases and what their solutions write: a web server may serve the folder it is in.
        if role in ("program", "hooks")
    }


def _task_names(cases: Sequence[LoadedCase]) -> dict[str, LoadedCase]:
    named: dict[str, LoadedCase] = {}
    for case in cases:
        start = name = _harbor_name(case.id)
        number = 2
        while name in named:
            name, number = f"{start}-{number}", number + 1
        named[name] = case
    return named


def _harbor_name(name: str) -> str:
    # Harbor wants a letter or digit first, and no two dots in a row.
    return re.sub(r"\.{2,}", ".", name.lstrip("._-")) or "task"


def _task(case: LoadedCase, found: CollectedFiles, org: str, name: str) -> dict[str, str]:
    assert case.webserver is not None
    assert case.path is not None
    server = _running(case.webserver)
    resolved = case.resolve(server)
    site = urlsplit(server.url)
    root = found.rules.root.resolve()
    files = {
        "task.toml": _template("task.toml").format(
            org=org,
            task=name,
            keywords=json.dumps(case.tags, ensure_ascii=False),
            version=__version__,
            case=json.dumps(
                f"{case.path.resolve().relative_to(root).as_posix()}::{case.id}", ensure_ascii=False
            ),
            case_sum=case.checksum,
            checks_sum=graded(case.checks_checksum),
            host=site.hostname,
            port=site.port or 80,
        ),
        "instruction.md": _template("instruction.md").format(
            task=resolved.user_task.removesuffix(how_to_refuse()).strip(), url=resolved.entry_url
        ),
        "environment/Dockerfile": _template("Dockerfile").format(
            version=__version__, state=_STATE, data=_DATA
        ),
        "environment/app/Dockerfile": _app_image(case, found.rules),
        "environment/docker-compose.yaml": _compose(case.webserver),
        "tests/test.sh": _template("test.sh"),
        "tests/case.yaml": _case_file(resolved, checks=True),
    }
    if resolved.oracle:
        files["solution/solve.sh"] = _template("solve.sh")
        files["solution/case.yaml"] = _case_file(resolved, checks=False)
    return files


def _template(name: str) -> str:
    return (asset_dir("templates") / "harbor" / name).read_text("utf-8")


def _app_image(case: LoadedCase, rules: PackingRules) -> str:
    assert case.webserver is not None
    assert case.path is not None
    try:
        words = shlex.split(case.webserver.command or "")
    except ValueError as error:
        raise SettingsError(f"{case.path}: the web server's command is broken: {error}") from None
    base = (case.path.parent / (case.webserver.cwd or ".")).resolve()
    folder = _APP / base.relative_to(rules.root.resolve()).as_posix()
    installs = [word for word in rules.words if word.startswith(_PIP)]
    return _template("app.Dockerfile").format(
        installs="".join(f"RUN python3 -m {' '.join(word.split())}\n" for word in installs),
        state=_STATE,
        data=_DATA,
        folder=json.dumps(str(folder)),
        command=json.dumps([_VALUES.fill(word) for word in words]),
    )


def _other_needs(rules: PackingRules) -> list[str]:
    return [word for word in rules.words if not word.startswith(_PIP)]


def _compose(server: Webserver) -> str:
    """Return the services: the web server shares nothing but network and data with the agent's."""
    volume = [f"state:{_STATE}"]
    environment = {name: _VALUES.fill(value) for name, value in server.env.items()}
    services: dict[str, Any] = {
        "main": {"volumes": volume},
        "app": {
            "build": {"context": "./app"},
            # As in a run, the web server may listen on the loopback only.
            "network_mode": "service:main",
            # Compose would replace a dollar sign.
            "environment": {name: text.replace("$", "$$") for name, text in environment.items()},
            "volumes": volume,
        },
    }
    # JSON is YAML, and needs no care for what a value looks like.
    return json.dumps({"services": services, "volumes": {"state": {}}}, indent=2) + "\n"


def _case_file(case: Case, *, checks: bool) -> str:
    """Return a case file without a web server: one runs already, at an address that is known."""
    fields: dict[str, Any] = {
        "id": case.id,
        "entry_url": case.entry_url,
        "user_task": case.user_task,
        "timeout": case.timeout,
    }
    if checks:
        fields["expect"] = [
            check.model_dump(mode="json", by_alias=True, exclude_unset=True)
            for check in case.expect
        ]
    else:
        fields["oracle"] = case.oracle
    return scalar({"version": 1, "cases": [fields]}) + "\n"
