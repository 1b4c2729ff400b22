"""Every flag, ini key and environment variable, declared once; `settings.py` reads them all."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from pytest_autoweb.base.errors import SettingsError, listed, nearest
from pytest_autoweb.base.language import Language
from pytest_autoweb.base.values.normal_forms import without_password
from pytest_autoweb.base.variant_names import ARM_NAMES, CAPTURE_MODE_NAMES, known_strategy

# Late imports: every start reads the flags, and few need a registry or pydantic.

if TYPE_CHECKING:
    import pytest

    from pytest_autoweb.browser.egress.remote_browsers import BrowserAddress


def comma_list(text: str) -> tuple[str, ...]:
    """Split a text at its commas, and drop repetitions."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def words(text: str) -> tuple[str, ...]:
    """Split a text at its spaces."""
    return tuple(text.split())


def captures(text: str) -> tuple[str, ...]:
    """Return the named capture modes, given in upper or lower case."""
    spelled = {name.lower(): name for name in CAPTURE_MODE_NAMES}
    given = (spelled.get(word.lower(), word) for word in comma_list(text))
    return tuple(dict.fromkeys(CAPTURE_MODE_NAMES.pick(name).name for name in given))


def arms(text: str) -> tuple[str, ...]:
    """Return the named correction arms; the first one decides."""
    given = tuple(ARM_NAMES.pick(name).name for name in comma_list(text))
    if not given:
        raise ValueError(f"names nothing; allowed: {listed(ARM_NAMES)}")
    return given


def flag(text: str) -> bool:
    """Read a yes or no."""
    truth = {"true": True, "1": True, "yes": True, "on": True}
    falsehood = {"false": False, "0": False, "no": False, "off": False}
    try:
        return (truth | falsehood)[text.strip().lower()]
    except KeyError:
        raise ValueError(f"{text!r} is neither yes nor no; allowed: true, false") from None


