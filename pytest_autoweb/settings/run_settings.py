"""All settings of a run, each declared once, and read from the first place that has it.

A setting has a flag, an environment variable and an ini key, and they are asked in this order.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Never,
    NoReturn,
    TypeVar,
    get_args,
    overload,
)

from pytest_autoweb.base.errors import SettingsError, listed
from pytest_autoweb.base.language import Language
from pytest_autoweb.base.values.flag_texts import (
    cache_place,
    cluster_address,
    comma_list,
    count,
    dollars,
    flag,
    in_flight,
    least_rate,
    one_of,
    or_none,
    path,
    seconds,
    shard_number,
    until,
    words,
)
from pytest_autoweb.base.values.normal_forms import without_password
from pytest_autoweb.base.variant_names import (
    ARM_NAMES,
    CAPTURE_MODE_NAMES,
    PERTURBATIONS,
    UNFENCED,
    AttackName,
    Perturbation,
    known_agent,
    known_strategy,
)
from pytest_autoweb.settings.merged_settings import DEFAULT_STORE, check_agents, spread
from pytest_autoweb.settings.record_modes import RecordMode

# Late imports: every start reads the flags, and few need a browser's module or pydantic.

if TYPE_CHECKING:
    import pytest

    from pytest_autoweb.browser.egress.remote_browsers import BrowserAddress
    from pytest_autoweb.results.records.attempt import LocatorAlgorithm

T = TypeVar("T")

QuestionPolicy = Literal["record", "strict", "answer"]
StepFailurePolicy = Literal["block", "continue"]
SandboxLevel = Literal["auto", "strict", "off"]
Source = Literal["flag", "env", "ini", "default"]

LATEST = "latest"
"""The value of flags that name a run, if given without one."""
UNNAMED = "true"
"""The value of `--autoweb-save`, if given without one."""
MAX_RETRIES = 3
"""The number of retries of a correction when `--autoweb-max-repairs` is not set."""


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


def attack_names(text: str) -> tuple[AttackName, ...]:
    """Read the named attacks; several take turns over cases and repeats."""
    names: list[AttackName] = [one_of(*get_args(AttackName))(name) for name in comma_list(text)]
    return tuple(dict.fromkeys(names))


def fence_arms(text: str) -> tuple[str, ...]:
    """Read whether text of pages is fenced in prompts; with both, each model runs once in each."""
    arms = tuple(one_of("on", "off")(word) for word in comma_list(text))
    if not arms:
        raise ValueError("names nothing; allowed: on, off, or on,off")
    return tuple(dict.fromkeys(arms))


def codegen_ways(text: str) -> tuple[str, ...]:
    """Read the ways of writing a script; with several, each model runs once in each."""
    ways = comma_list(text)
    for way in ways:
        one_of("auto", "turns", "once")(way)
    if len(ways) != 1 and set(ways) != {"turns", "once"}:
        raise ValueError(f"{text!r} is not allowed; allowed: auto, turns, once, or turns,once")
    return ways


def perturbations(text: str) -> tuple[Perturbation, ...]:
    """Read the changes under which each model runs once more; `none` is always run."""
    return tuple(one_of(*PERTURBATIONS)(name) for name in comma_list(text) if name != "none")


def agent_names(text: str) -> tuple[str, ...]:
    """Read the named agents; with several, each model runs once with each."""
    return tuple(known_agent(name) for name in comma_list(text))


_RECORD_WORDS: dict[str, RecordMode] = {
    "off": "off",
    "record": "all",
    "replay": "none",
    "extend": "new_episodes",
}
"""What is written for a mode of cassettes, beside the words of earlier versions."""


def record_mode(text: str) -> RecordMode:
    """Read what becomes of replies, in the words that recorded traffic has too."""
    if text in get_args(RecordMode):
        mode: RecordMode = one_of(*get_args(RecordMode))(text)
        return mode
    return _RECORD_WORDS[one_of(*_RECORD_WORDS)(text)]


def name_to_save(text: str) -> str:
    """Read the name under which a run is saved: UNNAMED for none, "" if it is not saved."""
    try:
        return UNNAMED if flag(text) else ""
    except ValueError:
        return text


def locator_name(text: str) -> "LocatorAlgorithm":
    # Late, because the module imports pydantic.
    from pytest_autoweb.results.records.attempt import LocatorAlgorithm

    found: LocatorAlgorithm = one_of(*get_args(LocatorAlgorithm))(text)
    return found


def endpoints(text: str) -> "tuple[BrowserAddress, ...]":
    """Read the addresses of remote browsers."""
    # Late, because the module imports Playwright, which sessions without models must not pay for.
    if not text.strip():
        return ()
    from pytest_autoweb.browser.egress.remote_browsers import parse_endpoints

    return parse_endpoints(text)


class Option(Generic[T]):
    """One setting: its default, its meaning and its reader, which gives the setting its type.

    `Settings.repeat` is the option, and `settings.repeat` its value in a run.

    Args:
        default: the text that stands for it where no place has it.
        help: what it means, for `--help`.
        parse: reads its text; raises a `ValueError` that says what is allowed.
        metavar: what stands for its value in `--help`.
        bare: the value of the flag when it is given without one; None if it needs one.
        shown: turns the value into a form that the report may show.
        repeatable: whether the flag may be given several times, like one list with commas.
        prefix: the word before its name; empty for a flag that pytest-playwright declares.
        everyday: whether `pytest --help` lists it; `autoweb debug settings` lists every one.
        former: its name in earlier versions, which is still read.
        instead: the setting that has taken its place; it is still read, and says so.
        advice: what to write there.
        recorded: its name in `run.json` and `report.json`, if that is another one.
        merging: whether it only sets others, and is recorded where it was given.
    """

    name: str

    def __init__(
        self,
        default: str,
        help: str,
        parse: Callable[[str], T],
        metavar: str | None = None,
        *,
        bare: str | None = None,
        shown: Callable[[Any], Any] = lambda value: value,
        repeatable: bool = False,
        prefix: str = "autoweb",
        everyday: bool = False,
        former: str = "",
        instead: str = "",
        advice: str = "",
        recorded: str = "",
        merging: bool = False,
    ) -> None:
        self.default, self.help, self.parse, self.metavar = default, help, parse, metavar
        self.bare, self.shown, self.repeatable, self.prefix = bare, shown, repeatable, prefix
        self.everyday, self.former, self.instead, self.advice = everyday, former, instead, advice
        self.recorded, self.merging = recorded, merging

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.recorded = self.recorded or name

    @overload
    def __get__(self, settings: None, owner: type) -> "Option[T]": ...
    @overload
    def __get__(self, settings: "Settings", owner: type) -> T: ...
    def __get__(self, settings: "Settings | None", owner: type) -> "Option[T] | T":
        return self if settings is None else settings.value_of(self)

    def __set__(self, settings: "Settings", value: Never) -> NoReturn:
        raise AttributeError(f"the setting {self.name} cannot be changed during a run")

    @property
    def flag(self) -> str:
        return self.names[0].flag

    @property
    def usage(self) -> str:
        """Return the flag with its value, in brackets where it may be given without one."""
        value = f"={self.metavar}" if self.metavar else ""
        return f"{self.flag}[{value}]" if value and self.bare is not None else self.flag + value

    @property
    def dest(self) -> str:
        """Return its attribute on pytest's options, and its ini key."""
        return self.names[0].dest

    @property
    def env(self) -> str:
        return self.names[0].env

    @property
    def names(self) -> "tuple[OptionName, ...]":
        """Return how it is written, and after that how it was in earlier versions."""
        return tuple(OptionName(self.prefix, name) for name in (self.name, self.former) if name)


