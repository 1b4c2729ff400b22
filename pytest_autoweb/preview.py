"""`--autoweb-preview`: the cells and what they would take; nothing is run."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from pytest_autoweb.bench import Cell
from pytest_autoweb.browser.tokens import estimate_tokens
from pytest_autoweb.errors import AutowebError
from pytest_autoweb.items import SESSION, CellItem
from pytest_autoweb.llm.price import Price, price_in_spec
from pytest_autoweb.llm.prompts import load_prompt
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.report.numbers import Cost
from pytest_autoweb.report.preview_estimate import (
    NOTHING,
    Estimate,
    PreviewRow,
    RepeatGroup,
    from_history,
    from_sizes,
    preview_lines,
)
from pytest_autoweb.report.rows import RunRows
from pytest_autoweb.report.storage import saved_rows
from pytest_autoweb.session import RunSession

PAGE_TOKENS = 2000
"""Assumed for a page as shown to a model; a list of numbered elements comes to half of it."""
PLAN_TOKENS, SCRIPT_TOKENS = 200, 300
"""Assumed for replies."""
TURNS, TURN_TOKENS = 2, 30
"""Assumed for models that act in turns (dialect `refs`)."""
PICTURE_TOKENS, DESCRIPTION_TOKENS = 1000, 250
"""Assumed for a screenshot and its description."""

ASSUMED = (
    f"Estimates from the size of the prompts take a page as {PAGE_TOKENS:,} tokens, a plan as "
    f"{PLAN_TOKENS} and a script as {SCRIPT_TOKENS}; repairs and model judges are not in them."
)
REPLAYED = "Replies come from cassettes only: nothing is paid."


class Preview:
    """Registered with `--autoweb-preview`: stands in for the run, in this process alone."""

    def __init__(self, config: pytest.Config) -> None:
        # As with --collect-only: xdist starts no workers for a session that runs nothing.
        if hasattr(config.option, "tx"):
            config.option.dist, config.option.tx, config.option.numprocesses = "no", [], None
        self._config = config
        self._lines: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Estimate instead of run; errors of collection are left to pytest."""
        broken = session.testsfailed and not session.config.option.continue_on_collection_errors
        if broken or (run := self._config.stash.get(SESSION, None)) is None:
            return None
        cells = [item.cell for item in session.items if isinstance(item, CellItem)]
        if cells:
            self._lines = [*_Forecast(run, self._is_foreign).lines(cells)]
        return True

    def _is_foreign(self, spec: ModelSpec) -> bool:
        """Whether a hook answers for the model, so that nobody can know its price."""
        return self._config.hook.pytest_autoweb_client(spec=spec) is not None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The table."""
        if self._lines:
            terminalreporter.section("autoweb preview")
            for line in self._lines:
                terminalreporter.write_line(line)


class _Forecast:
    """What is known when cells are estimated."""

    def __init__(self, run: RunSession, is_foreign: Callable[[ModelSpec], bool]) -> None:
        self._run, self._is_foreign = run, is_foreign
        self._settings = run.settings
        self._notes: list[str] = []

    def lines(self, cells: Sequence[Cell]) -> list[str]:
        storage = self._settings.rootdir / self._settings.storage
        runs = saved_rows(storage, notices=self._notes)
        specs = {cell.spec.name: cell.spec for cell in cells}
        prices = self._prices(list(specs.values()))
        first = {_axes(cell): cell for cell in reversed(cells)}
        groups = {
            axes: RepeatGroup(*axes, cells=count, checksum=first[axes].case.checksum)
            for axes, count in Counter(map(_axes, cells)).items()
        }
        rows = [
            PreviewRow(group, self._estimate(first[axes], group, runs, prices))
            for axes, group in groups.items()
        ]
        if any(row.estimate.basis == "prompts" for row in rows):
            self._notes.append(ASSUMED)
        return [*preview_lines(rows), *self._notes]

    def _estimate(
        self,
        cell: Cell,
        group: RepeatGroup,
        runs: Sequence[RunRows],
        prices: dict[str, Price | None],
    ) -> Estimate:
        if cell.spec.provider == "builtin":
            return NOTHING
        price = prices.get(cell.spec.name)
        estimate = from_history(group, runs, price)
        if estimate is None:
            estimate = from_sizes(*self._sizes(cell), price)
        if self._is_replayed(cell.spec):
            return estimate._replace(cost=Cost(usd=0.0))
        return estimate

    def _sizes(self, cell: Cell) -> tuple[int, int, int]:
        """Calls, tokens in and out of a first attempt."""
        task = estimate_tokens(cell.case.user_task_template)
        if cell.spec.dialect == "refs":
            given = _prompt_tokens("refs") + task + PAGE_TOKENS // 2
            return TURNS, TURNS * given, TURNS * TURN_TOKENS
        plan = _prompt_tokens("plan") + task
        script = _prompt_tokens("generate") + task + PLAN_TOKENS + PAGE_TOKENS
        if not (self._settings.visual_supplement and cell.spec.vision):
            return 2, plan + script, PLAN_TOKENS + SCRIPT_TOKENS
        looked = _prompt_tokens("visual") + task + PICTURE_TOKENS
        made = PLAN_TOKENS + SCRIPT_TOKENS + DESCRIPTION_TOKENS
        return 3, plan + looked + script + DESCRIPTION_TOKENS, made

    def _is_replayed(self, spec: ModelSpec) -> bool:
        settings = self._settings
        if settings.record_mode != "none" or spec.name in settings.live or self._is_foreign(spec):
            return False
        if REPLAYED not in self._notes:
            self._notes.append(REPLAYED)
        return True

    def _prices(self, specs: Sequence[ModelSpec]) -> dict[str, Price | None]:
        """What tokens cost: as the settings say, else as the gateway finds out."""
        found = {spec.name: price_in_spec(spec) for spec in specs}
        asked = [
            spec
            for spec in specs
            if found[spec.name] is None
            and not self._is_replayed(spec)
            and not self._is_foreign(spec)
        ]
        if asked:
            try:
                self._run.gateway.add(*asked)
                found |= self._run.gateway.prices([spec.name for spec in asked])
            except AutowebError as error:
                self._notes.append(f"prices are not known: {error}")
        return found


def _axes(cell: Cell) -> tuple[str, str, str, str]:
    return cell.case_path, cell.case.id, cell.spec.name, cell.mode


def _prompt_tokens(name: str) -> int:
    prompt = load_prompt(name)
    return estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
