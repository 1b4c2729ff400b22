"""`autoweb agents`: list and install outside agents."""

import argparse
from typing import Any

from pytest_autoweb.agents.outside.adapters import ADAPTERS, agents_folder
from pytest_autoweb.base.errors import SettingsError, near_miss
from pytest_autoweb.cli.json_document import add_json_argument, print_json

_AGENTS_EPILOG = """\
  autoweb agents list
  autoweb agents install browser-use
  pytest cases --autoweb-models=openai/gpt-5-mini --autoweb-agent=codegen,browser-use

Each agent lives in a folder of its own, with its own packages, below the user's cache or where the
environment variable AUTOWEB_AGENTS_DIR says. Removing that folder uninstalls it. Agents that a
project declares itself need no installing here; docs/agents.md tells how.

Exit status: 0 done; 4 invalid input, or something cannot be installed.
"""
_AGENTS_LIST = """\
Tells which agents there are, what each needs, and which are installed.

  autoweb agents list
  autoweb agents list --json

Exit status: 0, also if none is installed.
"""
_AGENTS_INSTALL = """\
Fetches what an agent needs into a folder of its own, in place of what was there.

  autoweb agents install browser-use
  autoweb agents install browsergym playwright-mcp

Exit status: 0 done; 4 there is no such agent, or it cannot be installed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Agents of other people that drive the cells of a run."
    parser.epilog = _AGENTS_EPILOG
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser(
        "list", help="which agents there are, and which are installed", description=_AGENTS_LIST
    )
    add_json_argument(listing)
    listing.set_defaults(run=run_agents_list)
    install = actions.add_parser(
        "install",
        help="fetch what an agent needs, in place of an old one",
        description=_AGENTS_INSTALL,
    )
    install.add_argument("names", nargs="+", metavar="NAME", help="see `autoweb agents list`")
    install.set_defaults(run=run_agents_install)


def run_agents_list(arguments: argparse.Namespace) -> int:
    rows: list[dict[str, Any]] = [
        {
            "name": adapter.name,
            "summary": adapter.summary,
            "packages": list(adapter.packages),
            "installed": adapter.is_installed,
            "folder": str(adapter.folder),
        }
        for adapter in ADAPTERS.values()
    ]
    if arguments.json:
        print_json("agents", {"agents": rows})
        return 0
    for row in rows:
        state = "installed" if row["installed"] else "not installed"
        print(f"{row['name']}: {row['summary']} ({', '.join(row['packages'])}): {state}")
    print(f"folder: {agents_folder()}")
    return 0


def run_agents_install(arguments: argparse.Namespace) -> int:
    """Install agents, one after the other.

    Raises:
        SettingsError: a name is unknown, or a step failed.
    """
    for name in arguments.names:
        if name not in ADAPTERS:
            raise SettingsError(f"unknown agent {name!r}{near_miss(name, ADAPTERS)}")
    for name in arguments.names:
        ADAPTERS[name].install(lambda line: print(f"  {line}", flush=True))
        print(f"{name}: installed in {ADAPTERS[name].folder}")
    return 0