class OptionName(NamedTuple):
    """How a setting is written."""

    prefix: str
    name: str

    @property
    def flag(self) -> str:
        return "--" + self.dest.replace("_", "-")

    @property
    def dest(self) -> str:
        return "_".join(filter(None, self))

    @property
    def env(self) -> str:
        return "_".join((self.prefix or "pytest", self.name)).upper()

    def at(self, source: Source) -> str:
        """Return how it is called in the place that has its value."""
        return {"env": self.env, "ini": f"ini key {self.dest}"}.get(source, self.flag)


class Settings:
    """All settings of a run; frozen.

    Args:
        values: the value of every option, by its name.
        rootdir: pytest's.
        sources: for each option, the place that had its value.
    """

    # fmt: off
    models = Option(
        "", "Models to compare, separated by commas. Turns the plugin on.", comma_list, "A,B",
        everyday=True)
    models_file = Option(
        "", "YAML or JSON file with settings per model, which take precedence over those of "
        "[tool.autoweb.models] in pyproject.toml.", path, "PATH", everyday=True)
    files = Option(
        "cases/*.yaml cases/*.yml cases/**/*.yaml cases/**/*.yml", "Patterns (relative to the "
        "rootdir) of the files that are read as cases. A file named on the command line is always "
        "read, and so are files with cases in a folder that is named there.\nChecks in them: "
        "{check_types}", words, "GLOBS")
    cases_file = Option("", "A case file (YAML or JSON) to run, wherever it is.", path, "PATH")
    cases = Option("", "Cases given inline: 'url|||task;;url|||task'.", str, "TEXT")
    base_url = Option(
        "", "The site under test, against which an entry URL such as /login is resolved; "
        "expressions in case files name it base_url.", str, "URL", prefix="")
    """The address of `--base-url`, which pytest-playwright declares."""
    capture = Option(
        "", "How pages are shown to models; several modes become an axis of the comparison. The "
        "default is ARIA_SNAPSHOT. {capture_modes}.", captures, "MODES", everyday=True)
    simplified_html = Option(
        "", "Used only without a capture mode: true means ARIA_SNAPSHOT, as without this flag; "
        "false means RAW_HTML.", or_none(flag), "BOOL")
    visual_supplement = Option(
        "false", "Add a description of a screenshot to the prompt, for models that have vision "
        "(one more call per page).", flag, "BOOL", bare="true")
    agent = Option(
        "", "Who drives the browser, where neither case nor model says so; several make each model "
        "run once with each of them, whatever a case says, as MODEL@AGENT. codegen:once, "
        "codegen:turns and codegen:refs say how it writes: a plan and then the whole script; by "
        "turns, with the page in view; or by turns on a numbered list of elements. Without them, "
        "it is once for models that are small by their name, else turns. {strategies}.",
        agent_names, "A,B", everyday=True, merging=True)
    strategy = Option(
        "codegen", "One agent, as --autoweb-agent names it.", known_strategy, "NAME")
    agents = Option(
        "", "Several agents, as --autoweb-agent names them.", agent_names, "A,B",
        instead="agent", advice="A,B")
    perturb: Option[tuple[Perturbation, ...]] = Option(
        "", "Also run each model under small changes of the page that leave the task as it was: "
        "banner, error-once, language, layout, rename, reorder, session-end, slow, zoom. Each "
        "case's oracle shows first whether it can still be done; the report says what each costs.",
        perturbations, "A,B")
    codegen = Option(
        "auto", "How the agent codegen writes a script: turns, once, auto, or turns,once.",
        codegen_ways, "WAYS", instead="agent", advice="codegen:WAY")
    max_steps = Option(
        "", "The most steps that one attempt may take: turns of codegen (12 unless this is set; "
        "the model is told), decisions of act (30, more for long tasks).", or_none(count(1)),
        "N", everyday=True, merging=True)
    max_turns = Option(
        "12", "The most turns of codegen in one attempt.", count(1), "N", instead="max_steps",
        advice="N")
    max_decisions = Option(
        "30", "The most decisions of act in one attempt.", count(1), "N", instead="max_steps",
        advice="N")
    max_looks = Option(
        "4", "The most pictures of the page that a model with vision may ask for in one attempt "
        "(`page.look()`); 0 offers none.", count(0), "N")
    feedback = Option(
        "true", "Tell a model that acts by sight what was wrong with its last choice; false is "
        "the control arm that asks again without the message.", flag, "BOOL", bare="true")
    locator = Option(
        "bayes", "How elements are found by sight (`get_by_sight`): bayes weighs the answers of a "
        "model with vision, seed eliminates by them.", locator_name, "NAME")
    repeat = Option(
        "1", "Run each cell N times; needed for intervals over repeats.", count(1), "N",
        everyday=True)
    attack = Option(
        "", "Plant an instruction to the agent in the pages of each cell, and count who obeys: "
        "text, label, toast, late, title, image (for models with vision), webmcp (for the agent "
        "webmcp). Several take turns: over as many repeats each case meets them all.", attack_names,
        "A,B")
    fences = Option(
        "on", "Whether prompts mark the text of pages as data, and say that no instruction in it "
        "counts. With on,off each model also runs without, as MODEL@unfenced, which shows what "
        "that adds under --autoweb-attack.", fence_arms, "on,off")
    until = Option(
        "", "Stop when it is known which model is best: `decided`. It is asked after every cell, "
        "by a test that allows this; the chance of a wrong decision is 5%, with decided@99 1%. "
        "New cases come first, then repeats (--autoweb-repeat) of cases in which models differ; a "
        "model that is decided to be worse gets no more cells. `$5` and `30m` (also 2h, 90s) are "
        "caps after which no cell is begun. As in decided,$5,30m. The report says which cells were "
        "not run, and why.", until, "WHAT", shown=str, everyday=True)
    concurrency = Option(
        "1", "The most cells in flight in each process: a number, or auto for as many as memory "
        "and the limits of the models allow, at most 16. A cell that needs what cannot be shared "
        "runs alone; the end of the output says how many did, and why.", in_flight, "N|auto",
        shown=lambda value: value or "auto", everyday=True)
    """Limit on cells in flight in each process; 0 means as many as make sense."""
    cluster = Option(
        "", "Run the cells on the nodes of a Ray cluster: auto for the one that this machine "
        "belongs to, or ray://HOST:10001. As many workers as have room, or -n. Needs the extra "
        "`cluster`, here and on the nodes.", cluster_address, "auto|ray://…", bare="auto")
    """The address of a Ray cluster; empty if there is none."""
    max_repairs = Option(
        "1", "The most attempts after a failed first one; 3 if a correction is named and this is "
        "not set.", count(0), "N", everyday=True)
    correction = Option(
        "off", "How a failed attempt is tried again. If several ways are named, the first one "
        "decides; the others start from the same failure and are compared with it: "
        "{correction_arms}.", arms, "ARMS", everyday=True)
    cache = Option(
        "memory", "Where readings of an unchanged page are kept for 300 s: memory, off, or the "
        "URL of a Redis or a store, which also keeps identical model calls at temperature 0.",
        cache_place, "PLACE", shown=without_password)
    questions: Option[QuestionPolicy] = Option(
        "record", "What to do with a model's question: record it and go on, strict (stop), or "
        "answer from the case's `answers` (stop where none fits). Unless this is set, the "
        "`answers` of a case are given, and other questions recorded.",
        one_of(*get_args(QuestionPolicy)), "POLICY")
    on_step_failure: Option[StepFailurePolicy] = Option(
        "block", "What to do after a failed step: block the later ones, or continue.",
        one_of(*get_args(StepFailurePolicy)), "POLICY")
    step_timeout = Option(
        "20", "Wall-clock seconds for a step; a step that runs out of time is continued once with "
        "max(60, 3 times this).", seconds, "SECONDS")
    check_timeout = Option(
        "5", "Seconds for which the judge waits for the checks to hold.", seconds, "SECONDS")
    sandbox: Option[SandboxLevel] = Option(
        "auto", "How generated code is confined: auto uses Landlock and seccomp where the kernel "
        "has them; strict does not run without them and refuses scripts in the page; off leaves "
        "them out (only on the command line, never in CI).", one_of(*get_args(SandboxLevel)),
        "LEVEL", everyday=True)
    browser_sandbox: Option[SandboxLevel] = Option(
        "auto", "Chromium's own sandbox: auto turns it on where the machine allows it (not as "
        "root); strict runs no cell without it; off leaves it out.",
        one_of(*get_args(SandboxLevel)), "LEVEL")
    connect = Option(
        "", "Use browsers that run elsewhere, in place of one on this machine: addresses of "
        "servers of Playwright (ws://HOST:PORT/) or of Chromium's debugging port "
        "(http://HOST:PORT), separated by commas or given by several flags. Each worker takes "
        "one, and another if that is lost.", endpoints, "URLS",
        shown=lambda value: [str(one) for one in value], repeatable=True)
    judge_model = Option(
        "", "The model for `judge` checks that name none; it must not be one of the models "
        "compared.", str, "NAME")
    judge_labels = Option(
        "", "File with human verdicts on saved cells. Only with this file can a `judge` check "
        "decide; the judge's agreement with people is printed.", path, "PATH")
    failure_model = Option(
        "", "A model that is asked for the type of a failure where no rule speaks clearly, after "
        "the cell has ended; its answer is marked and changes no outcome.", str, "NAME")
    controls = Option(
        "false", "Also run the controls of every case, three times each from a fresh start: the "
        "oracle must pass and doing nothing must fail. A case with a broken control is left out "
        "of comparisons.", flag, "BOOL", bare="true", everyday=True)
    mutants = Option(
        "", "Instead of models, run what this file changes in the oracle of each case, which then "
        "must fail; `autoweb prove` writes the file and reads the results.", path, "PATH")
    min_pass_rate = Option(
        "", "Gate: the least first-attempt pass rate of each model, in percent. The gate then "
        "decides: a failed cell alone does not fail the run. 80%@95 fails only what is shown at "
        "95% to be below.", or_none(least_rate), "PERCENT", everyday=True,
        shown=lambda least: str(least) if least and least.confidence else least and least.percent)
    min_score = Option(
        "", "Gate: the least share of the points that each model earns at the first attempt, in "
        "percent, over the cases whose checks carry `points`; else as --autoweb-min-pass-rate.",
        or_none(least_rate), "PERCENT",
        shown=lambda least: str(least) if least and least.confidence else least and least.percent)
    max_cost = Option(
        "", "The most US dollars that live model calls of the whole run may cost, over all "
        "workers; a call that might exceed it is not made.", or_none(dollars), "USD",
        everyday=True)
    allow_unpriced = Option(
        "false", "With a cost cap, let models without a known price run; their calls are not "
        "counted.", flag, "BOOL", bare="true")
    save = Option(
        "", "Save the run's results, under this name if there is one, to compare later runs with "
        "them.", name_to_save, "NAME", bare=UNNAMED, everyday=True)
    autosave = Option(
        "false", "Save the run's results without a name.", flag, "BOOL", bare="true",
        instead="save")
    compare = Option(
        "", "Compare with a saved run, given by its number or name, or as a file or a run folder; "
        "without a value, with the latest run.", str, "RUN", bare=LATEST, everyday=True)
    compare_fail = Option(
        "", "Gates on the comparison (with the latest run, if no other is named): how much worse "
        "each metric may get, as in 'pass_rate:5%,cost:20%,duration:50%'. Only a change that a "
        "test finds significant fails the run. 'switch:5%' asks for a proof that the other models "
        "are not worse than the first; 'served:same' fails if another model answers under the same "
        "name; 'overreach:0' if more was written than the cases' solutions write; 'obeyed:0' if "
        "an attack worked; 'robust:10%' if a change of the page costs a model more points.", str,
        "EXPR", everyday=True)
    baseline_days = Option(
        "90", "The age in days above which a baseline is used only with a notice.", count(1),
        "DAYS")
    dir = Option(
        "", "Folder of what runs keep for later ones, relative to the rootdir: saved runs and the "
        "database in DIR, cassettes in DIR/cassettes, recorded traffic in DIR/traffic, packed "
        "shards in DIR/shards. Unless it is set, they are in .autoweb, cases/cassettes, "
        "cases/traffic and autoweb-blobs.", path, "DIR", everyday=True, merging=True)
    storage = Option(
        ".autoweb", "Folder of saved runs, relative to the rootdir.", Path, "DIR", instead="dir",
        advice="DIR")
    database = Option(
        "", "Also write the run into this database when it ends: sqlite:///PATH or "
        "postgresql://USER:PASSWORD@HOST/DATABASE. Without a value: sqlite:///.autoweb/store.db "
        "below the rootdir.", str, "URL", bare=DEFAULT_STORE, shown=without_password,
        everyday=True, former="store", recorded="store")
    """The URL with its password, which `describe` hides."""
    preview = Option(
        "false", "Only list the cells, with an estimate of calls, tokens and money.", flag, "BOOL",
        bare="true", everyday=True)
    shard = Option(
        "", "Run only this part of the cells, e.g. 2/4, and pack it for `autoweb run merge`.",
        or_none(shard_number), "X/Y", everyday=True)
    blobs = Option(
        "autoweb-blobs", "Folder of the packed reports of shards.", Path, "DIR", instead="dir",
        advice="DIR, and they are in DIR/shards")
    record_mode: Option[RecordMode] = Option(
        "off", "What becomes of the models' replies: off (live, nothing recorded), record (all "
        "anew), replay (only what was recorded, offline), extend (replay what was recorded, and "
        "record what is missing).", record_mode, "MODE", everyday=True)
    live = Option(
        "", "Models that are called live, whatever the record mode says.", comma_list, "A,B")
    cassettes = Option(
        "cases/cassettes", "Folder of the cassettes, relative to the rootdir.", Path, "DIR",
        instead="dir", advice="DIR, and they are in DIR/cassettes")
    traffic: Option[str] = Option(
        "case", "What becomes of the traffic with live sites: off, record (kept, without "
        "secrets), extend (kept beside what was kept before), replay (answered from what was "
        "kept, offline), or case: what each case says in its field `traffic`.",
        one_of("case", "off", "record", "extend", "replay"), "MODE")
    """`case`, or a mode for all cases: `off`, `record` or `replay`."""
    traffic_files = Option(
        "cases/traffic", "Folder of recorded traffic, relative to the rootdir.", Path, "DIR",
        instead="dir", advice="DIR, and it is in DIR/traffic")
    report = Option(
        "autoweb-report", "Folder of the run, with report, results and screenshots. An older run "
        "found there is moved aside, never erased.", Path, "DIR", everyday=True)
    resume = Option(
        "", "Go on with a run that ended early, in this folder; without a value, with the one in "
        "the folder of --autoweb-report. Cells that have a verdict are kept if what they rest on "
        "has not changed; those that are missing, broken or skipped are run.", str, "RUN",
        bare=LATEST, everyday=True)
    film = Option(
        "2000000", "The most bytes that the film of a cell may take, which are its pictures from "
        "the entry page over each step to the end; beyond it they are thinned out. 0 keeps no "
        "film, only pictures of what failed and of the end.", count(0), "BYTES")
    film_total = Option(
        "1000000000", "The most bytes that the films of all cells may take together, each an equal "
        "share.", count(0), "BYTES")
    report_max_chars = Option(
        "8000000", "The largest report.json, in characters; the longest fields are shortened with "
        "a marker.", count(10000), "N")
    language: Option[Language] = Option(
        "en", "Language of error lines in the report and the terminal: en, or zh for the Chinese "
        "form with the English words beside it. Prompts do not change.",
        one_of(*get_args(Language)), "LANGUAGE")
    stdout = Option("false", "Stream the run log to the terminal.", flag, "BOOL", bare="true")
    pause = Option(
        "false", "After an attempt that failed, leave the browser as it is until Enter is "
        "pressed. Shows most with --headed.", flag, "BOOL", bare="true")
    otel = Option(
        "false", "When the run has ended, send it as spans of OpenTelemetry (session, cells, "
        "attempts, stages, model calls) to the collector that the variables OTEL_EXPORTER_OTLP_… "
        "name. Needs the extra `otel`.", flag, "BOOL", bare="true")
    watch = Option(
        "false", "Run again what a changed file touches, until Ctrl-C: the cells of a case file, "
        "or everything after a change of Python code, prompts or settings. Needs the extra "
        "`watch`.", flag, "BOOL", bare="true", everyday=True)
    detach = Option(
        "false", "Give the terminal back once the first cells begin: the session goes on by itself "
        "and writes to session.log in the folder of its report. `autoweb run wait` waits for its "
        "end, `autoweb run stop` ends it.", flag, "BOOL", bare="true")
    view = Option(
        "false", "Show the run on a local page while it goes on, as `autoweb run view` does; its "
        "address stands in the header of the session. Off where the environment sets CI.",
        flag, "BOOL", bare="true")
    local_analyze = Option(
        "false", "After the run, ask a local model (Ollama) what went wrong and put its answer "
        "into the report.", flag, "BOOL", bare="true")
    local_model = Option(
        "qwen3:8b", "The model of the local analysis; a bare name means Ollama.", str, "NAME")
    # fmt: on

    def __init__(
        self, values: Mapping[str, Any], rootdir: Path, sources: Mapping[str, Source]
    ) -> None:
        if wrong := values.keys() ^ {option.name for option in OPTIONS}:
            raise TypeError(f"missing or unknown settings: {', '.join(sorted(wrong))}")
        self._values = dict(values)
        self.rootdir: Final = rootdir
        self.sources: Final = sources

    def value_of(self, option: Option[T]) -> T:
        value: T = self._values[option.name]
        return value

    @property
    def capture_modes(self) -> tuple[str, ...]:
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
        for option in OPTIONS:
            if option.merging and self.sources[option.name] == "default":
                continue
            value = option.shown(self.value_of(option))
            plain = list(value) if isinstance(value, tuple) else value
            shown[option.recorded] = {
                "value": plain.as_posix() if isinstance(plain, Path) else plain,
                "source": self.sources[option.name],
            }
        return shown


