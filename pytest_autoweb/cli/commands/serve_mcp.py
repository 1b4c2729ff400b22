"""`autoweb mcp`: a server with which coding agents list, run, prove and export cases."""

import argparse
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import require_extras
from pytest_autoweb.tools.mcp_server.bounds import ServerLimits

_ABOUT = """\
Serves the Model Context Protocol on standard input and output, for coding agents. They can list
cases, run them, read why a cell failed, compare, prove and export. Each call runs the command that
a person would type, in this folder, with the limits that are given here.

  autoweb mcp
  claude mcp add autoweb -- autoweb mcp
  codex mcp add autoweb -- autoweb mcp --max-cost 5 --models openai/gpt-5-mini
  autoweb mcp --read-only --rootdir ~/shop

Needs the extra: pip install 'pytest-autoweb[mcp]'

Exit status: 0 the client has gone; 4 invalid input, or the extra is missing.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _ABOUT
    parser.add_argument(
        "--max-cost",
        type=float,
        default=1.0,
        metavar="USD",
        help="the most US dollars that one run may cost; default: 1",
    )
    parser.add_argument(
        "--models",
        default="",
        metavar="A,B",
        help="the only models that may be called, besides the controls; default: any",
    )
    parser.add_argument(
        "--read-only", action="store_true", help="only read cases and runs, and run nothing"
    )
    parser.add_argument(
        "--rootdir",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the project, outside of which nothing is run, read or written; default: here",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes.

    Raises:
        SettingsError: the extra is missing, or a limit makes no sense.
    """
    if args.max_cost < 0:
        raise SettingsError(f"--max-cost is {args.max_cost:g}, and must be 0 or more")
    if not args.rootdir.is_dir():
        raise SettingsError(f"--rootdir: there is no folder {args.rootdir}")
    require_extras("mcp")
    # Late, because the extra may be missing, and its library costs a second to load.
    from pytest_autoweb.tools.mcp_server.agent_server import build_server

    models = tuple(name.strip() for name in args.models.split(",") if name.strip())
    root = args.rootdir.resolve()
    build_server(ServerLimits(root, args.max_cost, models, args.read_only)).run("stdio")
    return 0
