"""Start the gateway's process before it is known which models it is to call.

It loads its modules meanwhile, for about as long as a test process loads those that run cells.
Importing this module costs next to nothing, so that the process can be the first thing that a
session starts.
"""

from collections.abc import Mapping
from pathlib import Path

from pytest_autoweb.base.child_process import begin_owned, drop_begun

PROCESS = "pytest_autoweb.models.gateway_process"
"""The module that is run as the gateway."""
LOG_NAME = "gateway.log"


def begin_gateway(run_dir: Path, environ: Mapping[str, str]) -> None:
    """Start the process; `start_gateway` with the same folder and environment then uses it.

    Args:
        run_dir: folder for the gateway's log.
        environ: its environment variables, in which it finds the keys of models.

    Raises:
        OSError: the process, or its log, cannot be made.
    """
    begin_owned(PROCESS, environ=environ, log=run_dir.absolute() / LOG_NAME)


def drop_gateway(run_dir: Path) -> None:
    """Stop the process, if it was begun and no gateway has come of it."""
    drop_begun(PROCESS, run_dir.absolute() / LOG_NAME)