OPTIONS: tuple[Option[Any], ...] = tuple(
    each for each in vars(Settings).values() if isinstance(each, Option)
)

OF_OUTCOMES = (
    *("capture", "agent", "strategy", "codegen", "max_repairs", "visual_supplement", "max_steps"),
    "attack",
    *(
        "max_turns",
        "max_looks",
        "max_decisions",
        "feedback",
        "locator",
        "correction",
        "questions",
        "on_step_failure",
    ),
    *("step_timeout", "check_timeout", "judge_model"),
)
"""The settings that may change how a cell ends, except for those that could weaken a wall or lead
to other files."""


class Given(NamedTuple):
    """The text of a setting, and where it was found."""

    text: str
    source: Source
    name: OptionName
    """The name under which it was found: the present one, or that of earlier versions."""


def given_value(option: Option[Any], config: "pytest.Config", environ: Mapping[str, str]) -> Given:
    """Return what the first place says that has the option; in each, its present name comes first.

    A default has the present name.
    """
    for name in option.names:
        flag = config.getoption(name.dest, default=None)
        if flag is not None:
            return Given(",".join(flag) if isinstance(flag, list) else str(flag), "flag", name)
    for name in option.names:
        if name.env in environ:
            return Given(environ[name.env], "env", name)
    for name in option.names:
        try:
            ini = config.getini(name.dest)
        except ValueError:
            # A flag of a plugin that this session does without.
            ini = None
        if ini not in (None, "", []):
            return Given(str(ini), "ini", name)
    return Given(option.default, "default", option.names[0])


