"""Open the registries of variants to users: by entry points, and by a hook in a conftest.

Every process of a session loads the same ones before it reads its settings, so that flags and case
files may name them. They are removed when the session ends, because one process may run several
sessions, as tests of plugins do.
"""

import tomllib
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from pytest_autoweb.agents.attempt.strategy import CorrectionArm, Strategy
from pytest_autoweb.base.errors import RegistrationError
from pytest_autoweb.base.variants import Variant, Variants
from pytest_autoweb.browser.page.capture import CAPTURE_MODES, CaptureMode
from pytest_autoweb.cell.strategies import ARMS, STRATEGIES, outside_agent
from pytest_autoweb.judging.checks.check_type import CHECKS, Check, refuse_bad_type
from pytest_autoweb.report.gates.built_in_gates import GATES
from pytest_autoweb.report.gates.gate_context import Gate
from pytest_autoweb.report.panels import PANELS, Panel
from pytest_autoweb.settings.agent_command import AgentCommand

GROUP = "pytest_autoweb"
"""The group of entry points, each of which is a callable that takes the registry."""

_PYPROJECT = "pyproject.toml"
_OWN_FOLDER = str(Path(__file__).parents[1])

V = TypeVar("V", bound=Variant)


class Registry:
    """The object through which users add variants; each session has its own."""

    def __init__(self) -> None:
        self._added: list[tuple[Variants[Any], str]] = []

    def add_check(self, check_type: type[Check]) -> type[Check]:
        """Add a check type: a class derived from `pytest_autoweb.checks.Check`.

        Raises:
            TypeError: it is not a check type, or it is incomplete.
            ValueError: its name is taken, or is not a plain word.
        """
        refuse_bad_type(check_type)
        return self._add(CHECKS, check_type)

    def add_strategy(self, strategy: Strategy) -> Strategy:
        """Add a strategy: a way to drive the browser, for `--autoweb-agent` and case files."""
        return self._add(STRATEGIES, strategy)

    def add_agent(
        self, name: str, command: Sequence[str] = (), *, summary: str = "", **settings: Any
    ) -> Strategy:
        """Add an outside agent, a program or tools of others, for `--autoweb-agent` and case files.

        Args:
            name: its name; letters, digits, `_`, and `-` between them.
            command: the program with its arguments, started in the rootdir; `{python}` is the
                interpreter that runs pytest. Empty if `mcp` or `cli` is given.
            summary: one sentence for help texts.
            settings: `mcp` or `cli`, `timeout`, `max_calls`, `secrets` and `env`, as in a case
                file.

        Raises:
            ValueError: its name is taken or invalid, or a setting is invalid.
        """
        try:
            program = {"command": tuple(command)} if command else {}
            found = AgentCommand.model_validate({**settings, **program})
        except ValidationError as error:
            raise ValueError(f"agent {name!r}: {_first_problem(error)}") from None
        return self.add_strategy(outside_agent(name, summary or found.summary, lambda: found))

    def add_capture_mode(self, mode: CaptureMode) -> CaptureMode:
        """Add a capture mode: a way to show a page to a model, for `--autoweb-capture`."""
        return self._add(CAPTURE_MODES, mode)

    def add_correction_arm(self, arm: CorrectionArm) -> CorrectionArm:
        """Add a correction arm: a way to try a failed attempt again, for `--autoweb-correction`."""
        return self._add(ARMS, arm)

    def _add(self, variants: Variants[V], variant: V) -> V:
        """Add one variant to a kind and remember it, so that `undo` can forget it again."""
        variants.register(variant)
        self._added.append((variants, variant.name))
        return variant

    def add_gate(self, gate: Gate) -> Gate:
        """Add a gate, which decides on a run's exit code together with the built-in ones.

        Raises:
            ValueError: its name is not a plain word, or it is taken.
        """
        return self._add(GATES, gate)

    def add_report_panel(self, panel: Panel) -> Panel:
        """Add a panel to the report, which shows what the panel's `build` returns.

        Raises:
            ValueError: its name is not a plain word, or it is taken, or it has no `build`.
        """
        if panel.build is None:
            raise ValueError(f"the report panel {panel.name!r} needs `build`")
        return self._add(PANELS, panel)

    def undo(self) -> None:
        """Forget everything that was added through this registry."""
        while self._added:
            variants, name = self._added.pop()
            variants.remove(name)


def load_variants(hooks: Any, rootdir: Path) -> Registry:
    """Let the project's settings, installed packages and the project's conftests add variants.

    Args:
        hooks: pytest's `config.hook`.
        rootdir: the folder whose `pyproject.toml` may declare agents.

    Raises:
        RegistrationError: one of them was refused, or the code that adds them failed.
    """
    registry = Registry()
    try:
        with _naming_the_source(f"{rootdir / _PYPROJECT} [tool.autoweb.agents]"):
            for name, table in _declared_agents(rootdir / _PYPROJECT).items():
                registry.add_agent(name, **table)
        for point in entry_points(group=GROUP):
            with _naming_the_source(f"entry point {point.name} = {point.value}"):
                point.load()(registry)
        with _naming_the_source("pytest_autoweb_register"):
            # With `-p no:autoweb`, the hook is not declared.
            if (register := getattr(hooks, "pytest_autoweb_register", None)) is not None:
                register(registry=registry)
    except RegistrationError:
        registry.undo()
        raise
    return registry


def _declared_agents(path: Path) -> dict[str, dict[str, Any]]:
    """Return the agents that a project declares, by name.

    Raises:
        ValueError: an entry is not a table.
    """
    if not path.is_file():
        return {}
    section: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    for key in ("tool", "autoweb", "agents"):
        section = section.get(key, {}) if isinstance(section, dict) else {}
    for name, table in section.items():
        if not isinstance(table, dict):
            raise ValueError(f"{name}: needs command, a list such as ['node', 'agent.mjs']")
    return dict(section)


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


@contextmanager
def _naming_the_source(source: str) -> Iterator[None]:
    """Name the source in the error when a registration fails."""
    try:
        yield
    except (Exception, SystemExit) as error:
        # This is the user's code, which may fail in any way.
        kind = "" if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: "
        raise RegistrationError(f"{source}{_place(error)}: {kind}{error}") from error


def _place(error: BaseException) -> str:
    """Return the last line of the user's own code that led to the error."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not _is_of_library(Path(frame.filename))
    ]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def _is_of_library(file: Path) -> bool:
    return "pluggy" in file.parts or str(file).startswith(("<frozen", _OWN_FOLDER))
