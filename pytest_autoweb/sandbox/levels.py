"""How strict the sandbox is, and which of its layers really stand on this machine."""

from typing import Literal, NamedTuple

Level = Literal["auto", "strict", "off"]
"""`auto` uses what the kernel offers; `strict` does not run without it and refuses scripts in the
page; `off` leaves the kernel's walls and the audit hook out."""


class Walls(NamedTuple):
    """Which walls a worker is asked to raise around itself."""

    kernel: bool = True
    audit: bool = True


WALLS: dict[Level, Walls] = {"auto": Walls(), "strict": Walls(), "off": Walls(False, False)}


class Layers(NamedTuple):
    """The walls that a worker says it has raised; lint, worker and facade stand always."""

    landlock: int
    """Its ABI; 0: not there."""
    seccomp: bool
    audit: bool

    @property
    def confined(self) -> bool:
        """Whether the kernel holds the worker even if Python does not."""
        return self.landlock > 0 and self.seccomp

    def __str__(self) -> str:
        names = ["lint", "worker", "facade"]
        names += ["audit hook"] * self.audit
        names += [f"landlock abi {self.landlock}"] * bool(self.landlock)
        names += ["seccomp"] * self.seccomp
        return ", ".join(names)


def scripts_allowed(level: Level, provider: str) -> bool:
    """Whether code may run scripts of its own in the page.

    Args:
        level: how strict the sandbox is.
        provider: whose code it is; a built-in model only plays what the case's author wrote.
    """
    return level != "strict" or provider == "builtin"
