"""What a test may have done on its own page: a task, a check, a reading.

Each is a strategy whose first stage takes the page over as it is, in place of opening one.
"""

from functools import partial

from pytest_autoweb.agents.attempt.entry import open_entry, take_over
from pytest_autoweb.agents.attempt.strategy import Strategy
from pytest_autoweb.agents.attempt.tools import NamedStage, Tools, change, fail
from pytest_autoweb.agents.codegen.script_turns import is_cut_off
from pytest_autoweb.agents.reading.read_value import PROMPT, AskedValue, read_value
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.language import StepProblem
from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.cell.strategies import COLLECT, JUDGE, STRATEGIES, strategy_of
from pytest_autoweb.judging.model_judge import PROMPT as JUDGE_PROMPT
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Attempt, Failure

TAKE_OVER = NamedStage("open", take_over)

CHECKING = Strategy(
    name="check",
    summary="a model judges a sentence",
    first=(TAKE_OVER, JUDGE),
    prompts=(JUDGE_PROMPT,),
    uses_capture=False,
)


def doing(name: StrategyName, spec: ModelSpec) -> Strategy:
    """Return the stages of an agent on a page that is open.

    Raises:
        SettingsError: the agent needs a page of its own.
    """
    strategy = strategy_of(name, spec)
    if strategy.outside is not None or strategy is COLLECT:
        able = [one.name for one in STRATEGIES.values() if not one.outside and one is not COLLECT]
        raise SettingsError(
            f"the agent {name!r} opens pages of its own, so it cannot take steps on a test's page; "
            f"name one of {', '.join(able)}"
        )
    stages = tuple(TAKE_OVER if stage.run is open_entry else stage for stage in strategy.first)
    if TAKE_OVER not in stages:
        stages = (TAKE_OVER, *stages)
    stages = (*stages[:-1], NamedStage("done", _refuse_cut_off), *stages[-1:])
    return Strategy(
        name=strategy.name,
        summary=strategy.summary,
        first=stages,
        prompts=strategy.prompts,
        uses_capture=strategy.uses_capture,
        lacks=strategy.lacks,
    )


def _refuse_cut_off(attempt: Attempt, tools: Tools) -> Attempt:
    """Fail an attempt whose turns were used up, since a step has no checks that would tell."""
    if attempt.failure or not is_cut_off(attempt):
        return attempt
    message = attempt.code_notes[-1]
    failure = Failure(kind="limit", message=message)
    return fail(change(attempt, executed=False), failure, StepProblem.quoted("(turns)", message))


def reading_of(reading: AskedValue) -> Strategy:
    """Return the stages that read a value, which is in `reading` afterwards."""
    return Strategy(
        name="read",
        summary="a model finds a value",
        first=(TAKE_OVER, NamedStage("read", partial(read_value, reading))),
        prompts=(PROMPT,),
    )
