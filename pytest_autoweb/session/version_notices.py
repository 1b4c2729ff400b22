"""What a session's header says about the system and versions that need a word.

Playwright and xdist are used by names that they do not promise to keep, and Playwright's older
versions need help when their driver dies. The names are probed once, at the start.
"""

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version

import pytest

from pytest_autoweb.base.waiting.playwright_internals import can_share_loop, watch_driver
from pytest_autoweb.session.xdist_internals import can_schedule, can_see_queues

TRIED = {"linux"}
"""Systems, as `sys.platform` names them, on which CI has been seen to pass."""
_NAMES = {"darwin": "macOS", "win32": "Windows"}


def version_notices(config: pytest.Config) -> Iterator[str]:
    """Yield a sentence for each way in which this session differs from one with usual versions.

    Args:
        config: that of the controller.
    """
    if sys.platform not in TRIED:
        yield (
            f"pytest-autoweb has not been tried on {_NAMES.get(sys.platform, platform.system())} "
            "yet, only on Linux: run the controls first (--autoweb-controls), and please report "
            "what fails"
        )
    playwright = f"Playwright {version('playwright')}"
    if not can_share_loop():
        yield (
            f"{playwright} has changed inside, so cells run one at a time and open their pages "
            "themselves, and a call that hangs is ended later; update pytest-autoweb"
        )
    elif watch_driver():
        yield (
            f"{playwright} does not report that its driver died, so pytest-autoweb watches for "
            "that; 1.65 and newer report it themselves"
        )
    if config.getoption("numprocesses", None) and not (can_see_queues() and can_schedule()):
        yield (
            f"pytest-xdist {version('pytest-xdist')} has changed inside, so each worker runs one "
            "cell at a time; update pytest-autoweb"
        )
