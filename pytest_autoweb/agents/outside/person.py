"""The agent `human`: a person does the task in the cell's browser, and says when it is done.

It is an outside agent like others, so what the person did is judged alike. The page stands in the
person's own browser, so neither checks nor pictures see it.
"""

import os
import sys

from pytest_autoweb.base.display import has_display
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.settings.agent_command import AgentCommand

STAND_IN = "AUTOWEB_HUMAN"
"""The variable that names a program which takes the person's place, for tests without a display."""
_SECONDS = 3600.0


def person_settings() -> AgentCommand:
    """Return the settings of the agent `human`.

    Raises:
        SettingsError: nobody could see the browser.
    """
    stand_in = os.environ.get(STAND_IN, "")
    if not stand_in and not has_display(os.environ, sys.platform):
        raise SettingsError(
            "the agent 'human' needs a display on which a person sees the browser, and there is "
            "none (DISPLAY and WAYLAND_DISPLAY are not set); without one, name a program that "
            f"takes the person's place: {STAND_IN}"
        )
    script = asset_dir("templates") / "agents" / "human_agent.py"
    passed_on = (STAND_IN, "BROWSER")
    return AgentCommand(
        command=("{python}", "-I", str(script)),
        timeout=_SECONDS,
        # A person who is to log in has to know the password; only the page of ours tells it.
        secrets=True,
        # It opens the person's own browser, which is theirs to hold.
        sandbox="off",
        env={name: os.environ[name] for name in passed_on if name in os.environ},
    )