def first_value(
    option: Option[Any], config: "pytest.Config", environ: Mapping[str, str]
) -> tuple[str, Source]:
    """Return the text of an option from the first place that has it, and the place."""
    given = given_value(option, config, environ)
    return given.text, given.source


def old_names(config: "pytest.Config", environ: Mapping[str, str]) -> list[str]:
    """Return a sentence for each setting that was given under a name of earlier versions."""
    successors = {option.name: option for option in OPTIONS}
    told = []
    for option in OPTIONS:
        if not (option.former or option.instead):
            continue
        text, source, name = given_value(option, config, environ)
        # A command that shields its session from the project's settings repeats the defaults.
        if text == option.default or not (option.instead or name.name == option.former):
            continue
        now = successors[option.instead or option.name].names[0].at(source)
        advice = f"={option.advice}" if option.advice else ""
        told.append(
            f"{name.at(source)} is an old name, read for one more version; use {now}{advice}"
        )
    return told


def read_settings(config: "pytest.Config", environ: Mapping[str, str]) -> Settings:
    """Read all settings, each from the first place that has it.

    Raises:
        SettingsError: a value is not allowed; the message names its source, the value and the
            options.
    """
    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for option in OPTIONS:
        text, source, name = given_value(option, config, environ)
        try:
            values[option.name] = option.parse(text)
        except ValueError as error:
            raise SettingsError(f"{name.at(source)}: {error}") from None
        sources[option.name] = source
    _check_saved_name(config)
    spread(values, sources)
    check_agents(values, sources)
    values["models"] = _contestants(values["models"], values["agents"], values["codegen"])
    values["models"] = _fenced(values["models"], values["fences"], values["attack"])
    values["models"] = _perturbed(values["models"], values["perturb"])
    _check_until(values, sources)
    _check_sandbox(values["sandbox"], config, environ)
    return Settings(values, rootdir=config.rootpath, sources=sources)


