"""The promises the source makes about itself: layers, imports, sizes, names."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import NamedTuple

import pytest

import pytest_autoweb
from pytest_autoweb.cli.command_line import COMMANDS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "pytest_autoweb"

# A module imports only from rows above its own, or from its own room. The last two are the public
# faces, the plugin among them.
ROWS = (
    {"base"},
    {"results"},
    {"browser"},
    {"settings"},
    {"models", "sandbox"},
    {"judging"},
    {"cases", "report"},
    {"agents"},
    {"cell"},
    {"store"},
    {"session"},
    {"tools"},
    {"cli"},
    {"checks", "hookspecs", "stages", "testing"},
    {"plugin"},
)
ROW_OF = {area: number for number, row in enumerate(ROWS) for area in row}

# Packages that take long to import: any module may leave them to the function that needs them.
HEAVY = {
    "babel",
    "cryptography",
    "dotenv",
    "jinja2",
    "json_repair",
    "jsonschema",
    "litellm",
    "playwright",
    "pydantic",
    "ray",
    "re2",
    "redis",
    "referencing",
    "urllib3",
    "xllamacpp",
    "yaml",
}

# All of the package that a session without models imports.
IDLE = {
    "base.errors",
    "hookspecs",
    "base.installation",
    "base.language",
    "settings.merged_settings",
    "settings.options",
    "settings.record_modes",
    "plugin",
    "results.runs.run_signs",
    "session.case_files",
    "session.cells_on_demand",
    "session.fixtures",
    "session.playwright_fixtures",
    "session.refused_sessions",
    "session.pytest_internals",
    "session.shared_run",
    "settings.run_settings",
    "base.values.flag_texts",
    "base.values.normal_forms",
    "base.variant_names",
    "base.variants",
}

# For each room below the session, and for each room within one: a module, and a call in it that
# needs what others add to a registry, if the room names any of that.
CALLS = (
    ("agents.chance.random_actions", "draw_action(RefView('', ()), (), Random(1))"),
    ("base.passing_lock", "PassingLock('run', Path('run'))"),
    ("base.documents.readers", "read_yaml('tea: 1')"),
    ("base.errors", "near_miss('cases', ['case'])"),
    ("base.interruption", "Interruption().restore()"),
    ("base.process_tree", "import_folders()"),
    ("base.whole_characters", "whole_text('tea')"),
    ("base.language", "step_failed(1, 'no').line('zh')"),
    ("base.redaction.secret_forms", "Redactor({'key': 'very-secret'})('tea')"),
    ("base.specs", "Pattern.model_validate({'matches': 'tea'})"),
    ("base.values.dates", "date_readings('1 May 2024', 'en')"),
    ("base.variants", "Variants('check type').summaries()"),
    ("settings.agent_command", "AgentCommand.model_validate({'command': ['agent']})"),
    ("base.waiting", "others_in_flight()"),
    ("browser.egress.remote_browsers", "parse_endpoints('ws://127.0.0.1:9/')"),
    ("base.installation", "missing_extras(['store'])"),
    ("results.records", "Usage() + Usage()"),
    ("base.variant_names", "known_strategy('codegen')"),
    ("results.analysis.correction_facts", "arm_label('off')"),
    ("browser.page.capture", "CAPTURE_MODES.summaries()"),
    ("sandbox.lint", "lint_code('page.reload()')"),
    (
        "settings.run_settings",
        "captures('aria'), arms('off'), agent_names('act'), locator_name('bayes')",
    ),
    ("settings.run_settings", "_contestants(('openai/gpt-5-mini',), ('act', 'codegen'), ())"),
    ("browser.marks.marking", "groups_by_text([['tea']], [''])"),
    ("results.runs.run_folder", "is_run_folder(Path('run'))"),
    ("settings.options", "[option.flag for option in OPTIONS]"),
    ("judging.evidence.downloads", "downloads_text((), Path('run'), str)"),
    ("report.panels", "panels_in_order()"),
    ("judging.checks.check_type", "CHECKS.summaries()"),
    ("report.gates.built_in_gates", "GATES.summaries()"),
    ("browser.traffic.traffic_rules", "TrafficRules()"),
    ("cases.file_layout", "case_json_schema()"),
    ("models.named_specs", "load_specs(('openai/gpt-5-mini@low', 'openai/gpt-5-mini@act'))"),
    ("judging.verdicts", "score(())"),
    ("agents.choice.expected_text", "compare('Tea', 'tea')"),
    ("agents.correction.failure_types", "classify('no such element')"),
    ("agents.locate.interview", "describe_answer(None)"),
    ("agents.attempt.unwrapped_script", "unwrapped_script('page.reload()')"),
    ("agents.act.memory", "LoopDetector()"),
    ("agents.reading.asked_types", "reply_kind(list[float])"),
    ("agents.codegen.refs_turns", "without_failed_calls"),
    ("agents.collect.saved_state", "next_page_of('page')"),
    ("agents.outside.adapters", "agents_folder()"),
    ("agents.webmcp.tool_turns", "tools_told(SiteTools(), 0)"),
    ("agents.outside.protocols.one_form", "tokens_of({'messages': []})"),
)

# Modules of the standard library that only some systems, or only some builds of Python, have.
SYSTEM_ONLY = {"_ctypes", "fcntl", "msvcrt", "resource", "winreg"}

# Every other import inside a function hides a dependency. Only these modules may: pytest (or every
# xdist worker) imports them, and they lead to all the rest; or an extra brings what they import.
MAY_IMPORT_LATE = {
    "cli/commands/completion.py",
    "cli/commands/dashboard.py",
    "cli/commands/demo.py",
    "cli/commands/serve_mcp.py",
    "cli/opened_store.py",
    "cli/commands/database_runs.py",
    "base/errors.py",
    "models/litellm_client.py",
    "plugin.py",
    "session/cells_on_demand.py",
    "session/extras.py",
    # What it starts first must not wait until all that it does later is loaded.
    "session/head_start.py",
    "session/refused_sessions.py",
    # Few cells need what they lead to, and all of it takes a fifth of a session's loading.
    "agents/attempt/finders.py",
    "cell/cell_recording.py",
    "cell/loaded_late.py",
    "session/cell_hooks.py",
    # Each session with a server starts it, and few servers are static.
    "session/servers/webserver_process.py",
    "session/xdist_internals.py",
    "settings/options.py",
    "settings/run_settings.py",
}

# Each start compiles the methods of a dataclass, which takes forty times as long as for a Struct.
DATACLASSES = {
    "every session imports them": {"base/variant_names.py"},
    "one of those is their base": {"agents/attempt/strategy.py"},
    "pydantic reads and writes them": {
        "judging/evidence/appearances.py",
        "judging/evidence/downloads.py",
        "judging/evidence/written.py",
        "models/spending.py",
        "results/runs/steering.py",
    },
    "their text leaves a field out": {
        "cases/deployment.py",
        "cases/loader.py",
        "judging/checks/delegated_checks.py",
        "models/gateway.py",
        "models/model_spec.py",
    },
}

# Packages that come with another one as a part of its public face, or under another name.
COMES_WITH = {
    "PIL": "pillow",
    "dotenv": "python-dotenv",
    "httpx": "litellm",
    "json_repair": "json-repair",
    "markupsafe": "jinja2",
    "opentelemetry": "opentelemetry-sdk",
    "pydantic_core": "pydantic",
    "re2": "google-re2",
    "referencing": "jsonschema",
    "starlette": "fastapi",
    "xdist": "pytest-xdist",
    "yaml": "pyyaml",
}

# What more than one module needs is written in one of them.
HOMES = {
    r"SyntaxError, ValueError, RecursionError": "base/python_source.py",
    r"mkstemp\(|draft\.replace\(": "base/files.py",
    r"compare_digest\(": "base/tokens.py",
    r"BaseHTTPRequestHandler": "base/local_server.py",
    r"[\"']concat\(\{": "base/xpath.py",
}

# Names that other packages keep to themselves stand in one module each.
PRIVATE = {
    "base/waiting/playwright_internals.py": {
        "_closed_error",
        "_connection",
        "_dispatcher_fiber",
        "_frame",
        "_impl_obj",
        "_loop",
        "_selector",
        "_start_recording",
        "_sync",
    },
    "session/xdist_internals.py": {"nextitem_index", "torun"},
    "session/pytest_internals.py": {
        "_fixture_defs",
        "_fixtureinfo",
        "_fixturemanager",
        "_marked_for_rewrite_cache",
        "_must_rewrite",
    },
}

FUNCTION_LINES = 60

MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if "migrations" not in path.parts]
PYTHON_FILES = [
    path
    for folder in ("pytest_autoweb", "tests", "benchmarks", "cases", "scripts")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


class Import(NamedTuple):
    """One imported module, and whether the import hides inside a function."""

    module: str
    late: bool
    line: int


def shown(path: Path) -> str:
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT).as_posix()


def area_of(module: str) -> str:
    """`pytest_autoweb.models.client` belongs to the area `models`."""
    return module.split(".")[1] if "." in module else ""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    late = {
        id(node)
        for function in ast.walk(tree_of(path))
        if isinstance(function, functions)
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == PACKAGE.name:
                names = [f"{PACKAGE.name}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found += [Import(name, id(node) in late, node.lineno) for name in names]
    return tuple(found)


def test_a_module_imports_only_from_the_rows_above_its_own() -> None:
    upward = [
        f"{shown(path)}, line {found.line}: {found.module}"
        for path in MODULES
        if (area := path.relative_to(PACKAGE).with_suffix("").parts[0]) != "__init__"
        for found in imports_of(path)
        if found.module.startswith(f"{PACKAGE.name}.")
        and (target := area_of(found.module)) not in (area, *pytest_autoweb.__all__, "__version__")
        and ROW_OF[target] >= ROW_OF[area]
    ]

    assert upward == []


def test_each_room_below_the_cell_has_a_call() -> None:
    lower = {area for row in ROWS[: ROW_OF["cell"]] for area in row}
    rooms = {
        path.parent
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] in lower and path.stem != "__init__"
    }
    called = {PACKAGE / module.replace(".", "/") for module, _ in CALLS}

    assert rooms - {path if path.is_dir() else path.parent for path in called} == set()


@pytest.mark.parametrize(("module", "call"), CALLS)
def test_a_call_loads_only_what_its_package_may_import(module: str, call: str) -> None:
    script = (
        f"import json, sys; from pathlib import Path; import {PACKAGE.name}.{module} as called; "
        f"eval({call!r}, vars(called) | {{'Path': Path}}); print(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    own = [name for name in json.loads(run.stdout) if name.startswith(f"{PACKAGE.name}.")]
    area = module.partition(".")[0]

    assert [
        name for name in own if area_of(name) != area and ROW_OF[area_of(name)] >= ROW_OF[area]
    ] == []


def test_only_these_modules_import_by_name() -> None:
    users = {
        shown(path)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Name | ast.Attribute)
        and getattr(node, "id", getattr(node, "attr", "")) in ("import_module", "__import__")
    }

    # The public face; the command that is used; the user's own code, optional packages, and what
    # generated code may import.
    assert users == {
        "__init__.py",
        "judging/checks/delegated_checks.py",
        "cli/command_line.py",
        "tools/importing/webarena_verified.py",
        "results/runs/loaded_run.py",
        "sandbox/stand_ins.py",
    }


def test_the_public_face_is_for_the_world_outside() -> None:
    users = {
        shown(path)
        for path in MODULES
        for found in imports_of(path)
        if area_of(found.module) in (*pytest_autoweb.__all__, "stages")
    }

    # Hooks show users the names that users import.
    assert users == {"hookspecs.py"}


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in MODULES}
    graph = {
        module: {found.module for found in imports_of(path) if not found.late} & known.keys()
        for module, path in known.items()
    }

    # Raises CycleError, which names the circle.
    assert len(tuple(TopologicalSorter(graph).static_order())) == len(known)


def test_every_area_of_the_package_has_a_row() -> None:
    areas = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in MODULES}

    assert areas - {"__init__", "__main__"} == set(ROW_OF)


def test_imports_stand_at_the_top_of_the_module() -> None:
    late = [
        f"{shown(path)}, line {found.line}: {found.module}"
        for path in MODULES
        if shown(path) not in MAY_IMPORT_LATE
        for found in imports_of(path)
        if found.late and found.module.split(".")[0] not in HEAVY | SYSTEM_ONLY
    ]

    assert late == []


def test_a_module_with_late_imports_says_why() -> None:
    reason = re.compile(r"^ *# Late(?: imports: |, because )", re.MULTILINE)
    silent = [
        shown(path)
        for path in MODULES
        if any(found.late for found in imports_of(path))
        and not reason.search(path.read_text(encoding="utf-8"))
    ]

    assert silent == []


def test_only_one_module_imports_litellm() -> None:
    users = {
        shown(path)
        for path in MODULES
        for found in imports_of(path)
        if found.module.split(".")[0] == "litellm"
    }

    assert users == {"models/litellm_client.py"}


def test_the_plugin_module_imports_nothing_heavy() -> None:
    script = "import pytest_autoweb.plugin, sys, json; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert {name.split(".")[0] for name in json.loads(run.stdout)} & HEAVY == set()


def modules_of_a_session(folder: Path, *arguments: str) -> set[str]:
    """Return what is imported by a pytest session that collects an empty folder."""
    script = (
        "import json, pytest, sys; pytest.main(sys.argv[1:]); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    # Plugins of the developers' environment, which may import the same packages.
    others = ("-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    command = [sys.executable, "-c", script, "--collect-only", "-q", *others, *arguments]
    run = subprocess.run(
        [*command, "--rootdir", folder, "-c", os.devnull, folder],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("AUTOWEB_")},
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_a_session_without_models_pays_for_nothing_but_the_options(tmp_path: Path) -> None:
    # A case file beside the folder is none of its business.
    (tmp_path / "beside.yaml").write_text("version: 1\ncases: []\n")
    folder = tmp_path / "empty"
    folder.mkdir()
    without = modules_of_a_session(folder, "-p", "no:autoweb")
    added = modules_of_a_session(folder) - without
    own = {name for name in added if name.split(".")[0] == PACKAGE.name}

    assert "pytest_autoweb.settings.options" in own
    assert {name.split(".")[0] for name in added - own} - sys.stdlib_module_names == set()
    packages = {PACKAGE.name, *(name.rpartition(".")[0] for name in own)}
    assert {name.removeprefix(f"{PACKAGE.name}.") for name in own - packages} <= IDLE


def test_a_session_with_models_does_not_load_the_agents_that_it_may_not_use() -> None:
    script = (
        "import pytest_autoweb.session.cell_hooks, sys, json; print(json.dumps([*sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    folders = {name.rpartition(".")[0] for name in json.loads(run.stdout)}
    agents = {"act", "chance", "choice", "collect", "locate", "reading", "webmcp"}

    assert "pytest_autoweb.agents.codegen" in folders
    assert folders & {f"pytest_autoweb.agents.{name}" for name in agents} == set()
    assert "pytest_autoweb.browser.marks" not in folders


def test_a_session_does_not_rewrite_the_asserts_of_this_package() -> None:
    loaded = import_module("pytest_autoweb.session.run_session")

    assert type(loaded.__loader__) is SourceFileLoader


# Packages that only an extra brings.
OPTIONAL = {
    "PIL",
    "aiosmtpd",
    "alembic",
    "cryptography",
    "fastapi",
    "opentelemetry",
    "psycopg",
    "ray",
    "redis",
    "shtab",
    "sqlalchemy",
    "uvicorn",
    "watchfiles",
    "xllamacpp",
}


def modules_of_the_command_line(whole: str) -> set[str]:
    """Return what a command line imports that loads the commands of an expression."""
    script = (
        "import json, sys; from pytest_autoweb.cli.command_line import COMMANDS, build_parser; "
        f"build_parser({whole}); print(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_the_list_of_commands_loads_none_of_them() -> None:
    own = {name for name in modules_of_the_command_line("()") if name.startswith(PACKAGE.name)}

    assert {name.removeprefix(f"{PACKAGE.name}.") for name in own - {PACKAGE.name}} == {
        "base",
        "base.errors",
        "base.interruption",
        "cli",
        "cli.command_line",
        "cli.kept_stdout",
        "report",
        "report.plain_stream",
    }


def test_the_arguments_of_all_commands_need_no_extra() -> None:
    loaded = modules_of_the_command_line("COMMANDS")

    homes = {f"{PACKAGE.name}.cli.commands.{command.module}" for command in COMMANDS.values()}
    assert homes <= loaded
    assert {name.split(".")[0] for name in loaded} & OPTIONAL == set()


def test_no_command_loads_another() -> None:
    homes = {f"{PACKAGE.name}.cli.commands.{command.module}" for command in COMMANDS.values()}
    loading = [
        f"{shown(path)}, line {found.line}: {found.module}"
        for path in MODULES
        for found in imports_of(path)
        if found.module in homes
    ]

    assert loading == []


def test_every_imported_package_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    used = (
        "local",
        "testing",
        "store",
        "postgres",
        "redis",
        "dashboard",
        "otel",
        "traffic",
        "mail",
        "watch",
        "mcp",
        "completion",
        "cluster",
    )
    requirements = project["dependencies"] + [line for name in used for line in extras[name]]
    declared = {re.split(r"[^A-Za-z0-9-]", line)[0].lower() for line in requirements}
    imported = {found.module.split(".")[0] for path in MODULES for found in imports_of(path)}
    foreign = imported - sys.stdlib_module_names - {PACKAGE.name}

    assert {COMES_WITH.get(name, name) for name in foreign} - declared == set()


@pytest.mark.parametrize(("written", "home"), HOMES.items(), ids=HOMES.values())
def test_a_small_thing_is_written_in_its_home_alone(written: str, home: str) -> None:
    places = [shown(path) for path in MODULES if re.search(written, path.read_text("utf-8"))]

    assert places == [home]


@pytest.mark.parametrize(("home", "names"), PRIVATE.items(), ids=PRIVATE)
def test_private_names_of_other_packages_stand_in_one_module(home: str, names: set[str]) -> None:
    users = {
        shown(path)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        # Objects of our own may have a name of the same spelling.
        if (isinstance(node, ast.Attribute) and ast.unparse(node.value) != "self"
            and node.attr in names)
        or (isinstance(node, ast.Constant) and node.value in names)
    }  # fmt: skip

    assert users == {home}


def test_only_these_modules_import_what_playwright_and_xdist_do_not_offer() -> None:
    users = {
        shown(path)
        for path in MODULES
        for found in imports_of(path)
        if found.module.startswith(("playwright._", "xdist"))
    }

    assert users == {
        "session/cluster/cluster_session.py",
        "session/flights/flight_scheduling.py",
        "session/xdist_internals.py",
        "base/waiting/playwright_internals.py",
    }


def test_a_function_fits_on_a_screen() -> None:
    too_long = [
        f"{shown(path)}: {node.name}, {node.end_lineno - node.lineno + 1} lines"
        for path in PYTHON_FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]

    assert too_long == []


def test_only_these_modules_have_dataclasses() -> None:
    users = {
        shown(path)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    }

    assert users == set().union(*DATACLASSES.values())


def test_no_module_is_named_after_nothing() -> None:
    nothing = re.compile(r"utils?$|helpers?$|common$|misc$")

    assert [shown(path) for path in MODULES if nothing.search(path.stem)] == []


def test_no_two_modules_and_no_two_public_classes_share_a_name() -> None:
    modules = Counter(path.stem for path in MODULES if path.stem != "__init__")
    classes = Counter(
        node.name
        for path in MODULES
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert [name for name, count in (modules + classes).items() if count > 1] == []


def test_every_package_says_what_lives_there_and_what_does_not() -> None:
    silent = [
        shown(path)
        for path in MODULES
        if path.stem == "__init__" and "\n\n" not in (ast.get_docstring(tree_of(path)) or "")
    ]

    assert silent == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a git checkout has tracked files")
def test_no_tracked_file_names_a_machine() -> None:
    # Spelled in two halves, so that this file does not find itself.
    homes = "|".join(["ro" + "ot", "ho" + "me", "wo" + "rk", "Us" + "ers"])
    machine_path = re.compile(rf"(?<![\w.:/*}}])/(?:{homes})/\w")
    # In a container the checkout may belong to another user, which git refuses unless told.
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listing = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    found = []
    for name in filter(None, listing.stdout.split("\0")):
        path = ROOT / name
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # an image; a file deleted since
        found += [
            f"{name}:{number}" for number, line in enumerate(lines, 1) if machine_path.search(line)
        ]

    assert found == []
