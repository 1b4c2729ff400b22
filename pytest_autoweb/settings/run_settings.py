"""All settings of a run, read once from the flags, the environment and the ini file."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.language import Language
from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.results.records.attempt import LocatorAlgorithm
from pytest_autoweb.settings.options import (
    OPTIONS,
    QuestionPolicy,
    RecordMode,
    SandboxLevel,
    Source,
    StepFailurePolicy,
    first_value,
)

if TYPE_CHECKING:
    import pytest

    from pytest_autoweb.browser.egress.remote_browsers import BrowserAddress

MAX_RETRIES = 3
"""The number of retries of a correction when `--autoweb-max-repairs` is not set."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run, with where each came from in `sources`."""

    models: tuple[str, ...]
    models_file: Path | None
    files: tuple[str, ...]
    cases_file: Path | None
    cases: str
    base_url: str
    """The address of `--base-url`, which pytest-playwright declares."""
    capture: tuple[str, ...]
    simplified_html: bool | None
    visual_supplement: bool
    strategy: StrategyName
    agents: tuple[StrategyName, ...]
    codegen: tuple[str, ...]
    max_turns: int
    max_decisions: int
    feedback: bool
    locator: LocatorAlgorithm
    repeat: int
    concurrency: int
    """Limit on cells in flight in each process; 0 means as many as make sense."""
    cluster: str
    """The address of a Ray cluster; empty if there is none."""
    max_repairs: int
    correction: tuple[str, ...]
    cache: str
    questions: QuestionPolicy
    on_step_failure: StepFailurePolicy
    step_timeout: float
    check_timeout: float
    sandbox: SandboxLevel
    browser_sandbox: SandboxLevel
    connect: "tuple[BrowserAddress, ...]"
    judge_model: str
    judge_labels: Path | None
    failure_model: str
    controls: bool
    mutants: Path | None
    min_pass_rate: float | None
    max_cost: float | None
    allow_unpriced: bool
    save: str
    autosave: bool
    compare: str
    compare_fail: str
    baseline_days: int
    storage: Path
    store: str
    """The URL with its password, which `describe` hides."""
    preview: bool
    shard: tuple[int, int] | None
    blobs: Path
    record_mode: RecordMode
    live: tuple[str, ...]
    cassettes: Path
    traffic: str
    """`case`, or a mode for all cases: `off`, `record` or `replay`."""
    traffic_files: Path
    report: Path
    resume: str
    report_max_chars: int
    language: Language
    stdout: bool
    pause: bool
    otel: bool
    watch: bool
    local_analyze: bool
    local_model: str
    rootdir: Path
    sources: Mapping[str, Source]

    @property
    def capture_modes(self) -> tuple[str, ...]:
        """Return the capture modes, with defaults applied."""
        if self.capture:
            return self.capture
        return ("RAW_HTML",) if self.simplified_html is False else ("ARIA_SNAPSHOT",)

    @property
    def corrects(self) -> bool:
        """Tell whether the page is examined after a failure, to correct it."""
        return self.correction != ("off",)

    @property
    def answers(self) -> bool:
        """Tell whether questions are answered by cases that have answers."""
        chosen = self.sources.get("questions", "default") != "default"
        return self.questions == "answer" or not chosen

    @property
    def retries(self) -> int:
        """Return the number of attempts that may follow a failed first one."""
        if self.corrects and self.sources.get("max_repairs", "default") == "default":
            return MAX_RETRIES
        return self.max_repairs

    def describe(self) -> dict[str, dict[str, Any]]:
        """Return each setting with its value and source, as JSON values for the report."""
        shown: dict[str, dict[str, Any]] = {}
        telling = {option.name: option.shown for option in OPTIONS}
        for field in fields(self):
            if field.name in ("rootdir", "sources"):
                continue
            value = telling[field.name](getattr(self, field.name))
            plain = list(value) if isinstance(value, tuple) else value
            shown[field.name] = {
                "value": plain.as_posix() if isinstance(plain, Path) else plain,
                "source": self.sources[field.name],
            }
        return shown


def read_settings(config: "pytest.Config", environ: Mapping[str, str]) -> Settings:
    """Read all settings, each from the first place that has it.

    Raises:
        SettingsError: a value is not allowed; the message names its source, the value and the
            options.
    """
    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for option in OPTIONS:
        text, source = first_value(option, config, environ)
        try:
            values[option.name] = option.parse(text)
        except ValueError as error:
            where = {"flag": option.flag, "env": option.env, "ini": f"ini key {option.dest}"}
            raise SettingsError(f"{where.get(source, option.flag)}: {error}") from None
        sources[option.name] = source
    _check_agents(values, sources)
    values["models"] = _contestants(values["models"], values["agents"], values["codegen"])
    _check_sandbox(values["sandbox"], config, environ)
    return Settings(**values, rootdir=config.rootpath, sources=sources)


def _contestants(
    models: tuple[str, ...], agents: tuple[StrategyName, ...], ways: tuple[str, ...]
) -> tuple[str, ...]:
    """Return every model once for each agent and way of writing a script, but controls only once.

    The name identifies a contestant: `MODEL@AGENT`, `MODEL@WAY`, or both.

    Args:
        models: the names given.
        agents: fewer than two do not form an axis.
        ways: likewise; only `codegen` writes scripts.
    """
    each_way = tuple(f"@{way}" for way in ways) if len(ways) > 1 else ("",)
    endings = each_way
    if len(agents) > 1:
        endings = tuple(
            f"@{agent}{way}"
            for agent in agents
            for way in (each_way if agent == "codegen" else ("",))
        )
    return tuple(
        name
        for model in models
        for name in ([model] if model.startswith("builtin/") else [model + e for e in endings])
    )


def _check_agents(values: dict[str, Any], sources: Mapping[str, Source]) -> None:
    """Take a single agent for the strategy; the setting from the nearer source wins."""
    nearness = ("flag", "env", "ini", "default").index
    if not values["agents"]:
        return
    if sources["agents"] == sources["strategy"]:
        raise SettingsError(
            "--autoweb-agents and --autoweb-strategy both name who drives the browser; set one "
            f"(both come from: {sources['agents']})"
        )
    if nearness(sources["strategy"]) < nearness(sources["agents"]):
        values["agents"] = ()
    if len(values["agents"]) == 1:
        (values["strategy"],) = values["agents"]


def _check_sandbox(level: str, config: "pytest.Config", environ: Mapping[str, str]) -> None:
    """Let only a person at the command line, not the tested repository, turn off the sandbox."""
    flag = next(option.flag for option in OPTIONS if option.name == "sandbox")
    if level != "off" or hasattr(config, "workerinput"):
        return
    if environ.get("CI", "").lower() not in ("", "0", "false"):
        raise SettingsError(f"{flag}=off is refused in CI (the environment sets CI)")
    # `addopts` reaches pytest's options, but not the arguments of the invocation.
    if not any(str(arg).startswith(flag) for arg in config.invocation_params.args):
        raise SettingsError(
            f"{flag}=off may only be given on the command line, not in an ini file, addopts or "
            "the environment"
        )