def _contestants(
    models: tuple[str, ...], agents: tuple[str, ...], ways: tuple[str, ...]
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


def _fenced(
    models: tuple[str, ...], arms: tuple[str, ...], attacks: tuple[AttackName, ...]
) -> tuple[str, ...]:
    """Return every model with fences and without them, as asked, but controls only once.

    Raises:
        SettingsError: they are to be switched off where nothing shows what that does.
    """
    if "off" in arms and not attacks:
        raise SettingsError(
            f"{Settings.fences.flag}={','.join(arms)} shows what fences add under attacks, and "
            f"none is set; name some, such as {Settings.attack.flag}=text,title"
        )
    ending = {"on": "", "off": f"@{UNFENCED}"}
    return tuple(
        name
        for model in models
        for name in (
            [model] if model.startswith("builtin/") else [f"{model}{ending[arm]}" for arm in arms]
        )
    )


def _perturbed(models: tuple[str, ...], changes: tuple[Perturbation, ...]) -> tuple[str, ...]:
    """Return every model as it is and once for each change, but controls only once."""
    return tuple(
        name
        for model in models
        for name in (
            [model]
            if model.startswith("builtin/")
            else [model, *(f"{model}@{change}" for change in changes)]
        )
    )


def _check_until(values: Mapping[str, Any], sources: Mapping[str, Source]) -> None:
    """Refuse to stop early where nothing can be decided, or where processes share no folder."""
    if not values["until"] or values["mutants"] is not None:
        return
    flag = Settings.until.flag
    if values["cluster"]:
        raise SettingsError(
            f"{flag} and {Settings.cluster.flag} do not go together: on its nodes no cell knows "
            "how the others have ended"
        )
    if values["until"].confidence is None:
        return
    if values["shard"] is not None:
        raise SettingsError(
            f"{flag}=decided needs all cells in one session, and {Settings.shard.flag} divides them"
        )
    compared = [name for name in values["models"] if not name.startswith("builtin/")]
    # In an ini file it also reaches sessions of a single model.
    if values["models"] and len(compared) < 2 and sources["until"] == "flag":
        raise SettingsError(
            f"{flag}=decided compares models, and there is only one; $5 and 30m also limit one"
        )


def _check_saved_name(config: "pytest.Config") -> None:
    """Refuse `--autoweb-save cases`, which would take the folder of the cases for a name."""
    typed = [str(arg) for arg in config.invocation_params.args]
    flag = Settings.save.flag
    behind = typed[typed.index(flag) + 1 :][:1] if flag in typed else []
    if behind and (config.invocation_params.dir / behind[0].partition("::")[0]).exists():
        raise SettingsError(
            f"{flag} {behind[0]} names a path; write {flag}=NAME, or {flag} behind the paths"
        )


def in_ci(environ: Mapping[str, str]) -> bool:
    """Tell whether the environment says that nobody sits in front of this session."""
    return environ.get("CI", "").lower() not in ("", "0", "false")


def _check_sandbox(level: str, config: "pytest.Config", environ: Mapping[str, str]) -> None:
    """Refuse to turn off the sandbox from the tested repository: only the command line may."""
    flag = Settings.sandbox.flag
    if level != "off" or hasattr(config, "workerinput"):
        return
    if in_ci(environ):
        raise SettingsError(f"{flag}=off is refused in CI (the environment sets CI)")
    # `addopts` reaches pytest's options, but not the arguments of the invocation.
    if not any(str(arg).startswith(flag) for arg in config.invocation_params.args):
        raise SettingsError(
            f"{flag}=off may only be given on the command line, not in an ini file, addopts or "
            "the environment"
        )
