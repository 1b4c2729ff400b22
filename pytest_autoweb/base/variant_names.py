"""Names, summaries and labels of strategies, correction arms and capture modes.

These are plain data, for whoever reads a flag, a case file or a report. What a strategy or an arm
does is bound to its name in `strategies`, and what a capture mode does in `page.capture`.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from pytest_autoweb.base.errors import near_miss
from pytest_autoweb.base.variants import Variant, Variants

PERSON = "human"
"""The agent for which a person stands in the model's place, so that no model is called."""
_AGENT_NAME = r"[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*"
"""Agents have the names of their projects, e.g. `browser-use`."""


@dataclass(frozen=True, slots=True)
class Description:
    """The name of a variant, and one sentence about it."""

    name: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A way to retry a failed attempt, without the stages that it changes."""

    name: str
    summary: str
    label: str = ""
    """Its label in reports; empty if the same as its name."""
    ordinary: bool = False
    """Whether it is the ordinary repair. Alone it is limited only by the number of retries;
    alongside other arms it follows their rules."""
    informed: bool = True
    """Whether a retry gets the previous attempt, the evidence and possible remedies."""
    advised: bool = False
    """Whether prompts also contain the advice for the type of failure."""
    bans_failed_calls: bool = False
    """Whether lists that models choose from omit options that failed before."""
    differs: str = ""
    """Differences in its budget or in the ends of its retries from other arms, as the end of a
    sentence that begins with its name; empty if there are none."""
    control: bool = False
    """Whether it is the control arm, against which the gain of other arms is measured."""


STRATEGY_NAMES: Variants[Variant] = Variants(
    "strategy",
    (
        Description("act", "one decision at a time on marked screenshots"),
        Description("agent-browser", "agent-browser, a command line"),
        Description("agentlab", "AgentLab's GenericAgent, on BrowserGym's view and actions"),
        Description("browser-use", "browser-use, an agent in Python"),
        Description("browsergym", "BrowserGym's view of the page and its actions, one a reply"),
        Description("chrome-devtools-mcp", "Chrome DevTools' MCP server"),
        Description("claude-code", "Claude Code with Playwright MCP"),
        Description("codegen", "plan and script"),
        Description("codex", "Codex with Playwright MCP"),
        Description("collect", "addresses behind a list"),
        Description("command", "the program that a case or model names as `agent`"),
        Description(PERSON, "a person, who presses Done in a page with the task"),
        Description("playwright-cli", "Playwright's command line"),
        Description("playwright-mcp", "Playwright's MCP server"),
        Description("stagehand", "Stagehand, an agent in Node"),
        Description("webmcp", "calls of the tools that a page offers by WebMCP"),
    ),
    _AGENT_NAME,
)
"""The strategies, and among them the outside agents."""

ARM_NAMES: Variants[Arm] = Variants(
    "correction arm",
    (
        Arm(
            name="constrained",
            summary="may only name elements that were found",
            differs="refuses a script with other elements before it runs, which uses up the retry, "
            "and stops when the same script is written again",
            bans_failed_calls=True,
        ),
        Arm(
            name="off",
            summary="the ordinary repair",
            label="ordinary repair",
            ordinary=True,
            informed=False,
            differs="stops when it writes the same script again",
        ),
        Arm(
            name="plain",
            summary="told nothing: the control arm",
            label="plain (control)",
            informed=False,
            control=True,
            differs="runs the same script again if that is what the model writes",
        ),
        Arm(
            name="reflexion",
            summary="told evidence and a reflection",
            differs="asks the model once more per retry, and stops when the model gives up, has a "
            "confidence below 0.3, or writes the same script again",
            advised=True,
        ),
    ),
)
"""The ways to try a failed attempt again."""

CAPTURE_MODE_NAMES: Variants[Variant] = Variants(
    "capture mode",
    (
        Description(
            "A11Y", "Chromium's full accessibility tree; other browsers show `ARIA` and note it"
        ),
        Description(
            "ARIA",
            "Playwright's aria snapshot made for models: roles, names, states, links; frames "
            "inlined",
        ),
        Description(
            "ARIA_SNAPSHOT",
            "the classic aria snapshot of `body`, each visible frame's own appended",
        ),
        Description(
            "RAW_HTML",
            "the live DOM as cleaned HTML; `<shadow-root>` and `<frame-document>` mark what is "
            "inlined",
        ),
    ),
)
"""The ways to show a page to a model as text."""

AttackName = Literal["text", "label", "toast", "late", "title", "image", "webmcp"]
"""A way in which a page plants an instruction to the agent: visible text, an accessible label, a
toast, text that comes after the first action, titles, a picture, or a tool's description."""
AttackGoal = Literal["origin", "secret", "request", "action"]
"""What a planted instruction asks for: a foreign address, a decoy of a secret, a page of the site
that only the attack names, or an action of the site."""

StrategyName = str
"""The name of a registered strategy."""


def known_strategy(name: str) -> StrategyName:
    """Return the name unchanged.

    Raises:
        ValueError: no strategy has this name; the message suggests the nearest one.
    """
    return STRATEGY_NAMES.pick(name).name


CODEGEN_WAYS = ("once", "turns", "refs")
"""What follows the colon of `codegen:once`: a plan and then the whole script, or turns with the
page in view, or turns on a numbered list of elements."""


Perturbation = Literal[
    "",
    "banner",
    "error-once",
    "language",
    "layout",
    "rename",
    "reorder",
    "session-end",
    "slow",
    "zoom",
]
"""A change of the page that leaves the task as it was; empty: none."""
PERTURBATIONS: tuple[Perturbation, ...] = get_args(Perturbation)[1:]
"""The changes of `--autoweb-perturb`, and what `MODEL@banner` ends in."""


UNFENCED = "unfenced"
"""What `MODEL@unfenced` ends in: the model without the fences around text of pages."""


class AgentVariant(NamedTuple):
    """An agent as flags, case files and models' settings name it, such as `codegen:once`."""

    agent: StrategyName
    way: str
    """One of `CODEGEN_WAYS`; empty if the name leaves that to the model."""


def agent_variant(name: str) -> AgentVariant:
    """Take the name of an agent apart.

    Raises:
        ValueError: there is no such agent, or it has no such variant; the message lists what there
            is.
    """
    agent, colon, way = name.partition(":")
    varied = not colon or (agent == "codegen" and way in CODEGEN_WAYS)
    if not varied or agent not in STRATEGY_NAMES:
        raise ValueError(f"unknown agent {name!r}{near_miss(name, agent_choices())}")
    return AgentVariant(agent, way)


def agent_choices() -> tuple[str, ...]:
    """Return the names of all agents, each with its variants behind it."""
    names: list[str] = []
    for name in STRATEGY_NAMES:
        names.append(name)
        names += [f"{name}:{way}" for way in CODEGEN_WAYS] if name == "codegen" else []
    return tuple(names)


def known_agent(name: str) -> str:
    """Return the name of an agent, variant included, unchanged.

    Raises:
        ValueError: there is none of this name.
    """
    agent_variant(name)
    return name