def count(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers that are at least `least`."""

    def parse(text: str) -> int:
        if not text.strip().isdecimal() or int(text) < least:
            raise ValueError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return parse


def in_flight(text: str) -> int:
    """Read how many cells may be in flight; 0 stands for `auto`."""
    return 0 if text == "auto" else count(1)(text)


def seconds(text: str) -> float:
    """Read a number of seconds, above 0 and below a day."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 86_400:
        raise ValueError(f"{text!r} is not a number of seconds above 0")
    return value


def one_of(*allowed: str) -> Callable[[str], str]:
    """Return a reader that accepts exactly these words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not allowed; allowed: {', '.join(allowed)}")
        return text

    return parse


def codegen_ways(text: str) -> tuple[str, ...]:
    """Read the ways of writing a script; with several, each model runs once in each."""
    ways = comma_list(text)
    for way in ways:
        one_of("auto", "turns", "once")(way)
    if len(ways) != 1 and set(ways) != {"turns", "once"}:
        raise ValueError(f"{text!r} is not allowed; allowed: auto, turns, once, or turns,once")
    return ways


def agents(text: str) -> tuple[str, ...]:
    """Read the named agents; with several, each model runs once with each."""
    return tuple(known_strategy(name) for name in comma_list(text))


def locator(text: str) -> str:
    """Return the name of an algorithm that finds elements by sight."""
    # Late, because the module imports pydantic.
    from pytest_autoweb.results.records.attempt import LocatorAlgorithm

    return one_of(*get_args(LocatorAlgorithm))(text)


def endpoints(text: str) -> "tuple[BrowserAddress, ...]":
    """Read the addresses of remote browsers."""
    # Late, because the module imports Playwright, which sessions without models must not pay for.
    if not text.strip():
        return ()
    from pytest_autoweb.browser.egress.remote_browsers import parse_endpoints

    return parse_endpoints(text)


def cache(text: str) -> str:
    """Read `memory`, `off`, or the URL of a cache."""
    if text not in ("memory", "off") and "://" not in text:
        raise ValueError(
            f"{text!r} is not a cache; allowed: memory, off, redis://..., URL of a store"
        )
    return text


def cluster(text: str) -> str:
    """Read the address of a Ray cluster; an empty text means none."""
    host, _, port = text.removeprefix("ray://").rpartition(":")
    if text not in ("", "auto") and not (host and port.isdecimal()):
        raise ValueError(
            f"{text!r} is not a cluster; allowed: auto (the one that this machine belongs to, or "
            "that RAY_ADDRESS names), ray://HOST:10001, HOST:6379"
        )
    return text


def path(text: str) -> Path | None:
    """Read a path; an empty text means None."""
    return Path(text) if text else None


def or_none(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a reader that reads an empty text as None."""
    return lambda text: parse(text) if text else None


def percent(text: str) -> float:
    """Read a percentage from 0 to 100, with or without its sign; 1 and less need the sign."""
    number = text.strip()
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ValueError(f"{text!r} is not a percentage from 0 to 100")
    if not number.endswith("%") and (problem := share_problem(value)):
        raise ValueError(problem)
    return value


def share_problem(value: float) -> str:
    """Return what to write in place of a number without a sign that may be a share of 1."""
    if not 0 < value <= 1:
        return ""
    return f"{value:g} can be read as a share or as percent; write {value * 100:g}% or {value:g}%"


def dollars(text: str) -> float:
    """Read an amount of US dollars, with or without its sign."""
    try:
        value = float(text.removeprefix("$"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise ValueError(f"{text!r} is not an amount of US dollars")
    return value


def shard(text: str) -> tuple[int, int]:
    """Read the number and count of a shard, such as 1/4."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise ValueError(f"{text!r} is not a shard; write it as 1/4 ... 4/4")
    return int(number), int(of)


RecordMode = Literal["off", "none", "once", "new_episodes", "all"]
QuestionPolicy = Literal["record", "strict", "answer"]
StepFailurePolicy = Literal["block", "continue"]
SandboxLevel = Literal["auto", "strict", "off"]
Source = Literal["flag", "env", "ini", "default"]

DEFAULT_STORE = "sqlite:///.autoweb/store.db"
LATEST = "latest"
"""The value of flags that name a run, if given without one."""


class Option(NamedTuple):
    """One setting, with its name, its default, its meaning and its reader."""

    name: str
    default: str
    help: str
    parse: Callable[[str], Any]
    metavar: str | None = None
    bare: str | None = None
    """The value of the flag when it is given without one; None if it needs one."""
    shown: Callable[[Any], Any] = lambda value: value
    """Turns the value into a form that the report may show."""
    repeatable: bool = False
    """Whether the flag may be given several times, like one list with commas."""
    prefix: str = "autoweb"
    """The word before its name; empty for a flag that pytest-playwright declares."""

    @property
    def flag(self) -> str:
        """Return its command-line flag."""
        return "--" + self.dest.replace("_", "-")

    @property
    def dest(self) -> str:
        """Return its attribute on pytest's options, and its ini key."""
        return "_".join(filter(None, (self.prefix, self.name)))

    @property
    def env(self) -> str:
        """Return its environment variable."""
        return "_".join((self.prefix or "pytest", self.name)).upper()


OPTIONS: tuple[Option, ...] = (
    Option("models", "", "Models to compare, separated by commas. Turns the plugin on.",
           comma_list, "A,B"),
    Option("models_file", "", "YAML or JSON file with settings per model, which take precedence "
           "over those of [tool.autoweb.models] in pyproject.toml.", path, "PATH"),
    Option("files", "cases/*.yaml cases/*.yml cases/**/*.yaml cases/**/*.yml", "Patterns (relative "
           "to the rootdir) of the files that are read as cases. A file named on the command line "
           "is always read, and so are files with cases in a folder that is named there.\n"
           "Checks in them: {check_types}", words, "GLOBS"),
    Option("cases_file", "", "A case file (YAML or JSON) to run, wherever it is.", path, "PATH"),
    Option("cases", "", "Cases given inline: 'url|||task;;url|||task'.", str, "TEXT"),
    Option("base_url", "", "The site under test, against which an entry URL such as /login is "
           "resolved; expressions in case files name it base_url.", str, "URL", prefix=""),
    Option("capture", "", "How pages are shown to models; several modes become an axis of the "
           "comparison. The default is ARIA_SNAPSHOT. {capture_modes}.", captures, "MODES"),
    Option("simplified_html", "", "Used only without a capture mode: true means "
           "ARIA_SNAPSHOT, as without this flag; false means RAW_HTML.",
           lambda text: flag(text) if text else None, "BOOL"),
    Option("visual_supplement", "false", "Add a description of a screenshot to the prompt, for "
           "models that have vision (one more call per page).", flag, "BOOL", bare="true"),
    Option("strategy", "codegen", "How models drive the browser in cases that name no strategy: "
           "{strategies}.", known_strategy, "NAME"),
    Option("agents", "", "Agents to compare: several make each model run once with each of them, "
           "whatever a case says, as MODEL@AGENT. One alone is what --autoweb-strategy names. The "
           "built-in agents are the strategies; others are programs of their own.", agents,
           "A,B"),
    Option("codegen", "auto", "How the strategy codegen writes a script: by turns (see a page, "
           "write code for it, run it, look again), once (a plan, then the whole script), or auto: "
           "once for models that are small by their name, else turns. turns,once compares both "
           "for every model.", codegen_ways, "WAYS"),
    Option("max_turns", "12", "The most turns that one attempt of codegen by turns may take; the "
           "model is told.", count(1), "N"),
    Option("max_decisions", "30", "The most decisions that one attempt of the strategy act may "
           "take.", count(1), "N"),
    Option("feedback", "true", "Tell a model that acts by sight what was wrong with its last "
           "choice; false is the control arm that asks again without the message.", flag, "BOOL",
           bare="true"),
    Option("locator", "bayes", "How elements are found by sight (`get_by_sight`): bayes weighs the "
           "answers of a model with vision, seed eliminates by them.", locator, "NAME"),
    Option("repeat", "1", "Run each cell N times; needed for intervals over repeats.", count(1),
           "N"),
    Option("concurrency", "1", "The most cells in flight in each process: a number, or auto for as "
           "many as memory and the limits of the models allow, at most 16. A cell that needs what "
           "cannot be shared runs alone; the end of the output says how many did, and why.",
           in_flight, "N|auto", shown=lambda value: value or "auto"),
    Option("cluster", "", "Run the cells on the nodes of a Ray cluster: auto for the one that this "
           "machine belongs to, or ray://HOST:10001. As many workers as have room, or -n. Needs "
           "the extra `cluster`, here and on the nodes.", cluster, "auto|ray://…", bare="auto"),
    Option("max_repairs", "1", "The most attempts after a failed first one; 3 if a correction is "
           "named and this is not set.", count(0), "N"),
    Option("correction", "off", "How a failed attempt is tried again. If several ways are named, "
           "the first one decides; the others start from the same failure and are compared with "
           "it: {correction_arms}.", arms, "ARMS"),
    Option("cache", "memory", "Where readings of an unchanged page are kept for 300 s: memory, "
           "off, or the URL of a Redis or a store, which also keeps identical model calls at "
           "temperature 0.", cache, "PLACE", shown=without_password),
    Option("questions", "record", "What to do with a model's question: record it and go on, "
           "strict (stop), or answer from the case's `answers` (stop where none fits). Unless this "
           "is set, the `answers` of a case are given, and other questions recorded.",
           one_of(*get_args(QuestionPolicy)),
           "POLICY"),
    Option("on_step_failure", "block", "What to do after a failed step: block the later ones, or "
           "continue.", one_of(*get_args(StepFailurePolicy)), "POLICY"),
    Option("step_timeout", "20", "Wall-clock seconds for a step; a step that runs out of time is "
           "continued once with max(60, 3 times this).", seconds, "SECONDS"),
    Option("check_timeout", "5", "Seconds for which the judge waits for the checks to hold.",
           seconds, "SECONDS"),
    Option("sandbox", "auto", "How generated code is confined: auto uses Landlock and seccomp "
           "where the kernel has them; strict does not run without them and refuses scripts in "
           "the page; off leaves them out (only on the command line, never in CI).",
           one_of(*get_args(SandboxLevel)), "LEVEL"),
    Option("browser_sandbox", "auto", "Chromium's own sandbox: auto turns it on where the machine "
           "allows it (not as root); strict runs no cell without it; off leaves it out.",
           one_of(*get_args(SandboxLevel)), "LEVEL"),
    Option("connect", "", "Use browsers that run elsewhere, in place of one on this machine: "
           "addresses of servers of Playwright (ws://HOST:PORT/) or of Chromium's debugging port "
           "(http://HOST:PORT), separated by commas or given by several flags. Each worker takes "
           "one, and another if that is lost.", endpoints, "URLS",
           shown=lambda value: [str(one) for one in value], repeatable=True),
    Option("judge_model", "", "The model for `judge` checks that name none; it must not be one of "
           "the models compared.", str, "NAME"),
    Option("judge_labels", "", "File with human verdicts on saved cells. Only with this file can "
           "a `judge` check decide; the judge's agreement with people is printed.", path, "PATH"),
    Option("failure_model", "", "A model that is asked for the type of a failure where no rule "
           "speaks clearly, after the cell has ended; its answer is marked and changes no "
           "outcome.", str, "NAME"),
    Option("controls", "false", "Also run the controls of every case, three times each from a "
           "fresh start: the oracle must pass and doing nothing must fail. A case with a broken "
           "control is left out of comparisons.", flag, "BOOL", bare="true"),
    Option("mutants", "", "Instead of models, run what this file changes in the oracle of each "
           "case, which then must fail; `autoweb prove` writes the file and reads the results.",
           path, "PATH"),
    Option("min_pass_rate", "", "Gate: the least first-attempt pass rate of each model, in "
           "percent. The gate then decides: a failed cell alone does not fail the run.",
           or_none(percent), "PERCENT"),
    Option("max_cost", "", "The most US dollars that live model calls of the whole run may cost, "
           "over all workers; a call that might exceed it is not made.", or_none(dollars), "USD"),
    Option("allow_unpriced", "false", "With a cost cap, let models without a known price run; "
           "their calls are not counted.", flag, "BOOL", bare="true"),
    Option("save", "", "Save the run's results under this name in the storage folder, to compare "
           "later runs with them.", str, "NAME"),
    Option("autosave", "false", "Save the run's results in the storage folder.", flag, "BOOL",
           bare="true"),
    Option("compare", "", "Compare with a saved run, given by its number or name, or as a file or "
           "a run folder; without a value, with the latest run.", str, "RUN", bare=LATEST),
    Option("compare_fail", "", "Gates on the comparison (with the latest run, if no other is "
           "named): how much worse each metric may get, as in "
           "'pass_rate:5%,cost:20%,duration:50%'. Only a change that a test finds significant "
           "fails the run.", str, "EXPR"),
    Option("baseline_days", "90", "The age in days above which a baseline is used only with a "
           "notice.", count(1), "DAYS"),
    Option("storage", ".autoweb", "Folder of saved runs, relative to the rootdir.", Path, "DIR"),
    Option("store", "", "Also write the run into this database when it ends: sqlite:///PATH or "
           "postgresql://USER:PASSWORD@HOST/DATABASE. Without a value: "
           "sqlite:///.autoweb/store.db below the rootdir.", str, "URL", bare=DEFAULT_STORE,
           shown=without_password),
    Option("preview", "false", "Only list the cells, with an estimate of calls, tokens and money.",
           flag, "BOOL", bare="true"),
    Option("shard", "", "Run only this part of the cells, e.g. 2/4, and pack it for `autoweb "
           "merge-reports`.", or_none(shard), "X/Y"),
    Option("blobs", "autoweb-blobs", "Folder of the packed reports of shards.", Path, "DIR"),
    Option("record_mode", "off", "How cassettes are used: off (live, nothing recorded), none "
           "(replay only), once, new_episodes or all (record everything anew).",
           one_of(*get_args(RecordMode)), "MODE"),
    Option("live", "", "Models that are called live, whatever the record mode says.", comma_list,
           "A,B"),
    Option("cassettes", "cases/cassettes", "Folder of the cassettes, relative to the rootdir.",
           Path, "DIR"),
    Option("traffic", "case", "What becomes of the traffic with live sites: off, record (kept, "
           "without secrets), extend (kept beside what was kept before), replay (answered from "
           "what was kept, offline), or case: what each case says in its field `traffic`.",
           one_of("case", "off", "record", "extend", "replay"), "MODE"),
    Option("traffic_files", "cases/traffic", "Folder of recorded traffic, relative to the rootdir.",
           Path, "DIR"),
    Option("report", "autoweb-report", "Folder of the run, with report, results and screenshots. "
           "An older run found there is moved aside, never erased.", Path, "DIR"),
    Option("resume", "", "Go on with a run that ended early, in this folder; without a value, with "
           "the one in the folder of --autoweb-report. Cells that have a verdict are kept if what "
           "they rest on has not changed; those that are missing, broken or skipped are run.", str,
           "RUN", bare=LATEST),
    Option("report_max_chars", "8000000", "The largest report.json, in characters; the longest "
           "fields are shortened with a marker.", count(10_000), "N"),
    Option("language", "en", "Language of error lines in the report and the terminal: en, or zh "
           "for the Chinese form with the English words beside it. Prompts do not change.",
           one_of(*get_args(Language)), "LANGUAGE"),
    Option("stdout", "false", "Stream the run log to the terminal.", flag, "BOOL", bare="true"),
    Option("pause", "false", "After an attempt that failed, leave the browser as it is until Enter "
           "is pressed. Shows most with --headed.", flag, "BOOL", bare="true"),
    Option("otel", "false", "When the run has ended, send it as spans of OpenTelemetry (session, "
           "cells, attempts, stages, model calls) to the collector that the variables "
           "OTEL_EXPORTER_OTLP_… name. Needs the extra `otel`.", flag, "BOOL", bare="true"),
    Option("watch", "false", "Run again what a changed file touches, until Ctrl-C: the cells of a "
           "case file, or everything after a change of Python code, prompts or settings. Needs the "
           "extra `watch`.", flag, "BOOL", bare="true"),
    Option("local_analyze", "false", "After the run, ask a local model (Ollama) what went wrong "
           "and put its answer into the report.", flag, "BOOL", bare="true"),
    Option("local_model", "qwen3:8b", "The model of the local analysis; a bare name means "
           "Ollama.", str, "NAME"),
)  # fmt: skip


OF_OUTCOMES = (
    *("capture", "strategy", "codegen", "max_repairs", "visual_supplement", "max_turns"),
    *("max_decisions", "feedback", "locator", "correction", "questions", "on_step_failure"),
    *("step_timeout", "check_timeout", "judge_model"),
)
"""The settings that may change how a cell ends, except for those that could weaken a wall or lead
to other files."""


def add_options(parser: "pytest.Parser") -> None:
    """Declare every flag and ini key."""
    group = parser.getgroup("autoweb", "autoweb: which model can drive my web app?")
    for option in OPTIONS:
        if not option.prefix:
            continue
        extra: dict[str, Any] = {"nargs": "?", "const": option.bare} if option.bare else {}
        if option.repeatable:
            extra = {"action": "append"}
        default = f" Default: {option.default}." if option.default else ""
        group.addoption(
            option.flag,
            dest=option.dest,
            default=None,
            metavar=option.metavar,
            # argparse reads a percent sign as a placeholder.
            help=f"{option.help}{default} [ini: {option.dest}, env: {option.env}]".replace(
                "%", "%%"
            ),
            **extra,
        )
        parser.addini(option.dest, option.help, default=None)


def refuse_unknown_flags(parser: "pytest.Parser", args: Sequence[str]) -> None:
    """Refuse flags that look like ours and are not, with the nearest one.

    Raises:
        pytest.UsageError: a flag is unknown.
    """
    import pytest

    _, unknown = parser.parse_known_and_unknown_args(args)
    for argument in unknown:
        name = argument.partition("=")[0]
        if not name.startswith("--auto"):
            continue
        meant = nearest(name, [option.flag for option in OPTIONS])
        guess = f"did you mean {meant}?" if meant else "`pytest --help` lists them all"
        raise pytest.UsageError(f"unknown flag {name}; {guess}")


_NEED_MODELS = ("cases_file", "cases", "cluster", "controls", "preview", "resume", "shard")
_GATES = ("min_pass_rate", "max_cost", "compare_fail")


def first_value(
    option: Option, config: "pytest.Config", environ: Mapping[str, str]
) -> tuple[str, Source]:
    """Return the text of an option from the first place that has it, and the place."""
    flag = config.getoption(option.dest, default=None)
    if flag is not None:
        return ",".join(flag) if isinstance(flag, list) else str(flag), "flag"
    if option.env in environ:
        return environ[option.env], "env"
    try:
        ini = config.getini(option.dest)
    except ValueError:
        # A flag of a plugin that this session does without.
        ini = None
    if ini not in (None, "", []):
        return str(ini), "ini"
    return option.default, "default"


def report_folder(config: "pytest.Config", environ: Mapping[str, str]) -> Path:
    """Return the folder of the run, without reading the other settings."""
    resumed = _text_of("resume", config, environ)
    if resumed and resumed != LATEST:
        return config.rootpath / resumed
    return named_folder(config, environ, "report")


def is_resuming(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    """Tell whether the session resumes an earlier run."""
    return bool(_text_of("resume", config, environ))


def named_folder(config: "pytest.Config", environ: Mapping[str, str], name: str) -> Path:
    """Return the folder that one setting names, without reading the others."""
    return config.rootpath / _text_of(name, config, environ)


def _text_of(name: str, config: "pytest.Config", environ: Mapping[str, str]) -> str:
    option = next(option for option in OPTIONS if option.name == name)
    return first_value(option, config, environ)[0]


def missing_models(config: "pytest.Config", environ: Mapping[str, str]) -> str:
    """Return the setting that requires models in a session that names none; empty if none does.

    Gates count only if the models are explicitly empty, as in `--autoweb-models=$UNSET`: without
    the flag they may be meant for tests that use the `autoweb` fixture.
    """
    empty = names_models(config, environ)
    asking = (*_NEED_MODELS, *_GATES) if empty else _NEED_MODELS
    # Every session without models gets here, so only the relevant settings are read.
    for option in (option for option in OPTIONS if option.name in asking):
        _, source = first_value(option, config, environ)
        if source == "flag" or (empty and source != "default"):
            return option.flag
    return ""


def is_watching(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    """Tell whether this process is to watch files; other settings are not read.

    Raises:
        SettingsError: the value is neither yes nor no.
    """
    option = next(option for option in OPTIONS if option.name == "watch")
    text, _ = first_value(option, config, environ)
    try:
        return flag(text)
    except ValueError as error:
        raise SettingsError(f"{option.flag}: {error}") from None


def typed_gate(config: "pytest.Config") -> str:
    """Return a gate that the command line itself names, or an empty text.

    Those of `addopts` do not count: they also reach sessions that only run other tests.
    """
    typed = {str(argument).partition("=")[0] for argument in config.invocation_params.args}
    return next((o.flag for o in OPTIONS if o.name in _GATES and o.flag in typed), "")


def names_models(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    """Tell whether the command line or the environment sets the models, even to nothing."""
    return config.getoption(OPTIONS[0].dest) is not None or OPTIONS[0].env in environ


def is_on(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    """Tell whether models are named, so that case files become cells."""
    return bool(first_value(OPTIONS[0], config, environ)[0].strip())
