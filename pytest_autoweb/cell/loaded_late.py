"""What many sessions do not use, loaded where a cell first comes to it: stages of agents, mostly.

All of them together take a fifth of the time in which the modules that run cells are loaded.
"""

# Late imports: what only these need.

from typing import TYPE_CHECKING, Any

from pytest_autoweb.agents.attempt.tools import Tools
from pytest_autoweb.agents.outside.adapters import Settings
from pytest_autoweb.base.variant_names import Perturbation
from pytest_autoweb.results.records import Attempt

if TYPE_CHECKING:
    from pytest_autoweb.browser.page.perturbations import PageChange


def act(attempt: Attempt, tools: Tools) -> Attempt:
    """Act on the page, one decision after the other."""
    from pytest_autoweb.agents.act.loop import act_on_page

    return act_on_page(attempt, tools)


def act_at_random(attempt: Attempt, tools: Tools) -> Attempt:
    """Act on elements that are drawn by lot."""
    from pytest_autoweb.agents.chance.random_actions import act_at_random

    return act_at_random(attempt, tools)


def collect(attempt: Attempt, tools: Tools) -> Attempt:
    """Collect the addresses behind a list."""
    from pytest_autoweb.agents.collect.collect_list import collect_list

    return collect_list(attempt, tools)


def call_site_tools(attempt: Attempt, tools: Tools) -> Attempt:
    """Call the tools that the page offers, by turns."""
    from pytest_autoweb.agents.webmcp.tool_turns import call_by_turns

    return call_by_turns(attempt, tools)


def write_by_turns(attempt: Attempt, tools: Tools) -> Attempt:
    """Write code for each page as it is reached."""
    from pytest_autoweb.agents.codegen.script_turns import write_by_turns

    return write_by_turns(attempt, tools)


def write_lines_by_turns(attempt: Attempt, tools: Tools) -> Attempt:
    """Write lines on a numbered list of elements, by turns."""
    from pytest_autoweb.agents.codegen.refs_turns import write_lines_by_turns

    return write_lines_by_turns(attempt, tools)


def repair_script(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for a refined script for the same plan."""
    from pytest_autoweb.agents.codegen.repair import repair_script

    return repair_script(attempt, tools)


def write_again(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask with the first attempt's prompt, for the control arm."""
    from pytest_autoweb.agents.codegen.repair import write_again

    return write_again(attempt, tools)


def write_constrained(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for a script that names only elements that were found and repeats no failed call."""
    from pytest_autoweb.agents.codegen.repair import write_constrained

    return write_constrained(attempt, tools)


def reflect(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for a reflection on the failure."""
    from pytest_autoweb.agents.codegen.reflect import reflect

    return reflect(attempt, tools)


def take_turns(attempt: Attempt, tools: Tools) -> Attempt:
    """Write a few lines at a time on a numbered list of elements."""
    from pytest_autoweb.agents.codegen.refs_turns import take_turns

    return take_turns(attempt, tools)


def run_outside_agent(given: Settings, attempt: Attempt, tools: Tools) -> Attempt:
    """Let an outside agent work; `given` returns its settings."""
    from pytest_autoweb.agents.outside.outside_agent import run_outside_agent

    return run_outside_agent(given, attempt, tools)


def judge_what_is_left(attempt: Attempt, tools: Tools) -> Attempt:
    """Evaluate the checks on what an outside agent left."""
    from pytest_autoweb.agents.outside.outside_agent import judge_what_is_left

    return judge_what_is_left(attempt, tools)


def collect_urls(tools: Tools, description: str = "", **options: Any) -> list[str]:
    """Collect the addresses behind a list, for the step language."""
    from pytest_autoweb.agents.collect.collect_list import collect_urls

    return collect_urls(tools, description, **options)


def page_change(change: Perturbation, case_id: str, **options: Any) -> "PageChange":
    """Return a change of an attempt's pages."""
    from pytest_autoweb.browser.page.perturbations import PageChange

    return PageChange(change, case_id, **options)
