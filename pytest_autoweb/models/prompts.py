"""Prompt files: loading them, rendering them, and fencing untrusted text in them."""

import hashlib
from functools import cache
from typing import Any

import yaml
from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_autoweb.base.errors import PromptError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.models.messages import Message

# A misspelt variable must be an error instead of an empty text. Prompts are not HTML, so escaping
# would garble them; untrusted text is fenced instead.
_ENVIRONMENT = SandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
)


class Prompt(BaseModel):
    """One prompt file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    system: str
    user: str


@cache
def load_prompt(name: str) -> Prompt:
    """Read `prompts/<name>.yaml`.

    Raises:
        PromptError: the file is missing or lacks a section.
    """
    path = asset_dir("prompts") / f"{name}.yaml"
    try:
        return Prompt.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise PromptError(f"the prompt file {path.name!r} is missing") from None
    except (yaml.YAMLError, ValidationError) as error:
        raise PromptError(f"the prompt file {path.name!r} cannot be read: {error}") from None


def render(name: str, *, images: tuple[str, ...] = (), **variables: Any) -> tuple[Message, Message]:
    """Return the system and the user message of a prompt file.

    Raises:
        PromptError: the file uses a variable that was not given.
    """
    prompt = load_prompt(name)
    try:
        system = _compiled(prompt.system).render(variables)
        user = _compiled(prompt.user).render(variables)
    except TemplateError as error:
        raise PromptError(f"the prompt file '{name}.yaml' cannot be rendered: {error}") from None
    return (
        Message(role="system", content=system.strip()),
        Message(role="user", content=user.strip(), images=images),
    )


@cache
def _compiled(text: str) -> Template:
    """Return a prompt file's template, cached because compiling takes longer than rendering."""
    return _ENVIRONMENT.from_string(text)


def fence(text: str, label: str) -> str:
    """Mark text as data by putting it between two lines that it cannot contain.

    The lines carry a digest of the text itself. A page therefore cannot write its own closing
    line, and the same page always gives the same prompt, as cassettes and prompt caches need.
    """
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"<<{label} {mark}>>\n{text}\n<<end {label} {mark}>>"


QUOTED_LINES = 12
"""Lines up to which a text is marked by a bar before each of them, in fewer tokens than a fence."""


def quote(text: str, label: str) -> str:
    """Mark text as data: a few lines by a bar before each, more of them by a fence.

    Whatever begins a line, also one of Unicode's own line separators, comes after a bar, so the
    text cannot end its mark.
    """
    lines = text.splitlines()
    if len(lines) > QUOTED_LINES:
        return fence(text, label)
    return "\n".join(f"| {line}" for line in lines)


def prompt_checksum(*names: str) -> str:
    """Return the SHA-256 over prompt files, for the checksums of a cell."""
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update((asset_dir("prompts") / f"{name}.yaml").read_bytes())
    return digest.hexdigest()
