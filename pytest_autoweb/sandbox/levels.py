"""How strict the sandbox is, and which walls a worker raises around itself."""

from typing import Literal, NamedTuple

Level = Literal["auto", "strict", "off"]
"""`auto` uses what the kernel offers; `strict` does not run without it and refuses scripts in the
page; `off` omits the kernel's walls and the audit hook."""


class Walls(NamedTuple):
    """The walls that a worker is asked to raise around itself."""

    kernel: bool = True
    audit: bool = True


# `strict` asks for the same walls as `auto`, but does not run without them.
WALLS: dict[Level, Walls] = {"auto": Walls(), "strict": Walls(), "off": Walls(False, False)}


class Layers(NamedTuple):
    """The walls that a worker reports to have raised; lint, worker and facade always stand."""

    landlock: int
    """Landlock's ABI, or 0 if it is missing."""
    seccomp: bool
    audit: bool

    @property
    def confined(self) -> bool:
        """Tell whether the kernel confines the worker even if Python is broken."""
        return self.landlock > 0 and self.seccomp

    def __str__(self) -> str:
        names = ["lint", "worker", "facade"]
        names += ["audit hook"] * self.audit
        names += [f"landlock abi {self.landlock}"] * bool(self.landlock)
        names += ["seccomp"] * self.seccomp
        return ", ".join(names)


def scripts_allowed(level: Level, provider: str) -> bool:
    """Tell whether code may run scripts of its own in the page.

    Args:
        level: the level of the sandbox.
        provider: the origin of the code; a built-in model only replays the case author's script.
    """
    return level != "strict" or provider == "builtin"
